// SPDX-License-Identifier: Apache-2.0
// Events of the flow engine. Times are plain seconds since the first arrival.
#include "simulate/flow/engine.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"

#include "simulate/max_plus/regular_rounds.hpp"

namespace cox::simulate {
namespace {

// Events this close (relative) are one: the rates are solved once for all of them.
constexpr double kTogether = 1e-12;
constexpr std::uint32_t kBackgroundStream = 0x666c6f77;

FairShares make_shares(const Network& network, const model::Fabric& fabric, const FlowOptions& options) {
  COX_ASSERT(fabric.background_load >= 0 && fabric.background_load < 1, "background load must be in [0, 1)");
  std::vector<double> capacity;
  capacity.reserve(network.links().size());
  for (std::size_t l = 0; l < network.links().size(); ++l) {
    const double share = network.between_switches(static_cast<LinkIndex>(l)) ? 1 - fabric.background_load : 1;
    capacity.push_back(network.links()[l].bandwidth.in_bytes_per_s() * share);
  }
  FairShares::Options shares{.incast = {}, .receiving = {}, .pause = fabric.pause};
  if (fabric.incast_loss) {
    shares.incast = {.fan_in = options.incast.fan_in, .floor_ratio = options.incast.floor_ratio};
    shares.receiving.assign(capacity.size(), false);
    for (std::size_t l = 0; l < capacity.size(); ++l)
      shares.receiving[l] = network.into_node(static_cast<LinkIndex>(l));
  }
  return {std::move(capacity), std::move(shares)};
}

}  // namespace

FlowEngine::FlowEngine(const model::Schedule& schedule, const Network& network, const model::Fabric& fabric,
                       std::span<const int> rank_of, const FlowOptions& options)
    : schedule_(schedule),
      network_(network),
      fabric_(fabric),
      rank_of_(rank_of),
      options_(options),
      eager_(options.protocol != model::Protocol::Rendezvous),
      places_(static_cast<std::size_t>(schedule.participants())),
      lanes_(schedule.lanes()),
      ranks_(schedule.ranks()),
      shares_(make_shares(network, fabric, options)) {
  COX_ASSERT(rank_of.size() == places_, "every participant needs a rank to sit on");
  COX_ASSERT(lanes_ <= std::numeric_limits<std::uint16_t>::max(), "more lanes than anybody has");
  for (int lane = 0; lane < lanes_; ++lane) rounds_.emplace_back(schedule, lane);
  const std::size_t cells = places_ * static_cast<std::size_t>(lanes_);
  cells_.resize(cells);
  slots_.resize(cells);
  if (eager_) sends_.assign(cells, 0);
  first_background_ = static_cast<Slot>(cells);
  outcome_.link_bytes.assign(network.links().size(), 0);
  if (fabric.routing == model::Routing::Adaptive) assigned_.assign(network.links().size(), 0);
  if (options.noise != nullptr && (options.noise->disturbs_messages() || options.noise->disturbs_bandwidth()))
    noise_ = options.noise;
  memo_on_ = options.memo && noise_ == nullptr && !options.disturb && !options.on_message &&
             options.background.flows == 0;
  add_background();
}

FlowOutcome FlowEngine::run(std::span<Seconds> times) {
  COX_ASSERT(times.size() == static_cast<std::size_t>(ranks_), "one time per rank");
  arrivals_.assign(places_, 0);
  if (!times.empty()) origin_ = std::min_element(times.begin(), times.end())->count();
  // Servers and switches are there from the beginning.
  for (std::size_t p = 0; p < times.size(); ++p) arrivals_[p] = times[p].count() - origin_;
  departures_ = arrivals_;
  lanes_left_.assign(places_, lanes_);
  unfinished_ = places_;
  by_arrival_.resize(places_);
  std::iota(by_arrival_.begin(), by_arrival_.end(), 0);
  std::stable_sort(by_arrival_.begin(), by_arrival_.end(), [&](int a, int b) {
    return arrivals_[static_cast<std::size_t>(a)] < arrivals_[static_cast<std::size_t>(b)];
  });
  while (unfinished_ > 0) {
    batch();
    settle();
    if (memo_on_ && reference_moved_) look_for_period();
    reference_moved_ = false;
  }
  for (std::size_t p = 0; p < times.size(); ++p) times[p] = Seconds{origin_ + departures_[p]};
  for (std::size_t p = times.size(); p < places_; ++p)
    outcome_.behind_ranks = std::max(outcome_.behind_ranks, Seconds{origin_ + departures_[p]});
  outcome_.evaluated = shares_.evaluated();
  return std::move(outcome_);
}

double FlowEngine::next_event() const {
  const double arrival = arrived_ < places_ ? arrivals_[static_cast<std::size_t>(by_arrival_[arrived_])]
                                            : std::numeric_limits<double>::infinity();
  return std::min(heap_.next_time(), arrival);
}

// All that happens at one time, with what it causes at that time.
void FlowEngine::batch() {
  const double first = next_event();
  COX_ASSERT(first < std::numeric_limits<double>::infinity(), "a schedule that cannot finish");
  const double last = first + first * kTogether;
  while (unfinished_ > 0) {
    const double at = next_event();
    if (at > last) break;
    now_ = std::max(now_, at);
    if (heap_.next_time() <= at) {
      const Slot slot = heap_.next();
      heap_.remove(slot);
      event(slot);
    } else {
      arrive(by_arrival_[arrived_++]);
    }
  }
}

void FlowEngine::settle() {
  const std::span<const FlowSlot> changed = shares_.settle();
  outcome_.solved += changed.empty() ? 0 : 1;
  for (const Slot slot : changed) {
    if (is_background(slot)) continue;
    MessageState& m = slots_[slot];
    m.left = std::max(m.left - m.rate * (now_ - m.updated), 0.0);
    m.updated = now_;
    m.rate = shares_.rate(slot) * m.weight;
    heap_.set(slot, now_ + m.left / m.rate);
  }
}

std::uint64_t FlowEngine::key(int lane, std::int64_t round, int place) const {
  return (static_cast<std::uint64_t>(round) * static_cast<std::uint64_t>(lanes_) +
          static_cast<std::uint64_t>(lane)) *
             places_ +
         static_cast<std::uint64_t>(place);
}

void FlowEngine::arrive(int place) {
  for (int lane = 0; lane < lanes_; ++lane) {
    cell(lane, place).round = 0;
    enter(lane, place);
  }
}

// The round that the cell is in begins; and those behind it, while there is nothing to wait for.
void FlowEngine::enter(int lane, int place) {
  LaneRounds& rounds = rounds_[static_cast<std::size_t>(lane)];
  LaneCell& here = cell(lane, place);
  while (here.round < rounds.rounds()) {
    if (lane == 0 && place == 0) reference_moved_ = true;
    const std::int64_t k = here.round;
    const RoundTable& table = rounds.table(k);
    const std::span<const std::uint32_t> receives = table.receives_of(place);
    const std::uint32_t end = table.sends_end(place);
    here.pending = static_cast<std::int32_t>(receives.size());
    if (table.waits_for_sends(place))
      here.pending += static_cast<std::int32_t>(end - table.sends_begin(place));
    for (std::uint32_t i = table.sends_begin(place); i < end; ++i)
      if (eager_ || cell(lane, table.messages[i].to).round >= k) start(lane, k, table, i);
    if (eager_) {
      const auto early = early_.find(key(lane, k, place));
      if (early != early_.end()) {
        here.pending -= early->second;
        early_.erase(early);
      }
    } else {
      for (const std::uint32_t i : receives)
        if (cell(lane, table.messages[i].from).round >= k) start(lane, k, table, i);
    }
    if (here.pending > 0) return;
    go_on(lane, place);
  }
  if (--lanes_left_[static_cast<std::size_t>(place)] == 0) --unfinished_;
  departures_[static_cast<std::size_t>(place)] = std::max(departures_[static_cast<std::size_t>(place)], now_);
}

void FlowEngine::go_on(int lane, int place) {
  LaneCell& here = cell(lane, place);
  rounds_[static_cast<std::size_t>(lane)].leave(here.round);
  ++here.round;
}

FlowEngine::Slot FlowEngine::take_slot(int lane, int from) {
  const Slot own =
      static_cast<Slot>(static_cast<std::size_t>(lane) * places_ + static_cast<std::size_t>(from));
  if (slots_[own].phase == FlowPhase::Free) return own;
  if (spare_.empty()) {
    slots_.emplace_back();
    return static_cast<Slot>(slots_.size() - 1);
  }
  const Slot slot = spare_.back();
  spare_.pop_back();
  return slot;
}

void FlowEngine::start(int lane, std::int64_t round, const RoundTable& table, std::uint32_t number) {
  const model::Transfer& message = table.messages[number];
  const Slot slot = take_slot(lane, message.from);
  MessageState& m = slots_[slot];
  const bool same_way = m.from == message.from && m.to == message.to && assigned_.empty();
  m.phase = FlowPhase::Latency;
  m.lane = static_cast<std::uint16_t>(lane);
  m.round = round;
  m.from = message.from;
  m.to = message.to;
  m.sender_waits = table.waits_for_sends(message.from);
  m.ordinal = noise_ == nullptr ? 0 : table.ordinal_of(number);
  const std::uint32_t first_send = table.sends_begin(message.from);
  if (eager_) {
    // One port per sender and lane, first come first served.
    m.chained = true;
    m.chain = key(lane, 0, message.from);
    m.order = sends_[static_cast<std::size_t>(m.chain)]++;
  } else {
    m.chained = table.sends_end(message.from) - first_send > 1 && !schedule_.is_switch(message.from);
    m.chain = key(lane, round, message.from);
    m.order = number - first_send;
  }
  m.stage = 0;
  m.bytes = static_cast<double>(message.bytes.count());
  m.begin = now_;
  if (!same_way) find_way(m);
  for (const Hop& hop : m.all_links) outcome_.link_bytes[hop.link] += m.bytes * hop.part;
  if (!assigned_.empty())
    for (const Hop& hop : m.all_links) ++assigned_[hop.link];
  ++outcome_.messages;
  const double first =
      fabric_.switching == model::Switching::StoreAndForward ? stage_latency(m, 0) : m.latency;
  heap_.set(slot, now_ + std::max(first + delay_of(m), 0.0));
}

// How much later than undisturbed the first byte leaves. The draws are those of the max-plus engine.
double FlowEngine::delay_of(const MessageState& m) const {
  if (noise_ == nullptr && !options_.disturb) return 0;
  const Seconds latency{m.latency};
  const Seconds idle{m.latency + m.bytes / m.idle_rate};
  Seconds cost = idle;
  if (noise_ != nullptr) {
    const MessageDraws draws{
        .noise = noise_, .step = options_.step, .number = options_.number, .lane = m.lane};
    noise_->messages(draws.step, draws.number, draws.round(m.round, m.ordinal), m.to, {&cost, 1},
                     {&latency, 1});
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

void FlowEngine::event(Slot slot) {
  if (is_background(slot)) return toggle_background(slot);
  if (slots_[slot].phase == FlowPhase::Latency) return begin_transfer(slot);
  shares_.stop(slot);
  --active_;
  end_transfer(slot);
}

void FlowEngine::begin_transfer(Slot slot) {
  MessageState& m = slots_[slot];
  if (m.chained && m.stage == 0) {
    const auto sent = sent_.find(m.chain);
    if ((sent == sent_.end() ? 0 : sent->second) < m.order) {
      m.phase = FlowPhase::Queued;
      queued_.emplace(std::pair{m.chain, m.order}, slot);
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
  if (m.bytes == 0 || hops.empty()) return end_transfer(slot);
  m.phase = FlowPhase::Transfer;
  m.left = m.bytes;
  m.rate = 0;
  m.updated = now_;
  shares_.start(slot, hops);
  outcome_.peak_flows = std::max(outcome_.peak_flows, ++active_);
}

void FlowEngine::end_transfer(Slot slot) {
  MessageState& m = slots_[slot];
  if (m.chained && m.stage == 0) release_next(m);
  if (fabric_.switching == model::Switching::StoreAndForward && !m.all_links.empty() &&
      m.stage < m.all_links.back().stage) {
    m.phase = FlowPhase::Latency;
    ++m.stage;
    heap_.set(slot, now_ + stage_latency(m, m.stage));
    return;
  }
  deliver(slot);
}

// The sender's port is free for its next message of the round.
void FlowEngine::release_next(const MessageState& m) {
  const std::uint32_t sent = ++sent_[m.chain];
  const auto next = queued_.find({m.chain, sent});
  if (next == queued_.end()) return;
  const Slot slot = next->second;
  queued_.erase(next);
  slots_[slot].phase = FlowPhase::Latency;
  heap_.set(slot, now_);
}

void FlowEngine::deliver(Slot slot) {
  MessageState& m = slots_[slot];
  m.phase = FlowPhase::Free;
  if (!assigned_.empty())
    for (const Hop& hop : m.all_links) --assigned_[hop.link];
  if (slot >= first_background_) spare_.push_back(slot);
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
  if (cell(lane, to).round < round)
    ++early_[key(lane, round, to)];
  else
    finish_one(lane, to);
  if (waiting_sender >= 0) finish_one(lane, waiting_sender);
}

void FlowEngine::finish_one(int lane, int place) {
  if (--cell(lane, place).pending > 0) return;
  go_on(lane, place);
  enter(lane, place);
}

void FlowEngine::add_background() {
  const int flows = fabric_.pause || network_.ranks() < 2 ? 0 : options_.background.flows;
  if (flows <= 0) return;
  background_.resize(static_cast<std::size_t>(flows));
  slots_.resize(slots_.size() + background_.size());
  const RandomStream draws(options_.seed, kBackgroundStream);
  for (std::size_t i = 0; i < background_.size(); ++i) {
    MessageState& m = slots_[first_background_ + i];
    // Places of background flows are ranks.
    m.from = static_cast<int>(draws.bits(0, 2 * i) % static_cast<std::uint64_t>(network_.ranks()));
    const auto others = static_cast<std::uint64_t>(network_.ranks() - 1);
    m.to = static_cast<int>(draws.bits(0, 2 * i + 1) % others);
    if (m.to >= m.from) ++m.to;
    use_path(m, network_.static_choice(m.from, m.to), m.from, m.to);
    heap_.set(static_cast<Slot>(first_background_ + i),
              2 * options_.background.mean_off.count() * draws.uniform(1, i));
  }
}

void FlowEngine::toggle_background(Slot slot) {
  const std::size_t i = slot - first_background_;
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
