// SPDX-License-Identifier: Apache-2.0
/// \file
/// A law made of quantiles that something else can tell.
#pragma once

#include <functional>

#include "forecast/law/law.hpp"

namespace cox::forecast {

/// The value that is exceeded with a probability.
using UpperQuantile = std::function<Seconds(double)>;

/// Body by `body` quantiles, from `tail_from` on a generalised Pareto tail through those at 100 and 10,000 times smaller probability.
/// Pre: `upper` does not grow with its probability. Held by: src/forecast/scenario/alike_test.cpp
struct ThroughQuantiles {
  Law law;
  Tail tail{};
};
[[nodiscard]] ThroughQuantiles law_through(const UpperQuantile& upper, int body, double tail_from);

}  // namespace cox::forecast
