// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job of collectives, one after another with work in between: the workload
/// of `job.workload = "collective"`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// The same errors as `simulate`. Every replica has its own seed: `scenario.seed` + number of the replica.
[[nodiscard]] Result<Outcome> simulate_collectives(const model::Scenario& scenario, model::EngineKind engine,
                                                   const SimulateOptions& options);

/// Whether the places that the scenario says are seen by who plays links, and neighbours by who has a common step.
/// Errors: simulate-003.
[[nodiscard]] Status check_places(const model::Scenario& scenario, bool plays_links, bool has_steps);

/// What it leaves out.
inline constexpr std::string_view kNcclKnowsNoFabric =
    "links, switches and routes of the fabric: NCCL's tuning model knows collectives as a whole";
/// The sentence of an Outcome that names what NCCL's tuning model chose for `what`.
[[nodiscard]] std::string nccl_note(std::string_view what, const model::NcclEstimate& made,
                                    const model::NcclCost& cost);

inline constexpr std::string_view kTableKnowsNoNeighbours =
    "links that collectives share with what runs at the same time: measured times are those of one alone";
/// A time that was looked up, or its dip, by a draw of its own for each step and number.
[[nodiscard]] Seconds drawn_time(const model::LookedUp& whole, std::uint64_t seed, std::int64_t step,
                                 std::int64_t number);
/// What was asked of a table below its smallest and above its largest size.
void table_notes(std::optional<Bytes> below, std::optional<Bytes> above, std::vector<std::string>& notes);
/// The sentence of an Outcome about sums of `bytes` that are sent with fewer.
[[nodiscard]] std::string compression_note(const model::Compressed& sum, Bytes bytes);

/// Puts servers and switches, the participants behind the ranks, on devices of ranks, evenly spread.
/// `rank_of[place]` has the ranks and gets the others.
void add_servers(std::vector<int>& rank_of, int participants);

}  // namespace cox::simulate
