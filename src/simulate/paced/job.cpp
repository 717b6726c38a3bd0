// SPDX-License-Identifier: Apache-2.0
#include "simulate/paced/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/parallel.hpp"
#include "cox/base/release_memory.hpp"
#include "cox/base/units_text.hpp"
#include "cox/simulate/paced.hpp"

#include "simulate/collective/collective_job.hpp"
#include "simulate/record/pace_tally.hpp"
#include "simulate/record/run_from_steps.hpp"

namespace cox::simulate {
namespace {

tl::unexpected<Error> not_possible(Errc code, std::string message, std::string hint) {
  return fail(Error{.code = code,
                    .id = "simulate-003",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

Result<model::Iteration> job_of(const model::Scenario& s) {
  if (s.cluster.ranks() > kMostPacedRanks)
    return not_possible(
        Errc::InvalidInput,
        fmt::format("iterations of {} ranks, at most {} are simulated", s.cluster.ranks(), kMostPacedRanks),
        "simulate fewer nodes");
  model::Iteration job{s.job.as<model::IterationJob>().iteration};
  job.ranks = static_cast<int>(s.cluster.ranks());
  job.hosts = s.cluster.nodes;
  COX_CHECK(check_iteration(job));
  return job;
}

/// Writes the first replica down: step marks, decisions, synchronisations.
class PacedRecorder {
 public:
  PacedRecorder(const model::Scenario& s, const model::Iteration& job, const pace::Settings& settings)
      : steps_(s, spec_of(job)),
        settings_(settings),
        told_(static_cast<std::size_t>(job.ranks), pace::Reason::Observing),
        ends_(told_.size()) {}

  [[nodiscard]] static model::CollectiveSpec spec_of(const model::Iteration& job) {
    const bool barrier = job.reduce.count() == 0;
    return {.kind = barrier ? model::Collective::Barrier : model::Collective::AllReduce,
            .algorithm = barrier ? model::Algorithm::Dissemination : model::Algorithm::Ring,
            .ranks = job.ranks,
            .bytes = job.reduce};
  }

  /// A rank leaves a synchronisation when it has a core again, which the next step tells.
  void add(const PacedStep& step) {
    for (std::size_t r = 0; r < ends_.size(); ++r) ends_[r] = step.begin + step.woke[r];
    if (step.step > 0) steps_.depart(ends_);
    steps_.begin_step(step.step, ends_);
    for (std::size_t r = 0; r < step.controllers.size(); ++r) decide(step, r);
    steps_.arrive(step.arrived);
    std::ranges::fill(ends_, step.end);
    began_ = true;
  }
  [[nodiscard]] trace::Run finish() && {
    if (began_) steps_.depart(ends_);
    return std::move(steps_).finish();
  }

 private:
  void decide(const PacedStep& step, std::size_t r) {
    const pace::Decision& decision = step.decisions[r];
    const bool served = step.delayed[r] > Seconds::zero();
    if (!served && decision.reason == told_[r] && step.step > 0) return;
    told_[r] = decision.reason;
    const bool at_entry = settings_.placement == pace::Placement::Collective;
    const Seconds begin = at_entry && served ? step.arrived[r] - step.delayed[r] : step.begin + step.woke[r];
    steps_.pace(r, step.step, begin, begin + step.delayed[r],
                {.decision = decision, .mode = settings_.mode, .gain = step.controllers[r].evidence().gain});
  }

  StepRecorder steps_;
  const pace::Settings& settings_;
  std::vector<pace::Reason> told_;
  std::vector<Seconds> ends_;  ///< of the last synchronisation, by rank
  bool began_ = false;
};

/// A record more than a mark and a synchronisation: a decision.
Status check_records(const model::Scenario& s, const model::Iteration& job) {
  const double records = 1.5 * StepRecorder::records(s, PacedRecorder::spec_of(job));
  if (records <= StepRecorder::kMostRecords) return {};
  return not_possible(Errc::Unsupported,
                      fmt::format("the Run would hold up to {:.0f} million records, at most "
                                  "{:.0f} million are written",
                                  records / 1e6, StepRecorder::kMostRecords / 1e6),
                      "simulate fewer steps or ranks, or ask for no Run");
}

PacedJobOutcome beside(pace::Mode mode, PacedOutcome with, PacedOutcome without) {
  return {.mode = mode,
          .with = std::move(with.summary.front()),
          .without = std::move(without.summary.front()),
          .changes = std::move(with.changes),
          .changes_left_out = with.changes_left_out};
}

/// The all-reduce on the links of the cluster, where it has no link of its own: priced as the same collective is when
/// all of its members come at once.
Result<std::optional<Outcome>> reduce_on_cluster(const model::Scenario& s, const model::Iteration& job) {
  if (job.link > Bandwidth{} || job.reduce <= Bytes{} || job.ranks < 2) return std::nullopt;
  model::Scenario one = s;
  one.job.work = model::CollectiveJob{.collective = PacedRecorder::spec_of(job)};
  one.job.steps = one.replicas = 1;
  one.engine = model::EngineKind::Auto;
  one.noise.clear();
  COX_TRY(Outcome priced, simulate_collectives(one, engine_for(one), {.threads = 1}));
  return std::optional(std::move(priced));
}

/// What a rank's step goes into, mean over ranks and replicas. Nothing runs beside the all-reduce; who is held back waits.
GroupTime time_of(const model::Iteration& job, std::span<const Result<PacedOutcome>> replicas,
                  Seconds transfer) {
  GroupTime mean{.name = "ranks", .ranks = job.ranks};
  const auto all = static_cast<double>(replicas.size());
  for (const Result<PacedOutcome>& one : replicas) {
    const PacedSummary& sum = one->summary.front();
    mean.exposed += transfer / all;
    mean.waiting += (sum.wait + sum.delay) / all;
    mean.busy += std::max(sum.mean - transfer - sum.wait - sum.delay, Seconds{}) / all;
  }
  return mean;
}

/// The one link of all ranks: their input, and the rounds of the ring.
LinkLoad load_of_link(const model::Iteration& job, int steps, Seconds total) {
  constexpr double kMostBytes = 9e18;  // of 64 bits
  const double rate = job.link.in_bytes_per_s();
  const double fetched = static_cast<double>(job.fetch.count()) * job.ranks;
  const double all = (fetched + transfer_time(job).count() * rate) * steps;
  const double room = rate * total.count();
  return {.name = "iteration.link",
          .bytes = Bytes{std::llround(std::min(all, kMostBytes))},
          .utilisation_ratio = room > 0 ? all / room : 0};
}

/// What the all-reduce of one step puts on links and ports, `steps` times.
void add_loads(const Outcome& reduce, int steps, Outcome& out) {
  const double part = reduce.total * steps / out.total;
  for (const LinkLoad& link : reduce.links)
    out.links.push_back(
        {.name = link.name, .bytes = link.bytes * steps, .utilisation_ratio = link.utilisation_ratio * part});
  out.busiest_port = reduce.busiest_port;
  if (!out.busiest_port) return;
  out.busiest_port->bytes = out.busiest_port->bytes * steps;
  out.busiest_port->utilisation_ratio *= part;
}

std::vector<std::string> notes_of(const model::Iteration& job, const std::optional<Outcome>& reduce) {
  std::vector<std::string> notes = {job.time_slice > Seconds::zero()
                                        ? "cores serve ranks in slices, in the order in which they wake; the "
                                          "link is shared evenly; timers are exact"
                                        : "cores and link are shared evenly; timers are exact"};
  if (reduce)
    notes.push_back(fmt::format(
        "the all-reduce takes {} after the last arrival, as {} gives it for ranks that come together",
        to_string(reduce->total), model::name_of(reduce->engine)));
  else if (job.reduce.count() > 0)
    notes.emplace_back("the all-reduce is the ring's closed form on the link after the last arrival");
  return notes;
}

}  // namespace

Result<Outcome> simulate_iterations(const model::Scenario& s, const SimulateOptions& options) {
  if (s.engine != model::EngineKind::Auto && s.engine != model::EngineKind::Event)
    return not_possible(Errc::InvalidInput, "iterations with pacing are simulated by the event engine",
                        "leave `engine` out, or say event");
  COX_TRY(const model::Iteration job, job_of(s));
  COX_TRY(const pace::Settings settings, pace_settings(s.job.as<model::IterationJob>().pace));
  COX_TRY(const std::optional<Outcome> reduce, reduce_on_cluster(s, job));
  if (options.want_run) COX_CHECK(check_records(s, job));
  const auto options_for = [&](pace::Mode mode, std::size_t replica) {
    PacedOptions o;
    o.seed = s.seed + replica;
    o.steps = s.job.steps;
    if (reduce) o.transfer = reduce->total;
    o.arms.front().name = pace::name_of(mode);
    o.arms.front().settings = settings;
    o.arms.front().settings.mode = mode;
    return o;
  };
  // The last one, where there is a controller, is the first seed without it.
  const auto replicas = static_cast<std::size_t>(s.replicas);
  const bool twice = settings.mode != pace::Mode::Off;
  std::vector<Result<PacedOutcome>> made(replicas + (twice ? 1 : 0), PacedOutcome{});
  std::unique_ptr<PacedRecorder> recorder;
  if (options.want_run) recorder = std::make_unique<PacedRecorder>(s, job, settings);
  parallel_for(made.size(), options.threads, [&](std::size_t i) {
    PacedOptions o = i < replicas ? options_for(settings.mode, i) : options_for(pace::Mode::Off, 0);
    if (i == 0)
      o.each_step = [&](const PacedStep& step) {
        if (recorder) recorder->add(step);
        if (options.progress) options.progress(static_cast<double>(step.step + 1), s.job.steps);
      };
    made[i] = simulate_paced(job, o);
    if (i > 0 && made[i]) release_memory(made[i]->periods);  // one seed's steps are told
  });
  std::vector<Seconds> totals;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) return fail(made[i].error());
    if (i < replicas) totals.push_back(made[i]->summary.front().total);
  }
  Outcome out;
  out.engine = model::EngineKind::Event;
  out.protocol = s.protocol;
  out.ranks = job.ranks;
  out.total = totals.front();
  out.evaluated = made.front()->events;
  Seconds now{};
  for (const Seconds period : made.front()->periods) out.step_ends.push_back(now += period);
  out.totals = std::move(totals);
  out.over_replicas = spread_of(out.totals);
  out.notes = notes_of(job, reduce);
  out.groups = {time_of(job, std::span(made).first(replicas), reduce ? reduce->total : transfer_time(job))};
  if (reduce) {
    out.not_modelled = reduce->not_modelled;
    add_loads(*reduce, s.job.steps, out);
  } else if (job.link > Bandwidth{}) {
    out.links = {load_of_link(job, s.job.steps, out.total)};
  }
  if (recorder) out.run = std::move(*recorder).finish();
  PacedOutcome without = twice ? *std::move(made.back()) : *made.front();
  out.paced = beside(settings.mode, *std::move(made.front()), std::move(without));
  return out;
}

}  // namespace cox::simulate
