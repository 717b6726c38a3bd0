// SPDX-License-Identifier: Apache-2.0
/// \file
/// What can be done about the terms of a job that is stated by them.
#pragma once

#include <vector>

#include "cox/forecast/stated_job.hpp"

#include "forecast/levers/by_parts.hpp"

namespace cox::forecast {

/// A lever for each term that has one, and for the job's control. They come before those of `part_levers`: what these halve is what is left.
/// Held by: src/forecast/levers/stated_levers_test.cpp
[[nodiscard]] std::vector<PartLever> stated_levers(const StatedJob& stated);

}  // namespace cox::forecast
