// SPDX-License-Identifier: Apache-2.0
/// \file
/// Samples of one job at other sizes, as they are printed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/project/project.hpp"
#include "forecast/sample/sample.hpp"
#include "forecast/ways/overlapped_rest.hpp"
#include "forecast/ways/several_sizes.hpp"

namespace cox::forecast {

/// One size does not tell growth. Of 30 published weak scalings half grow by more than N^0.03 and 26 by less than N^0.09, with what
/// parts tell in it; jobs on one shared host and one shared link grew by N^0.3 and N^0.45 (docs/concepts/forecasting.md).
/// What is not divided where the whole is (strong scaling) is thought, not measured.
inline constexpr GrowthPrior kOneSizeGrowth{
    .usual = 0.03, .most = 0.5, .undivided = 0.01, .most_undivided = 0.5};

/// What samples say of other sizes, and how.
struct SampleAnswer {
  Parts parts{};
  ProjectOptions
      project{};  ///< as given, with the prior on growth and the price of communication where one size was seen
  std::vector<Way> ways{};  ///< of three sizes and more
  double missed =
      0;  ///< relative, of several samples: how far one that was measured is outside the band there; it is in all bands
  Projection projection{};
  Seconds
      hidden{};  ///< of a step, by work, where it is not known when it surfaces: in the bands of larger sizes
  /// Takes communication beside work into the answer, and what is said of it before all else.
  void take(OverlappedRest beside);
};

/// How far times lie outside their bands, as a part of the end that they are beyond: the most of all. A band that is not above zero,
/// or not finite, tells nothing of its time, and leaves the others. Pre: a band for each time (asserted).
/// Held by: SampleAnswer.ABandThatIsNotFiniteLeavesTheOtherSizesTheirMiss
[[nodiscard]] double missed_by(std::span<const Seconds> seen, std::span<const TimeBand> bands);

/// So few times say nothing of how they are spread: forecast-001.
[[nodiscard]] Status check_enough(std::span<const Sample> samples);

/// Calibrates, compares sizes, projects, and holds ways against the largest size: the numbers that `cox forecast` prints, without
/// what it prints beside. `samples` ascend by size.
///
/// Errors:  those of `calibrate` and `check_enough`. Cost: one calibration (two of three sizes and more), 0.2 ms x sizes x replicates.
/// Held by: bench/forecast_sizes.cpp, src/forecast/ways/sample_answer_test.cpp
[[nodiscard]] Result<SampleAnswer> answer_samples(std::span<const Sample> samples,
                                                  const std::vector<std::int64_t>& sizes,
                                                  ProjectOptions project);

}  // namespace cox::forecast
