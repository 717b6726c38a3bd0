// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a calibrated Scenario, simulated at the size that was measured, gives the step times that were recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// A figure of the recorded step times, beside what the simulations give.
/// Of step times; `LastMostOften`: part of the steps in which the same rank is last.
enum class GoodnessMeasure : std::uint8_t { P50, P95, P99, Cv, LagCorrelation, LastMostOften };

struct GoodnessFigure {
  GoodnessMeasure measure = GoodnessMeasure::P50;
  std::string name{};  ///< `p50`, `p95`, `p99`, `cv`, `lag-1 correlation`, `last most often`
  double recorded = 0;
  double simulated = 0;  ///< median of the simulations
  double low = 0;        ///< what 99.5 % of more simulations would lie within
  double high = 0;
  std::string unit{};  ///< `s`, or empty for ratios
  bool inside = true;
};

/// The comparison. `reproduces` where distance and all figures are what the model itself gives by chance.
struct Goodness {
  double distance = 0;  ///< Kolmogorov: largest difference of the two distributions of step times
  double limit = 0;     ///< what 99.75 % of more simulations would stay below
  /// Simulated runs differ among themselves by so much that recorded steps could hardly be outside.
  [[nodiscard]] bool has_power() const { return limit < 0.5; }
  std::vector<GoodnessFigure> figures{};
  struct Pair {
    Seconds recorded{};
    Seconds simulated{};
  };
  std::vector<Pair> quantiles{};  ///< of both, at 1, 2, ... 99 %
  /// Mean steps of the simulated runs: 90 % of them, and of the one that is nearest to the recorded mean.
  struct Means {
    Seconds recorded{};
    Seconds low{};
    Seconds high{};
    Seconds nearest{};
    std::uint64_t seed = 1;  ///< of the nearest
    /// They differ by what each run draws for good, by more than a step more or less does.
    [[nodiscard]] bool differ() const { return high - low > kDiffer * recorded; }
    static constexpr double kDiffer = 0.05;
  };
  Means means{};
  bool reproduces = false;
  std::string because{};  ///< what does not fit and what that points to; empty where it reproduces
  int simulations = 0;
};

struct GoodnessOptions {
  int simulations = 40;
  std::int64_t most_steps = 2000;  ///< of each simulation
  int threads = 0;
  int synchronisations = 1;  ///< steps of the Scenario that are one recorded step
};

/// Simulates `calibrated` with so many seeds and compares. Parameters are not fitted again to each simulation, so the
/// limit is a little wide: a model that is refused is wrong, one that is not may still be.
/// Source:  parametric bootstrap of the Kolmogorov distance (Stute, Manteiga, Quindimil 1993); Massey's tables do not
///          hold where parameters were fitted.
/// Errors:  those of `simulate::simulate`. Cost: simulations x steps x ranks draws.
/// Held by: src/forecast/answer/goodness_test.cpp
[[nodiscard]] Result<Goodness> compare_steps(const model::Scenario& calibrated, const Sample& recorded,
                                             const GoodnessOptions& options = {});

}  // namespace cox::forecast
