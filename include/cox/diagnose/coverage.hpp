// SPDX-License-Identifier: Apache-2.0
/// \file
/// How much of a job its Run holds, and what its waits are told from.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// Part of the calls that has to find all its members; with fewer a late rank may be among those that were not seen.
inline constexpr double kEnoughCalls = 0.9;

/// How much of what should be there was there, and what the clocks are worth.
struct Coverage {
  double ratio =
      0;  ///< matched collective calls over expected ones; without any the part of ranks and records that is there
  std::int64_t ranks_seen = 0;
  std::int64_t ranks_expected = 0;
  std::vector<Rank> missing_ranks;
  std::vector<Rank> short_ranks;  ///< that are there, with fewer than `kEnoughCalls` of their own calls
  std::int64_t collectives_matched = 0;  ///< operations in which every member was seen
  std::int64_t collectives_seen = 0;
  std::int64_t calls_seen = 0;      ///< finished calls matched to an operation, each member's one
  std::int64_t calls_expected = 0;  ///< what `ratio` divides by
  std::int64_t mismatched = 0;      ///< operations on whose kind the members disagree
  std::uint64_t dropped_records = 0;
  std::uint64_t recycled_records = 0;
  std::int64_t stopped_ranks =
      0;  ///< whose recording ended before they did (`cox detach`, a full disk, too dear)
  trace::UnobservedCalls unobserved_calls{};  ///< of all ranks: calls that left no record
  Duration overhead_per_event{};              ///< largest of what the writers measured of their own cost
  std::int64_t unfinished_calls = 0;          ///< entered and never left
  std::int64_t clock_domains = 0;
  Duration clock_residual{};  ///< worst over the domains; across nodes: spread of ends after alignment
  /// Whose clocks the job's own operations compare with the first one's.
  std::int64_t hosts_by_collectives = 0;
  std::int64_t hosts_by_realtime = 0;  ///< whose clocks are put beside it by realtime, or not at all
  Duration host_residual{};            ///< worst residual of the former
  bool clocks_comparable = false;      ///< one node, so entry times can be compared directly
  /// Without common clock: spread of ends over spread of begins; trust < 0.1.
  double wait_validity_ratio = 0;
  /// Members leave as far apart as they enter even where that is far: nobody is named.
  bool order_refused = false;

  /// All of `unobserved_calls`.
  [[nodiscard]] std::uint64_t calls_only_counted() const;
};

/// Name of a kind of calls that left no record: `one_sided`, for JSON, and `one-sided` for people.
struct UnobservedName {
  const char* key;
  const char* words;
};
[[nodiscard]] UnobservedName name_of(trace::Unobserved kind);

/// What waits are told from. Text forms are `clock` and `duration`.
enum class WaitMethod : std::uint8_t {
  Clock,     ///< entry times on one clock: the wait lasts until the last member has entered
  Duration,  ///< durations of the same call: who stays shortest came last
};
[[nodiscard]] const char* name_of(WaitMethod m);

}  // namespace cox::diagnose
