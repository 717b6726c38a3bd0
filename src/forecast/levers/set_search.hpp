// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cheapest set of levers for a target, whatever levers change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "forecast/levers/levers.hpp"

namespace cox::forecast {

/// Sets that are behind it, and all that there are.
using SearchProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// One lever, as the search sees it.
struct Choice {
  std::string name{};
  std::string part{};  ///< two of one part are not combined
  std::string why_not{};
  double price = 1;
};

/// The job with the levers at these places, ascending.
using EffectOf = std::function<LeverEffect(const std::vector<std::size_t>& set)>;

/// How far a job is from the target: `LeverEffect::of_target`. Simulated: the mean of logarithms over seeds, Student's t; by parts: the value, and where
/// nine in ten draws lie; of neither: no interval. Held by: src/forecast/levers/set_search_test.cpp
[[nodiscard]] std::optional<LeverRatio> of_target(const LeverEffect& job, const Target& target,
                                                  const LeverEffect& as_it_is);

/// Fills `of_target` of each row. Held by: src/forecast/levers/set_search_test.cpp
void add_target(LeverTable& table, const Target& target);

/// Sets of up to three in the order of their price, of one price in that of their size; ends behind the price at which the target is
/// reached by all of its interval, of which that of least cost per sample is taken. Cost: one call a set, at most n + n^2/2 + n^3/6.
/// Held by: src/forecast/levers/set_search_test.cpp
/// `rough`, where there is one, says of each set at less cost whether it comes near: those that miss the target by more than a tenth (a
/// quarter of quantiles and spread), and are no nearer than others, are not asked for in full. `progress`: of the sets that there are.
[[nodiscard]] LeverSet cheapest_set(const std::vector<Choice>& choices, const LeverEffect& as_it_is,
                                    const Target& target, const EffectOf& effect_of,
                                    const EffectOf& rough = {}, const SearchProgress& progress = {});

}  // namespace cox::forecast
