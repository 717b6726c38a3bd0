// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the training steps of each rank begin: from marks, from the period of the calls, or from each call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/diagnose/account.hpp"

#include "diagnose/match/matching.hpp"
#include "diagnose/match/scan.hpp"

namespace cox::diagnose {

struct Steps {
  StepSource source = StepSource::None;
  std::int64_t count = 0;
  std::int64_t calls_per_step = 0;  ///< times the reference rank's program stands still; median over steps
  std::int64_t collectives_per_step = 0;  ///< that the same rank executes, in the background included; median
  std::vector<std::int64_t> numbers;      ///< the program's own number of each step
  /// Per rank, count + 1 times; step s is (bounds[s], bounds[s + 1]].
  std::vector<std::vector<Duration>> bounds;
  std::vector<std::int64_t> found;  ///< per rank, steps found on it, also those not found on others
  std::int64_t guessed_ranks = 0;   ///< ranks whose bounds are another rank's

  /// Step in which a synchronisation of rank `r` ends at `exit`, or -1.
  /// `hint` is the answer of the call before.
  [[nodiscard]] std::int64_t step_of(std::size_t r, Duration exit, std::int64_t hint) const;
};

/// Smallest period of a sequence that holds in one stretch over at least 80 % of it,
/// with at least three repeats.
///
/// Start-up and tear-down may differ: `first` is where the stretch begins,
/// `end` where it ends. `length` 0 = none.
/// Cost: linear for real sequences, bounded for hostile ones (gives up, finds none).
/// Source: iteration detection of Falcon (ATC'25), by exact repeats instead of autocorrelation.
/// Held by: src/diagnose/match/steps_test.cpp
struct Period {
  std::size_t length = 0;
  std::size_t first = 0;
  std::size_t end = 0;
};
[[nodiscard]] Period find_period(std::span<const std::uint64_t> tokens);

/// Smallest period inside one that was found: of `ring`, the tokens of that one, at least 80 % repeat at least three
/// times without a gap, and the rest is an interlude (statistics every tenth step). `first` < the ring's size; `end`
/// may lie behind it. `length` 0 = none, or all of the ring repeats.
/// Cost: quadratic, for rings of at most 4,096 tokens; none is found in longer ones.
/// Held by: src/diagnose/match/steps_test.cpp
[[nodiscard]] Period find_inner_period(std::span<const std::uint64_t> ring);

[[nodiscard]] Steps find_steps(const trace::Run& run, const CommIndex& comms,
                               const std::vector<RankScan>& scans, const Matching& m);

}  // namespace cox::diagnose
