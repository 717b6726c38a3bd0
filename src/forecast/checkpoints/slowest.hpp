// SPDX-License-Identifier: Apache-2.0
/// \file
/// Means over the slowest of many nodes.
#pragma once

#include <cstdint>
#include <functional>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// E[f(slowest of n)], generalised Pareto of `scale` and `shape`. Formula: with u = 1 - e^-v, the slowest is
/// scale ((1 - u^(1/n))^-shape - 1) / shape; Simpson's rule in v, where it grows slowly.
/// Held by: src/forecast/checkpoints/interruptions_test.cpp (the engine; H(n) of exponentials)
[[nodiscard]] double over_slowest(std::int64_t n, Seconds scale, double shape,
                                  const std::function<double(Seconds)>& f);

/// E[f(what a start takes)], every start: fixed + communicators + the slower of reading and the slowest node.
[[nodiscard]] double over_start(const model::Scenario& scenario, std::int64_t nodes,
                                const std::function<double(Seconds)>& f);
/// How long the first start of a job takes on average: docs/concepts/failures.md.
[[nodiscard]] Seconds mean_start(const model::Scenario& scenario, std::int64_t nodes);

}  // namespace cox::forecast
