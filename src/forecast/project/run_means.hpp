// SPDX-License-Identifier: Apache-2.0
/// \file
/// What lasts: how far the mean of one run is from the mean over runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cox/base/units.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/law/law.hpp"
#include "forecast/project/nests.hpp"

namespace cox::forecast {

/// Deviation of one run from the mean over runs: ranks' and nodes' lasting parts, each with all else fresh.
/// Source: Hoeffding 1940 (`between_runs`). Cost: 0.3 ms a part that lasts. Held by: src/forecast/project/run_means_test.cpp
[[nodiscard]] Seconds lasting(const Parts& parts, const std::vector<PositionLaws>& laws, std::int64_t ranks,
                              double factor);

/// How the means of runs lie where what lasts is not normal: as the slowest by that alone, of ranks or of nodes, whichever vary more, times
/// `part` of it: the rest of a step hides some of what lasts.
struct RunMeans {
  Law slowest{};
  double part = 1;
  /// From their mean, at this place of them: 0.05 = one in twenty is below.
  [[nodiscard]] Seconds away(double place) const { return part * (slowest.quantile(place) - slowest.mean()); }
};

/// Empty = all that lasts is normal, or nothing does. Cost: that of `lasting`, twice. Held by: src/forecast/project/run_means_test.cpp
[[nodiscard]] std::optional<RunMeans> run_means(const Parts& parts, const std::vector<PositionLaws>& laws,
                                                std::int64_t ranks, double factor);

}  // namespace cox::forecast
