// SPDX-License-Identifier: Apache-2.0
/// \file
/// The evaluation of pacing as data: conditions, arms and protocol as studies/pacing.toml freezes them, and
/// the order of blocks that follows from them. Nothing here runs anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/evaluate/pacing.hpp"
#include "cox/model/iteration.hpp"

namespace cox::evaluate {

/// How it is measured and judged; every field is a key of `[protocol]`.
struct PacingProtocol {
  std::uint64_t seed = 7;
  std::int64_t window = 8;  ///< steps
  std::int64_t block_windows = 4;
  std::int64_t dropped_windows = 2;
  std::int64_t lead_in_windows = 2;
  int starts = 4;  ///< cold starts of every condition: fixed, whatever they show
  Seconds segment{10};
  Seconds chunk{5};
  Seconds chunk_off{2};
  Seconds limit{1500};  ///< no start begins that would end later
  double confidence = 0.95;
  double alpha = 0.05;
  /// Correlation that the starts of a condition may have, at which tests and intervals still hold.
  double start_correlation = 0.3;
  double steal = 0.02;
  double floor = 0.01;
  double harm = 0.01;
};

/// One way of running. `settings`: as `pace::set_all` reads; empty = no controller.
struct PacingArm {
  std::string name{};
  std::string settings{};
  std::optional<pace::WaitMode> wait{};
  int nice = 0;
  bool quick = true;  ///< part of --quick
};

struct PacingCondition {
  std::string name{};
  std::string mechanism{};
  std::string about{};
  bool quick = false;
  double bar = 0;     ///< `auto` has to be better than this; 0 = need not
  double cv_bar = 0;  ///< CV while holding over that of off may be at most this; 0 = no such bar
  Seconds period{};   ///< of a step, expected
  Seconds best{};     ///< of a step at its shortest, expected: a segment of so many steps is long enough
  Seconds segment{};  ///< instead of the protocol's; zero = that one
  model::Iteration job{};
  double background = 0;  ///< share of the episodes in which others use the link (bench::PaceBackground)
  std::int64_t background_episode = 4;
  std::vector<std::size_t> arms{};  ///< of `PacingStudy::arms`, without off
};

struct PacingStudy {
  std::string title{};
  std::string before{};  ///< what the plan and the controller had seen before it was frozen
  std::string after{};   ///< what has changed since the run; may be empty
  std::string digest{};  ///< 16 hex digits, of the file's text: FNV-1a, which finds a slip, not a lie
  PacingProtocol protocol{};
  std::vector<PacingArm> arms{};  ///< the first is off
  std::vector<PacingCondition> conditions{};
  /// One of the conditions with other numbers of ranks, in rising order:
  /// off and auto alone, outside the tests.
  std::vector<PacingCondition> sizes{};
  std::string size_of{};  ///< that condition
};

inline constexpr std::string_view kArmOff = "off";
inline constexpr std::string_view kArmAgain = "again";  ///< off against off: the floor
inline constexpr std::string_view kArmAuto = "auto";
inline constexpr std::string_view kArmRandom = "random";

/// Reads it. Errors: study-001 (not TOML), study-002 (a key is missing, unknown or has a bad value), with the
/// line. Bounds: 1 MB of text, 64 conditions, 32 arms. Held by: src/evaluate/pacing/plan_test.cpp
[[nodiscard]] Result<PacingStudy> parse_pacing(std::string_view text, const std::string& file);

/// Steps under one arm, in the order in which they run.
struct PacingBlock {
  std::size_t arm = 0;
  std::int64_t steps = 0;
  std::int64_t dropped = 0;     ///< of them, at the beginning
  std::int64_t first_draw = 0;  ///< both blocks of a pair have the same draws
  bool cold = true;
};
/// Two blocks that are compared. `arm` is what the second one runs, the first is off.
struct PacingPair {
  std::size_t arm = 0;
  std::size_t off = 0;  ///< block
  std::size_t on = 0;   ///< block
};
struct PacingPlan {
  std::vector<PacingBlock> blocks{};
  std::vector<PacingPair> pairs{};
  /// What it will last if steps take as long as expected.
  [[nodiscard]] Seconds lasts(const PacingCondition& condition) const;
};

/// Cold start number `start` of one condition. Its rounds are chunks of auto, which begins cold once, each
/// beside a block of off; the short arms are spread over the rounds and share these blocks. Every other round
/// runs backwards, and every other start is the one before it backwards, so that a drift takes as much from
/// either side. The same for the same study. `arms`: those that this machine can run.
/// Held by: src/evaluate/pacing/plan_test.cpp
[[nodiscard]] PacingPlan plan_pacing(const PacingStudy& study, const PacingCondition& condition,
                                     const std::vector<std::size_t>& arms, PacingDepth depth, int start);

}  // namespace cox::evaluate
