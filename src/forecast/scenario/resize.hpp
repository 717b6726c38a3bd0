// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Scenario at another number of ranks, by one stated rule for each of its parts.
#pragma once

#include <cstdint>
#include <string>

#include "cox/base/result.hpp"
#include "cox/forecast/project.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// Whether the rules of `resized` make other sizes of it.
/// Errors: forecast-004: it names its nodes (`job.nodes`, a file of places), has neighbours (which are on named nodes), is a graph or
///         a torus of another shape than the rule's, or a pipeline on nodes of classes; in weak scaling, it fixes its batch.
[[nodiscard]] Status check_resizable(const model::Scenario& scenario, Scaling scaling = Scaling::Weak);

/// Why a batch that is fixed (`job.global_batch`) is not shared out among so many ranks; empty = it is, or none is fixed.
[[nodiscard]] std::string not_shared_out(const model::Scenario& scenario, std::int64_t ranks);

/// Why it is no job of so many ranks: that, or noise names a rank that they do not have. Empty = it is one; without its noise it may be one all
/// the same. Held by: src/forecast/scenario/resize_test.cpp
[[nodiscard]] std::string no_such_size(const model::Scenario& scenario, std::int64_t ranks);

/// Ranks by which it grows: whole nodes, replicas and groups of experts.
[[nodiscard]] std::int64_t unit_of(const model::Scenario& scenario);

/// With so many ranks. More data parallel replicas, all else of the layout the same. Switches, rails and pods as large as before,
/// more of them. Torus: as many dimensions, whole extents with the smallest sum. Dragonfly: more groups of as many routers and hosts,
/// one cable between any two groups. Classes: as large a part of the nodes, rounded up, in their order and the first of all.
/// Strong scaling: what a rank computes, and what goes with its sequences (activations, input), is its part of the whole; gradients, the
/// optimizer's step and noise that is stated as a time stay. Of a fixed batch each replica has fewer micro-batches, as `cox simulate
/// --scaling` plays it, and all else stays.
/// Pre: `ranks` is a multiple of `unit_of`, `check_resizable` holds, `no_such_size` is empty. Held by:
/// src/forecast/scenario/resize_test.cpp
[[nodiscard]] model::Scenario resized(model::Scenario scenario, std::int64_t ranks,
                                      Scaling scaling = Scaling::Weak);

}  // namespace cox::forecast
