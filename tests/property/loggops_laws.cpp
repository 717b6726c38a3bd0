// SPDX-License-Identifier: Apache-2.0
// Laws of collectives under LogGOPS: max-plus gives what the event engine gives for the same messages as a GOAL
// schedule, for every algorithm but switches that add up, whoever comes when.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/simulate/goal.hpp"
#include "cox/simulate/max_plus.hpp"

#include "model/every_collective.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::CollectiveSpec;
using model::MessageCost;
using model::Protocol;
using model::Schedule;

/// A lane of one participant as GOAL: the rule by which a rank goes on is that of cox/model/schedule.hpp. Every lane has a
/// processor and ports of its own.
class LaneText {
 public:
  LaneText(std::string& out, int lane, std::int64_t arrival_ns, std::int64_t reduce_ns)
      : out_(out), lane_(lane), reduce_ns_(reduce_ns) {
    gate_ = {add(fmt::format("calc {}", arrival_ns), {})};
  }
  void round(std::span<const model::Transfer> messages, int participant) {
    std::vector<std::string> sends;
    std::vector<std::string> receives;
    int received = 0;
    for (const model::Transfer& m : messages) {
      if (m.from == participant)
        sends.push_back(
            add(fmt::format("send {}b to {} tag {} nic {}", m.bytes.count(), m.to, lane_, lane_), sends));
      if (m.to != participant) continue;
      ++received;
      receives.push_back(add(
          fmt::format("recv {}b from {} tag {} nic {}", m.bytes.count(), m.from, lane_, lane_), receives));
      if (m.combine == model::Combine::Add && reduce_ns_ > 0)
        receives.push_back(add(fmt::format("calc {}", reduce_ns_ * m.bytes.count()), receives));
    }
    if (sends.empty() && receives.empty()) return;
    const bool receive_is_enough = received == 1 && sends.size() <= 1;
    gate_.clear();
    if (!receives.empty()) gate_.push_back(receives.back());
    if (!sends.empty() && !receive_is_enough) gate_.push_back(sends.back());
  }

 private:
  std::string add(const std::string& what, const std::vector<std::string>& chain) {
    std::string label = fmt::format("n{}x{}", lane_, ++label_);
    out_ += fmt::format("{}: {} cpu {}\n", label, what, lane_);
    for (const std::string& before : gate_) out_ += fmt::format("{} requires {}\n", label, before);
    if (!chain.empty()) out_ += fmt::format("{} requires {}\n", label, chain.back());
    return label;
  }

  std::string& out_;
  int lane_;
  std::int64_t reduce_ns_;
  std::int64_t label_ = 0;
  std::vector<std::string> gate_;
};

std::string goal_text(const Schedule& s, const std::vector<std::int64_t>& arrivals_ns,
                      std::int64_t reduce_ns) {
  std::string out = fmt::format("num_ranks {}\n", s.participants());
  const std::int64_t first = *std::ranges::min_element(arrivals_ns);
  std::vector<model::Transfer> list;
  for (int p = 0; p < s.participants(); ++p) {
    out += fmt::format("rank {} {{\n", p);
    for (int lane = 0; lane < s.lanes(); ++lane) {
      LaneText text(out, lane, p < s.ranks() ? arrivals_ns[static_cast<std::size_t>(p)] : first, reduce_ns);
      for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
        s.transfers(k, list, lane);
        std::erase_if(list, [](const model::Transfer& m) { return m.from == m.to; });
        text.round(list, p);
      }
    }
    out += "}\n";
  }
  return out;
}

struct Ends {
  std::vector<double> ranks;
  double behind = 0;
  bool by_events = false;
};

Ends by_events(const Schedule& s, const MessageCost& cost, const std::vector<std::int64_t>& arrivals_ns,
               std::int64_t reduce_ns) {
  const std::string goal = goal_text(s, arrivals_ns, reduce_ns);
  const auto made = simulate_goal(std::as_bytes(std::span(goal)), "generated",
                                  {.latency = cost.latency,
                                   .overhead = cost.overhead,
                                   .gap = cost.gap,
                                   .gap_per_byte = cost.per_byte,
                                   .overhead_per_byte = cost.overhead_per_byte,
                                   .eager_limit = cost.eager_limit});
  RC_ASSERT(made.has_value());
  Ends ends;
  for (int p = 0; p < s.participants(); ++p) {
    const double end = made->finish[static_cast<std::size_t>(p)].count();
    if (p < s.ranks())
      ends.ranks.push_back(end);
    else
      ends.behind = std::max(ends.behind, end);
  }
  return ends;
}

Ends by_max_plus(const Schedule& s, MessageCost cost, const std::vector<std::int64_t>& arrivals_ns,
                 std::int64_t reduce_ns, Protocol protocol = Protocol::LogGops) {
  std::vector<Seconds> times;
  for (const std::int64_t at : arrivals_ns) times.emplace_back(static_cast<double>(at) * 1e-9);
  cost.reduce = TimePerByte::seconds_per_byte(static_cast<double>(reduce_ns) * 1e-9);
  const LinkCosts costs{.inside = cost, .across = cost};
  const CollectiveOutcome out = run_collective(s, costs, {.protocol = protocol}, times);
  Ends ends{.ranks = {}, .behind = out.behind_ranks.count(), .by_events = out.by_events};
  for (const Seconds t : times) ends.ranks.push_back(t.count());
  return ends;
}

/// Whole picoseconds, in which the event engine counts; odd ones, so that what is not the same is seldom at the same time.
MessageCost any_cost(std::int64_t bytes) {
  const auto picoseconds = [](int most) { return static_cast<double>(*rc::gen::inRange(0, most)) * 1e-12; };
  const bool words = *rc::gen::arbitrary<bool>();
  return {.form = model::CostForm::LogGops,
          .latency = Seconds{1e-12 + picoseconds(3'000'000)},
          .per_byte = TimePerByte::seconds_per_byte(picoseconds(3'000)),
          .overhead = Seconds{words ? picoseconds(1'500'000) : 0},
          .gap = Seconds{words ? picoseconds(2'000'000) : 0},
          .overhead_per_byte = TimePerByte::seconds_per_byte(words ? picoseconds(4'000) : 0),
          .eager_limit = Bytes{*rc::gen::element<std::int64_t>(0, bytes / 7, bytes / 2, bytes,
                                                               std::numeric_limits<std::int64_t>::max())}};
}

std::vector<std::int64_t> any_arrivals(int ranks) {
  const int span = *rc::gen::element(1, 300, 3'000, 30'000, 3'000'000);
  std::vector<double> u(static_cast<std::size_t>(ranks));
  RandomStream(*rc::gen::arbitrary<std::uint64_t>(), 0).uniforms(0, 0, u);
  std::vector<std::int64_t> arrivals;
  for (const double x : u) arrivals.push_back(static_cast<std::int64_t>(x * span));
  return arrivals;
}

void assert_same(const Ends& a, const Ends& b, const CollectiveSpec& spec) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-12 * std::abs(y) + 1e-18; };
  for (std::size_t r = 0; r < b.ranks.size(); ++r)
    if (!near(a.ranks[r], b.ranks[r]))
      RC_FAIL(fmt::format("{}: rank {}: {} ps is not {} ps", model::text_of(spec), r, a.ranks[r] * 1e12,
                          b.ranks[r] * 1e12));
  if (!near(a.behind, b.behind))
    RC_FAIL(fmt::format("{}: servers: {} ps is not {} ps", model::text_of(spec), a.behind * 1e12,
                        b.behind * 1e12));
}

RC_GTEST_PROP(LogGopsLaws, MaxPlusIsTheEventEngine, ()) {
  const int ranks = *rc::gen::inRange(2, 34);
  const Bytes bytes{*rc::gen::element(0, 1, 13, 997, 5040, 65537)};
  std::vector<CollectiveSpec> all = model::every_collective(ranks, bytes);
  std::erase_if(all, [](const CollectiveSpec& spec) { return spec.algorithm == Algorithm::InNetwork; });
  const CollectiveSpec spec = *rc::gen::elementOf(all);
  const auto s = *Schedule::make(spec);
  const MessageCost cost = any_cost(bytes.count());
  int played = 0;
  constexpr int kDraws = 10;  // of arrivals, for each of which another order may be that of events
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<std::int64_t> arrivals = any_arrivals(ranks);
    const std::int64_t reduce_ns = *rc::gen::element(0, 1, 7);
    const Ends ours = by_max_plus(s, cost, arrivals, reduce_ns);
    played += ours.by_events ? 1 : 0;
    assert_same(ours, by_events(s, cost, arrivals, reduce_ns), spec);
  }
  RC_CLASSIFY(played > 0, "by events");
  RC_CLASSIFY(played < kDraws, "as a recurrence");
}

/// One that is sent in regular rounds.
CollectiveSpec any_regular(int ranks, Bytes bytes) {
  std::vector<CollectiveSpec> all = model::every_collective(ranks, bytes);
  std::erase_if(all, [](const CollectiveSpec& spec) {
    const auto s = *Schedule::make(spec);
    return s.rounds() == 0 || !s.regular(0);
  });
  return *rc::gen::elementOf(all);
}

// o = g = O = 0, and nobody waits: the protocol eager-gap, as long as nothing comes before its receiver has sent.
RC_GTEST_PROP(LogGopsLaws, WithoutWordsItIsEagerWithPorts, ()) {
  const int ranks = *rc::gen::inRange(2, 34);
  const CollectiveSpec spec = any_regular(ranks, Bytes{*rc::gen::element(1, 997, 5040, 65537)});
  const auto s = *Schedule::make(spec);
  MessageCost cost = any_cost(spec.bytes.count());
  cost.overhead = cost.gap = Seconds{};
  cost.overhead_per_byte = {};
  cost.eager_limit = Bytes{
      std::numeric_limits<std::int64_t>::max()};  // blocks that travel together are longer than the buffer
  const std::vector<std::int64_t> arrivals = any_arrivals(ranks);
  const Ends ours = by_max_plus(s, cost, arrivals, 0);
  RC_CLASSIFY(!ours.by_events, "as a recurrence");
  if (!ours.by_events) assert_same(ours, by_max_plus(s, cost, arrivals, 0, Protocol::EagerGap), spec);
}

// The same, all ranks come together and send equally much: nobody waits, so that rendezvous and S change nothing.
RC_GTEST_PROP(LogGopsLaws, WithoutWordsAndWaitsItIsRendezvous, ()) {
  const int ranks = *rc::gen::inRange(2, 34);
  const CollectiveSpec spec =
      any_regular(ranks, Bytes{*rc::gen::element(1, 4, 64) * std::int64_t{ranks} * ranks});
  const auto s = *Schedule::make(spec);
  for (int lane = 0; lane < s.lanes(); ++lane)
    for (std::int64_t k = 0; k < s.rounds(lane); ++k)
      if (!s.regular(k, lane)->uniform()) return;
  MessageCost cost = any_cost(spec.bytes.count());
  cost.overhead = cost.gap = Seconds{};
  cost.overhead_per_byte = {};
  const std::vector<std::int64_t> arrivals(static_cast<std::size_t>(ranks), 3);
  const Ends ours = by_max_plus(s, cost, arrivals, 0);
  RC_ASSERT(!ours.by_events);
  assert_same(ours, by_max_plus(s, cost, arrivals, 0, Protocol::Rendezvous), spec);
}

}  // namespace
}  // namespace cox::simulate
