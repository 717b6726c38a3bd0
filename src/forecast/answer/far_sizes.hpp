// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sizes of a Scenario beyond those that are simulated whatever is asked: a few steps with their noise, where these are cheap.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cox/model/scenario.hpp"

#include "forecast/answer/simulated_sizes.hpp"

namespace cox::forecast {

/// Whether it has noise that recurs, and its links are neither shared nor disturbed.
[[nodiscard]] bool varies(const model::Scenario& scenario);

/// Four, sixteen, ... times as many ranks as `from` (the largest of `simulate_sizes`), up to the first that is not below `asked`, each three
/// times three steps; only those of which a step evaluates little, by how that grows up to `from`. What is simulated at a size is the same
/// whatever is asked. Where messages share links or are disturbed, and without noise, there is none: then the price of communication is
/// simulated as it is. Errors: none; what `simulate` refuses ends the list.
/// Cost: a second or two a size. Threads: same result for any number. Held by: src/forecast/answer/far_sizes_test.cpp
[[nodiscard]] std::vector<CheckedSize> simulate_far_sizes(
    const model::Scenario& scenario, std::int64_t from, std::int64_t asked,
    const std::function<TimeBand(std::int64_t ranks)>& forecast, int threads);

/// `near`, and beyond its sizes what steps of `far` take over that: ln of it goes smoothly from 0 at `from` to each size, and is level beyond
/// them. Empty where all agree. Held by: src/forecast/answer/far_sizes_test.cpp
[[nodiscard]] OverPartsAt over_parts_far(OverPartsAt near, std::int64_t from,
                                         const std::vector<CheckedSize>& far);

/// Beyond the largest of `simulated`, work that varies may hide more of what communication grows by: up to all that ranks wait for each other.
/// `rest`: the price of communication. Held by: src/forecast/answer/far_sizes_test.cpp
void widen_by_hidden(SizePoint& point, const CheckedSizes& simulated, const RestAt& rest);

}  // namespace cox::forecast
