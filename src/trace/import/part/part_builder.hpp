// SPDX-License-Identifier: Apache-2.0
/// \file
/// Puts together the part of a job that one file tells: interned names and communicators, events in any
/// order, and a program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cox/model/program.hpp"
#include "cox/trace/import.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

using model::kNoDuration;
using model::OperationKind;

class PartBuilder {
 public:
  /// `file` is named in notes and sources.
  PartBuilder(std::string file, std::string format);

  /// Adds a rank on a host (empty: unknown, a host of this file's own);
  /// returns its index for the calls below.
  std::size_t add_rank(Rank rank, const std::string& host = {});
  [[nodiscard]] RankTrack& rank(std::size_t index) { return run_.ranks[index]; }
  [[nodiscard]] Run& run() { return run_; }
  /// Ranks of its operations are the numbers of `add_rank`, their communicators those of `communicator`.
  [[nodiscard]] model::Program& program() { return program_; }

  /// Communicator with these members (any order; empty: not known) and declared size; equal ones are one.
  CommId communicator(std::string_view name, std::vector<Rank> members, int size);
  /// Index of a name in `Run::names`.
  std::uint32_t name(std::string_view text);
  /// Index of a name in `Program::names`.
  std::uint32_t operation_name(std::string_view text);
  /// Index of the event among the rank's events until `finish`, which sorts by begin.
  std::size_t add_event(std::size_t rank, const Event& event);
  void note(std::string text);
  /// A note of how many, in words that agree: `1 row is` or `12 rows are`, then the rest. Nothing where there is none.
  void note_count(std::int64_t n, std::string_view one, std::string_view many, std::string_view rest = {});

  /// Counts for the one SourceFile.
  void count(std::int64_t records, std::int64_t used);
  /// Sorts events (stable, by begin), keeps `launches` pointing at their events, sorts ranks, and gives
  /// communicators an identity that is equal in all files: a hash of the sorted members, or of the name where
  /// they are not known; an ordinal tells apart groups of equal members.
  [[nodiscard]] Run finish() &&;
  /// The same with the program, which gets the ranks and communicators of the run.
  [[nodiscard]] ImportedJob finish_job() &&;

 private:
  using Names = std::map<std::string, std::uint32_t, std::less<>>;
  Run run_;
  model::Program program_;
  SourceFile source_;
  Names names_;
  Names operation_names_;
  std::map<std::pair<std::string, std::vector<Rank>>, CommId> comms_;
};

/// Ranks, communicators and size of the job as the run has them.
void name_participants(model::Program& program, const Run& run);

}  // namespace cox::trace
