// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"
#include "cox/base/units_text.hpp"

#include "simulate/flow/places.hpp"

namespace cox::simulate {
namespace {

constexpr std::uint32_t kBackgroundStream = 0x666c6f77;
constexpr Seconds kLeastPause{1e-6};  ///< of who would else do endless work in no time

Result<model::Schedule> schedule_of(const model::Neighbour& n, const model::Cluster& cluster) {
  if (n.kind == model::NeighbourKind::Flows)
    return model::Schedule::make({.kind = model::Collective::SendRecv,
                                  .algorithm = model::Algorithm::Chain,
                                  .ranks = 2,
                                  .bytes = n.bytes});
  const bool training = n.kind == model::NeighbourKind::Training;
  return model::Schedule::make({.kind = training ? model::Collective::AllReduce : n.collective,
                                .algorithm = n.algorithm,
                                .ranks = static_cast<int>(n.nodes.size()) * cluster.devices_per_node,
                                .bytes = training ? std::min(n.bucket, n.bytes) : n.bytes,
                                .group = cluster.devices_per_node});
}

/// Of a job with a rank on each device of its nodes.
std::vector<int> devices_of(const model::Neighbour& n, const model::Cluster& cluster) {
  std::vector<int> devices;
  for (const int node : n.nodes)
    for (int d = 0; d < cluster.devices_per_node; ++d) devices.push_back(node * cluster.devices_per_node + d);
  return devices;
}

}  // namespace

CollectiveCourses::CollectiveCourses(FlowEngine& engine, Work work, Owns owns)
    : engine_(engine), work_(std::move(work)), owns_(std::move(owns)) {}

void CollectiveCourses::start(Seconds at) {
  for (int r = 0; r < work_.schedule->ranks(); ++r) go_on(0, r, at);
}

/// The rank begins the step at `now`: it computes, then comes.
void CollectiveCourses::go_on(std::int64_t step, int rank, Seconds now) {
  if (work_.steps > 0 && step >= work_.steps) return;
  auto known = course_of_.find(step);
  if (known == course_of_.end()) {
    const FlowCourseId course = engine_.begin({.schedule = work_.schedule,
                                               .rank_of = work_.rank_of,
                                               .step = step,
                                               .neighbours = work_.neighbours,
                                               .ports = ports_});
    const auto participants = static_cast<std::size_t>(work_.schedule->participants());
    Open fresh;
    fresh.step.number = step;
    fresh.step.begins.assign(participants, now);
    fresh.step.arrivals = fresh.step.departures = fresh.step.begins;
    open_.emplace(course, std::move(fresh));
    known = course_of_.emplace(step, course).first;
    owns_(course);
  }
  const auto place = static_cast<std::size_t>(rank);
  CollectiveStep& open = open_.at(known->second).step;
  open.begins[place] = now;
  open.arrivals[place] = now + work_.compute(step, rank, now);
  engine_.arrive(known->second, rank, open.arrivals[place]);
}

void CollectiveCourses::take(const FlowDeparture& departure) {
  const auto at = open_.find(departure.course);
  COX_ASSERT(at != open_.end(), "a course that is its own");
  Open& open = at->second;
  const auto place = static_cast<std::size_t>(departure.place);
  const std::int64_t step = open.step.number;
  const bool is_rank = departure.place < work_.schedule->ranks();
  const Seconds end = is_rank ? departure.at + work_.after : departure.at;
  open.step.departures[place] = end;
  const bool in_no_time = work_.steps == 0 && end <= open.step.begins[place];
  if (++open.left == open.step.departures.size()) {
    ++done_;
    last_end_ = departure.at;
    if (work_.on_step) work_.on_step(open.step);
    course_of_.erase(step);
    open_.erase(at);
  }
  if (is_rank) go_on(step + 1, departure.place, in_no_time ? end + kLeastPause : end);
}

Status NeighbourJobs::check(const model::Scenario& s) {
  for (std::size_t i = 0; i < s.neighbours.size(); ++i) {
    const model::Neighbour& n = s.neighbours[i];
    const bool flows = n.kind == model::NeighbourKind::Flows;
    const bool there =
        std::ranges::all_of(n.nodes, [&](int node) { return node >= 0 && node < s.cluster.nodes; });
    const auto made = schedule_of(n, s.cluster);
    const bool fits = made && made->participants() == made->ranks();
    if (there && fits && n.nodes.size() >= 2 && (!flows || n.nodes.size() % 2 == 0) && n.start >= Seconds{} &&
        n.period >= Seconds{} && n.compute >= Seconds{} && n.backward >= Seconds{} &&
        n.optimizer >= Seconds{} && n.bucket > Bytes{})
      continue;
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "simulate-003",
                      .message = fmt::format("neighbour {} cannot run: {}", i,
                                             made ? "its nodes or times are none" : made.error().message),
                      .hint = "flows go from node to node; a collective needs an algorithm among its ranks",
                      .where = {}});
  }
  return {};
}

std::vector<Bandwidth> NeighbourJobs::limits(const model::Scenario& s) {
  std::vector<Bandwidth> all;
  for (const model::Neighbour& n : s.neighbours)
    for (std::size_t i = 0; n.rate > Bandwidth{} && i < n.nodes.size(); i += 2) all.push_back(n.rate);
  return all;
}

NeighbourJobs::NeighbourJobs(const model::Scenario& s, FlowEngine& engine)
    : all_(s.neighbours), engine_(engine) {
  jobs_.resize(all_.size());
  steps_.resize(all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i) {
    auto made = schedule_of(all_[i], s.cluster);
    COX_ASSERT(made.has_value(), "the neighbours were checked");
    schedules_.push_back(*std::move(made));
    if (all_[i].kind == model::NeighbourKind::Collective) {
      begin_job(s, static_cast<int>(i));
      continue;
    }
    if (all_[i].kind == model::NeighbourKind::Training) {
      begin_steps(s, static_cast<int>(i));
      continue;
    }
    const std::vector<int>& nodes = all_[i].nodes;
    const int devices = s.cluster.devices_per_node;
    for (std::size_t f = 0; f < nodes.size(); f += 2)
      flows_.push_back(
          {.neighbour = static_cast<int>(i), .devices = {nodes[f] * devices, nodes[f + 1] * devices}});
  }
  for (std::size_t f = 0; f < flows_.size(); ++f)
    burst(f, all_[static_cast<std::size_t>(flows_[f].neighbour)].start);
}

void NeighbourJobs::begin_job(const model::Scenario& s, int neighbour) {
  const model::Neighbour& n = all_[static_cast<std::size_t>(neighbour)];
  std::vector<int> devices = devices_of(n, s.cluster);
  std::vector<double> slow = slowness_of(s.cluster, devices);
  auto& job = jobs_[static_cast<std::size_t>(neighbour)];
  job = std::make_unique<CollectiveCourses>(
      engine_,
      CollectiveCourses::Work{
          .schedule = &schedules_.back(),
          .rank_of = std::move(devices),
          .compute =
              [work = n.compute, slow = std::move(slow)](std::int64_t, int rank, Seconds) {
                return slow.empty() ? work : work * slow[static_cast<std::size_t>(rank)];
              },
          .neighbours = true},
      [this, neighbour](FlowCourseId course) { own(course, neighbour + 1); });
  job->start(n.start);
}

void NeighbourJobs::begin_steps(const model::Scenario& s, int neighbour) {
  const model::Neighbour& n = all_[static_cast<std::size_t>(neighbour)];
  GradientSteps::Work work{.buckets = {},
                           .ready = {},
                           .rank_of = devices_of(n, s.cluster),
                           .slow = {},
                           .forward = n.compute,
                           .backward = n.backward,
                           .optimizer = n.optimizer};
  work.slow = slowness_of(s.cluster, work.rank_of);
  const std::int64_t whole = n.bytes.count() / n.bucket.count();
  for (std::int64_t b = 1; b <= whole; ++b) {
    work.buckets.push_back(&schedules_.back());
    work.ready.push_back(static_cast<double>(b * n.bucket.count()) / static_cast<double>(n.bytes.count()));
  }
  if (const Bytes rest = n.bytes - n.bucket * whole; rest > Bytes{}) {
    model::Neighbour last = n;
    last.bucket = rest;
    auto made = schedule_of(last, s.cluster);
    COX_ASSERT(made.has_value(), "what does a whole bucket does a part of one");
    last_buckets_.push_back(*std::move(made));
    work.buckets.push_back(&last_buckets_.back());
    work.ready.push_back(1);
  }
  auto& job = steps_[static_cast<std::size_t>(neighbour)];
  job = std::make_unique<GradientSteps>(
      engine_, std::move(work), [this, neighbour](FlowCourseId course) { own(course, neighbour + 1); });
  job->start(n.start);
}

void NeighbourJobs::own(FlowCourseId course, std::int32_t who) {
  if (owners_.size() <= course) owners_.resize(course + std::size_t{1});
  owners_[course] = who;
}

void NeighbourJobs::burst(std::size_t f, Seconds at) {
  Flow& flow = flows_[f];
  const model::Neighbour& n = all_[static_cast<std::size_t>(flow.neighbour)];
  std::size_t limited = 0;  // flows with a limit before it
  for (std::size_t other = 0; other < f; ++other)
    limited += all_[static_cast<std::size_t>(flows_[other].neighbour)].rate > Bandwidth{} ? 1 : 0;
  flow.begun = at;
  const FlowCourseId course =
      engine_.begin({.schedule = &schedules_[static_cast<std::size_t>(flow.neighbour)],
                     .rank_of = flow.devices,
                     .neighbours = true,
                     .limit = n.rate > Bandwidth{} ? std::optional(limited) : std::nullopt});
  own(course, -static_cast<std::int32_t>(f) - 1);
  for (const int place : {0, 1}) engine_.arrive(course, place, at);
}

bool NeighbourJobs::take(const FlowDeparture& departure) {
  const std::int32_t who = departure.course < owners_.size() ? owners_[departure.course] : 0;
  if (who == 0) return false;
  if (who > 0) {
    const auto neighbour = static_cast<std::size_t>(who) - 1;
    if (steps_[neighbour])
      steps_[neighbour]->take(departure);
    else
      jobs_[neighbour]->take(departure);
    return true;
  }
  if (departure.place == 0) return true;  // its sender
  const auto f = static_cast<std::size_t>(-(who + 1));
  Flow& flow = flows_[f];
  const model::Neighbour& n = all_[static_cast<std::size_t>(flow.neighbour)];
  ++flow.bursts;
  flow.taken += departure.at - flow.begun;
  Seconds next = std::max(departure.at, flow.begun + kLeastPause);
  // Bursts begin at whole periods; one that took longer is followed at once.
  if (n.period > Seconds{}) next = std::max(next, n.start + n.period * static_cast<double>(flow.bursts));
  burst(f, next);
  return true;
}

std::vector<NeighbourOutcome> NeighbourJobs::outcome() const {
  std::vector<NeighbourOutcome> out;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    NeighbourOutcome one{.name = all_[i].name.empty() ? fmt::format("neighbour {}", i) : all_[i].name,
                         .kind = all_[i].kind};
    Seconds taken{};
    if (jobs_[i]) {
      one.done = jobs_[i]->done();
      if (one.done > 0) taken = jobs_[i]->last_end() - all_[i].start;
    }
    if (steps_[i]) {
      one.done = steps_[i]->done();
      if (one.done > 0) taken = steps_[i]->last_end() - all_[i].start;
    }
    for (const Flow& flow : flows_) {
      if (flow.neighbour != static_cast<int>(i)) continue;
      one.done += flow.bursts;
      taken += flow.taken;
    }
    if (one.done > 0) one.mean = taken / static_cast<double>(one.done);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<Seconds> alone_of(const model::Scenario& s, const Network& network) {
  constexpr std::int64_t kSteps = 3;
  std::vector<Seconds> out;
  for (const model::Neighbour& n : s.neighbours) {
    model::Scenario single = s;
    single.neighbours = {n};
    const bool flows = n.kind == model::NeighbourKind::Flows;
    const std::int64_t wanted = kSteps * (flows ? static_cast<std::int64_t>(n.nodes.size() / 2) : 1);
    single.neighbours[0].start = {};
    FlowEngine engine(
        network, s.fabric,
        {.memo = false, .seed = s.seed, .protocol = s.protocol, .limits = NeighbourJobs::limits(single)},
        Seconds{});
    NeighbourJobs neighbours(single, engine);
    while (neighbours.outcome()[0].done < wanted) {
      const auto left = engine.next();
      if (!left || !neighbours.take(*left)) break;
    }
    out.push_back(neighbours.outcome()[0].mean);
  }
  return out;
}

std::vector<std::string> too_late(const model::Scenario& s, Seconds total) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < s.neighbours.size(); ++i) {
    const model::Neighbour& n = s.neighbours[i];
    if (n.start < total) continue;
    out.push_back(fmt::format("{} starts after {}, when the job is over: it changes nothing",
                              n.name.empty() ? fmt::format("neighbour {}", i) : n.name, to_string(n.start)));
  }
  return out;
}

std::vector<NeighbourOutcome> outcome_of(const NeighbourJobs& neighbours, const model::Scenario& s,
                                         const Network& network) {
  std::vector<NeighbourOutcome> all = neighbours.outcome();
  const std::vector<Seconds> alone = alone_of(s, network);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].alone = alone[i];
  return all;
}

// Load without a job.
void FlowEngine::add_background() {
  const int flows = fabric_.pause || network_.ranks() < 2 ? 0 : options_.background.flows;
  if (flows <= 0) return;
  background_.resize(static_cast<std::size_t>(flows));
  slots_.resize(slots_.size() + background_.size());
  const RandomStream draws(options_.seed, kBackgroundStream);
  for (std::size_t i = 0; i < background_.size(); ++i) {
    MessageState& m = slots_[i];
    // Places of background flows are ranks.
    m.from = static_cast<int>(draws.bits(0, 2 * i) % static_cast<std::uint64_t>(network_.ranks()));
    const auto others = static_cast<std::uint64_t>(network_.ranks() - 1);
    m.to = static_cast<int>(draws.bits(0, 2 * i + 1) % others);
    if (m.to >= m.from) ++m.to;
    use_path(m, network_.static_choice(m.from, m.to), m.from, m.to);
    heap_.set(static_cast<Slot>(i), 2 * options_.background.mean_off.count() * draws.uniform(1, i));
  }
}

void FlowEngine::toggle_background(Slot slot) {
  const std::size_t i = slot;
  Background& flow = background_[i];
  if (flow.on) {
    shares_.stop(slot);
  } else {
    shares_.start(slot, slots_[slot].hops);
  }
  flow.on = !flow.on;
  const Seconds mean = flow.on ? options_.background.mean_on : options_.background.mean_off;
  const RandomStream draws(options_.seed, kBackgroundStream);
  // Never zero, or time would stand still.
  heap_.set(slot, now_ + std::max(2 * mean.count() * draws.uniform(2 + ++flow.toggles, i), 1e-9));
}

}  // namespace cox::simulate
