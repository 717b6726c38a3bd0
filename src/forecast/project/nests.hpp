// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts as laws: one value of every parameter, or a draw of it from its interval.
#pragma once

#include <cstdint>
#include <vector>

#include "forecast/calibrate/parts.hpp"
#include "forecast/law/maximum.hpp"
#include "forecast/project/project.hpp"

namespace cox::forecast {

/// One position of one role as parameters.
struct PositionLaws {
  Law residual;
  Law pooled;
  Law group_step{};
  Seconds level{};
  Seconds rank{};
  Seconds node{};
  Law rank_law{};  // of PositionParts
  Law node_law{};
  Seconds step{};
  Seconds node_step{};
  double skewness = 0;
  double slow_share = 0;
  Seconds slow_extra{};
  Growth growth = Growth::None;
  Seconds slope{};
  double spread_power = 1;  // of PositionParts
};

/// Draws by counter: (seed, replicate, position, parameter), so that every size sees the same draw.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t replicate = 0;
  std::uint64_t position = 0;
};

/// What lasts, of this deviation: normal, or of a law that a Scenario states.
[[nodiscard]] Law lasting_law(Seconds deviation, const Law& stated);

[[nodiscard]] PositionLaws as_estimated(const PositionParts& part);
[[nodiscard]] PositionLaws drawn(const PositionParts& part, const DrawKey& key);

/// In (0, 1).
[[nodiscard]] double uniform_of(const DrawKey& key, std::uint64_t parameter);
[[nodiscard]] double normal_of(const DrawKey& key, std::uint64_t parameter);

/// The interval of its tail's shape reaches 1: then there is no mean.
[[nodiscard]] bool may_have_no_mean(const PositionParts& part);

/// Nodes and ranks with parts of their own, or one law for all ranks; times `factor`.
[[nodiscard]] Nest nested(const PositionLaws& laws, const Parts& parts, double factor);
[[nodiscard]] Nest pooled(const PositionLaws& laws, const Parts& parts, double factor);

/// A time at N as fitted over sizes: a draw takes one of the laws by its share, and a slope of it.
[[nodiscard]] const GrowthFit* best_growth(const std::vector<GrowthFit>& fits);
[[nodiscard]] GrowthFit drawn_growth(const std::vector<GrowthFit>& fits, const DrawKey& key,
                                     std::uint64_t parameter);

}  // namespace cox::forecast
