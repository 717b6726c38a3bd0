// SPDX-License-Identifier: Apache-2.0
/// \file
/// Samples of a job whose whole work is divided by the ranks (strong scaling), as if each had the largest one's part of it.
#pragma once

#include <span>

#include "cox/base/result.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/calibrate/parts.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// `calibrate`; of a whole (strong scaling) from samples whose mean own work is times ranks over the largest one's, so that what is divided is level
/// over sizes, and what is not is a line: own work of a + b / N is found as it is. What a position varies by goes with its own work to a power
/// of its own within [0, 1], told by the smallest and the largest size; of one size it is divided as the work is.
///
/// Errors:  those of `calibrate`. Cost: that, and a copy. Held by: src/forecast/ways/sample_answer_test.cpp
[[nodiscard]] Result<Parts> parts_of_samples(std::span<const Sample> samples, WorkOf work);

}  // namespace cox::forecast
