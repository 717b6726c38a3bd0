// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "cox/simulate/outcome.hpp"

#include "forecast/checkpoints/days.hpp"

namespace cox::forecast {
namespace {

tl::unexpected<Error> does_not_fit(std::string message, std::string hint) {
  return fail({.code = Errc::InvalidInput,
               .id = "forecast-031",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = std::nullopt});
}

}  // namespace

Result<model::Scenario> at_nodes(const model::Scenario& scenario, std::int64_t nodes, BatchRule rule) {
  const int given = nodes_of(scenario);
  if (nodes == given) return scenario;
  const auto* job = std::get_if<model::TrainingJob>(&scenario.job.work);
  if (job == nullptr)
    return does_not_fit("only a job of training steps has another size: its layout says what a rank does",
                        "give a scenario with workload = \"training\"");
  if (!scenario.job.places.packed() || !scenario.cluster.classes.empty())
    return does_not_fit("the scenario names its nodes, so those of another size are not known",
                        "leave out [job.places] and cluster.classes");
  model::Scenario out = scenario;
  auto& work = std::get<model::TrainingJob>(out.job.work);
  const model::Layout& l = job->layout;
  const std::int64_t each = std::int64_t{l.tensor} * l.pipeline * l.context;
  const std::int64_t ranks = nodes * scenario.cluster.devices_per_node;
  if (nodes < 1 || ranks % each != 0 || (ranks / each) % job->replicas_per_worker() != 0)
    return does_not_fit(
        fmt::format("{} nodes of {} devices hold no whole number of replicas of {} devices", nodes,
                    scenario.cluster.devices_per_node, each * job->replicas_per_worker()),
        "ask for sizes that do");
  out.cluster.nodes = static_cast<int>(nodes);
  work.layout.data = static_cast<int>(ranks / each);
  if (rule == BatchRule::Grows) return out;
  const std::int64_t batches = std::int64_t{l.data} * job->micro_batches;
  if (batches % work.layout.data != 0)
    return does_not_fit(fmt::format("{} micro-batches cannot be shared out evenly among {} replicas", batches,
                                    work.layout.data),
                        "ask for sizes that divide them, or let the batch grow");
  work.micro_batches = static_cast<int>(batches / work.layout.data);
  return out;
}

BudgetAt budget_of(const model::Scenario& scenario, double tokens_per_step, BatchRule rule, int threads) {
  return [=](std::int64_t nodes) -> Result<StepBudget> {
    COX_TRY(model::Scenario at, at_nodes(scenario, nodes, rule));
    at.failures = {};
    at.start = {};
    COX_TRY(const simulate::Outcome outcome, simulate::simulate(at, {.threads = threads}));
    StepBudget out;
    std::int64_t ranks = 0;
    for (const simulate::GroupTime& g : outcome.groups) {
      out.compute += g.busy * static_cast<double>(g.ranks);
      out.communication += g.exposed * static_cast<double>(g.ranks);
      out.waiting += g.waiting * static_cast<double>(g.ranks);
      ranks += g.ranks;
    }
    if (ranks == 0)
      return does_not_fit("the policy has no steps that all ranks share", "give a synchronous scenario");
    const double each = 1.0 / static_cast<double>(ranks);
    const double grown = static_cast<double>(nodes) / nodes_of(scenario);
    return StepBudget{.compute = out.compute * each,
                      .communication = out.communication * each,
                      .waiting = out.waiting * each,
                      .tokens = tokens_per_step * (rule == BatchRule::Grows ? grown : 1)};
  };
}

BudgetAt budget_of(const ModelWork& work) {
  return [work](std::int64_t nodes) -> Result<StepBudget> {
    const double devices = static_cast<double>(nodes) * work.devices_per_node;
    const Flops all(6 * work.parameters * work.tokens_per_step / devices / work.utilisation);
    const Seconds compute = all / work.peak;
    return StepBudget{.compute = compute,
                      .communication = compute * work.exposed,
                      .waiting = {},
                      .tokens = work.tokens_per_step};
  };
}

}  // namespace cox::forecast
