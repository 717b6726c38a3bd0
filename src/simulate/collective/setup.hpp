// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job of collectives made ready: its schedule, prices, noise and places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/collective/prices.hpp"

namespace cox::simulate {

/// Everything that replicas share.
struct CollectiveSetup {
  const model::Scenario& scenario;
  const SimulateOptions& options;
  model::EngineKind engine;
  model::Schedule schedule;
  LinkCosts costs;                    ///< max-plus engine, which keeps a reference to it
  Noise noise;                        ///< of the first seed
  std::unique_ptr<Network> network;   ///< flow engine
  std::vector<int> devices;           ///< of the ranks, for the first seed
  bool striped = false;               ///< left to max-plus by `stripes`
  bool meets = false;                 ///< max-plus: messages may meet in a port or card (meetings.hpp)
  std::optional<WholePrice> whole{};  ///< instead of what its rounds come to
  model::Compressed carried{};        ///< what each rank does before and after it
  Bytes uncompressed{};               ///< zero: it is as it was asked for
};

/// Errors: simulate-003 (an order of the ranks that the engine does not have), those of its parts.
[[nodiscard]] Result<CollectiveSetup> set_up(const model::Scenario& scenario,
                                             const model::CollectiveSpec& spec, model::EngineKind engine,
                                             const SimulateOptions& options);

[[nodiscard]] inline const model::CollectiveJob& collective_of(const model::Scenario& s) {
  return s.job.as<model::CollectiveJob>();
}

/// Whether no source of noise is on.
[[nodiscard]] inline bool is_quiet(const model::Scenario& s) {
  return std::ranges::all_of(s.noise, &model::NoiseSource::off);
}

/// With the ranks on these devices.
[[nodiscard]] Result<Noise> collective_noise(const model::Scenario& s, const std::vector<int>& devices,
                                             std::uint64_t seed);

/// Where every place of the schedule sits. `order`: the devices of the ranks; taken as they come, or shuffled (Fisher-Yates) by the scenario's own
/// draws, so that every engine sees one order. Then `add_servers`.
[[nodiscard]] std::vector<int> devices_by_place(const model::Scenario& s, std::uint64_t seed,
                                                std::vector<int> order, int participants);

/// On one node servers and switches are inside it, too. The channels of a ring share ports.
[[nodiscard]] LinkCosts link_costs(const model::Scenario& s, const model::Schedule& schedule);

}  // namespace cox::simulate
