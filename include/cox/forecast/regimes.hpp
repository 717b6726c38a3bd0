// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where adding ranks stops to pay: boundaries between regimes of throughput, and which mechanism makes each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/forecast/scaling_job.hpp"

namespace cox::forecast {

/// By eps = d ln throughput / d ln ranks.
enum class Regime : std::uint8_t {
  Linear,      ///< at least 0.95
  Sublinear,   ///< 0.5 to 0.95
  PostLinear,  ///< 0 to 0.5
  Collapse,    ///< below 0: more ranks do less
};
inline constexpr double kLinearAbove = 0.95;
inline constexpr double kSublinearAbove = 0.5;
[[nodiscard]] Regime regime_of(double elasticity);
[[nodiscard]] std::string_view name_of(Regime regime);  ///< `linear`, `sublinear`, `post-linear`, `collapse`

/// A size, or on which side of the range it lies.
struct RegimeBoundary {
  enum class Place : std::uint8_t { Below, Inside, Above } place = Place::Above;
  std::int64_t ranks = 0;  ///< Inside: the size; else the end of the range
  [[nodiscard]] bool inside() const { return place == Place::Inside; }
  bool operator==(const RegimeBoundary&) const = default;
};

/// eps passes a level.
struct Crossing {
  double level = 0;  ///< 0.95, 0.5 or 0
  std::int64_t ranks = 0;
  bool falling = true;
};

/// Throughput is higher than on both sides.
struct Peak {
  std::int64_t ranks = 0;
  double throughput = 0;
};

/// One curve, read.
struct RegimeMap {
  std::vector<Crossing> crossings{};  ///< ascending by size
  std::vector<Peak> peaks{};          ///< inside the range, ascending by size
  RegimeBoundary n1{};                ///< first below 0.95
  RegimeBoundary n2{};                ///< first below 0.5
  RegimeBoundary n_star{};            ///< where throughput is highest; at an end of the range it is beyond
};

struct RegimeRange {
  std::int64_t from = 1;
  std::int64_t to = 65'536;
  int per_doubling = 8;  ///< sizes looked at; boundaries between them are bisected to a rank
};

/// All crossings of a curve. What goes up and down between two sizes looked at is not seen.
/// Pre: 1 <= from < to (asserted). Cost: per_doubling log2(to / from) + 20 per crossing calls.
/// Held by: src/forecast/regimes/regimes_test.cpp
[[nodiscard]] RegimeMap map_regimes(const ScalingJob& job, const RegimeRange& range,
                                    MechanismSet on = kEveryMechanism);

/// Where a boundary would be with one mechanism off. Moves do not add up: two may hide each other.
struct MovedBoundary {
  std::string mechanism{};
  RegimeBoundary at{};
};

/// A boundary with its band and its cause.
struct TransitionBand {
  RegimeBoundary value{};
  RegimeBoundary low{};   ///< 5 % of the replicates lie below
  RegimeBoundary high{};  ///< 5 % above
  /// The same where all ranks share something, which one size does not tell; as `low`, `high` where several sizes do.
  RegimeBoundary shared_low{};
  RegimeBoundary shared_high{};
  double above = 0;  ///< share of replicates that do not reach it in the range: censored, not dropped
  double below = 0;  ///< share that are beyond it from the first size on
  double cost = 0;   ///< cost of a sample there over that at the first size: ranks / throughput
  std::string
      because{}; /**< the mechanism whose absence moves it most; for N* in weak scaling only one that can make
                            throughput fall. Empty = none moves it */
  std::vector<MovedBoundary> without{};  ///< in the order of the job's mechanisms
};

struct Regimes {
  bool weak = true;
  RegimeRange range{};
  RegimeMap map{};
  TransitionBand n1{};
  TransitionBand n2{};
  TransitionBand n_star{};
  int replicates = 0;
  std::vector<std::string> notes{};  ///< what a reader could take wrongly: one sentence each
};

/// Boundaries with bands over `replicates` (the job with its parameters drawn again; none = no band: low = high = value), and over
/// `shared`, and with the mechanism that makes each.
/// `weak`: the batch grows with the job. Then jitter, tails, detours, collisions and throttling (`Reach::Flattens`) are
/// never named as what makes throughput fall.
/// Cost: (1 + mechanisms + replicates) x that of `map_regimes`. Threads: same result for any number.
/// Held by: src/forecast/regimes/regimes_test.cpp
[[nodiscard]] Regimes regimes_of(const ScalingJob& job, const RegimeRange& range, bool weak = true,
                                 std::span<const ScalingJob> replicates = {}, int threads = 1,
                                 std::span<const ScalingJob> shared = {});

}  // namespace cox::forecast
