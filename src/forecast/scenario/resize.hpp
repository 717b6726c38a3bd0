// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Scenario at another number of ranks, by one stated rule for each of its parts.
#pragma once

#include <cstdint>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// Whether the rules of `resized` make other sizes of it.
/// Errors: forecast-004: it names its nodes (`job.nodes`, a file of places), has neighbours (which are on named nodes), is a graph or
///         a torus of another shape than the rule's, or a pipeline on nodes of classes.
[[nodiscard]] Status check_resizable(const model::Scenario& scenario);

/// Ranks by which it grows: whole nodes, replicas and groups of experts.
[[nodiscard]] std::int64_t unit_of(const model::Scenario& scenario);

/// With so many ranks. More data parallel replicas, all else of the layout the same. Switches, rails and pods as large as before,
/// more of them. Torus: as many dimensions, whole extents with the smallest sum. Dragonfly: more groups of as many routers and hosts,
/// one cable between any two groups. Classes: as large a part of the nodes, rounded up, in their order and the first of all.
/// Pre: `ranks` is a multiple of `unit_of`, `check_resizable` holds. Held by: src/forecast/scenario/resize_test.cpp
[[nodiscard]] model::Scenario resized(model::Scenario scenario, std::int64_t ranks);

}  // namespace cox::forecast
