// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/player.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/simulate/flow.hpp"

#include "simulate/collective/shared_cards.hpp"
#include "simulate/flow/neighbours.hpp"
#include "simulate/flow/own_links.hpp"
#include "simulate/flow/places.hpp"

namespace cox::simulate {
CollectivePlayer::CollectivePlayer(const CollectiveSetup& job, int number)
    : job_(job),
      number_(number),
      seed_(job.scenario.seed + static_cast<std::uint64_t>(number)),
      noise_(own_noise()),
      timeouts_(job.scenario.fabric.timeouts, seed_) {
  const bool moved = collective_of(job.scenario).order == model::RankOrder::Random;
  if (job.engine == model::EngineKind::Flow || moved) {
    rank_of_ = devices_by_place(job.scenario, seed_, devices(), job.schedule.participants());
    if (job.engine == model::EngineKind::Flow) find_own_links();
  }
  // The max-plus engine has ranks in their order, or all messages go between nodes.
  if (timeouts_.happen()) {
    nodes_ = rank_of_.empty() ? devices() : rank_of_;
    nodes_.resize(static_cast<std::size_t>(job.schedule.ranks()));
    for (int& device : nodes_) device /= job.scenario.cluster.devices_per_node;
  }
  if ((job.engine == model::EngineKind::MaxPlus && !job.whole) || own_costs_)
    max_plus_.emplace(job.schedule, own_costs_ ? *own_costs_ : job.costs,
                      CollectiveOptions{.protocol = job.scenario.protocol,
                                        .closure = job.options.closure,
                                        .threads = job.scenario.replicas > 1 ? 1 : job.options.threads,
                                        .timeouts = &timeouts_,
                                        .nodes = nodes_,
                                        .ranks = ranks_on_places(),
                                        .ports_stay = job.scenario.job.steps > 1,
                                        .progress = [this](double part) {
                                          if (progress_) progress_(part);
                                        }});
}

namespace {

bool may_leave_early(model::Collective kind) {
  using enum model::Collective;
  return kind == Broadcast || kind == Reduce || kind == SendRecv;
}

}  // namespace

CollectiveReplica CollectivePlayer::play(StepRecorder* recorder, const SimulateOptions& options) {
  const model::Scenario& s = job_.scenario;
  const auto ranks = static_cast<std::size_t>(job_.schedule.ranks());
  if (!s.neighbours.empty() || goes_on()) return play_beside(recorder, options);
  std::vector<Seconds> now(ranks);
  const std::vector<Seconds> undisturbed = compute();
  std::vector<Seconds> work = undisturbed;
  RankTime time(may_leave_early(job_.schedule.spec().kind));
  for (int step = 0; step < s.job.steps; ++step) {
    if (options.progress)
      progress_ = [&options, step, &s](double part) {
        options.progress(step + std::min(part, 1.0), s.job.steps);
      };
    if (recorder != nullptr) recorder->begin_step(step, now);
    if (noise_.disturbs_compute()) {
      work = undisturbed;
      disturb(step, now, work);
    }
    for (std::size_t r = 0; r < ranks; ++r) now[r] += work[r] + job_.carried.encode;
    if (recorder != nullptr) recorder->arrive(now);
    time.arrive(now, job_.carried.encode);
    const Seconds behind_ranks = meet(step, now);
    if (job_.carried.decode > Seconds{})
      for (Seconds& t : now) t += job_.carried.decode;
    if (recorder != nullptr) recorder->depart(now);
    time.depart(now);
    // A step is over when its servers are done, too; ranks that have left are in the next one by then.
    out_.total = std::max(time.last(), behind_ranks);
    if (number_ == 0) out_.step_ends.push_back(out_.total);  // only the first replica's are told
    if (options.progress) options.progress(step + 1, s.job.steps);
  }
  progress_ = {};
  if (number_ == 0) out_.rank_ends = std::move(now);
  out_.time = time.mean(out_.total);
  out_.own_links = own_costs_.has_value();
  return std::move(out_);
}

std::vector<int> CollectivePlayer::devices() const {
  if (job_.scenario.job.places.rule != model::PlaceRule::Random) return job_.devices;
  auto drawn = devices_of_job(job_.scenario, seed_, job_.schedule.ranks());
  COX_ASSERT(drawn.has_value(), "drawn for another seed already");
  return *std::move(drawn);
}

Noise CollectivePlayer::own_noise() const {
  if (job_.scenario.job.places.rule != model::PlaceRule::Random) return job_.noise.with_seed(seed_);
  auto made = collective_noise(job_.scenario, devices(), seed_);
  COX_ASSERT(made.has_value(), "made for another seed already");
  return *std::move(made);
}

std::vector<Seconds> CollectivePlayer::compute() const {
  const model::Scenario& s = job_.scenario;
  std::vector<Seconds> work(static_cast<std::size_t>(job_.schedule.ranks()), collective_of(s).compute);
  const std::vector<double> slow = slowness_of(s.cluster, devices());
  for (std::size_t r = 0; r < slow.size(); ++r) work[r] *= slow[r];
  return work;
}

bool CollectivePlayer::goes_on() const {
  return job_.network && !max_plus_ && job_.scenario.job.steps > 1;
}

CollectiveReplica CollectivePlayer::play_beside(StepRecorder* recorder, const SimulateOptions& options) {
  const model::Scenario& s = job_.scenario;
  const bool disturbed = noise_.disturbs_messages() || noise_.disturbs_bandwidth();
  FlowEngine engine(*job_.network, s.fabric,
                    {.memo = job_.options.memo,
                     .noise = disturbed ? &noise_ : nullptr,
                     .timeouts = &timeouts_,
                     .seed = seed_,
                     .protocol = s.protocol,
                     .limits = NeighbourJobs::limits(s)},
                    Seconds{});
  const auto ranks = static_cast<std::size_t>(job_.schedule.ranks());
  RankTime time(may_leave_early(job_.schedule.spec().kind));
  const auto told = [&](const CollectiveStep& step) {
    const auto of_ranks = [&](const std::vector<Seconds>& all) { return std::span(all).first(ranks); };
    time.arrive(of_ranks(step.arrivals), job_.carried.encode);
    time.depart(of_ranks(step.departures));
    if (recorder != nullptr) {
      recorder->begin_step(step.number, of_ranks(step.begins));
      recorder->arrive(of_ranks(step.arrivals));
      recorder->depart(of_ranks(step.departures));
    }
    // A step is over when its servers are done, too; ranks that have left are in the next one by then.
    out_.total = std::max(out_.total, *std::ranges::max_element(step.departures));
    if (number_ == 0)
      out_.rank_ends.assign(step.departures.begin(),
                            step.departures.begin() + std::ssize(of_ranks(step.departures)));
    if (number_ == 0) out_.step_ends.push_back(out_.total);
    if (options.progress) options.progress(static_cast<double>(step.number + 1), s.job.steps);
  };
  CollectiveCourses ours(
      engine,
      {.schedule = &job_.schedule,
       .rank_of = rank_of_,
       .compute =
           [this, work = compute(), who = ranks_on_places()](std::int64_t step, int place, Seconds begin) {
             const auto at = static_cast<std::size_t>(place);
             Seconds own = work[at];
             if (noise_.disturbs_compute())
               noise_.compute(step, who.empty() ? place : who[at], {&own, 1}, {&own, 1}, {&begin, 1});
             return own + job_.carried.encode;
           },
       .after = job_.carried.decode,
       .steps = s.job.steps,
       .on_step = told},
      [](FlowCourseId) {});
  NeighbourJobs neighbours(s, engine);
  ours.start(Seconds{});
  while (ours.done() < s.job.steps) {
    const std::optional<FlowDeparture> left = engine.next();
    COX_ASSERT(left.has_value(), "a collective ends");
    if (!neighbours.take(*left)) ours.take(*left);
  }
  out_.time = time.mean(out_.total);
  FlowOutcome flow = engine.take_outcome();
  out_.messages = flow.messages;
  out_.evaluated = flow.played + flow.evaluated;
  out_.memo = flow.memo;
  out_.bounded = flow.bounded;
  out_.link_bytes = std::move(flow.link_bytes);
  out_.neighbours = outcome_of(neighbours, s, *job_.network);
  return std::move(out_);
}

std::vector<int> CollectivePlayer::ranks_on_places() const {
  if (collective_of(job_.scenario).order == model::RankOrder::Linear) return {};
  std::vector<int> ranks(static_cast<std::size_t>(job_.schedule.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return devices_by_place(job_.scenario, seed_, std::move(ranks), job_.schedule.ranks());
}

void CollectivePlayer::disturb(int step, std::span<const Seconds> now, std::span<Seconds> work) {
  const std::vector<int> ranks = ranks_on_places();
  if (ranks.empty()) return noise_.compute(step, 0, work, work, now, &memory_);
  std::vector<Seconds> begins(work.size());
  std::vector<Seconds> lasts(work.size());
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    begins[static_cast<std::size_t>(ranks[p])] = now[p];
    lasts[static_cast<std::size_t>(ranks[p])] = work[p];
  }
  noise_.compute(step, 0, lasts, lasts, begins, &memory_);
  for (std::size_t p = 0; p < ranks.size(); ++p) work[p] = lasts[static_cast<std::size_t>(ranks[p])];
}

void CollectivePlayer::find_own_links() {
  const model::Scenario& s = job_.scenario;
  if (!max_plus_may_stand_in(s) || !has_fixed_routes(s.fabric) ||
      job_.schedule.participants() != job_.schedule.ranks())
    return;
  OwnLinks own(*job_.network, s.fabric, seed_, timeouts_.happen());
  const int team = own.add_team(rank_of_, 1);
  if (!own.add(team, job_.schedule)) return;
  own_costs_ = own.costs(team);
  if (!own_costs_) return;
  out_.link_bytes.resize(job_.network->links().size());
  own.carry(team, job_.schedule, s.job.steps, out_.link_bytes);
}

Seconds CollectivePlayer::meet(std::int64_t step, std::span<Seconds> times) {
  const Noise* noise = noise_.disturbs_messages() || noise_.disturbs_bandwidth() ? &noise_ : nullptr;
  if (job_.whole) {
    std::ranges::fill(times,
                      *std::ranges::max_element(times) + drawn_time(job_.whole->price, seed_, step, 0));
    return {};
  }
  if (max_plus_) {
    const CollectiveOutcome done = max_plus_->run(times, noise, step, 0);
    out_.messages += done.messages;
    out_.evaluated += done.evaluated;
    out_.closure = out_.closure || done.closure;
    return done.behind_ranks;
  }
  std::function<void(std::int64_t)> in_messages;
  if (progress_)
    in_messages = [this, all = about_messages(job_.schedule)](std::int64_t begun) {
      progress_(static_cast<double>(begun) / all);
    };
  const FlowOutcome flow = run_flows(job_.schedule, *job_.network, job_.scenario.fabric, rank_of_,
                                     {.memo = job_.options.memo,
                                      .noise = noise,
                                      .timeouts = &timeouts_,
                                      .step = step,
                                      .number = 0,
                                      .seed = seed_,
                                      .protocol = job_.scenario.protocol,
                                      .progress = in_messages},
                                     times);
  out_.messages += flow.messages;
  out_.evaluated += flow.played + flow.evaluated;
  out_.memo = out_.memo || flow.memo;
  out_.link_bytes.resize(flow.link_bytes.size());
  for (std::size_t l = 0; l < flow.link_bytes.size(); ++l) out_.link_bytes[l] += flow.link_bytes[l];
  return flow.behind_ranks;
}

}  // namespace cox::simulate
