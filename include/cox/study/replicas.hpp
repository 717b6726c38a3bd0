// SPDX-License-Identifier: Apache-2.0
/// \file
/// Means and medians over seeds, with their intervals. Pre: two values at least (asserted).
/// Held by: src/study/compute/studies_test.cpp
#pragma once

#include <string>
#include <vector>

#include "cox/study/answer.hpp"

namespace cox::study {

/// Adds the mean of `sample` with Student's half width (95 %).
void add_mean(Computation& out, std::string name, Dimension d, const std::vector<double>& sample);
/// Adds the median of `sample`; half width: to the farther of the two ranks that enclose the law's median
/// with 95 %.
void add_median(Computation& out, std::string name, Dimension d, std::vector<double> sample);

}  // namespace cox::study
