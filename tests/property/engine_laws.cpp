// SPDX-License-Identifier: Apache-2.0
// Laws between the engines: where two of them claim the same, they give the same.
//
// The network is one switch with a node per participant. What the engines order differently is left out, and
// each law says what it covers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/model/closed_form.hpp"
#include "cox/simulate/flow.hpp"
#include "cox/simulate/goal.hpp"
#include "cox/simulate/max_plus.hpp"

#include "model/every_collective.hpp"
#include "model/goal.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::CollectiveSpec;
using model::MessageCost;
using model::Protocol;
using Times = std::vector<Seconds>;

CollectiveSpec any_collective() {
  const int ranks = *rc::gen::inRange(1, 41);
  const Bytes bytes{*rc::gen::element(0, 1, 997, 5040, 65537)};
  return *rc::gen::elementOf(model::every_collective(ranks, bytes));
}

/// One lane of regular rounds, in each of which all ranks send equally much.
bool all_equal(const model::Schedule& s) {
  if (s.lanes() > 1 || s.rounds() == 0 || !s.regular(0)) return false;
  bool equal = true;
  for (std::int64_t k = 0; k < s.rounds(); ++k) equal = equal && s.regular(k)->uniform();
  return equal;
}

CollectiveSpec any_equal() {
  const int ranks = *rc::gen::inRange(2, 41);
  const Bytes bytes{*rc::gen::element(0, 1, 997, 5040, 65537, 64 * ranks)};
  std::vector<CollectiveSpec> all = model::every_collective(ranks, bytes);
  std::erase_if(all, [](const CollectiveSpec& spec) { return !all_equal(*model::Schedule::make(spec)); });
  return *rc::gen::elementOf(all);  // a barrier is always there
}

/// Whole picoseconds, because the event engine counts in them.
MessageCost any_cost(model::CostForm form) {
  return {.form = form,
          .latency = Seconds{2e-9 * *rc::gen::inRange(1, 5000)},
          .per_byte = TimePerByte::seconds_per_byte(1e-12 * *rc::gen::inRange(1, 5000))};
}

/// When the last participant is done.
double end_of(const Times& times, Seconds behind_ranks) {
  return std::max(std::ranges::max_element(times)->count(), behind_ranks.count());
}

double by_max_plus(const model::Schedule& s, const MessageCost& cost, Times& times,
                   Protocol protocol = Protocol::Rendezvous) {
  const LinkCosts costs{.inside = cost, .across = cost};
  return end_of(times, run_collective(s, costs, {.protocol = protocol}, times).behind_ranks);
}

/// A switch that adds up is one cable away from its ranks, other participants are two from each other.
double by_flow(const model::Schedule& s, const MessageCost& cost, Times& times) {
  model::Cluster cluster;
  cluster.nodes = s.participants();
  const int cables = s.is_switch(s.participants() - 1) ? 1 : 2;
  cluster.nic = {.latency = cost.latency / cables,
                 .bandwidth = Bandwidth::bytes_per_s(1 / cost.per_byte.in_seconds_per_byte())};
  const auto network = Network::make(cluster, {});
  RC_ASSERT(network.has_value());
  std::vector<int> places(static_cast<std::size_t>(s.participants()));
  std::iota(places.begin(), places.end(), 0);
  const FlowOutcome out = run_flows(s, *network, {}, places, {}, times);
  return end_of(times, out.behind_ranks);
}

double by_events(const model::Schedule& s, const MessageCost& cost) {
  std::ostringstream text;
  model::write_goal(s, text);
  const std::string goal = text.str();
  const auto out = simulate_goal(std::as_bytes(std::span(goal)), "generated",
                                 {.latency = cost.latency, .gap_per_byte = cost.per_byte});
  RC_ASSERT(out.has_value());
  return std::ranges::max_element(out->finish)->count();
}

/// Every port is free when a round begins, and has one message in it: neither the order in which ports serve
/// messages (that of the list in max-plus, shared as they come in flow) matters, nor that a rank goes on when
/// it has received, which may be before its own, longer message has left. In a ring it may not: the next one
/// has the same receiver.
bool ports_are_free(const model::Schedule& s) {
  std::vector<model::Transfer> list;
  for (std::int64_t k = 0; k < s.rounds(); ++k) {
    std::vector<std::int64_t> in(static_cast<std::size_t>(s.participants()), -1);
    std::vector<std::int64_t> out = in;
    s.transfers(k, list);
    for (const model::Transfer& t : list) {
      std::int64_t& sent = out[static_cast<std::size_t>(t.from)];
      std::int64_t& received = in[static_cast<std::size_t>(t.to)];
      if (sent >= 0 || received >= 0) return false;
      sent = received = t.bytes.count();
    }
    for (std::size_t p = 0; p < in.size(); ++p)
      if (in[p] >= 0 && out[p] > in[p] && s.spec().algorithm != Algorithm::Ring) return false;
  }
  return true;
}

/// Where flow has the same ports as max-plus. Lanes share a NIC there (bidirectional ring, double binary
/// tree); leaf switches are no cable apart on one switch. Servers are served alike where each gets as many
/// pushes at once.
bool same_ports(const model::Schedule& s) {
  const CollectiveSpec& spec = s.spec();
  if (s.lanes() > 1) return false;
  if (spec.algorithm == Algorithm::InNetwork) return spec.group == 1;
  if (spec.algorithm == Algorithm::ParameterServer)
    return spec.ranks % spec.servers == 0 && spec.bytes.count() % spec.servers == 0;
  return ports_are_free(s);
}

void assert_near(double a, double b, double relative, const CollectiveSpec& spec) {
  if (!(std::abs(a - b) <= relative * std::abs(b)))
    RC_FAIL(model::text_of(spec) + ": " + std::to_string(a * 1e9) + " ns is not " + std::to_string(b * 1e9) +
            " ns");
}

RC_GTEST_PROP(EngineLaws, ClosedFormMaxPlusAndFlowAgreeOnEqualArrivals, ()) {
  const auto spec = any_collective();
  const auto s = *model::Schedule::make(spec);
  const MessageCost cost = any_cost(model::CostForm::AlphaBeta);
  Times times(static_cast<std::size_t>(spec.ranks));
  Times flows = times;
  const double stepped = by_max_plus(s, cost, times);
  const auto closed = model::closed_form(spec, cost);
  if (closed) assert_near(stepped, closed->count(), 1e-9, spec);
  RC_CLASSIFY(closed.has_value(), "closed form");
  RC_CLASSIFY(same_ports(s), "flow");
  const double flowed = by_flow(s, cost, flows);
  if (same_ports(s)) assert_near(flowed, stepped, 1e-9, spec);
}

// LogGOPS without o, g, O and S is EagerGap, in regular rounds of equal messages and of one lane. Not in
// lists, where the event engine serves receives as they come and max-plus in the order of the list; not with
// several lanes, which share a NIC in GOAL; not with chunks that differ by a byte, where a ring under LogGOPS
// was seen to end a whole message later than its closed form (docs/accuracy.md).
RC_GTEST_PROP(EngineLaws, EventsOfAScheduleAreEagerWithPorts, ()) {
  const auto spec = any_equal();
  const auto s = *model::Schedule::make(spec);
  const MessageCost cost = any_cost(model::CostForm::LogGops);
  Times times(static_cast<std::size_t>(spec.ranks));
  assert_near(by_events(s, cost), by_max_plus(s, cost, times, Protocol::EagerGap), 1e-9, spec);
}

// Eager and rendezvous end together where nobody ever waits: ring of equal chunks, power-of-two doubling,
// dissemination, all-to-all of equal blocks.
RC_GTEST_PROP(EngineLaws, EventsAreTheClosedFormWhereNobodyWaits, ()) {
  const auto spec = any_equal();
  const auto s = *model::Schedule::make(spec);
  const MessageCost cost = any_cost(model::CostForm::LogGops);
  const auto closed = model::closed_form(spec, cost);
  if (!closed) return;  // direct all-gather of unequal blocks and the like
  assert_near(by_events(s, cost), closed->count(), 1e-9, spec);
}

// Late ranks: where a rank has one neighbour to send to (ring), or gives and takes at once (pairs), its port
// is free when a round begins, as max-plus has it. Elsewhere a send to a late neighbour may still be under
// way in the next round, and the flow engine is right to divide the port.
RC_GTEST_PROP(EngineLaws, MaxPlusAndFlowAgreeOnAnyArrivals, ()) {
  const int ranks = *rc::gen::inRange(1, 41);
  CollectiveSpec spec{.kind = *rc::gen::element(model::Collective::AllReduce, model::Collective::AllGather,
                                                model::Collective::ReduceScatter),
                      .ranks = ranks,
                      .bytes = Bytes{*rc::gen::element(0, 1, 997, 5040, 65537)}};
  if (spec.kind == model::Collective::AllReduce && (ranks & (ranks - 1)) == 0 &&
      *rc::gen::arbitrary<bool>()) {
    spec.algorithm = *rc::gen::element(Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling);
    spec.bytes = Bytes{std::int64_t{64} * 1024};  // of pairs that give and take equally much
  }
  const auto s = *model::Schedule::make(spec);
  const MessageCost cost = any_cost(model::CostForm::AlphaBeta);
  std::vector<double> u(static_cast<std::size_t>(ranks));
  RandomStream(*rc::gen::arbitrary<std::uint64_t>(), 0).uniforms(0, 0, u);
  const double span = 1e-9 * *rc::gen::element(10, 10000, 10000000);
  Times times(u.size());
  std::ranges::transform(u, times.begin(), [span](double x) { return Seconds{span * x}; });
  Times flows = times;
  (void)by_max_plus(s, cost, times);
  (void)by_flow(s, cost, flows);
  for (std::size_t r = 0; r < times.size(); ++r) assert_near(flows[r].count(), times[r].count(), 1e-9, spec);
}

/// Bytes that the busiest port has to send or receive, of one lane or of all.
double busiest_port(const model::Schedule& s, bool of_all_lanes) {
  std::vector<model::Transfer> list;
  std::vector<std::int64_t> in(static_cast<std::size_t>(s.participants()));
  std::vector<std::int64_t> out = in;
  std::int64_t most = 0;
  for (int lane = 0; lane < s.lanes(); ++lane) {
    if (!of_all_lanes) {
      std::ranges::fill(in, 0);
      std::ranges::fill(out, 0);
    }
    for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
      s.transfers(k, list, lane);
      for (const model::Transfer& t : list) {
        if (!s.is_switch(t.to)) most = std::max(most, in[static_cast<std::size_t>(t.to)] += t.bytes.count());
        if (!s.is_switch(t.from))
          most = std::max(most, out[static_cast<std::size_t>(t.from)] += t.bytes.count());
      }
    }
  }
  return static_cast<double>(most);
}

/// A rank with one message in and one out goes on when it has received (the rule of cox/model/schedule.hpp):
/// where it sends more than it receives in regular rounds, max-plus lets it owe its port the difference: zero for equal
/// chunks, a byte per round and block where chunks differ by one. In lists the next message waits for the port.
double owed_to_ports(const model::Schedule& s) {
  std::vector<model::Transfer> list;
  std::int64_t owed = 0;
  for (int lane = 0; lane < s.lanes(); ++lane)
    for (std::int64_t k = 0; k < s.rounds(lane) && s.regular(0, lane); ++k) {
      const auto participants = static_cast<std::size_t>(s.participants());
      std::vector<std::int64_t> in(participants), out(participants), receives(participants),
          sends(participants);
      s.transfers(k, list, lane);
      for (const model::Transfer& t : list) {
        const auto from = static_cast<std::size_t>(t.from);
        const auto to = static_cast<std::size_t>(t.to);
        ++sends[from];
        out[from] += t.bytes.count();
        ++receives[to];
        in[to] += t.bytes.count();
      }
      std::int64_t most = 0;
      for (std::size_t p = 0; p < participants; ++p)
        if (receives[p] == 1 && sends[p] == 1) most = std::max(most, out[p] - in[p]);
      owed += most;
    }
  return static_cast<double>(owed);
}

// Max-plus: each lane has ports of its own.
RC_GTEST_PROP(EngineLaws, NothingBeatsTheBusiestPort, ()) {
  const auto spec = any_collective();
  const auto s = *model::Schedule::make(spec);
  const MessageCost cost = any_cost(model::CostForm::AlphaBeta);
  const double per_byte = cost.per_byte.in_seconds_per_byte();
  Times times(static_cast<std::size_t>(spec.ranks));
  Times flows = times;
  const double stepped = by_max_plus(s, cost, times);
  const double least = busiest_port(s, false) * per_byte;
  RC_CLASSIFY(stepped < least * (1 - 1e-9), "owes its port");
  RC_ASSERT(stepped >= (least - owed_to_ports(s) * per_byte) * (1 - 1e-9));
  RC_ASSERT(by_flow(s, cost, flows) >= busiest_port(s, true) * per_byte * (1 - 1e-9));
}

}  // namespace
}  // namespace cox::simulate
