// SPDX-License-Identifier: Apache-2.0
// What a long simulation could do without.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cox/simulate/outcome.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate {

std::optional<std::vector<std::string>> left_out_without_links(const model::Scenario& scenario) {
  if (scenario.job.workload() != model::Workload::Training || !scenario.policy.in_step()) return std::nullopt;
  const auto plan = training::Plan::make(scenario);
  if (!plan || plan->network() == nullptr) return std::nullopt;
  model::Scenario quick = scenario;
  quick.engine = model::EngineKind::MaxPlus;
  quick.plays_links = false;
  quick.failures = {};
  quick.start = {};
  quick.job.steps = quick.replicas = 1;
  std::erase_if(quick.noise,
                [](const model::NoiseSource& n) { return n.pattern == model::NoisePattern::Once; });
  auto out = simulate(quick, {.threads = 1});
  if (!out || out->engine != model::EngineKind::MaxPlus) return std::nullopt;
  return std::move(out->not_modelled);
}

}  // namespace cox::simulate
