// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Run, matched: what every analysis starts from. Made once per Run, by this folder, and never changed
/// (docs/design/0010-matched.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/diagnose/matched.hpp"
#include "cox/trace/run.hpp"

#include "diagnose/match/clock_view.hpp"
#include "diagnose/match/matching.hpp"
#include "diagnose/match/message_waits.hpp"
#include "diagnose/match/scan.hpp"
#include "diagnose/match/skew.hpp"
#include "diagnose/match/steps.hpp"
#include "diagnose/match/sync_cursor.hpp"

namespace cox::diagnose {

/// Who synchronised with whom, when, and whose fault it was, of a whole Run; and the facts of the Run that an
/// analysis may need beside that. It refers to the Run, which has to outlive it.
///
/// Threads: immutable, so any number may read it. Cost: linear in events; 24 bytes per synchronisation of a
/// rank and 8 per rank and step. Held by: src/diagnose/match/matched_test.cpp
class Matched {
 public:
  /// Not explicit: an analysis that is asked of a Run alone matches it. Any Run can be matched, an empty one
  /// too; `threads` and `progress` change nothing of the outcome.
  Matched(const trace::Run& run, const MatchOptions& options = {});
  /// A Run that is gone before what was matched of it. Held by: tests/compile_fail/matched.cpp
  Matched(const trace::Run&& run, const MatchOptions& options = {}) = delete;

  // What was matched.

  [[nodiscard]] std::size_t ranks() const { return run_->ranks.size(); }
  [[nodiscard]] const CommIndex& comms() const { return comms_; }
  [[nodiscard]] const std::vector<RankScan>& scans() const { return scans_; }
  [[nodiscard]] const RankScan& scan(std::size_t rank_index) const { return scans_[rank_index]; }
  [[nodiscard]] const Matching& operations() const { return matching_; }
  [[nodiscard]] const ClockView& clocks() const { return clocks_; }
  [[nodiscard]] bool clocks_comparable() const { return clocks_.comparable; }
  [[nodiscard]] const Steps& steps() const { return steps_; }
  [[nodiscard]] const Skew& skew() const { return skew_; }
  /// [index into `ranks`, which ascend][step], of all ranks without it: see `sum_by_step`.
  [[nodiscard]] StepTable by_step(InStep what, std::span<const std::int32_t> ranks, int threads = 1) const;
  [[nodiscard]] StepTable by_step(InStep what, int threads = 1) const;
  /// Whether any rank synchronises at all.
  [[nodiscard]] bool has_synchronisations() const;
  /// Where ranks stood still for messages.
  [[nodiscard]] const MessageWaits& message_waits() const { return message_waits_; }
  /// The points at which one rank's program stood still, in order.
  [[nodiscard]] SyncCursor walk(std::size_t rank_index) const {
    return {*run_, comms_, scans_[rank_index], matching_.groups, rank_index};
  }

  // Facts of the Run.

  [[nodiscard]] std::span<const trace::RankTrack> tracks() const { return run_->ranks; }
  [[nodiscard]] const trace::RankTrack& track(std::size_t rank_index) const {
    return run_->ranks[rank_index];
  }
  [[nodiscard]] Rank rank(std::size_t rank_index) const { return run_->ranks[rank_index].rank; }
  /// Index of a rank, or -1.
  [[nodiscard]] std::int32_t index_of(Rank rank) const;
  /// Index of the rank at a place of a communicator's own order, or -1.
  [[nodiscard]] std::int32_t rank_at(std::int32_t comm, std::uint32_t place) const;
  [[nodiscard]] std::span<const trace::Communicator> communicators() const { return run_->communicators; }
  [[nodiscard]] const trace::Communicator& communicator(std::int32_t comm) const {
    return run_->communicators[static_cast<std::size_t>(comm)];
  }
  [[nodiscard]] std::span<const trace::Node> nodes() const { return run_->nodes; }
  [[nodiscard]] const trace::MessageColumns& messages() const { return run_->messages; }
  [[nodiscard]] std::span<const trace::SourceFile> sources() const { return run_->sources; }
  [[nodiscard]] trace::TimesKind times() const { return run_->times; }
  [[nodiscard]] Duration resolution() const { return run_->resolution; }
  [[nodiscard]] const trace::RunInfo& info() const { return run_->info; }
  [[nodiscard]] trace::Provenance provenance() const { return run_->info.provenance; }
  [[nodiscard]] int world_size() const { return run_->world_size; }
  [[nodiscard]] std::int64_t origin_realtime_ns() const { return run_->origin_realtime_ns; }
  [[nodiscard]] std::size_t event_count() const { return run_->event_count(); }

 private:
  const trace::Run* run_;
  CommIndex comms_;
  std::vector<RankScan> scans_;
  Matching matching_;
  ClockView clocks_;
  MessageWaits message_waits_;
  Steps steps_;
  Skew skew_;
};

}  // namespace cox::diagnose
