// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/list_rounds.hpp"

#include <algorithm>
#include <limits>

namespace cox::simulate {
namespace {

constexpr double kFree = -std::numeric_limits<double>::infinity();

}  // namespace

using model::Protocol;
using model::Transfer;

ListRounds::ListRounds(const model::Schedule& schedule, const LinkCosts& costs, Protocol protocol,
                       bool ports_stay)
    : schedule_(schedule),
      costs_(costs),
      protocol_(protocol),
      ports_stay_(ports_stay),
      ports_(static_cast<std::size_t>(schedule.participants()), Port{kFree, kFree, kFree, kFree, 0, 0}) {}

void ListRounds::pass(const Transfer& m, std::int64_t k, const MessageDraws& draws,
                      std::span<const double> ready) {
  const bool ranks = m.from < schedule_.ranks() && m.to < schedule_.ranks();
  const bool own_cost = !costs_.into.empty() && m.to < schedule_.ranks();
  const model::MessageCost& cost = ranks || own_cost ? costs_.of(m.from, m.to) : costs_.across;
  Port& sender = ports_[static_cast<std::size_t>(m.from)];
  Port& receiver = ports_[static_cast<std::size_t>(m.to)];
  Seconds whole = cost(m.bytes);
  double latency = cost.latency.count();
  if (draws.noise != nullptr) {
    // Servers and switches are of no rank.
    const auto rank =
        m.to < schedule_.ranks() ? draws.ranks_on(static_cast<std::size_t>(m.to), 1) : std::span<const int>{};
    draws.noise->messages(draws.step, draws.number, draws.round(k, receiver.receives), m.to, {&whole, 1},
                          {&cost.latency, 1}, rank);
    latency = std::min(latency, whole.count());
  }
  if (draws.losses != nullptr && MessageDraws::crosses(draws.nodes, m.from, m.to)) {
    const Seconds late = draws.losses->late(k, m.to, receiver.receives);
    whole += late;
    latency += late.count();
  }
  const double occupied = whole.count() - latency;
  const double from_ready = ready[static_cast<std::size_t>(m.from)];
  const double to_ready = ready[static_cast<std::size_t>(m.to)];
  const bool meet = protocol_ == Protocol::Rendezvous;

  const bool waits = !costs_.own_ways && !schedule_.is_switch(m.from);
  double start = std::max(from_ready, waits ? sender.out : kFree);
  if (meet) start = std::max(start, to_ready);
  sender.out = start + occupied;
  double arrives = std::max(start + latency, schedule_.is_switch(m.to) ? kFree : receiver.in);
  if (protocol_ == Protocol::EagerGap) arrives = std::max(arrives, to_ready);
  const double complete = arrives + occupied;
  receiver.in = complete;

  ++sender.sends;
  sender.next = std::max(sender.next, meet ? complete : sender.out);
  ++receiver.receives;
  receiver.received = std::max(receiver.received, complete);
}

// A participant goes on when all its messages are complete; one that receives one and sends at most one, when
// that one has come (as in a regular round).
void ListRounds::settle(int participant, std::span<double> ready) {
  Port& p = ports_[static_cast<std::size_t>(participant)];
  if (p.sends == 0 && p.receives == 0) return;  // settled, or not in this round
  double& t = ready[static_cast<std::size_t>(participant)];
  t = std::max(t, p.received);
  if (p.receives != 1 || p.sends > 1) t = std::max(t, p.next);
  // A sending port may be busy for longer than its rank: the next message waits for it. Eager messages have ports
  // within a round only, as in regular rounds they have none.
  // NOLINTNEXTLINE(bugprone-narrowing-conversions): of infinity, to the same type
  p = Port{protocol_ == Protocol::Eager ? kFree : p.out, kFree, kFree, kFree, 0, 0};
}

std::int64_t ListRounds::run(std::int64_t k, const MessageDraws& draws, std::span<double> ready) {
  if (k == 0 && !ports_stay_) std::ranges::fill(ports_, Port{kFree, kFree, kFree, kFree, 0, 0});
  schedule_.transfers(k, messages_, draws.lane);
  for (const Transfer& m : messages_) pass(m, k, draws, ready);
  for (const Transfer& m : messages_) {
    settle(m.from, ready);
    settle(m.to, ready);
  }
  return static_cast<std::int64_t>(messages_.size());
}

}  // namespace cox::simulate
