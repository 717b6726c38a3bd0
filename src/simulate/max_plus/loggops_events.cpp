// SPDX-License-Identifier: Apache-2.0
// The rules, and the order of what is ready at one instant, are those of docs/concepts/event-engine.md.
#include "simulate/max_plus/loggops_events.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

constexpr double kIdlePort = -std::numeric_limits<double>::infinity();
constexpr std::uint64_t kNoOrder = ~std::uint64_t{0};

/// Positive numbers are ordered as their bits are, negative ones the other way round.
std::uint64_t ordered_bits(double x) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(x + 0.0);  // one zero
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

}  // namespace

LogGopsEvents::LogGopsEvents(const model::Schedule& schedule, int lane, std::int64_t rounds,
                             const LinkCosts& costs)
    : schedule_(schedule), lane_(lane), rounds_(rounds), costs_(costs) {
  if (rounds_ > 0 && !schedule_.regular(0, lane_)) {
    make_lists();
    return;
  }
  for (std::int64_t k = 0; k < rounds_; ++k) {
    const auto round = schedule_.regular(k, lane_);
    COX_ASSERT(round.has_value(), "all rounds of a lane are regular, or none is");
    if (round->size == 1) continue;
    regular_.push_back(*round);
    numbers_.push_back(k);
  }
}

void LogGopsEvents::make_lists() {
  lists_.resize(static_cast<std::size_t>(schedule_.participants()));
  std::vector<model::Transfer> transfers;
  std::vector<std::int64_t> last(lists_.size(), -1);
  for (std::int64_t k = 0; k < rounds_; ++k) {
    schedule_.transfers(k, transfers, lane_);
    const auto round = [&](int participant) -> Round& {
      const auto p = static_cast<std::size_t>(participant);
      Lists& lists = lists_[p];
      if (last[p] != k)
        lists.rounds.push_back({.first_send = static_cast<std::uint32_t>(lists.sends.size()),
                                .first_receive = static_cast<std::uint32_t>(lists.receives.size())});
      last[p] = k;
      return lists.rounds.back();
    };
    for (const model::Transfer& t : transfers) {
      ++round(t.from).sends;
      const std::int64_t ordinal = round(t.to).receives++;
      Message message{.peer = t.to, .bytes = t.bytes, .combine = t.combine, .round = k, .ordinal = ordinal};
      lists_[static_cast<std::size_t>(t.from)].sends.push_back(message);
      message.peer = t.from;
      lists_[static_cast<std::size_t>(t.to)].receives.push_back(message);
    }
  }
}

std::uint32_t LogGopsEvents::rounds_of(std::uint32_t participant) const {
  return static_cast<std::uint32_t>(lists_.empty() ? regular_.size() : lists_[participant].rounds.size());
}

LogGopsEvents::Round LogGopsEvents::round_of(const Side& side) const {
  if (lists_.empty()) return {.sends = 1, .receives = 1};
  return lists_[side.participant].rounds[side.round];
}

LogGopsEvents::Message LogGopsEvents::sent(const Side& side) const {
  if (!lists_.empty()) return lists_[side.participant].sends[round_of(side).first_send + side.index];
  const model::RegularRound& r = regular_[side.round];
  const auto from = static_cast<int>(side.participant);
  return {
      .peer = r.to(from), .bytes = r.bytes_from(from), .combine = r.combine, .round = numbers_[side.round]};
}

LogGopsEvents::Message LogGopsEvents::received(const Side& side) const {
  if (!lists_.empty()) return lists_[side.participant].receives[round_of(side).first_receive + side.index];
  const model::RegularRound& r = regular_[side.round];
  const int from = r.from(static_cast<int>(side.participant));
  return {.peer = from, .bytes = r.bytes_from(from), .combine = r.combine, .round = numbers_[side.round]};
}

int LogGopsEvents::source(const Side& side) const {
  if (!lists_.empty()) return received(side).peer;
  return regular_[side.round].from(static_cast<int>(side.participant));
}

model::Combine LogGopsEvents::combine(const Side& side) const {
  return lists_.empty() ? regular_[side.round].combine : received(side).combine;
}

/// Whether they are two sides of one message, of ranks that may send each other several.
bool LogGopsEvents::is_one(const Side& send, const Side& receive) const {
  if (send.participant != static_cast<std::uint32_t>(source(receive))) return false;
  if (lists_.empty()) return send.round == receive.round;
  const Message a = sent(send), b = received(receive);
  return a.round == b.round && a.ordinal == b.ordinal;
}

/// Servers are across from everybody.
const model::MessageCost& LogGopsEvents::cost_of(int from, int to) const {
  const bool ranks = from < schedule_.ranks() && to < schedule_.ranks();
  const bool own_cost = !costs_.into.empty() && to < schedule_.ranks();
  return ranks || own_cost ? costs_.of(from, to) : costs_.across;
}

MessageParts LogGopsEvents::parts(std::uint32_t from, const Message& m) {
  const auto sender = static_cast<int>(from);
  const model::MessageCost& cost = cost_of(sender, m.peer);
  Known& known = known_[m.bytes.count() % 2];
  if (known.cost != &cost || known.bytes != m.bytes || known.combine != m.combine)
    known = {
        .cost = &cost, .bytes = m.bytes, .combine = m.combine, .parts = parts_of(cost, m.bytes, m.combine)};
  MessageParts parts = known.parts;
  if (draws_->noise != nullptr) {
    Seconds whole = cost(m.bytes);
    const auto rank = m.peer < schedule_.ranks() ? draws_->ranks_on(static_cast<std::size_t>(m.peer), 1)
                                                 : std::span<const int>{};
    draws_->noise->messages(draws_->step, draws_->number, draws_->round(m.round, m.ordinal), m.peer,
                            {&whole, 1}, {&cost.latency, 1}, rank);
    parts.disturb(cost.latency.count(), whole.count());
  }
  if (draws_->losses != nullptr) {
    const model::PlaceOrder order = schedule_.order(lane_);
    const int a = order.is_plain() ? sender : order.rank_at(sender);
    const int b = order.is_plain() ? m.peer : order.rank_at(m.peer);
    if (MessageDraws::crosses(draws_->nodes, a, b))
      parts.latency += in_picoseconds(draws_->losses->late(m.round, m.peer, m.ordinal).count());
  }
  return parts;
}

void LogGopsEvents::Queue::push(const Event& e) {
  auto slot = static_cast<std::uint32_t>(events_.size());
  if (free_.empty()) {
    events_.push_back(e);
  } else {
    slot = free_.back();
    free_.pop_back();
    events_[slot] = e;
  }
  const Key key{ordered_bits(e.time), e.order, slot};
  std::size_t at = heap_.size();
  heap_.push_back(key);
  for (; at > 0 && key.before(heap_[(at - 1) / 4]); at = (at - 1) / 4) heap_[at] = heap_[(at - 1) / 4];
  heap_[at] = key;
}

LogGopsEvents::Event LogGopsEvents::Queue::pop() {
  const std::uint32_t slot = heap_.front().slot;
  const Key last = heap_.back();
  heap_.pop_back();
  const std::size_t size = heap_.size();
  std::size_t at = 0;
  while (4 * at + 1 < size) {
    const std::size_t first = 4 * at + 1;
    std::size_t least = first;
    for (std::size_t i = first + 1; i < std::min(first + 4, size); ++i)
      least = heap_[i].before(heap_[least]) ? i : least;
    if (!heap_[least].before(last)) break;
    heap_[at] = heap_[least];
    at = least;
  }
  if (size > 0) heap_[at] = last;
  free_.push_back(slot);
  return events_[slot];
}

void LogGopsEvents::wait(const Event& e, double until, Queued& waiting) {
  Event put_off = e;
  put_off.waits = true;
  put_off.time = until;
  if (e.order <= waiting.first) {
    waiting.first = e.order;
    return queue_.push(put_off);
  }
  waiting.others.push_back(put_off);
  std::push_heap(waiting.others.begin(), waiting.others.end(), LaterOrder{});
}

/// The first that waited has run: the next one enters the queue.
void LogGopsEvents::next_of(Queued& waiting, double free) {
  waiting.first = kNoOrder;
  if (waiting.others.empty()) return;
  std::pop_heap(waiting.others.begin(), waiting.others.end(), LaterOrder{});
  Event next = waiting.others.back();
  waiting.others.pop_back();
  waiting.first = next.order;
  next.time = free;
  queue_.push(next);
}

void LogGopsEvents::handle(const Event& e) {
  Participant& p = participants_[e.at];
  if (e.kind == Kind::Receive) {
    receive(e, p);
  } else if (e.kind == Kind::Calculate) {
    if (p.cpu > e.time) {  // one at a time: nobody waits for the same
      Event later = e;
      later.time = p.cpu;
      return queue_.push(later);
    }
    const Message m = received(e.side);
    p.cpu = e.time + parts_of(cost_of(m.peer, static_cast<int>(e.at)), m.bytes, m.combine).combined;
    is_combined(e.side);
  } else {
    Queued& waiting = e.kind == Kind::Send ? p.sends : p.arrivals;
    const double& port = e.kind == Kind::Send ? p.out : p.in;
    const double free = std::max(p.cpu, port);
    if (free > e.time) return wait(e, free, waiting);
    if (e.kind == Kind::Send)
      send(e, p);
    else
      arrive(e, p);
    if (e.waits && waiting.first == e.order) next_of(waiting, std::max(p.cpu, port));
  }
  push_enabled();
}

void LogGopsEvents::send(const Event& e, Participant& p) {
  const Message m = sent(e.side);
  const MessageParts parts = this->parts(e.at, m);
  p.cpu = parts.sent(e.time);
  p.out = parts.left(e.time);
  ++messages_;
  queue_.push({.time = parts.arrives(e.time),
               .order = number_++,
               .side = e.side,
               .at = static_cast<std::uint32_t>(m.peer),
               .kind = Kind::Arrival});
  if (!parts.waits) send_is_done(e.side);
}

void LogGopsEvents::receive(const Event& e, Participant& p) {
  const auto begin = p.unexpected.begin() + static_cast<std::ptrdiff_t>(p.first_unexpected);
  const auto found =
      std::find_if(begin, p.unexpected.end(), [&](const Side& send) { return is_one(send, e.side); });
  if (found == p.unexpected.end()) {
    p.waits_for_one = true;
    p.posted = e.side;
    return;
  }
  const Side send = *found;
  if (found == begin)
    ++p.first_unexpected;
  else
    p.unexpected.erase(found);
  if (p.first_unexpected == p.unexpected.size()) {
    p.unexpected.clear();
    p.first_unexpected = 0;
  }
  if (const Message m = sent(send); m.bytes > cost_of(static_cast<int>(send.participant), m.peer).eager_limit)
    release_sender(send, e.time);
  receive_is_done(e.side);
}

void LogGopsEvents::arrive(const Event& e, Participant& p) {
  const MessageParts parts = this->parts(e.side.participant, sent(e.side));
  p.cpu = parts.received(e.time);
  p.in = parts.left(e.time);
  if (!p.waits_for_one || !is_one(e.side, p.posted)) {
    p.unexpected.push_back(e.side);
    return;
  }
  p.waits_for_one = false;
  const Side receive = p.posted;
  if (parts.waits) release_sender(e.side, e.time);
  receive_is_done(receive);
}

void LogGopsEvents::release_sender(const Side& send, double at) {
  send_is_done(send);
  Participant& p = participants_[send.participant];
  p.cpu = std::max(p.cpu, at);
  p.out = std::max(p.out, at);
}

void LogGopsEvents::send_is_done(const Side& send) {
  const Round round = round_of(send);
  if (send.index + 1 < round.sends)
    enable(Kind::Send, {send.participant, send.round, send.index + 1});
  else if (!round.receive_is_enough())
    close_one(send);
}

void LogGopsEvents::receive_is_done(const Side& receive) {
  const bool adds = combine(receive) == model::Combine::Add;
  if (adds && cost_of(source(receive), static_cast<int>(receive.participant)).reduce > TimePerByte{})
    enable(Kind::Calculate, receive);
  else
    is_combined(receive);
}

void LogGopsEvents::is_combined(const Side& receive) {
  if (receive.index + 1 < round_of(receive).receives)
    enable(Kind::Receive, {receive.participant, receive.round, receive.index + 1});
  else
    close_one(receive);
}

void LogGopsEvents::close_one(const Side& side) {
  if (--participants_[side.participant].open == 0) enter(side.participant, side.round + 1);
}

void LogGopsEvents::enter(std::uint32_t participant, std::uint32_t round) {
  if (round >= rounds_of(participant)) return;
  const Side first{participant, round, 0};
  const Round r = round_of(first);
  participants_[participant].open =
      (r.receives > 0 ? 1U : 0U) + (r.sends > 0 && !r.receive_is_enough() ? 1U : 0U);
  if (r.sends > 0) enable(Kind::Send, first);
  if (r.receives > 0) enable(Kind::Receive, first);
}

void LogGopsEvents::enable(Kind kind, const Side& side) {
  enabled_.push_back({.side = side, .at = side.participant, .kind = kind});
}

/// What the event at hand has made ready, by participant and kind, when its processor (and port) is free. Few; sorting
/// them must not allocate.
void LogGopsEvents::push_enabled() {
  const auto before = [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.kind < b.kind;
  };
  for (std::size_t i = 1; i < enabled_.size(); ++i)
    for (std::size_t k = i; k > 0 && before(enabled_[k], enabled_[k - 1]); --k)
      std::swap(enabled_[k], enabled_[k - 1]);
  for (Event& e : enabled_) {
    const Participant& p = participants_[e.at];
    e.time = e.kind == Kind::Send ? std::max(p.cpu, p.out) : p.cpu;
    e.order = number_++;
    queue_.push(e);
  }
  enabled_.clear();
}

std::int64_t LogGopsEvents::run(const MessageDraws& draws, std::span<double> ready) {
  draws_ = &draws;
  messages_ = 0;
  number_ = 0;
  participants_.assign(ready.size(), Participant{});
  for (std::uint32_t i = 0; i < participants_.size(); ++i) {
    Participant& p = participants_[i];
    p.cpu = ready[i];
    p.out = p.in = kIdlePort;
    p.sends.first = p.arrivals.first = kNoOrder;
    enter(i, 0);
    push_enabled();
  }
  while (!queue_.empty()) {
    handle(queue_.pop());
  }
  for (std::size_t i = 0; i < ready.size(); ++i) ready[i] = participants_[i].cpu;
  draws_ = nullptr;
  return messages_;
}

}  // namespace cox::simulate
