// SPDX-License-Identifier: Apache-2.0
/// \file
/// A forecast's sizes beside each other and beside the small run: ratios and shares without units, for a page or a
/// dashboard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/forecast/checkpoints.hpp"
#include "cox/forecast/control.hpp"
#include "cox/forecast/forecast.hpp"
#include "cox/forecast/over_time.hpp"
#include "cox/forecast/structure.hpp"

namespace cox::forecast {

/// Part of the wall time whose work counts.
struct BandedGoodput {
  double value = 1;
  ShareBand band{};
};

/// Throughput and cost at one number of ranks.
struct SizeRatios {
  std::int64_t ranks = 0;
  double throughput = 0;  ///< over one rank that never waits; of a table, over one rank of its smallest size
  double low = 0;         ///< as `throughput` where it has no band
  double high = 0;        ///< likewise
  double cost = 0;        ///< per sample, over that of the small run; 0 = not known
  bool seen = false;      ///< measured, not forecast
  std::string refused{};  ///< why there is no number
  std::optional<BandedGoodput> goodput{};  ///< where something fails

  /// Throughput over that of as many ranks that never wait.
  [[nodiscard]] double of_ideal() const { return throughput / static_cast<double>(ranks); }
  [[nodiscard]] bool has_band() const { return high > low; }
};
/// The sizes of a forecast, the measured one too, ascending. Failures are in throughput, its band and cost.
/// Held by: src/forecast/answer/ratios_test.cpp, like all of this header
[[nodiscard]] std::vector<SizeRatios> size_ratios(const Forecast& forecast);
/// Those of `sizes` that can be forecast with control, as they are with it.
[[nodiscard]] std::vector<SizeRatios> with_control(std::span<const SizeRatios> sizes, const Control& control);

/// The sizes that have a number and what lies between them: throughput of the forecast's job at 64 sizes, evenly in ln ranks, and
/// at its boundaries, put through the sizes asked; their bands relative to it, linear in ln ranks. Of a table, the
/// curve that is forecast with, which goes past sizes that were measured; where a forecast has neither, the sizes alone. Cost: 64 calls of the
/// job.
[[nodiscard]] std::vector<SizeRatios> curve_through(const Forecast& forecast,
                                                    std::span<const SizeRatios> sizes);
/// The same with control: what it gives at the sizes asked, as a power of the ranks between them; of a stated job as its terms say.
[[nodiscard]] std::vector<SizeRatios> curve_with_control(const Forecast& forecast,
                                                         std::span<const SizeRatios> curve,
                                                         std::span<const SizeRatios> controlled);

/// How far the next boundary is, at one number of ranks; behind N* the way back to it.
struct SizeMargin {
  std::int64_t ranks = 0;
  double factor = 1;  ///< its ranks over these; 1 = on the boundary; below 1 = behind N*
};
/// Sizes that have a number, and a boundary above them or N* below.
[[nodiscard]] std::vector<SizeMargin> size_margins(const Regimes& regimes, std::span<const SizeRatios> sizes);
/// The same at all sizes from one to another: a stretch for each boundary, ended by it.
[[nodiscard]] std::vector<std::vector<SizeMargin>> margin_stretches(const Regimes& regimes, std::int64_t from,
                                                                    std::int64_t to);

/// What is left of a delay.
struct KeptRatio {
  double step = 0;  ///< steps behind it; of `kept_ratios`: how long it is, in steps of one rank's spread
  double kept = 0;
  double low = 0;
  double high = 0;
};
[[nodiscard]] std::vector<KeptRatio> kept_ratios(const Structure& structure);

/// The same over steps: `step` counts from the one that the delay hits.
[[nodiscard]] std::vector<KeptRatio> kept_over_steps(const DelayOverSteps& delay);

/// Whose turn the critical path takes, window by window.
struct PathShares {
  bool of_nodes = false;              ///< else of ranks
  std::vector<std::int32_t> units{};  ///< those that are last most often over all windows, the most first
  std::vector<std::vector<double>> shares{};  ///< a row per window: the units, and then all others together
};
[[nodiscard]] PathShares path_shares(const OverTime& over_time, std::size_t most_units);

/// The unit that is last most often; null where there is none.
[[nodiscard]] const UnitPace* last_most_often(std::span<const UnitPace> units);

/// Throughput of twice as many ranks over this, as far as the elasticity here holds.
[[nodiscard]] double doubled(double elasticity);

/// One size beside the small run; nothing where one of the two is not known.
struct BesideSmallRun {
  std::optional<double>
      per_rank{};  ///< throughput of a rank over that of the small run, with what failures take at both
  std::optional<double> per_rank_running{};  ///< the same while both run; empty where nothing fails
  std::optional<double> p99_ratio{};         ///< of the step, over its median
  std::optional<double> p999_ratio{};        ///< the same
  std::optional<double> cv{};                ///< of the step
  std::optional<double> communication{};     ///< that nothing hides, of the step
  double twice_the_ranks =
      1;            ///< their throughput over this, by the forecast's job; where there is none, `doubled`
  double cost = 1;  ///< of a sample, over the small run; 1 where it is not known
  bool cost_moved = false;         ///< by more than 5 %, which somebody would see
  std::optional<double> energy{};  ///< of a sample, over the small run
  bool energy_moved = false;
  bool work_known = false;  ///< at both; the rest says nothing where it is not
  Seconds own_small{};      ///< work of a rank in a step
  Seconds own_here{};
  /// though every rank has as much to do: nothing where the work is split (strong scaling)
  bool own_moved = false;
  double communication_small = 0;  ///< of the step, as above
  double communication_here = 0;
  bool communication_moved = false;
};
/// Of the i-th size asked, which is not refused.
[[nodiscard]] BesideSmallRun beside_small_run(const Forecast& forecast, std::size_t i);

}  // namespace cox::forecast
