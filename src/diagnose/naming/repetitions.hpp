// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether ranks are late over many operations, where steps are too few to be counted or members are missing.
///
/// Plain figures in, plain figures out: nothing here knows of a Run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::diagnose {

/// Own work of one member before an operation.
struct RepeatedWork {
  std::int32_t rank = 0;
  Duration work{};
};

/// One operation, as far as its members are known.
struct RepeatedOperation {
  std::uint32_t kind = 0;  ///< operations of one kind repeat each other
  std::int64_t step = -1;  ///< -1: of no known step
  std::size_t first = 0;   ///< into `RepetitionTable::works`
  std::size_t count = 0;
};

/// Operations in order of time, each with those members whose own work before it is known.
struct RepetitionTable {
  std::size_t ranks = 0;
  std::uint32_t kinds = 0;
  std::int64_t steps = 0;  ///< that the operations fall into; 0: not known
  std::vector<RepeatedOperation> operations;
  std::vector<RepeatedWork> works;
};

/// A rank that is late before operations of a kind, or before all.
struct LateOver {
  static constexpr std::int64_t kAllKinds = -1;
  std::size_t rank = 0;
  std::int64_t kind = kAllKinds;
  Duration delay{};             ///< median over its operations, beyond the others' median
  Duration others_spread{};     ///< scatter of the same of the others
  std::int64_t operations = 0;  ///< that were compared
  std::int64_t late = 0;        ///< of them, those in which it was late by half of `delay`
  double agreement = 0;         ///< part of the blocks that show it
  double chance = 1;            ///< upper bound of the probability by chance, over all ranks and kinds
};

/// The bars; held by tests/accuracy_operations.
struct RepetitionRules {
  std::int64_t least_operations = 15;    ///< of a rank and kind
  std::size_t most_kinds = 32;           ///< those with most operations are tested
  double chance = 1e-3;                  ///< by chance, over all ranks and kinds: blocks against blocks
  double own_chance = 3e-3;              ///< of one rank against its own blocks
  double among_ranks = 0.05;             ///< over all ranks: the rank against the scatter of the others
  double among_ranks_few_steps = 0.005;  ///< the same where one or two steps say nothing about the next
  double blocks_agree = 0.75;
  double most_correlation = 0.6;  ///< of neighbours among the longest blocks: beyond, they are no repetitions
};

/// Ranks that are late, per kind and over all kinds together, by kind.
///
/// Method: lateness of a rank = median over operations of (own work - the operation's centre), the centre being the
///   mean of the middle half, over those present, of (own work - lateness), solved by turns: so members that are never present
///   together are compared through the operations that they share (after the median polish of Tukey 1977). Repetitions are not
///   independent, so errors are taken from medians of consecutive blocks of 16, 8 and 5 to a Run, and of steps where
///   there are three or more (batch means), each widened by the correlation of neighbouring blocks; the largest
///   counts. A rank has to stand out by that, by its own blocks, and from the scatter among the other ranks.
///   Of all who may stand out the least that fails is dropped, until all that are left stand out.
/// Cost: linear in works, times some ten passes. Held by: src/diagnose/naming/repetitions_test.cpp, tests/accuracy_operations
[[nodiscard]] std::vector<LateOver> find_late_over(const RepetitionTable& table,
                                                   const RepetitionRules& rules = {});

}  // namespace cox::diagnose
