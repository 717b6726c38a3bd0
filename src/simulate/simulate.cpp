// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cox/simulate/event.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/collective_job.hpp"

namespace cox::simulate {
namespace {

using model::EngineKind;

tl::unexpected<Error> not_possible(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "simulate-003",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

/// Collectives know no policy and no failures: they have no parameters that could be old or lost.
Status check_plain(const model::Scenario& s) {
  if (s.policy.kind != model::PolicyKind::Synchronous)
    return not_possible("[policy] needs job.workload = \"training\"",
                        "remove [policy], or describe the training job");
  if (s.failures.node_mtbf > Seconds::zero())
    return not_possible("[failures] needs job.workload = \"training\"",
                        "remove [failures], or describe the training job");
  return {};
}

}  // namespace

Result<Outcome> simulate(const model::Scenario& scenario, const SimulateOptions& options) {
  switch (scenario.job.workload) {
    case model::Workload::Training:
      return simulate_training(scenario, options);
    case model::Workload::Goal:
    case model::Workload::Chakra:
      return simulate_recorded(scenario, options);
    case model::Workload::Collective:
      break;
  }
  COX_CHECK(check_plain(scenario));
  const EngineKind engine = engine_for(scenario);
  if (engine == EngineKind::Event)
    return not_possible("the event engine runs schedules and training, not single collectives",
                        "leave `engine` out, or say max-plus or flow");
  return simulate_collectives(scenario, engine, options);
}

}  // namespace cox::simulate
