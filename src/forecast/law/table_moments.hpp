// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integrals over a table of a distribution function.
#pragma once

#include "forecast/law/score_table.hpp"

namespace cox::forecast {

/// In seconds. Beyond the last point 1 - G is taken to fall as a power of the distance from the first, with the slope that it has there.
struct TableMoments {
  double mean = 0;
  double deviation = 0;
};
[[nodiscard]] TableMoments moments_of(const ScoreTable& table);

/// What one e-fold of those that the table is the slowest of adds to its mean, in seconds.
[[nodiscard]] double growth_of(const ScoreTable& table);

/// The same of those that `growing` is the slowest of, where the job waits for all of `table`, of which they are a part.
[[nodiscard]] double growth_of(const ScoreTable& table, const ScoreTable& growing);

}  // namespace cox::forecast
