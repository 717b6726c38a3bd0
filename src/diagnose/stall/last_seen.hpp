// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is known of a rank at the end: its last call, its phase, how long it is silent,
/// and its process's state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/base/process_table.hpp"
#include "cox/diagnose/stall.hpp"

#include "diagnose/match/open_calls.hpp"

namespace cox::diagnose {

/// Looks at the end of a Run, and at the machine where it still runs there.
class LastLook {
 public:
  /// `processes` may be null: then only what was recorded counts. `asked_monotonic_ns` is that machine's
  /// clock before the Run was read, so that what was read was true at that time or later.
  LastLook(const Matched& matched, const ProcessTable* processes,
           std::optional<std::int64_t> asked_monotonic_ns);

  [[nodiscard]] Present present() const { return present_; }
  /// All but `text`.
  [[nodiscard]] LastSeen at(std::size_t rank_index, const OpenCalls& open) const;
  [[nodiscard]] ProcessState state(std::size_t rank_index, StateSource& source) const;
  /// Longest finished call of a rank, or pause between two of them; nothing where it finished fewer than two.
  [[nodiscard]] std::optional<Duration> longest_usual(std::size_t rank_index) const;
  [[nodiscard]] CallName name(const OpenOperation& op) const;

 private:
  [[nodiscard]] bool is_here(const trace::RankTrack& track) const;
  [[nodiscard]] std::optional<ProcessFacts> facts(std::size_t rank_index) const;
  void look_at_machine(std::int64_t asked_monotonic_ns);
  void look_at_records();
  void compare_samples();

  const Matched& matched_;
  const ProcessTable* processes_;
  std::string boot_id_;
  std::uint64_t time_namespace_ = 0;
  Present present_;
  std::vector<bool> live_nodes_;   ///< by node id: a process of the job was found there
  std::vector<Duration> last_at_;  ///< latest time in a rank's record and samples; min where there is none
  /// Per rank: the latest sample of all that its own can be held against.
  std::vector<Duration> last_sample_;
};

/// `2026-11-21T14:03:22.123Z`; empty where the Run's origin is not known.
[[nodiscard]] std::string utc_of(const Matched& matched, Duration at);

}  // namespace cox::diagnose
