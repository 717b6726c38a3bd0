// SPDX-License-Identifier: Apache-2.0
// Events of the flow engine. Times are plain seconds since the origin.
#include "simulate/flow/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/prefetch.hpp"
#include "cox/base/random.hpp"

#include "simulate/max_plus/regular_rounds.hpp"

namespace cox::simulate {
namespace {

// Events this close (relative) are one: the rates are solved once for all of them.
constexpr double kTogether = 1e-12;

// Flows on a link that are worth a clock of their own: below, each costs less alone.
constexpr std::size_t kCrowd = 16;

/// Whether states may repeat, and be recognised.
bool may_repeat(const model::Fabric& fabric, const FlowOptions& options) {
  const Noise* noise = options.noise;
  const bool noisy = noise != nullptr && (noise->disturbs_messages() || noise->disturbs_bandwidth());
  return options.memo && options.protocol == model::Protocol::Rendezvous && !fabric.timeouts.of_ports() &&
         !noisy && !options.disturb && !options.on_message && options.background.flows == 0;
}

FairShares make_shares(const Network& network, const model::Fabric& fabric, const FlowOptions& options) {
  COX_ASSERT(fabric.background_load >= 0 && fabric.background_load < 1, "background load must be in [0, 1)");
  std::vector<double> capacity;
  capacity.reserve(network.links().size());
  for (std::size_t l = 0; l < network.links().size(); ++l) {
    const double share = network.between_switches(static_cast<LinkIndex>(l)) ? 1 - fabric.background_load : 1;
    capacity.push_back(network.links()[l].bandwidth.in_bytes_per_s() * share);
  }
  FairShares::Options shares{.incast = {},
                             .receiving = {},
                             .pause = fabric.pause,
                             .crowd = may_repeat(fabric, options) ? 0 : kCrowd};
  if (fabric.incast_loss) {
    shares.incast = {.fan_in = options.incast.fan_in, .floor_ratio = options.incast.floor_ratio};
    shares.receiving.assign(capacity.size(), false);
    for (std::size_t l = 0; l < capacity.size(); ++l)
      shares.receiving[l] = network.into_node(static_cast<LinkIndex>(l));
  }
  // A flow that is limited has a link of its own, behind those of the network.
  for (const Bandwidth limit : options.limits) {
    capacity.push_back(limit.in_bytes_per_s());
    if (fabric.incast_loss) shares.receiving.push_back(false);
  }
  return {capacity, std::move(shares)};
}

}  // namespace

FlowEngine::FlowEngine(const Network& network, const model::Fabric& fabric, FlowOptions options,
                       Seconds origin)
    : network_(network),
      fabric_(fabric),
      options_(std::move(options)),
      eager_(options_.protocol != model::Protocol::Rendezvous),
      shares_(make_shares(network, fabric, options_)),
      origin_(origin.count()) {
  outcome_.link_bytes.assign(network.links().size(), 0);
  if (fabric.routing == model::Routing::Adaptive) assigned_.assign(network.links().size(), 0);
  const Noise* noise = options_.noise;
  if (noise != nullptr && (noise->disturbs_messages() || noise->disturbs_bandwidth())) noise_ = noise;
  memo_on_ = may_repeat(fabric, options_);
  add_background();
}

FlowEngine::Slot FlowEngine::take_slots(std::size_t count) {
  std::vector<Slot>& free = free_slots_[count];
  if (!free.empty()) {
    const Slot first = free.back();
    free.pop_back();
    return first;
  }
  const auto first = static_cast<Slot>(slots_.size());
  slots_.resize(slots_.size() + count);
  return first;
}

void FlowEngine::call_servers(FlowCourseId id) {
  const model::Schedule& schedule = *courses_[id]->what.schedule;
  for (int p = schedule.ranks(); p < schedule.participants(); ++p)
    coming_.push({.at = now_, .course = id, .place = p});
}

void FlowEngine::arrive(FlowCourseId course, int place, Seconds at) {
  // Rounding, and events that were taken together, may have put the clock a little further.
  COX_ASSERT(at.count() >= said_ - 1e-9 * std::abs(said_), "the clock is beyond this arrival");
  note_arrival(course, place, at.count() - origin_);
  coming_.push({.at = std::max(at.count() - origin_, now_), .course = course, .place = place});
}

std::optional<FlowDeparture> FlowEngine::next(Seconds until) {
  until_ = until.count() - origin_;
  if (again_.on) {
    const std::optional<FlowDeparture> known = next_again();
    if (known || again_.on) return known;
  }
  return next_played(until);
}

std::optional<FlowDeparture> FlowEngine::next_played(Seconds until) {
  while (departed_.empty()) {
    const double at = next_event();
    if (!can_go_on(at) || at > until_) {
      if (until < kForEver) said_ = std::max(said_, until.count());
      return std::nullopt;
    }
    batch(at);
    settle();
    constexpr std::int64_t kBetween = 4096;  // instants between two reports
    if (options_.progress && ++instants_ % kBetween == 0) options_.progress(outcome_.messages);
    if (memo_on_ && all_came_ && departed_.empty()) look_for_recurrence();
    all_came_ = false;
    if (again_.on) return next(until);
    if (memo_on_ && reference_moved_) look_for_period();
    reference_moved_ = false;
  }
  const FlowDeparture first = departed_.front();
  departed_.pop_front();
  said_ = first.at.count();
  return first;
}

// Background flows come and go for ever, and bring nobody on.
bool FlowEngine::can_go_on(double next) const {
  return open_ > 0 && (under_way_ > 0 || !coming_.empty()) && next < std::numeric_limits<double>::infinity();
}

FlowOutcome FlowEngine::take_outcome() {
  forget_state();
  again_.played = 0;
  outcome_.evaluated = shares_.evaluated() - evaluated_before_;
  evaluated_before_ = shares_.evaluated();
  FlowOutcome fresh;
  fresh.link_bytes.assign(outcome_.link_bytes.size(), 0);
  for (const MessageState& m : slots_) {
    if (m.phase == FlowPhase::Free) continue;
    for (const Hop& hop : m.all_links) {  // what it has yet to carry is the next outcome's
      const double bytes = bytes_to_come(m, hop) * hop.part;
      outcome_.link_bytes[hop.link] -= bytes;
      fresh.link_bytes[hop.link] += bytes;
    }
  }
  return std::exchange(outcome_, std::move(fresh));
}

/// Of a message under way over one of its links.
double FlowEngine::bytes_to_come(const MessageState& m, const Hop& hop) const {
  const bool stored = fabric_.switching == model::Switching::StoreAndForward;
  if (stored && hop.stage != m.stage) return hop.stage < m.stage ? 0 : m.bytes;
  if (m.phase == FlowPhase::Landing) return 0;
  if (m.phase != FlowPhase::Transfer) return m.bytes;
  return bytes_left(m);
}

// All that happens at one time, with what it causes at that time.
void FlowEngine::batch(double first) {
  put_away();
  const double last = first + first * kTogether;
  for (double at = first; open_ > 0 && at <= last; at = next_event()) {
    now_ = std::max(now_, at);
    if (heap_.next_time() <= at) {
      const Slot slot = heap_.next();
      heap_.remove(slot);
      if (!heap_.empty()) {  // most likely what comes next
        prefetch(&slots_[heap_.next()]);
        shares_.expect(heap_.next());
      }
      event(slot);
    } else if (clock_heap_.next_time() <= at) {
      event(clocks_.at(clock_heap_.next()).ends.begin()->second);
    } else {
      const Coming coming = coming_.top();
      coming_.pop();
      come(*courses_[coming.course], coming.course, coming.place);
    }
  }
}

void FlowEngine::come(FlowCourse& course, FlowCourseId id, int place) {
  all_came_ = --course.to_come == 0 || all_came_;
  note(id, place, false);
  if (live_.insert(id).second) {
    course.first_slot = take_slots(course.cells.size());
    forget_snapshot();
    if (eager_) call_servers(id);
  }
  for (int lane = 0; lane < course.lanes; ++lane) {
    course.cell(lane, place).round = 0;
    enter(id, lane, place);
  }
}

// The round that the cell is in begins; and those behind it, while there is nothing to wait for.
void FlowEngine::enter(FlowCourseId id, int lane, int place) {
  FlowCourse& course = *courses_[id];
  LaneRounds& rounds = course.rounds[static_cast<std::size_t>(lane)];
  LaneCell& here = course.cell(lane, place);
  while (here.round < rounds.rounds()) {
    if (lane == 0 && place == 0) reference_moved_ = true;
    const std::int64_t k = here.round;
    const RoundTable& table = rounds.table(k);
    const std::span<const std::uint32_t> receives = table.receives_of(place);
    const std::uint32_t end = table.sends_end(place);
    here.pending = static_cast<std::int32_t>(receives.size());
    if (!eager_ && table.waits_for_sends(place))
      here.pending += static_cast<std::int32_t>(end - table.sends_begin(place));
    for (std::uint32_t i = table.sends_begin(place); i < end; ++i)
      if (eager_ || course.cell(lane, table.messages[i].to).round >= k) start(id, lane, k, table, i);
    if (eager_) {
      const auto early = course.early.find(course.key(lane, k, place));
      if (early != course.early.end()) {
        here.pending -= early->second;
        course.early.erase(early);
      }
    } else {
      for (const std::uint32_t i : receives)
        if (course.cell(lane, table.messages[i].from).round >= k) start(id, lane, k, table, i);
    }
    if (here.pending > 0) return;
    go_on(course, lane, place);
  }
  if (waits_for_port(course, lane, place))
    course.ports->held.emplace(course.key(lane, 0, place), id);
  else
    end_lane(id, place);
}

void FlowEngine::end_lane(FlowCourseId id, int place) {
  FlowCourse& course = *courses_[id];
  if (--course.lanes_left[static_cast<std::size_t>(place)] == 0) leave(course, id, place);
}

void FlowEngine::go_on(FlowCourse& course, int lane, int place) {
  LaneCell& here = course.cell(lane, place);
  course.rounds[static_cast<std::size_t>(lane)].leave(here.round);
  ++here.round;
}

void FlowEngine::leave(FlowCourse& course, FlowCourseId id, int place) {
  departed_.push_back({.course = id, .place = place, .at = Seconds{origin_ + now_}});
  note(id, place, true);
  if (--course.to_leave == 0) close(id);
}

// Eager: a message may still be under way to somebody who does not wait for it; nobody may.
void FlowEngine::close(FlowCourseId id) {
  FlowCourse& course = *courses_[id];
  const std::size_t cells = course.cells.size();
  for (std::size_t s = course.first_slot; s < course.first_slot + cells; ++s) slots_[s].from = -1;
  free_slots_[cells].push_back(course.first_slot);
  over_.push_back(std::move(courses_[id]));
  live_.erase(id);
  --open_;
  forget_snapshot();
}

FlowEngine::Slot FlowEngine::take_slot(const FlowCourse& course, int lane, int from) {
  const Slot own = course.first_slot + static_cast<Slot>(static_cast<std::size_t>(lane) * course.places +
                                                         static_cast<std::size_t>(from));
  if (slots_[own].phase == FlowPhase::Free) return own;
  if (spare_.empty()) {
    slots_.emplace_back();
    slots_.back().spare = true;
    return static_cast<Slot>(slots_.size() - 1);
  }
  const Slot slot = spare_.back();
  spare_.pop_back();
  return slot;
}

void FlowEngine::start(FlowCourseId id, int lane, std::int64_t round, const RoundTable& table,
                       std::uint32_t number) {
  FlowCourse& course = *courses_[id];
  const model::Transfer& message = table.messages[number];
  const Slot slot = take_slot(course, lane, message.from);
  MessageState& m = slots_[slot];
  const bool same_way =
      m.course == id && m.from == message.from && m.to == message.to && m.lane == lane && assigned_.empty();
  m.course = id;
  m.phase = FlowPhase::Latency;
  m.lane = lane;
  m.round = round;
  m.from = message.from;
  m.to = message.to;
  m.sender_waits = !eager_ && table.waits_for_sends(message.from);
  m.ordinal = noise_ == nullptr && course.losses.empty() ? 0 : table.ordinal_of(number);
  m.lost = 0;
  // A switch has a port for each of its links.
  const bool of_switch = course.what.schedule->is_switch(message.from);
  const std::uint32_t first_send = table.sends_begin(message.from);
  m.chained = eager_ || (table.sends_end(message.from) - first_send > 1 && !of_switch);
  const int link = of_switch ? 1 + message.to : 0;
  m.chain = course.key(lane, eager_ ? link : round, message.from);
  m.order = number - first_send;
  m.stage = 0;
  m.bytes = static_cast<double>(message.bytes.count());
  m.begin = now_;
  if (!same_way) {
    find_way(m);
    if (course.what.limit) limit_way(m, *course.what.limit);
  }
  for (const Hop& hop : m.all_links) outcome_.link_bytes[hop.link] += m.bytes * hop.part;
  if (!assigned_.empty())
    for (const Hop& hop : m.all_links) ++assigned_[hop.link];
  outcome_.messages += course.what.neighbours ? 0 : 1;
  ++under_way_;
  ++outcome_.played;
  const double first =
      fabric_.switching == model::Switching::StoreAndForward ? stage_latency(m, 0) : m.latency;
  const double wait = first + delay_of(m);
  // Drawn shorter than its way takes: fewer bytes cross it, so that alone it takes what was drawn.
  m.left = wait < 0 ? std::max(m.bytes + wait * m.idle_rate, 0.0) : m.bytes;
  const double late = loss_of(m);
  if (!eager_) return heap_.set(slot, now_ + std::max(wait, 0.0) + late);
  m.landing = std::max(wait, 0.0);
  FlowPort& port = port_of(m);
  ++port.to_leave;
  ++port.to_arrive;
  late > 0 ? lose(slot, late) : take_port(slot);
}

// How much later than undisturbed the first byte leaves. The draws are those of the max-plus engine.
double FlowEngine::delay_of(const MessageState& m) const {
  if ((noise_ == nullptr && !options_.disturb) || course_of(m).what.neighbours) return 0;
  const Seconds latency{m.latency};
  const Seconds idle{m.latency + m.bytes / m.idle_rate};
  Seconds cost = idle;
  if (noise_ != nullptr) {
    const FlowCourse& course = course_of(m);
    const FlowCollective& what = course.what;
    const int lanes = what.schedule->lanes();
    const int lane = m.lane % lanes;
    const int place = what.schedule->order(lane).place_of(m.to);
    // Servers and switches are of no rank: they differ by their places.
    const bool of_rank = m.to < what.schedule->ranks();
    const int device = of_rank ? course.device(m.lane, m.to) : m.to;
    const int rank = of_rank ? noise_->rank_on(device) : m.to;
    const int receiver = what.draws_by_device ? device : place;
    const MessageDraws draws{.noise = noise_,
                             .step = what.step.value_or(options_.step),
                             .number = what.number + std::int64_t{2} * (m.lane / lanes),
                             .lane = lane};
    noise_->messages(draws.step, draws.number, draws.round(m.round, m.ordinal), receiver, {&cost, 1},
                     {&latency, 1}, {&rank, 1});
  }
  if (options_.disturb) {
    const FlowMessage message{.lane = m.lane,
                              .round = m.round,
                              .from = m.from,
                              .to = m.to,
                              .bytes = Bytes{static_cast<std::int64_t>(m.bytes)},
                              .begin = Seconds{origin_ + m.begin},
                              .end = {}};
    cost = options_.disturb(message, cost);
  }
  return (cost - idle).count();
}

/// Which of a collective's messages are lost by chance is known beforehand.
void FlowEngine::prepare_losses(FlowCourse& course) {
  const FlowCollective& what = course.what;
  if (options_.timeouts == nullptr || !options_.timeouts->happen() || what.neighbours) return;
  const int lanes = what.schedule->lanes();
  const auto receivers = what.draws_by_device ? network_.ranks() : what.schedule->participants();
  for (int lane = 0; lane < course.lanes; ++lane) {
    const TimeoutDraws::Row row{.step = what.step.value_or(options_.step),
                                .number = what.number + std::int64_t{2} * (lane / lanes),
                                .lane = lane % lanes};
    const bool lone = what.lone_messages;
    course.losses.emplace_back(*options_.timeouts, row, lone ? 1 : what.schedule->rounds(row.lane),
                               lone ? 1 : receivers);
    const std::int64_t ordinal = lone ? course.device(lane, 1) : 0;
    course.loses = course.loses || !course.losses.back().all(ordinal).empty();
  }
}

/// How much later the message arrives since it was lost by chance. The draws are those of the max-plus engine.
double FlowEngine::loss_of(const MessageState& m) {
  FlowCourse& course = *courses_[m.course];
  if (course.losses.empty() || !m.crosses) return 0;
  const FlowCollective& what = course.what;
  const int place = what.schedule->order(m.lane % what.schedule->lanes()).place_of(m.to);
  const int receiver = what.draws_by_device ? course.device(m.lane, m.to) : place;
  LaneLosses& losses = course.losses[static_cast<std::size_t>(m.lane)];
  return (what.lone_messages ? losses.late(0, 0, receiver) : losses.late(m.round, receiver, m.ordinal))
      .count();
}

/// Whether every port of a switch on the way has room for one more.
bool FlowEngine::finds_room(const MessageState& m, std::span<const Hop> hops) const {
  const model::Timeouts& timeouts = fabric_.timeouts;
  if (!m.crosses || timeouts.flows == 0 || timeouts.wait <= Seconds{}) return true;
  return std::ranges::all_of(hops, [&](const Hop& hop) {
    const bool of_switch = hop.link < network_.links().size() &&
                           (network_.between_switches(hop.link) || network_.into_node(hop.link));
    constexpr double kRounding = 1e-9;
    return !of_switch || shares_.flows_on(hop.link) + hop.part <= timeouts.flows + kRounding;
  });
}

void FlowEngine::event(Slot slot) {
  if (is_background(slot)) return toggle_background(slot);
  if (slots_[slot].phase == FlowPhase::Latency) return begin_transfer(slot);
  if (slots_[slot].phase == FlowPhase::Lost) return take_port(slot);
  if (slots_[slot].phase == FlowPhase::Landing) return land(slot);
  if (slots_[slot].clock != FairShares::kNoLink) unfollow(slot);
  shares_.stop(slot);
  --active_;
  end_transfer(slot);
}

void FlowEngine::begin_transfer(Slot slot) {
  MessageState& m = slots_[slot];
  if (!eager_ && m.chained && m.stage == 0) {
    FlowCourse& course = *courses_[m.course];
    const auto sent = course.ports->sent.find(m.chain);
    if ((sent == course.ports->sent.end() ? 0 : sent->second) < m.order) {
      m.phase = FlowPhase::Queued;
      course.ports->queued.emplace(std::pair{m.chain, m.order}, slot);
      return;
    }
  }
  std::span<const Hop> hops = m.hops;
  if (fabric_.switching == model::Switching::StoreAndForward) {
    const auto first =
        std::find_if(hops.begin(), hops.end(), [&](const Hop& h) { return h.stage == m.stage; });
    const auto last = std::find_if(first, hops.end(), [&](const Hop& h) { return h.stage != m.stage; });
    hops = {first, last};
  }
  if (m.stage > 0) m.left = m.bytes;
  if (m.left == 0 || hops.empty()) return end_transfer(slot);
  if (m.lost < kMostLosses && !finds_room(m, hops)) {
    m.lost = static_cast<std::uint8_t>(m.lost + 1);
    const double wait = std::ldexp(fabric_.timeouts.wait.count(), m.lost - 1);
    if (eager_ && m.stage == 0) {
      free_port(m);
      return lose(slot, wait);
    }
    m.phase = FlowPhase::Latency;
    return heap_.set(slot, now_ + wait);
  }
  m.phase = FlowPhase::Transfer;
  m.rate = 0;
  m.updated = now_;
  shares_.start(slot, hops);
  outcome_.peak_flows = std::max(outcome_.peak_flows, ++active_);
}

void FlowEngine::end_transfer(Slot slot) {
  MessageState& m = slots_[slot];
  if (eager_) {
    m.phase = FlowPhase::Landing;
    heap_.set(slot, now_ + (m.stage == 0 ? m.landing : stage_latency(m, m.stage)));
    if (m.stage > 0) return;
    free_port(m);
    --port_of(m).to_leave;
    return let_go(m);
  }
  if (m.chained && m.stage == 0) release_next(m);
  if (!goes_further(m)) return deliver(slot);
  m.phase = FlowPhase::Latency;
  ++m.stage;
  heap_.set(slot, now_ + stage_latency(m, m.stage));
}

/// Store and forward: there is a link behind the one that it is on.
bool FlowEngine::goes_further(const MessageState& m) const {
  return fabric_.switching == model::Switching::StoreAndForward && !m.all_links.empty() &&
         m.stage < m.all_links.back().stage;
}

/// Eager: the latency behind the bytes is over.
void FlowEngine::land(Slot slot) {
  MessageState& m = slots_[slot];
  if (!goes_further(m)) return deliver(slot);
  ++m.stage;
  begin_transfer(slot);
}

// By rendezvous: the next send of the round may begin.
void FlowEngine::release_next(const MessageState& m) {
  FlowPorts& ports = *courses_[m.course]->ports;
  const std::uint32_t sent = ++ports.sent[m.chain];
  const auto next = ports.queued.find({m.chain, sent});
  if (next == ports.queued.end()) return;
  const Slot slot = next->second;
  ports.queued.erase(next);
  slots_[slot].phase = FlowPhase::Latency;
  heap_.set(slot, now_);
}

void FlowEngine::deliver(Slot slot) {
  MessageState& m = slots_[slot];
  m.phase = FlowPhase::Free;
  --under_way_;
  if (!assigned_.empty())
    for (const Hop& hop : m.all_links) --assigned_[hop.link];
  if (m.spare) spare_.push_back(slot);
  if (eager_) {
    --port_of(m).to_arrive;
    let_go(m);
  }
  const FlowCourseId id = m.course;
  FlowCourse& course = *courses_[id];
  const int lane = m.lane;
  const int to = m.to;
  const std::int64_t round = m.round;
  if (options_.on_message)
    options_.on_message({.lane = lane,
                         .round = round,
                         .from = m.from,
                         .to = to,
                         .bytes = Bytes{static_cast<std::int64_t>(m.bytes)},
                         .begin = Seconds{origin_ + m.begin},
                         .end = Seconds{origin_ + now_}});
  const int waiting_sender = m.sender_waits ? m.from : -1;
  if (course.cell(lane, to).round < round)
    ++course.early[course.key(lane, round, to)];
  else
    finish_one(id, lane, to);
  if (waiting_sender >= 0) finish_one(id, lane, waiting_sender);
}

void FlowEngine::finish_one(FlowCourseId id, int lane, int place) {
  FlowCourse& course = *courses_[id];
  if (--course.cell(lane, place).pending > 0) return;
  go_on(course, lane, place);
  enter(id, lane, place);
}

FlowOutcome run_flows(const model::Schedule& schedule, const Network& network, const model::Fabric& fabric,
                      std::span<const int> rank_of, const FlowOptions& options, std::span<Seconds> times) {
  COX_ASSERT(times.size() == static_cast<std::size_t>(schedule.ranks()), "one time per rank");
  const Seconds origin = times.empty() ? Seconds{} : *std::min_element(times.begin(), times.end());
  FlowEngine engine(network, fabric, options, origin);
  const FlowCourseId course = engine.begin(
      {.schedule = &schedule, .rank_of = {rank_of.begin(), rank_of.end()}, .number = options.number});
  for (int p = 0; p < schedule.ranks(); ++p) engine.arrive(course, p, times[static_cast<std::size_t>(p)]);
  Seconds behind_ranks{};
  std::size_t left = 0;
  while (const std::optional<FlowDeparture> one = engine.next()) {
    ++left;
    if (one->place < schedule.ranks())
      times[static_cast<std::size_t>(one->place)] = one->at;
    else
      behind_ranks = std::max(behind_ranks, one->at);
  }
  COX_ASSERT(left == static_cast<std::size_t>(schedule.participants()), "a schedule that cannot finish");
  FlowOutcome outcome = engine.take_outcome();
  outcome.behind_ranks = behind_ranks;
  return outcome;
}

}  // namespace cox::simulate
