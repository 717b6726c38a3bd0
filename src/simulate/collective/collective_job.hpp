// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job of collectives, one after another with work in between: the workload
/// of `job.workload = "collective"`.
#pragma once

#include <optional>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// For `not_modelled`, where max-plus plays the protocol `eager` and messages may meet.
inline constexpr std::string_view kEagerWaitsForNoPort =
    "eager messages wait for no port: what a rank sends, or receives, at the same time has its port or card to itself each "
    "(protocol eager-gap serves in turn, --engine flow shares)";

/// The same errors as `simulate`. Every replica has its own seed: `scenario.seed` + number of the replica.
[[nodiscard]] Result<Outcome> simulate_collectives(const model::Scenario& scenario, model::EngineKind engine,
                                                   const SimulateOptions& options);

/// What `auto` makes of such a job where its scenario says nothing that shares links.
struct PortChoice {
  bool played = false;  ///< on links, for the sake of its ports
  bool missed = false;  ///< messages may meet, and max-plus gives each all of a port
};

/// Nothing where it is refused when it is simulated. Cost: that of `may_meet`.
[[nodiscard]] std::optional<PortChoice> port_choice(const model::Scenario& scenario);

}  // namespace cox::simulate
