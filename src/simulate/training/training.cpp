// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"
#include "cox/simulate/flow.hpp"

#include "simulate/collective/collective_job.hpp"
#include "simulate/flow/link_loads.hpp"
#include "simulate/flow/neighbours.hpp"
#include "simulate/record/pace_tally.hpp"
#include "simulate/training/account/tally.hpp"
#include "simulate/training/failures/failures.hpp"
#include "simulate/training/policy/policy.hpp"
#include "simulate/training/seed_steps.hpp"
#include "simulate/training/step/play_steps.hpp"
#include "simulate/training/step/step_loads.hpp"

namespace cox::simulate {
namespace {

using training::Plan;
using training::Played;
using training::Recorder;

constexpr double kMostRecords = 2e7;
constexpr int kMostReplicas = 1'000'000;

/// One replica, failures included.
struct Replica {
  std::vector<Seconds> step_ends;
  std::vector<Seconds> unit_ends;
  Seconds total{};
  std::vector<Seconds> lengths;  ///< of steps, as `alone`
  Seconds alone{};               ///< total before start and failures
  std::int64_t messages = 0;
  std::int64_t evaluated = 0;
  bool closure = false;
  bool memo = false;
  std::vector<double> link_bytes;
  std::optional<PortLoad> busiest_port;
  std::vector<std::string> repeats;
  std::int64_t updates = 0;    ///< policies with servers or backups
  std::int64_t discarded = 0;  ///< of them
  double servers_busy = 0;     ///< part of the time
  double mean_age = 0;         ///< of the others, versions
  std::optional<FailureOutcome> failures;
  std::vector<training::GroupAccount> accounts;
  std::vector<NeighbourOutcome> neighbours{};
  Seconds late{};
  std::optional<PacedSummary> paced{};
  std::vector<PacedChange> changes{};
  std::int64_t changes_left_out = 0;
};

/// Lengths of steps that end so; one that ends before the step in front of it has none.
std::vector<Seconds> lengths_of(std::span<const Seconds> ends) {
  std::vector<Seconds> lengths;
  Seconds before{};
  for (const Seconds each : ends) {
    const Seconds end = std::max(each, before);
    lengths.push_back(end - before);
    before = end;
  }
  return lengths;
}

Result<Replica> play(const Plan& plan, std::uint64_t seed, training::StepShortcuts shortcuts,
                     Recorder* recorder, const training::StepsDone& progress) {
  const model::Scenario& s = plan.scenario();
  COX_CHECK(training::Tally::check(plan));
  PolicyOutcome log;
  COX_TRY(Played played, s.policy.in_step() ? training::play_steps(plan, seed, shortcuts, recorder, progress)
                                            : training::play_policy(plan, seed, recorder, &log));
  Replica out{.step_ends = std::move(played.step_ends),
              .unit_ends = std::move(played.unit_ends),
              .lengths = {},
              .messages = played.messages,
              .evaluated = played.evaluated,
              .closure = played.closure,
              .memo = played.memo,
              .link_bytes = std::move(played.link_bytes),
              .busiest_port = std::move(played.busiest_port),
              .repeats = std::move(played.repeats),
              .updates = static_cast<std::int64_t>(log.log.size()),
              .discarded = log.discarded,
              .servers_busy = log.servers_busy,
              .mean_age = log.mean_age,
              .failures = {},
              .accounts = std::move(played.accounts),
              .neighbours = std::move(played.neighbours),
              .late = played.late,
              .paced = std::move(played.paced),
              .changes = std::move(played.changes),
              .changes_left_out = played.changes_left_out};
  out.total = out.alone = *std::max_element(out.step_ends.begin(), out.step_ends.end());
  out.lengths = lengths_of(out.step_ends);
  if (!s.failures.lengthen() && !s.start.takes_time()) return out;
  std::vector<Seconds> shift(out.step_ends.size());
  COX_TRY(FailureOutcome failed, run_with_failures(out.lengths, s, seed));
  for (std::size_t k = 0; k < shift.size(); ++k) shift[k] = failed.step_ends[k] - out.step_ends[k];
  if (recorder != nullptr) recorder->shift(shift);
  out.step_ends = failed.step_ends;
  out.unit_ends.clear();
  out.total = failed.total;
  out.failures = std::move(failed);
  return out;
}

/// Of a device, the mean over the job's.
FlopRate peak_of(const Plan& plan) {
  const FlopRate peak = plan.scenario().cluster.device_peak;
  double devices = plan.slowness().empty() ? plan.ranks() : 0;  // as many of no class could do as much
  for (const double slow : plan.slowness()) devices += 1 / slow;
  if (devices == plan.ranks()) return peak;
  return FlopRate::flops_per_s(peak.in_flops_per_s() * devices / plan.ranks());
}

std::optional<double> utilisation_of(const Plan& plan, Seconds total) {
  const model::Scenario& s = plan.scenario();
  const double peak = peak_of(plan).in_flops_per_s() * plan.ranks();
  const double done = plan.job().flops.count() * plan.job().micro_batches * plan.layout().data * s.job.steps;
  if (!(peak > 0) || !(done > 0) || total <= Seconds{}) return std::nullopt;
  return done / (peak * total.count());
}

training::Tally tally_of(const Plan& plan, const Replica& r) {
  return training::Tally(plan, r.step_ends, r.total, r.failures ? &*r.failures : nullptr, r.accounts);
}

/// Places that are drawn are those of the replica's own seed.
Result<Replica> play_seed(const Plan& plan, std::uint64_t seed, training::StepShortcuts shortcuts,
                          const training::StepsDone& progress) {
  model::Scenario own = plan.scenario();
  if (own.job.places.rule != model::PlaceRule::Random || own.seed == seed)
    return play(plan, seed, shortcuts, nullptr, progress);
  own.seed = seed;
  COX_TRY(const Plan drawn, Plan::make(own));
  return play(drawn, seed, shortcuts, nullptr, progress);
}

training::StepShortcuts shortcuts_of(const SimulateOptions& options) {
  return {.closure = options.closure, .memo = options.memo};
}

/// Where parameters, gradients and optimizer of the fullest stage are more than a device holds.
/// Formula: 2 bytes of a parameter, 2 of its gradient, 12 of Adam's; a ZeRO stage divides the last, the last
/// two, or all by the replicas. Source: Rajbhandari et al. 2020, section 3.1.
std::optional<std::string> memory_note(const Plan& plan) {
  Bytes memory = plan.scenario().cluster.device_memory;
  for (const model::NodeClass& c : plan.scenario().cluster.classes)
    if (c.memory > Bytes{} && (memory == Bytes{} || c.memory < memory)) memory = c.memory;
  Bytes gradients{};
  for (int s = 0; s < plan.stages(); ++s) gradients = std::max(gradients, plan.stage_bytes(s));
  const std::int64_t ways = plan.costs(training::ReplicaGroup::Shards).members;
  const int zero = plan.job().zero_stage;
  const Bytes states = (zero >= 3 ? gradients / ways : gradients) +
                       (zero >= 2 ? gradients / ways : gradients) +
                       (zero >= 1 ? 6 * gradients / ways : 6 * gradients);
  if (memory == Bytes{} || states <= memory) return std::nullopt;
  return fmt::format(
      "it does not fit: a device holds {}, and parameters, gradients and Adam's states of its stage are {} (16 bytes per "
      "parameter with a gradient of 2; activations not counted)",
      to_string(memory), to_string(states));
}

/// Where servers are, and whether what goes in or out of them takes the whole time.
void add_server_notes(const Plan& plan, const Replica& r, std::vector<std::string>& notes) {
  if (const Network* network = plan.server_network()) {
    std::vector<std::string> places;
    for (const int device : plan.server_devices()) {
      constexpr std::size_t kMostNamed = 4;
      if (places.size() == kMostNamed) {
        places.emplace_back("...");
        break;
      }
      places.push_back(fmt::format("n{}", network->node_of(device)));
    }
    const bool one = plan.server_devices().size() == 1;
    notes.push_back(fmt::format("{} server{} a device with a rank, on {}", plan.server_devices().size(),
                                one ? " shares" : "s each share", fmt::join(places, ", ")));
  }
  if (plan.server_network() == nullptr && plan.scenario().price == model::CollectivePrice::Rounds)
    notes.emplace_back(
        "servers have arithmetic of their own: each serves one message after the other, and workers compute while others are served; on "
        "links messages share its card, workers stay together, and a step is its computation and both directions behind each other: up "
        "to three times as long, or less where few workers meet (--engine flow)");
  constexpr double kPace = 0.9;  // of the time: beyond it, faster workers would change little
  if (r.servers_busy >= kPace && plan.scenario().neighbours.empty())  // else it may be theirs
    notes.push_back(fmt::format("the servers set the pace: their busiest {} is taken {} of the time",
                                plan.server_network() != nullptr ? "link" : "port", percent(r.servers_busy)));
}

/// What pacing did to the first seed, beside the same draws without it.
Result<std::optional<PacedJobOutcome>> paced_outcome(const Plan& plan, Replica& first,
                                                     training::StepShortcuts shortcuts) {
  if (!first.paced) return std::nullopt;
  COX_TRY(const pace::Settings settings, pace_settings(plan.job().pace));
  COX_TRY(Played without,
          training::play_steps(plan, plan.scenario().seed, shortcuts, nullptr, {}, pace::Settings{}));
  return PacedJobOutcome{.mode = settings.mode,
                         .with = *std::move(first.paced),
                         .without = *std::move(without.paced),
                         .changes = std::move(first.changes),
                         .changes_left_out = first.changes_left_out};
}

/// How often, and parts of the total that add up to it.
std::string failure_note(const FailureOutcome& f, int replicas) {
  std::string note = fmt::format(
      "{}{} failures; of the total, {:.4f} is work, {:.4f} checkpoints, {:.4f} rework, {:.4f} restarts",
      replicas > 1 ? "first seed: " : "", f.failures, f.work / f.total, f.write / f.total, f.rework / f.total,
      f.restart / f.total);
  for (const auto& [name, time] :
       {std::pair{"start", f.start}, {"repairs", f.repair}, {"cold steps", f.cold}})
    if (time > Seconds{}) note += fmt::format(", {:.4f} {}", time / f.total, name);
  return note;
}

std::vector<std::string> notes_of(const Plan& plan, const Replica& r) {
  const model::Scenario& s = plan.scenario();
  std::vector<std::string> notes;
  if (auto memory = memory_note(plan)) notes.push_back(*std::move(memory));  // before what is only assumed
  for (std::string& note : plan.notes()) notes.push_back(std::move(note));
  if (std::ranges::any_of(s.noise, [](const model::NoiseSource& n) {
        return n.target == model::NoiseTarget::Compute && !n.off;
      }))
    notes.emplace_back(
        "compute noise is drawn once per rank and step and stretches all that the rank computes in it alike");
  notes.insert(notes.end(), r.repeats.begin(), r.repeats.end());
  if (!s.policy.in_step())
    notes.push_back(fmt::format("workers are {}; gradients leave after the backward pass, not beside it",
                                plan.job().replicas_per_worker() > plan.layout().expert
                                    ? "groups of replicas that hold a set of shards among them"
                                : plan.layout().expert > 1 ? "groups of replicas that share experts"
                                                           : "the replicas of the model"));
  if (r.updates > 0)
    notes.push_back(
        fmt::format("{} updates, {} of them discarded; the others are {:.2f} versions old on average",
                    r.updates, r.discarded, r.mean_age));
  if (s.policy.has_servers()) add_server_notes(plan, r, notes);
  if (r.failures) notes.push_back(failure_note(*r.failures, s.replicas));
  return notes;
}

/// Errors: simulate-001, simulate-003: more than is kept.
Status check_amounts(const Plan& plan, const SimulateOptions& options) {
  const int replicas = plan.scenario().replicas;
  if (replicas < 1 || replicas > kMostReplicas)
    return fail({.code = Errc::InvalidInput,
                 .id = "simulate-001",
                 .message = fmt::format("{} replicas, expected 1 to {}", replicas, kMostReplicas),
                 .hint = "replicas counts seeds",
                 .where = std::nullopt});
  if (options.want_run && Recorder::most_records(plan) > kMostRecords)
    return fail({.code = Errc::Unsupported,
                 .id = "simulate-003",
                 .message = fmt::format(
                     "the Run would hold up to {:.0f} million records, at most {:.0f} million are written",
                     Recorder::most_records(plan) / 1e6, kMostRecords / 1e6),
                 .hint = "simulate fewer steps or ranks, or ask for no Run",
                 .where = std::nullopt});
  return {};
}

/// What all seeds leave.
struct Replicas {
  std::vector<Seconds> totals;
  training::Tally tally;
  SeedSteps steps;  ///< where they are kept
};

/// The seeds behind the first, some at once, added up in their order. `tell` takes how many are done.
Result<Replicas> play_others(const Plan& plan, const Replica& first, const SimulateOptions& options,
                             const std::function<void(std::size_t)>& tell) {
  const auto all = static_cast<std::size_t>(plan.scenario().replicas);
  Replicas out{.totals = std::vector<Seconds>(all, first.total), .tally = tally_of(plan, first), .steps = {}};
  if (options.keep_steps)
    out.steps = {.lengths = std::vector<std::vector<Seconds>>(all, first.lengths),
                 .totals = std::vector<Seconds>(all, first.alone)};
  std::vector<std::optional<Error>> errors(all);
  constexpr std::size_t kAtOnce = 64;  // replicas between two reports of progress
  for (std::size_t begin = 1; begin < all; begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, all);
    std::vector<std::optional<training::Tally>> some(end - begin);
    parallel_for(some.size(), options.threads, [&](std::size_t i) {
      const auto one = play_seed(plan, plan.scenario().seed + begin + i, shortcuts_of(options), {});
      if (one) {
        out.totals[begin + i] = one->total;
        some[i] = tally_of(plan, *one);
        if (options.keep_steps) out.steps.lengths[begin + i] = one->lengths;
        if (options.keep_steps) out.steps.totals[begin + i] = one->alone;
      } else {
        errors[begin + i] = one.error();
      }
    });
    for (std::size_t i = begin; i < end; ++i) {
      if (errors[i]) return fail(*errors[i]);
      out.tally.merge(*some[i - begin]);
    }
    tell(end);
  }
  return out;
}

std::vector<std::string> not_modelled(const Plan& plan, const Replica& first) {
  std::vector<std::string> all = plan.not_modelled();
  if (first.late > Seconds{})
    all.push_back(fmt::format(
        "messages that ranks send in a step before others have left the one before: beside neighbours "
        "they begin up to {} later",
        to_string(first.late)));
  if (!plan.scenario().neighbours.empty() && first.failures)
    all.emplace_back("what neighbours do while the job starts, restarts or waits for nodes");
  const model::StepInput& input = plan.job().input;
  const model::Failures& f = plan.scenario().failures;
  if (input.fetch > Bytes{} && input.storage > Bandwidth{} && f.storage > Bandwidth{} &&
      f.checkpoint_size > Bytes{} && f.checkpoint_interval > Seconds{})
    all.emplace_back(
        "one storage for input and checkpoints: each has its own, at its full rate, while the other uses it");
  if (first.paced && first.failures)
    all.emplace_back(
        "controllers that begin anew after a restart; with and without pacing are told for steps that nothing stops");
  return all;
}

/// All but what pacing did and what is added up over the seeds.
Outcome outcome_of(const Plan& plan, const Replica& first, std::span<const Seconds> totals) {
  const model::Scenario& s = plan.scenario();
  Outcome out;
  const Network* shared = plan.network() != nullptr ? plan.network() : plan.server_network();
  out.engine = shared != nullptr    ? model::EngineKind::Flow
               : s.policy.in_step() ? model::EngineKind::MaxPlus
                                    : model::EngineKind::Event;
  out.protocol = s.protocol;
  out.closure = first.closure;
  out.memo = first.memo;
  const Seconds counted = first.failures ? first.failures->work : first.total;  // failures send nothing
  if (const Network* network = shared != nullptr ? shared : plan.own_network())
    out.links = link_loads(*network, first.link_bytes, counted);
  out.busiest_port = first.busiest_port ? first.busiest_port : training::busiest_port(plan, counted);
  if (s.policy.has_servers()) out.servers_busy_ratio = first.servers_busy;
  out.ranks = plan.ranks();
  out.messages = first.messages;
  out.evaluated = first.evaluated;
  out.total = first.total;
  if (first.failures) out.started = first.failures->start;
  if (first.failures) out.failures_of_class = first.failures->of_class;
  out.step_ends = first.step_ends;
  for (const Seconds end : first.unit_ends)
    out.rank_ends.insert(out.rank_ends.end(), static_cast<std::size_t>(plan.ranks_per_unit()), end);
  out.totals.assign(totals.begin(), totals.end());
  out.over_replicas = spread_of(totals);
  out.notes = notes_of(plan, first);
  for (std::string& late : too_late(s, out.last_end())) out.notes.push_back(std::move(late));
  out.not_modelled = not_modelled(plan, first);
  out.neighbours = first.neighbours;
  out.mfu = utilisation_of(plan, out.total);
  out.mfu_peak = peak_of(plan);
  out.goodput_mfu = out.mfu;
  if (out.mfu && first.updates > 0)
    out.goodput_mfu =
        *out.mfu * (1 - static_cast<double>(first.discarded) / static_cast<double>(first.updates));
  return out;
}

}  // namespace

Result<Outcome> simulate_training(const model::Scenario& scenario, const SimulateOptions& options) {
  COX_TRY(const Plan plan, Plan::make(scenario));
  COX_CHECK(check_amounts(plan, options));
  std::optional<Recorder> recorder;
  if (options.want_run) recorder.emplace(plan);
  const std::int64_t steps = scenario.job.steps;
  const auto tell = [&](double done) {
    if (options.progress) options.progress(done, static_cast<double>(steps * scenario.replicas));
  };
  COX_TRY(Replica first,
          play(plan, scenario.seed, shortcuts_of(options), recorder ? &*recorder : nullptr, tell));
  COX_TRY(const Replicas all, play_others(plan, first, options, [&](std::size_t replicas) {
            tell(static_cast<double>(steps) * static_cast<double>(replicas));
          }));
  Outcome out = outcome_of(plan, first, all.totals);
  COX_TRY(out.paced, paced_outcome(plan, first, shortcuts_of(options)));
  all.tally.put_into(out);
  if (options.keep_steps) out.seed_steps = all.steps;
  if (recorder) out.run = recorder->take();
  return out;
}

Result<SeedSteps> play_seeds(const model::Scenario& scenario, const SimulateOptions& options) {
  model::Scenario alone = scenario;
  alone.failures = {};
  alone.start = {};
  COX_TRY(const Plan plan, Plan::make(alone));
  COX_CHECK(check_amounts(plan, options));
  const auto seeds = static_cast<std::size_t>(alone.replicas);
  SeedSteps out{.lengths = std::vector<std::vector<Seconds>>(seeds), .totals = std::vector<Seconds>(seeds)};
  std::vector<std::optional<Error>> errors(seeds);
  std::mutex mutex;
  double done = 0;  // steps of all seeds
  parallel_for(seeds, options.threads, [&](std::size_t i) {
    double own = 0;
    const auto tell = [&](double steps) {
      if (!options.progress) return;
      const std::lock_guard lock(mutex);
      done += steps - own;
      own = steps;
      options.progress(done, static_cast<double>(seeds) * alone.job.steps);
    };
    const auto one = play_seed(plan, alone.seed + i, shortcuts_of(options), tell);
    if (!one) {
      errors[i] = one.error();
      return;
    }
    tell(alone.job.steps);
    out.lengths[i] = one->lengths;
    out.totals[i] = one->total;
  });
  for (const std::optional<Error>& error : errors)
    if (error) return fail(*error);
  return out;
}

Result<std::vector<Seconds>> seed_totals(const model::Scenario& s, const SeedSteps& steps) {
  std::vector<Seconds> totals = steps.totals;
  if (s.failures.lengthen() || s.start.takes_time())
    for (std::size_t i = 0; i < totals.size(); ++i) {
      COX_TRY(const FailureOutcome failed, run_with_failures(steps.lengths[i], s, s.seed + i));
      totals[i] = failed.total;
    }
  return totals;
}

namespace {

/// Nothing where it is refused when it is simulated.
std::optional<PortChoice> choice_of(const model::Scenario& s) {
  if (s.job.workload() == model::Workload::Collective) return port_choice(s);
  const auto plan = Plan::make(s);
  if (!plan) return std::nullopt;
  const bool on_links = plan->network() != nullptr || plan->server_network() != nullptr;
  return PortChoice{.played = on_links && engine_for(s) == model::EngineKind::MaxPlus,
                    .missed = plan->misses_ports()};
}

}  // namespace

void take_one_engine(std::span<model::Scenario> scenarios) {
  const auto is_ours = [](const model::Scenario& s) {
    const model::Workload w = s.job.workload();
    return (w == model::Workload::Training || w == model::Workload::Collective) &&
           s.engine == model::EngineKind::Auto && !s.plays_links;
  };
  bool played = false, missed = false;
  for (const model::Scenario& s : scenarios) {
    if (!is_ours(s)) continue;
    const auto choice = choice_of(s);
    played = played || (choice && choice->played);
    missed = missed || (choice && choice->missed);
  }
  for (model::Scenario& s : scenarios)
    if (played && missed && is_ours(s) && engine_for(s) == model::EngineKind::MaxPlus)
      s.engine = s.policy.in_step() ? model::EngineKind::MaxPlus : model::EngineKind::Event;
}

PairedTotals compare(std::span<const Seconds> a, std::span<const Seconds> b) {
  COX_ASSERT(a.size() == b.size() && !a.empty(), "pairs, and at least one");
  std::vector<Seconds> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(b[i] - a[i]);
  return {.a = spread_of(a), .b = spread_of(b), .difference = spread_of(difference)};
}

namespace {

/// Total of one scenario for any seed, with what does not depend on the seed made once.
using TotalOf = std::function<Result<Seconds>(std::uint64_t)>;

Result<TotalOf> total_of(const model::Scenario& scenario, const SimulateOptions& options) {
  if (scenario.job.workload() != model::Workload::Training)
    return TotalOf{[scenario, options](std::uint64_t seed) -> Result<Seconds> {
      model::Scenario one_seed = scenario;
      one_seed.seed = seed;
      one_seed.replicas = 1;
      COX_TRY(const Outcome one,
              simulate(one_seed, {.threads = 1, .memo = options.memo, .closure = options.closure}));
      return one.total;
    }};
  COX_TRY(Plan plan, Plan::make(scenario));
  return TotalOf{
      [plan = std::make_shared<const Plan>(std::move(plan)), options](std::uint64_t seed) -> Result<Seconds> {
        COX_TRY(const Replica one, play_seed(*plan, seed, shortcuts_of(options), {}));
        return one.total;
      }};
}

}  // namespace

Result<PairedTotals> compare(const model::Scenario& first, const model::Scenario& second,
                             const SimulateOptions& options, const ErrorOfSide& told) {
  const auto of = [&told](bool is_second) {
    return [&told, is_second](Error error) { return told ? told(std::move(error), is_second) : error; };
  };
  model::Scenario sides[] = {first, second};
  take_one_engine(sides);
  const auto& [a, b] = sides;
  COX_TRY(const TotalOf total_a, total_of(a, options).map_error(of(false)));
  COX_TRY(const TotalOf total_b, total_of(b, options).map_error(of(true)));
  const int replicas = std::clamp(std::max(a.replicas, b.replicas), 1, kMostReplicas);
  std::vector<Seconds> times_a(static_cast<std::size_t>(replicas)), times_b(times_a.size());
  std::vector<std::optional<Error>> errors(times_a.size());
  constexpr std::size_t kAtOnce = 64;  // pairs between two reports of progress
  for (std::size_t begin = 0; begin < times_a.size(); begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, times_a.size());
    parallel_for(end - begin, options.threads, [&](std::size_t k) {
      const std::size_t i = begin + k;
      const auto one = total_a(a.seed + i);
      const auto two = total_b(a.seed + i);
      if (one && two) {
        times_a[i] = *one;
        times_b[i] = *two;
      } else {
        errors[i] = one ? of(true)(two.error()) : of(false)(one.error());
      }
    });
    for (const auto& e : errors)
      if (e) return fail(*e);
    if (options.progress) options.progress(static_cast<double>(end), replicas);
  }
  return compare(times_a, times_b);
}

}  // namespace cox::simulate
