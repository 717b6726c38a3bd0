// SPDX-License-Identifier: Apache-2.0
/// \file
/// Latency, bandwidth, ceiling and dips of one kind of collective, from its times by size.
#pragma once

#include <map>
#include <vector>

#include "forecast/calibrate/run_parameters.hpp"

namespace cox::forecast {

/// `sizes`: seconds of each operation, by bytes; reordered. Sizes that are not a factor of 2 apart do not part latency from
/// bandwidth: then each is a range, from nothing to all of the time. Pre: a size, and a time in each (asserted).
/// Held by: src/forecast/calibrate/run_parameters_test.cpp
[[nodiscard]] MessageFit fit_messages(model::Collective kind, std::int64_t ranks,
                                      std::map<Bytes, std::vector<double>>& sizes);

}  // namespace cox::forecast
