// SPDX-License-Identifier: Apache-2.0
// LogGOPS in max-plus: cases solved by hand (docs/concepts/max-plus.md), and the recurrence against what is played event
// by event where links differ, messages are disturbed or lost. Against the event engine: tests/property/loggops_laws.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "cox/simulate/max_plus.hpp"

#include "simulate/max_plus/loggops_events.hpp"
#include "simulate/max_plus/loggops_rounds.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Collective;
using model::CollectiveSpec;
using model::Protocol;

constexpr Bytes kChunk{1001};

/// L = 1 us, o = 100 ns, g = 50 ns, G = 1 ns/B, O = 0.5 ns/B; of 1001 bytes T = 1 us, C = 500 ns.
model::MessageCost by_hand() {
  return {.form = model::CostForm::LogGops,
          .latency = Seconds{1e-6},
          .per_byte = TimePerByte::seconds_per_byte(1e-9),
          .overhead = Seconds{1e-7},
          .gap = Seconds{5e-8},
          .overhead_per_byte = TimePerByte::seconds_per_byte(5e-10),
          .eager_limit = Bytes{std::numeric_limits<std::int64_t>::max()}};
}

struct Ends {
  std::vector<double> ns;
  bool by_events = false;
};

Ends run(const CollectiveSpec& spec, const model::MessageCost& cost, std::vector<double> arrivals_ns) {
  std::vector<Seconds> times;
  for (const double at : arrivals_ns) times.emplace_back(at * 1e-9);
  const auto schedule = model::Schedule::make(spec);
  EXPECT_TRUE(schedule);
  const LinkCosts costs{.inside = cost, .across = cost};
  const CollectiveOutcome out = run_collective(*schedule, costs, {.protocol = Protocol::LogGops}, times);
  Ends ends{.ns = {}, .by_events = out.by_events};
  for (const Seconds t : times) ends.ns.push_back(t.count() * 1e9);
  return ends;
}

void expect_near(const Ends& got, const std::vector<double>& wanted_ns) {
  ASSERT_EQ(got.ns.size(), wanted_ns.size());
  for (std::size_t r = 0; r < wanted_ns.size(); ++r)
    EXPECT_NEAR(got.ns[r], wanted_ns[r], 1e-9 * wanted_ns[r]) << r;
}

CollectiveSpec ring_of_three(Collective kind) {
  return {.kind = kind, .ranks = 3, .bytes = 3 * kChunk};
}

// Each round: o + L on the way, o + max(C, T) at the receiver.
TEST(LogGops, ARoundOfARingIsWayAndReceiver) {
  const Ends gathered = run(ring_of_three(Collective::AllGather), by_hand(), {0, 0, 0});
  expect_near(gathered, {4400, 4400, 4400});
  EXPECT_FALSE(gathered.by_events);
}

TEST(LogGops, WhatIsAddedUpTakesTheProcessor) {
  model::MessageCost cost = by_hand();
  cost.reduce = TimePerByte::seconds_per_byte(1e-9);
  const double sums = 2 * 1001;  // of four rounds two add up
  expect_near(run(ring_of_three(Collective::AllReduce), cost, {0, 0, 0}),
              {8800 + sums, 8800 + sums, 8800 + sums});
  expect_near(run(ring_of_three(Collective::AllGather), cost, {0, 0, 0}), {4400, 4400, 4400});
}

// Where copying takes longer than the line: the processor is busy until o + C, the port until g + T.
TEST(LogGops, TheLongerOfCopyingAndLineHoldsTheReceiver) {
  model::MessageCost cost = by_hand();
  cost.overhead_per_byte = TimePerByte::seconds_per_byte(3e-9);
  // 100 + 1000 on the way, but the receiver is busy sending until 3100; then 100 + 3000.
  expect_near(run(ring_of_three(Collective::AllGather), cost, {0, 0, 0}), {12400, 12400, 12400});
}

// A port is busy for g + T: the second round's send waits for it, and its receiver's port too.
TEST(LogGops, PortsKeepAGap) {
  model::MessageCost cost = by_hand();
  cost.gap = Seconds{5e-6};
  // The first send holds the port until 6000; the second is there at 7100, when the receiver's port, free since 1100 + 6000,
  // takes it.
  expect_near(run(ring_of_three(Collective::AllGather), cost, {0, 0, 0}), {8200, 8200, 8200});
}

// Rank 1 comes at 5000. By then both messages of rank 0 wait: it sends its own, takes the first, and the second, caused
// before it could send on, goes before its next send.
TEST(LogGops, WhatCameBeforeARankGoesBeforeItsNextSend) {
  const Ends late = run(ring_of_three(Collective::AllGather), by_hand(), {0, 5000, 0});
  expect_near(late, {9400, 8400, 10000});
  EXPECT_TRUE(late.by_events);
}

// Two ranks that meet: rank 1 is late. Its own message leaves at 5000; rank 0 may go only when rank 1 has its message.
TEST(LogGops, LongMessagesHoldTheirSender) {
  const CollectiveSpec send{
      .kind = Collective::SendRecv, .algorithm = Algorithm::Chain, .ranks = 2, .bytes = kChunk};
  model::MessageCost cost = by_hand();
  expect_near(run(send, cost, {0, 5000}), {600, 6100});
  cost.eager_limit = kChunk;
  expect_near(run(send, cost, {0, 5000}), {600, 6100});
  cost.eager_limit = kChunk - Bytes{1};
  expect_near(run(send, cost, {0, 5000}), {5000, 6100});
}

// Of one chunk each: the root sends to two, and the second message waits for processor and port, or for the first to be
// taken.
TEST(LogGops, ARootSendsOneAfterTheOther) {
  const CollectiveSpec tree{
      .kind = Collective::Broadcast, .algorithm = Algorithm::BinomialTree, .ranks = 4, .bytes = kChunk};
  // 0 sends at 0 and, in the next round, at 1050; the one who has it at 2200 sends on.
  expect_near(run(tree, by_hand(), {0, 0, 0, 0}), {1650, 3250, 2800, 4400});
  model::MessageCost cost = by_hand();
  cost.eager_limit = Bytes{};
  // The second goes when the first is taken, at 1100; who sent on is done when that was taken, at 3300.
  expect_near(run(tree, cost, {0, 0, 0, 0}), {2200, 3300, 3300, 4400});
}

TEST(LogGops, NobodyWaitsForNobody) {
  expect_near(run({.ranks = 1, .bytes = kChunk}, by_hand(), {700}), {700});
  expect_near(run({.kind = Collective::AllGather, .ranks = 2, .bytes = Bytes{}}, by_hand(), {0, 0}),
              {1200, 1200});
}

/// A lane both ways: as a recurrence, where that says something, and event by event.
struct BothWays {
  std::optional<std::vector<double>> rounds;
  std::vector<double> events;
};

BothWays both_ways(const model::Schedule& schedule, const LinkCosts& costs, std::vector<double> ps,
                   const Noise* noise, const TimeoutDraws* law) {
  std::vector<int> nodes;
  for (int r = 0; r < schedule.ranks(); ++r) nodes.push_back(r / costs.ranks_per_node);
  MessageDraws draws{.noise = noise, .step = 5, .number = 2};
  std::optional<LaneLosses> losses;
  if (law != nullptr)
    losses.emplace(*law, TimeoutDraws::Row{.step = 5, .number = 2}, schedule.rounds(), schedule.ranks());
  BothWays both;
  LogGopsRounds rounds(costs, schedule.ranks());
  rounds.begin(ps);
  bool in_order = true;
  for (std::int64_t k = 0; k < schedule.rounds() && in_order; ++k) {
    const model::RegularRound round = *schedule.regular(k);
    std::vector<LateMessage> late;
    for (int r = 0; losses && r < schedule.ranks(); ++r)
      if (const Seconds by = losses->late(k, r);
          by > Seconds{} && MessageDraws::crosses(nodes, round.from(r), r))
        late.push_back({.round = k, .receiver = static_cast<std::size_t>(r), .seconds = by.count()});
    MessageDraws of_round = draws;
    of_round.late = late;
    in_order = rounds.run(round, k, of_round);
  }
  if (in_order) {
    both.rounds.emplace(ps.size());
    rounds.end(*both.rounds);
  }
  if (losses) draws.losses = &*losses;
  draws.nodes = nodes;
  LogGopsEvents events(schedule, 0, schedule.rounds(), costs);
  both.events = std::move(ps);
  (void)events.run(draws, both.events);
  return both;
}

// The first message from rank 0 to rank 1 is lost and comes 200 ms later; the second is there long before and waits for it. Rank
// 1 sends on what it did not have, 1100 on the way and 1100 at rank 2.
TEST(LogGops, MessagesOfAPairDoNotOvertake) {
  const auto schedule = model::Schedule::make(ring_of_three(Collective::AllGather));
  ASSERT_TRUE(schedule);
  constexpr double kTimer = 2e11;
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const TimeoutDraws law({.wait = Seconds{0.2}, .loss = 0.1}, seed);
    const auto lost = law.lost({.step = 5, .number = 2}, 6);
    if (lost.size() != 1 || lost[0].message != 1 || lost[0].late != Seconds{0.2}) continue;
    ++seen;
    const LinkCosts costs{.inside = by_hand(), .across = by_hand()};
    const std::vector<double> ps = both_ways(*schedule, costs, {0, 0, 0}, nullptr, &law).events;
    EXPECT_NEAR(ps[0], 4.4e6, 1e-3);
    EXPECT_NEAR(ps[1], kTimer + 2.8e6, 1e-3);
    EXPECT_NEAR(ps[2], kTimer + 4.4e6, 1e-3);
  }
  EXPECT_GT(seen, 5);
}

TEST(LogGops, TheRecurrenceIsWhatIsPlayedEventByEvent) {
  model::MessageCost inside = by_hand();
  inside.overhead = Seconds{3e-8};
  inside.per_byte = TimePerByte::seconds_per_byte(7e-11);
  inside.reduce = TimePerByte::seconds_per_byte(3e-11);
  model::MessageCost across = by_hand();
  across.latency = Seconds{2e-5};
  across.eager_limit = Bytes{300};
  across.reduce = inside.reduce;
  const LinkCosts costs{.inside = inside, .across = across, .ranks_per_node = 4};
  const TimeoutDraws law({.wait = Seconds{1e-4}, .loss = 0.02}, 3);
  int in_order = 0;
  for (const CollectiveSpec& spec :
       {CollectiveSpec{.ranks = 16, .bytes = Bytes{5001}},
        CollectiveSpec{.algorithm = Algorithm::HalvingDoubling, .ranks = 16, .bytes = Bytes{5001}},
        CollectiveSpec{.algorithm = Algorithm::Hierarchical2, .ranks = 16, .bytes = Bytes{5003}, .group = 4},
        CollectiveSpec{
            .kind = Collective::AllToAll, .algorithm = Algorithm::Direct, .ranks = 16, .bytes = Bytes{5003}}})
    for (const int disturbed : {0, 1, 2})
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const auto schedule = model::Schedule::make(spec);
        ASSERT_TRUE(schedule);
        const auto noise = Noise::make({{.name = "delay",
                                         .target = model::NoiseTarget::Message,
                                         .law = model::NoiseLaw::Uniform,
                                         .mean_ratio = 0.01 * static_cast<double>(seed + 1),
                                         .cv = 0.3}},
                                       {.ranks = spec.ranks}, seed);
        ASSERT_TRUE(noise);
        std::vector<double> arrivals(16);
        for (std::size_t r = 0; r < arrivals.size(); ++r)
          arrivals[r] = static_cast<double>((r * r * 7 + seed) % 11) * 1e4 * static_cast<double>(seed);
        const BothWays both = both_ways(*schedule, costs, arrivals, disturbed == 1 ? &*noise : nullptr,
                                        disturbed == 2 ? &law : nullptr);
        if (!both.rounds) continue;
        ++in_order;
        for (std::size_t r = 0; r < arrivals.size(); ++r)
          EXPECT_NEAR((*both.rounds)[r], both.events[r], 1e-9 * both.events[r])
              << name_of(spec.algorithm) << " rank " << r << ", disturbed " << disturbed << ", seed " << seed;
      }
  EXPECT_GT(in_order, 20);
}

}  // namespace
}  // namespace cox::simulate
