// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a step has beside own work, at a size: as estimated, and drawn.
#pragma once

#include <cstdint>

#include "forecast/calibrate/parts.hpp"
#include "forecast/project/nests.hpp"
#include "forecast/project/project.hpp"

namespace cox::forecast {

/// In the space of parameters of one draw, beside those of positions.
inline constexpr std::uint64_t kWhole = 1 << 20;
enum WholeDraw : std::uint64_t {
  kModel,
  kBetween,
  kSampling,
  kRest,
  kRestGrowth,
  kShare = kRestGrowth + 2,
  kSlowDown,
  kBeyondGrowth,
  kUsualGrowth = kBeyondGrowth + 2,
  kSharedGrowth,
  kBeyond,
  kUndivided,
  kSharedUndivided
};

/// Communication: as `options` price it, else as sizes tell, else as measured and up to twice that.
[[nodiscard]] TimeEstimate rest_at(const Parts& parts, std::int64_t ranks, const ProjectOptions& options);
[[nodiscard]] double drawn_rest(const Parts& parts, std::int64_t ranks, const ProjectOptions& options,
                                const DrawKey& key);

/// What steps of several sizes took beyond the parts, at another size. Held by: src/forecast/project/project_test.cpp, all
[[nodiscard]] double beyond_at(const Parts& parts, std::int64_t ranks);
[[nodiscard]] double drawn_beyond(const Parts& parts, std::int64_t ranks, const DrawKey& key);

}  // namespace cox::forecast
