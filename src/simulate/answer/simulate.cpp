// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/simulate/event.hpp"
#include "cox/simulate/goal.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/switches.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/collective/collective_job.hpp"
#include "simulate/collective/operation_job.hpp"
#include "simulate/paced/job.hpp"

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
  if (s.failures.happen())
    return not_possible("[failures] needs job.workload = \"training\"",
                        "remove [failures], or describe the training job");
  return {};
}

/// The way of a message through the cables of a graph file is not derived: engines that take `cost.across`
/// need it, or messages would cost nothing.
Status check_graph(const model::Scenario& s) {
  if (s.fabric.kind != model::FabricKind::Graph || s.cluster.nodes == 1 || plays_links(s, s.job.workload()) ||
      s.across.per_byte > TimePerByte{})
    return {};
  return not_possible(
      "what a message through the graph file costs is not known without the flow engine",
      s.protocol == model::Protocol::LogGops
          ? "write cost.across.latency and cost.across.bandwidth, or another cost.protocol: loggops plays no links"
          : "write cost.across.latency and cost.across.bandwidth, or say --engine flow for collectives and traces");
}

/// A GOAL schedule under LogGOPS with the costs of the scenario.
Result<Outcome> simulate_schedule(const model::Scenario& s) {
  if (s.engine != EngineKind::Auto && s.engine != EngineKind::Event)
    return not_possible("a GOAL schedule is simulated by the event engine",
                        "leave `engine` out, or say event");
  const model::MessageCost& cost = s.across;
  const LogGops parameters{.latency = cost.latency,
                           .overhead = cost.overhead,
                           .gap = cost.gap,
                           .gap_per_byte = cost.per_byte,
                           .overhead_per_byte = cost.overhead_per_byte,
                           .eager_limit = cost.eager_limit};
  COX_TRY(const EventOutcome made, simulate_goal(s.job.as<model::GoalJob>().file, parameters));
  Outcome out;
  out.engine = EngineKind::Event;
  out.protocol = s.protocol;
  out.ranks = static_cast<std::int64_t>(made.finish.size());
  out.messages = made.messages;
  for (const Seconds finish : made.finish) out.total = std::max(out.total, finish);
  out.step_ends = {out.total};
  out.totals = {out.total};
  out.over_replicas = spread_of(out.totals);
  out.notes.push_back(
      "a schedule under LogGOPS: latency and time per byte of the scenario, no fabric, no noise");
  return out;
}

}  // namespace

namespace {

Result<Outcome> simulate_job(const model::Scenario& scenario, const SimulateOptions& options) {
  const EngineKind engine = engine_for(scenario);
  COX_CHECK(check_graph(scenario));
  switch (scenario.job.workload()) {
    case model::Workload::Training:
      if (scenario.engine == EngineKind::ClosedForm)
        return not_possible(
            fmt::format("the {} engine does not run training", model::name_of(scenario.engine)),
            "leave `engine` out: max-plus, or event where the policy needs it");
      if (scenario.engine == EngineKind::Flow && scenario.price != model::CollectivePrice::Rounds)
        return not_possible("the flow engine plays rounds, and cost.form has none", "leave `engine` out");
      if (scenario.engine == EngineKind::Flow && !scenario.policy.in_step() &&
          !plays_links(scenario, model::Workload::Training))
        return not_possible(
            fmt::format("the flow engine does not run policy \"{}\"", model::name_of(scenario.policy.kind)),
            "leave `engine` out: event");
      return simulate_training(scenario, options);
    case model::Workload::Goal:
      return simulate_schedule(scenario);
    case model::Workload::Chakra:
      return simulate_operations(scenario, engine, options);
    case model::Workload::Iteration:
      COX_CHECK(check_plain(scenario));
      return simulate_iterations(scenario, options);
    case model::Workload::Collective:
      break;
  }
  COX_CHECK(check_plain(scenario));
  if (engine == EngineKind::Event)
    return not_possible("the event engine runs schedules and training, not single collectives",
                        "leave `engine` out, or say max-plus or flow");
  return simulate_collectives(scenario, engine, options);
}

/// What is priced as if it met nobody: eager messages, and what one step leaves in ports and links for the next. What noise makes
/// shorter than its way is noted.
void say_overfull(const model::Scenario& s, Outcome& out) {
  const bool sends = out.busiest_port ? out.busiest_port->bytes > Bytes{} : out.messages > 0;
  if (sends && s.job.workload() != model::Workload::Collective && s.price == model::CollectivePrice::Rounds &&
      out.protocol == model::Protocol::Eager && out.engine == EngineKind::MaxPlus)
    out.not_modelled.emplace_back(kEagerWaitsForNoPort);  // of a collective it is said where they may meet
  if (s.job.workload() == model::Workload::Collective && s.job.steps > 1 &&
      out.protocol == model::Protocol::LogGops)
    out.not_modelled.emplace_back(
        "a step finds ports free that messages of the step before may still hold (loggops)");
  constexpr double kFull = 1.001;  // beyond what latencies and rounding do
  std::string name;
  double most = kFull;
  for (const LinkLoad& link : out.links)
    if (link.utilisation_ratio > most) {
      most = link.utilisation_ratio;
      name = link.name;
    }
  if (out.busiest_port && out.busiest_port->utilisation_ratio > most) {
    most = out.busiest_port->utilisation_ratio;
    name = out.busiest_port->name;
  }
  if (name.empty()) return;
  // By docs/concepts/noise.md that is no fault: the rate is then that of the mean.
  if (disturbs_messages(s)) {
    out.notes.push_back(fmt::format(
        "{} is taken {} of the time at the rate that is said: noise makes messages shorter than that rate allows, as it is the mean's",
        name, percent(most)));
    return;
  }
  out.not_modelled.push_back(fmt::format(
      "{} would be taken {} of the time: messages wait for no port, or a step finds ports and links free that the one before has "
      "not left yet; together the steps take at least {} longer",
      name, percent(most), percent(most - 1)));
}

/// What the scenario has of links, where nobody plays them. Of loggops and prices of wholes `not_modelled` has a line of its own
/// about links as such.
void say_unplayed(const model::Scenario& s, Outcome& out) {
  const std::vector<std::string> names = unplayed_mechanisms(s, out.last_end());
  const model::Workload w = s.job.workload();
  const bool chosen = s.engine != EngineKind::Auto && s.engine != EngineKind::Flow &&
                      w != model::Workload::Goal && w != model::Workload::Iteration;
  const bool shared = s.cluster.nodes > 1 && s.fabric.kind != model::FabricKind::FullBisection;
  const bool rounds = s.price == model::CollectivePrice::Rounds && s.protocol != model::Protocol::LogGops;
  if (names.empty() && !(chosen && shared && rounds)) return;
  model::Scenario by_flow = s;
  by_flow.engine = EngineKind::Flow;
  out.not_modelled.push_back(fmt::format(
      "{}: {} plays no links, each message has its way to itself{}",
      names.empty() ? "links of the fabric that messages share" : fmt::format("{}", fmt::join(names, ", ")),
      model::name_of(out.engine),
      rounds && s.protocol != model::Protocol::EagerGap && plays_links(by_flow, w)
          ? " (--engine flow plays them)"
          : ""));
}

}  // namespace

Result<Outcome> simulate(const model::Scenario& scenario, const SimulateOptions& options) {
  COX_TRY(Outcome out, simulate_job(scenario, options));
  say_overfull(scenario, out);
  say_unplayed(scenario, out);
  for (std::string& line : unmet_mechanisms(scenario)) out.notes.push_back(std::move(line));
  if (out.steps.count() > 0) return out;
  Seconds before{};
  for (const Seconds end : out.step_ends) {
    const Seconds step = std::max(end - before, Seconds{});
    if (std::isfinite(step.count())) out.steps.add(step.count());  // absurd inputs have infinite ends
    before = std::max(before, end);
  }
  return out;
}

}  // namespace cox::simulate
