// SPDX-License-Identifier: Apache-2.0
/// \file
/// The stream of a way on a scenario's cluster.
#pragma once

#include <cstdint>

#include "cox/learn/problem.hpp"
#include "cox/learn/way.hpp"
#include "cox/simulate/training.hpp"

#include "learn/drive/drive.hpp"

namespace cox::learn {

/// The scenario with the way's policy and steps, and with gradients as it packs them: in the problem's proportion.
[[nodiscard]] model::Scenario under(const model::Scenario& scenario, const Way& way,
                                    const model::Compression& wire, std::int64_t steps);
/// Of the problem's first gradient, as the way packs it.
[[nodiscard]] model::Compression wire_of(const Way& way, Problem& problem);

/// Those that deliver under the way: replicas, groups that share experts or a set of shards, or groups that meet in every step.
/// Errors: learn-002 (groups that do not divide the replicas), those of simulate.
[[nodiscard]] Result<int> workers_under(const model::Scenario& scenario, const Way& way);

/// Every event of one run of at most `steps` steps of each worker. Errors: those of simulate::stream_updates.
/// Held by: src/learn/answer/cluster_test.cpp
[[nodiscard]] Status stream_way(const model::Scenario& scenario, const Way& way,
                                const model::Compression& wire, std::int64_t steps, std::uint64_t seed,
                                const simulate::UpdateSink& sink, const Beside& beside = {});

}  // namespace cox::learn
