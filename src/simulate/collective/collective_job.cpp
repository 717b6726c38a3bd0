// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/collective_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cox/base/parallel.hpp"
#include "cox/model/closed_form.hpp"
#include "cox/simulate/spread.hpp"

#include "simulate/collective/meetings.hpp"
#include "simulate/collective/player.hpp"
#include "simulate/collective/port_loads.hpp"
#include "simulate/collective/prices.hpp"
#include "simulate/collective/refusal.hpp"
#include "simulate/collective/setup.hpp"
#include "simulate/collective/shared_cards.hpp"
#include "simulate/collective/unlike.hpp"
#include "simulate/flow/link_loads.hpp"
#include "simulate/flow/neighbours.hpp"
#include "simulate/flow/places.hpp"
#include "simulate/record/run_from_steps.hpp"

namespace cox::simulate {
namespace {

using model::EngineKind;

model::CollectiveSpec spec_of(const model::Scenario& s) {
  model::CollectiveSpec spec = collective_of(s).collective;
  if (spec.ranks == 0) spec.ranks = static_cast<int>(ranks_of(s.cluster, s.job.places));
  return spec;
}

/// What becomes of it by compression, if anything can; `spec` is then of what is sent.
std::optional<model::Compressed> carry(const model::Scenario& s, model::CollectiveSpec& spec) {
  const auto carried = model::compressed(spec.kind, spec.bytes, spec.ranks, collective_of(s).compression);
  if (!carried) return std::nullopt;
  spec.kind = carried->kind;
  spec.bytes = carried->bytes;
  return *carried;
}

Result<Outcome> by_closed_form(const model::Scenario& s, const model::CollectiveSpec& spec) {
  const auto no_formula = [](std::string why) {
    return not_possible(fmt::format("the closed form cannot do this: {}", why),
                        "leave `engine` out, or say --engine max-plus");
  };
  if (collective_of(s).compression.kind != model::Compressor::None)
    return no_formula("it knows no packing and unpacking");
  if (!is_quiet(s)) return no_formula("there is noise, and it needs equal arrivals");
  if (s.protocol != model::Protocol::Rendezvous)
    return no_formula(fmt::format("its messages are rendezvous, not {}", name_of(s.protocol)));
  const bool served =
      spec.algorithm == model::Algorithm::ParameterServer || spec.algorithm == model::Algorithm::InNetwork;
  // As in link_costs: ranks of one node are inside it; servers and switches are not where there are more.
  const bool across = s.cluster.nodes > 1 && (served || spec.ranks > s.cluster.devices_per_node);
  if (across && !served && s.cluster.devices_per_node > 1)
    return no_formula("messages inside a node and across nodes cost differently");
  COX_TRY(const model::Schedule schedule, model::Schedule::make(spec));
  const LinkCosts costs = link_costs(s, schedule);
  const auto once = model::closed_form(spec, across ? costs.across : costs.inside);
  if (!once) return no_formula(fmt::format("{} has none", name_of(spec.algorithm)));
  Outcome out;
  out.engine = EngineKind::ClosedForm;
  out.protocol = s.protocol;
  out.ranks = spec.ranks;
  Seconds now{};
  for (int step = 0; step < s.job.steps; ++step)
    out.step_ends.push_back(now += collective_of(s).compute + *once);
  out.total = now;
  out.totals = {now};
  out.over_replicas = spread_of(out.totals);
  out.groups = {{.name = "ranks", .ranks = spec.ranks, .busy = collective_of(s).compute, .exposed = *once}};
  return out;
}

Status check_records(const model::Scenario& s, const model::CollectiveSpec& spec) {
  if (StepRecorder::records(s, spec) <= StepRecorder::kMostRecords) return {};
  return fail(Error{
      .code = Errc::Unsupported,
      .id = "simulate-003",
      .message = fmt::format("the Run would hold {:.0f} million records, at most {:.0f} million are written",
                             StepRecorder::records(s, spec) / 1e6, StepRecorder::kMostRecords / 1e6),
      .hint = "simulate fewer steps or ranks, or ask for no Run",
      .where = {}});
}

bool groups_ranks(const model::CollectiveSpec& spec) {
  using enum model::Algorithm;
  return spec.algorithm == Hierarchical2 || spec.algorithm == Hierarchical3 || spec.algorithm == TwoLevel ||
         (spec.algorithm == Ring && spec.channels > 1);
}

/// Where the flow engine puts servers and switches.
std::string served_note(const CollectiveSetup& job, int more) {
  if (!job.schedule.is_switch(job.schedule.ranks()))
    return fmt::format("{} server{} device{} with ranks", more, more == 1 ? " shares its" : "s share",
                       more == 1 ? "" : "s");
  const bool one_switch =
      !job.network->between_switches(static_cast<LinkIndex>(job.network->links().size() - 1));
  if (more > 1 && one_switch)
    return "one switch adds up, and has no port of its own: job.collective.group changes nothing";
  return fmt::format("{} no port of {} own",
                     more == 1 ? "the switch that adds up has" : "switches that add up have",
                     more == 1 ? "its" : "their");
}

/// What the numbers are not, and where they are from.
void add_notes(const CollectiveSetup& job, const model::CollectiveSpec& spec, Outcome& out) {
  const model::Scenario& s = job.scenario;
  for (std::string& note : class_notes(s.cluster, job.devices)) out.notes.push_back(std::move(note));
  for (std::size_t i = 0; i < s.cluster.classes.size(); ++i)
    if (const model::NodeClass& c = s.cluster.classes[i]; !is_unlike(c))
      out.notes.push_back(
          fmt::format("class {} says nothing in which its nodes are unlike the others: it changes nothing",
                      c.name.empty() ? std::to_string(i) : c.name));
  if (const int more = job.schedule.participants() - spec.ranks; job.network && more > 0)
    out.notes.push_back(served_note(job, more));
  if (s.job.places.rule != model::PlaceRule::Packed && groups_ranks(spec))
    out.notes.push_back(
        fmt::format("groups of {} are by rank number, and job.placement spreads them over nodes",
                    model::name_of(spec.algorithm)));
  if (job.striped)
    out.notes.emplace_back(
        "channels meet only at devices' scale-up ports, each with its part of them: by max-plus, within a few per cent of "
        "the flow engine; loads of links are not counted");
  const auto* work = std::get_if<model::CollectiveJob>(&s.job.work);
  const bool in_order = work != nullptr && work->order == model::RankOrder::Linear && s.job.places.packed();
  const int together = in_order && !job.whole ? s.cluster.devices_per_node : 1;
  if (std::string one = one_ring_note(spec, together, s.cluster); !one.empty())
    out.notes.push_back(std::move(one));
  if (job.uncompressed > Bytes{}) out.notes.push_back(compression_note(job.carried, job.uncompressed));
  if (job.whole) {
    out.notes.insert(out.notes.end(), job.whole->notes.begin(), job.whole->notes.end());
    if (s.price == model::CollectivePrice::Table)
      out.not_modelled.emplace_back(kTableKnowsNoNeighbours);
    else if (s.cluster.nodes > 1)
      out.not_modelled.emplace_back(kNcclKnowsNoFabric);
  }
  if (spec.bytes == Bytes{} && spec.kind != model::Collective::Barrier)
    out.notes.emplace_back("nothing is sent but latencies: job.collective.bytes is 0B, or was not said");
  if (shares_links_beyond_loggops(s)) out.not_modelled.emplace_back(kLogGopsSharesNoLinks);
  const auto by_flow = [&s](std::string_view how) {
    return s.protocol == model::Protocol::LogGops ? std::string() : fmt::format(" (--engine flow {})", how);
  };
  if (out.engine != EngineKind::MaxPlus || (s.protocol != model::Protocol::LogGops && !job.meets)) return;
  if (s.protocol == model::Protocol::EagerGap)
    return out.not_modelled.push_back(
        "messages that share a port or card: one goes after the other (eager-gap), and lanes have ports of their own "
        "(cost.protocol = \"eager\" shares it)");
  if (s.protocol == model::Protocol::Eager)
    return out.not_modelled.push_back(std::string(kEagerWaitsForNoPort));
  const std::size_t told = out.not_modelled.size();
  const bool trees = spec.algorithm == model::Algorithm::DoubleBinaryTree;
  if (s.cluster.nodes > 1 && (trees || spec.algorithm == model::Algorithm::BidirectionalRing))
    out.not_modelled.push_back(fmt::format("both {} at one card: each has a card of its own{}",
                                           trees ? "trees" : "directions of a ring", by_flow("shares it")));
  if (meets_in_exchange(s, job.schedule))
    out.not_modelled.push_back(fmt::format(
        "two messages of a rank that meet in its network card and share it: one goes after the other{}",
        by_flow("does it")));
  else if (shares_cards_in_lists(s, job.schedule))
    out.not_modelled.push_back(fmt::format(
        "{} devices of a node share {} network interface{}: {} gives each a way of its own{}",
        s.cluster.devices_per_node, s.cluster.nics_per_node, s.cluster.nics_per_node == 1 ? "" : "s",
        model::name_of(spec.algorithm), by_flow("shares it")));
  if (!job.meets || out.not_modelled.size() > told) return;
  if (job.schedule.participants() > spec.ranks && job.schedule.is_switch(spec.ranks))
    out.not_modelled.emplace_back(
        "switches between devices: a message to one takes the latency of the whole way between two devices; in the flow engine "
        "it ends half-way");
  else if (std::string turns = serves_in_turn_note(job.schedule); !turns.empty())
    out.not_modelled.push_back(std::move(turns));
  else
    out.not_modelled.push_back(what_meets(job.schedule));
}

GroupTime mean_time(const std::vector<CollectiveReplica>& replicas) {
  GroupTime mean{.name = replicas.front().time.name, .ranks = replicas.front().time.ranks};
  const auto all = static_cast<double>(replicas.size());
  for (const CollectiveReplica& each : replicas) {
    mean.busy += each.time.busy / all;
    mean.exposed += each.time.exposed / all;
    mean.waiting += each.time.waiting / all;
  }
  return mean;
}

Outcome outcome_of(const CollectiveSetup& job, const model::CollectiveSpec& spec,
                   const std::vector<CollectiveReplica>& replicas) {
  Outcome out;
  const bool own_links = std::ranges::all_of(replicas, &CollectiveReplica::own_links);
  out.engine = own_links ? EngineKind::MaxPlus : job.engine;
  out.protocol = job.scenario.protocol;
  out.ranks = spec.ranks;
  std::vector<Seconds> totals;
  for (const CollectiveReplica& each : replicas) {
    totals.push_back(each.total);
    out.messages += each.messages;
    out.closure = out.closure || each.closure;
    out.memo = out.memo || each.memo;
  }
  out.groups = {mean_time(replicas)};
  const CollectiveReplica& first = replicas.front();
  out.rank_ends = first.rank_ends;
  out.total = first.total;
  out.evaluated = first.evaluated;
  out.step_ends = first.step_ends;
  out.neighbours = first.neighbours;
  out.totals = std::move(totals);
  out.over_replicas = spread_of(out.totals);
  if (std::ranges::any_of(replicas, &CollectiveReplica::bounded))
    out.not_modelled.push_back(fmt::format(
        "more than {} eager messages of a rank under way when it begins the next step: it waits for them",
        FlowPorts::kMostUnderWay));
  if (own_links)
    out.notes.emplace_back("no two messages meet on a link, so max-plus gives what the flow engine would");
  add_notes(job, spec, out);
  for (std::string& note : too_late(job.scenario, out.last_end())) out.notes.push_back(std::move(note));
  for (std::string& note : job.noise.repeats(job.scenario.job.steps, out.total))
    out.notes.push_back(std::move(note));
  if (job.network) {
    out.links = link_loads(*job.network, first.link_bytes, out.total);
  } else if (!job.whole) {
    PortLoads loads(job.scenario);
    loads.add(job.schedule,
              devices_by_place(job.scenario, job.scenario.seed, job.devices, job.schedule.ranks()),
              job.scenario.job.steps);
    out.busiest_port = loads.busiest(out.total);
  }
  return out;
}

}  // namespace

Result<Outcome> simulate_collectives(const model::Scenario& s, EngineKind engine,
                                     const SimulateOptions& options) {
  model::CollectiveSpec spec = spec_of(s);
  const Bytes asked = spec.bytes;
  const auto carried = carry(s, spec);
  if (!carried)
    return not_possible(fmt::format("{} is not compressed, sums are", name_of(spec.kind)),
                        "leave job.compression out, or say all-reduce");
  std::optional<WholePrice> whole;
  if (s.price != model::CollectivePrice::Rounds) {
    COX_TRY(whole, price_whole(s, spec));
    engine = EngineKind::ClosedForm;
  } else if (engine == EngineKind::ClosedForm) {
    return by_closed_form(s, spec);
  }
  COX_TRY(CollectiveSetup job, set_up(s, spec, engine, options));
  job.whole = std::move(whole);
  job.carried = *carried;
  if (collective_of(s).compression.kind != model::Compressor::None) job.uncompressed = asked;
  if (options.want_run) COX_CHECK(check_records(s, spec));
  std::vector<CollectiveReplica> replicas(static_cast<std::size_t>(s.replicas));
  std::unique_ptr<StepRecorder> recorder;
  if (options.want_run) recorder = std::make_unique<StepRecorder>(s, spec);
  if (recorder && !s.job.places.packed()) recorder->put_on(s.cluster, job.devices);
  parallel_for(replicas.size(), options.threads, [&](std::size_t i) {
    replicas[i] = CollectivePlayer(job, static_cast<int>(i))
                      .play(i == 0 ? recorder.get() : nullptr, i == 0 ? options : SimulateOptions{});
  });
  Outcome out = outcome_of(job, spec, replicas);
  if (recorder) out.run = std::move(*recorder).finish();
  return out;
}

std::optional<PortChoice> port_choice(const model::Scenario& s) {
  if (s.price != model::CollectivePrice::Rounds || engine_for(s) != EngineKind::MaxPlus) return PortChoice{};
  model::CollectiveSpec spec = spec_of(s);
  if (!carry(s, spec)) return std::nullopt;
  const SimulateOptions options;
  const auto job = set_up(s, spec, EngineKind::MaxPlus, options);
  if (!job) return std::nullopt;
  return PortChoice{.played = job->engine == EngineKind::Flow, .missed = job->meets};
}

}  // namespace cox::simulate
