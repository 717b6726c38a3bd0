// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/fair_shares.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cox/base/random.hpp"

#include "simulate/flow/engine.hpp"
#include "simulate/flow/max_min.hpp"

namespace cox::simulate {
namespace {

std::vector<Bandwidth> bandwidths(const std::vector<double>& values) {
  std::vector<Bandwidth> all;
  all.reserve(values.size());
  for (const double v : values) all.push_back(Bandwidth::bytes_per_s(v));
  return all;
}

std::vector<Hop> hops(const std::vector<LinkIndex>& route) {
  std::vector<Hop> all;
  for (std::uint32_t i = 0; i < route.size(); ++i) all.push_back({.link = route[i], .stage = i, .part = 1});
  return all;
}

void expect_rates(const std::vector<double>& links, const std::vector<std::vector<LinkIndex>>& routes,
                  const std::vector<double>& wanted) {
  const std::vector<Bandwidth> defined = max_min_rates(bandwidths(links), routes);
  FairShares shares(links, {});
  for (FlowSlot f = 0; f < routes.size(); ++f) shares.start(f, hops(routes[f]));
  (void)shares.settle();
  for (FlowSlot f = 0; f < routes.size(); ++f) {
    EXPECT_DOUBLE_EQ(defined[f].in_bytes_per_s(), wanted[f]) << "flow " << f;
    EXPECT_DOUBLE_EQ(shares.rate(f), wanted[f]) << "flow " << f;
  }
}

TEST(MaxMin, HandSolvedCases) {
  expect_rates({10}, {{0}}, {10});
  expect_rates({10}, {{0}, {0}, {0}, {0}}, {2.5, 2.5, 2.5, 2.5});
  // The parking lot: one long flow, one short one on each link.
  expect_rates({10, 10, 10}, {{0, 1, 2}, {0}, {1}, {2}}, {5, 5, 5, 5});
  // Bertsekas and Gallager's example shape: a narrow link frees room on a wide one.
  expect_rates({10, 4}, {{0}, {0, 1}, {1}}, {8, 2, 2});
  // Three levels: 1 per flow on link 0, then (6 - 1) / 2 on link 1, then 20 - 1 - 2.5 on link 2.
  expect_rates({3, 6, 20}, {{0, 1, 2}, {0}, {0}, {1, 2}, {1}, {2}}, {1, 1, 1, 2.5, 2.5, 16.5});
  // A flow that no link limits; a link that nobody uses.
  expect_rates({10, 7}, {{}, {0}}, {INFINITY, 10});
}

TEST(MaxMin, WeightsAreSharesOfALink) {
  const std::vector<std::vector<LinkIndex>> routes{{0}, {0}, {0, 1}};
  const std::vector<double> weights{1, 2, 3};
  const auto rates = max_min_rates(bandwidths({12, 3}), routes, weights);
  EXPECT_DOUBLE_EQ(rates[2].in_bytes_per_s(), 3);
  EXPECT_DOUBLE_EQ(rates[0].in_bytes_per_s(), 3);
  EXPECT_DOUBLE_EQ(rates[1].in_bytes_per_s(), 6);
}

TEST(FairShares, PartsOfAFlowAreSprayed) {
  // Two halves of flow 0 over links 1 and 2; flow 1 is on link 1 alone: r0 / 2 + r1 = 10, r0 = r1.
  FairShares shares({100, 10, 10}, {});
  shares.start(0, std::vector<Hop>{{0, 0, 1}, {1, 1, 0.5}, {2, 1, 0.5}});
  (void)shares.settle();
  EXPECT_DOUBLE_EQ(shares.rate(0), 20);
  shares.start(1, std::vector<Hop>{{1, 0, 1}});
  (void)shares.settle();
  EXPECT_DOUBLE_EQ(shares.rate(0), 10 / 1.5);
  EXPECT_DOUBLE_EQ(shares.rate(1), 10 / 1.5);
}

// What is left after any history of starts and stops is what the definition says.
class History : public testing::TestWithParam<std::size_t> {};

TEST_P(History, AgreesWithTheDefinitionAfterEveryChange) {
  const RandomStream draw(7, 1);
  std::uint64_t step = 0;
  const auto below = [&](std::uint64_t n) { return draw.bits(step++, 0) % n; };
  for (int network = 0; network < 30; ++network) {
    const std::size_t links = 3 + below(25);
    std::vector<double> capacity;
    for (std::size_t l = 0; l < links; ++l) capacity.push_back(static_cast<double>(1 + below(5)) * 1e9);
    FairShares shares(capacity, {.incast = {}, .receiving = {}, .crowd = GetParam()});
    constexpr std::size_t kFlows = 40;
    std::vector<std::vector<LinkIndex>> routes(kFlows);
    std::vector<bool> on(kFlows, false);
    for (int change = 0; change < 60; ++change) {
      for (std::uint64_t together = 1 + below(4); together > 0; --together) {
        const std::size_t f = below(kFlows);
        if (on[f]) {
          shares.stop(static_cast<FlowSlot>(f));
          routes[f].clear();
        } else {
          for (LinkIndex l = 0; l < links; ++l)
            if (below(links) < 3) routes[f].push_back(l);
          shares.start(static_cast<FlowSlot>(f), hops(routes[f]));
        }
        on[f] = !on[f];
      }
      if (below(8) == 0) {
        const auto l = static_cast<LinkIndex>(below(links));
        capacity[l] = static_cast<double>(1 + below(5)) * 1e9;
        shares.set_capacity(l, capacity[l]);
      }
      (void)shares.settle();
      const auto wanted = max_min_rates(bandwidths(capacity), routes);
      for (std::size_t f = 0; f < kFlows; ++f) {
        if (!on[f]) continue;
        const double rate = wanted[f].in_bytes_per_s();
        if (std::isinf(rate)) {
          ASSERT_TRUE(std::isinf(shares.rate(static_cast<FlowSlot>(f))));
        } else {
          ASSERT_NEAR(shares.rate(static_cast<FlowSlot>(f)), rate, 1e-11 * rate)
              << "network " << network << " change " << change << " flow " << f;
        }
      }
    }
  }
}

// Without crowds, and with such that few flows are one.
INSTANTIATE_TEST_SUITE_P(FairShares, History, testing::Values(0, 4, 8));

/// A server's card, a trunk before it that all but a few cross, and cards of senders that send to two servers.
struct Incast {
  static constexpr std::size_t kSenders = 200;
  static constexpr LinkIndex kCards = 4;  ///< behind two trunks and two servers' cards
  std::vector<double> capacity = std::vector<double>(kCards + kSenders, 10e9);
  std::vector<std::vector<LinkIndex>> routes{2 * kSenders};
  FairShares shares;

  explicit Incast(std::size_t crowd) : shares(capacity, {.incast = {}, .receiving = {}, .crowd = crowd}) {}
  void toggle(std::size_t f) {
    const auto slot = static_cast<FlowSlot>(f);
    if (!routes[f].empty()) {
      shares.stop(slot);
      routes[f].clear();
      return;
    }
    const auto server = static_cast<LinkIndex>(f % 2);
    routes[f] = {static_cast<LinkIndex>(kCards + f / 2)};
    if (f / 2 % 50 != 0) routes[f].push_back(server);
    routes[f].push_back(2 + server);
    shares.start(slot, hops(routes[f]));
  }
};

// Beside each other with one rate per flow and with clocks: the same rates, from two to three links per change that are looked at.
// Without clocks these were more than twenty before senders' cards, which are not full, knew what they have left.
TEST(FairShares, FollowsACrowdAtTheCostOfItsChanges) {
  Incast each(0);
  Incast together(16);
  const RandomStream draw(11, 1);
  constexpr std::int64_t kChanges = 3000;
  for (std::uint64_t change = 0; change < kChanges; ++change) {
    const std::size_t f = draw.bits(change, 0) % (2 * Incast::kSenders);
    each.toggle(f);
    together.toggle(f);
    (void)each.shares.settle();
    (void)together.shares.settle();
    if (change % 100 != 0) continue;
    const auto wanted = max_min_rates(bandwidths(each.capacity), each.routes);
    for (std::size_t g = 0; g < wanted.size(); ++g) {
      if (each.routes[g].empty()) continue;
      const double rate = wanted[g].in_bytes_per_s();
      ASSERT_NEAR(each.shares.rate(static_cast<FlowSlot>(g)), rate, 1e-11 * rate) << change << " flow " << g;
      ASSERT_NEAR(together.shares.rate(static_cast<FlowSlot>(g)), rate, 1e-11 * rate)
          << change << " flow " << g;
    }
  }
  EXPECT_LT(together.shares.evaluated(), 3 * kChanges);
  EXPECT_LT(each.shares.evaluated(), 3 * kChanges);
}

TEST(FairShares, SaysWhichLinkARateFollows) {
  FairShares shares({12, 100}, {.incast = {}, .receiving = {}, .crowd = 4});
  for (FlowSlot f = 0; f < 4; ++f) shares.start(f, hops({0}));
  EXPECT_EQ(shares.settle().size(), 4U);
  EXPECT_EQ(shares.followed_at(0), 0U);
  EXPECT_DOUBLE_EQ(shares.level(0), 3);
  shares.start(4, hops({0, 1}));
  EXPECT_EQ(shares.settle().size(), 1U) << "the others follow their link";
  ASSERT_EQ(shares.moved().size(), 1U);
  EXPECT_DOUBLE_EQ(shares.rate(0), 2.4);
  for (FlowSlot f = 2; f < 5; ++f) shares.stop(f);
  (void)shares.settle();
  EXPECT_EQ(shares.followed_at(2), FairShares::kNoLink);
  shares.stop(1);
  EXPECT_EQ(shares.settle().size(), 1U) << "alone it has a rate of its own";
  EXPECT_EQ(shares.followed_at(0), FairShares::kNoLink);
  EXPECT_DOUBLE_EQ(shares.rate(0), 12);
}

TEST(FairShares, ReportsOnlyRatesThatChanged) {
  FairShares shares({10, 10}, {});
  shares.start(0, hops({0}));
  shares.start(1, hops({1}));
  EXPECT_EQ(shares.settle().size(), 2U);
  shares.start(2, hops({1}));
  EXPECT_EQ(shares.settle().size(), 2U);  // flows 1 and 2
  EXPECT_EQ(shares.settle().size(), 0U);
  shares.stop(0);
  EXPECT_EQ(shares.settle().size(), 0U);
}

TEST(FairShares, IncastLosesGoodputFromTheFanInOn) {
  FairShares shares({100, 100}, {.incast = {.fan_in = 2, .floor_ratio = 0.5}, .receiving = {true, false}});
  shares.start(0, hops({0}));
  shares.start(1, hops({0}));
  (void)shares.settle();
  EXPECT_DOUBLE_EQ(shares.rate(0), 50);
  shares.start(2, hops({0}));
  (void)shares.settle();
  EXPECT_DOUBLE_EQ(shares.rate(0), 100 * (2.0 / 3) / 3);
  for (FlowSlot f = 3; f < 8; ++f) shares.start(f, hops({0}));
  (void)shares.settle();
  EXPECT_DOUBLE_EQ(shares.rate(0), 100 * 0.5 / 8);
  for (FlowSlot f = 8; f < 16; ++f) shares.start(f, hops({1}));
  (void)shares.settle();
  EXPECT_DOUBLE_EQ(shares.rate(8), 100.0 / 8);  // not a receiver's link
}

TEST(FairShares, PauseHoldsUpWhatSharesTheLinkBefore) {
  // Link 0 leads to links 1 and 2. Flows 0 and 1 meet three others on link 1; flow 2 goes to the idle link 2.
  for (const bool pause : {false, true}) {
    FairShares shares({100, 20, 100}, {.incast = {}, .receiving = {}, .pause = pause});
    shares.start(0, hops({0, 1}));
    shares.start(1, hops({0, 1}));
    shares.start(2, hops({0, 2}));
    for (FlowSlot f = 3; f < 6; ++f) shares.start(f, hops({1}));
    (void)shares.settle();
    EXPECT_DOUBLE_EQ(shares.rate(0), 4);
    EXPECT_DOUBLE_EQ(shares.rate(2), pause ? 4 : 92) << "the victim";
    for (FlowSlot f = 3; f < 6; ++f) shares.stop(f);
    (void)shares.settle();
    EXPECT_DOUBLE_EQ(shares.rate(0), 10);
    EXPECT_DOUBLE_EQ(shares.rate(2), pause ? 10 : 80);
  }
}

// What sharing does to a small difference of when messages begin (docs/concepts/flow-engine.md, differences that grow).

constexpr double kMilli = 1e-3;

model::Schedule chain_of(int ranks) {
  auto made = model::Schedule::make({.kind = model::Collective::SendRecv,
                                     .algorithm = model::Algorithm::Chain,
                                     .ranks = ranks,
                                     .bytes = Bytes{1'000'000}});
  EXPECT_TRUE(made) << made.error().to_string();
  return *std::move(made);
}

/// Hosts 0 to 3 pass 1 MB on at 1 GB/s, the first from `begin` on. To each of the three that receive it comes as much from a host of
/// its own, at 0.5, 2 and 3.5 ms. When what each sent is there, in ms.
std::array<Seconds, 3> passed_on(Seconds begin) {
  model::Cluster cluster;
  cluster.nodes = 7;
  cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  model::Fabric fabric;
  fabric.link = cluster.nic;
  const auto network = Network::make(cluster, fabric);
  EXPECT_TRUE(network) << network.error().to_string();
  FlowEngine engine(*network, fabric, {}, Seconds{});
  const model::Schedule four = chain_of(4);
  const model::Schedule two = chain_of(2);
  const FlowCourseId ours = engine.begin({.schedule = &four, .rank_of = {0, 1, 2, 3}});
  for (int p = 0; p < 4; ++p) engine.arrive(ours, p, begin);
  for (int k = 0; k < 3; ++k) {
    const FlowCourseId other = engine.begin({.schedule = &two, .rank_of = {4 + k, 1 + k}});
    for (const int p : {0, 1}) engine.arrive(other, p, Seconds{(0.5 + 1.5 * k) * kMilli});
  }
  std::array<Seconds, 3> at{};
  while (const auto one = engine.next())
    if (one->course == ours && one->place < 3) at.at(static_cast<std::size_t>(one->place)) = one->at;
  return at;
}

// Alone for half a millisecond, then two at half the rate: 1.5 ms each. Later by e it has e less of the card for itself, too: twice as much
// later at each host.
TEST(Sensitivity, ADifferenceDoublesWhereAnotherMessageComes) {
  for (const double e : {0.0, 1e-3, 1e-6}) {
    const std::array<Seconds, 3> at = passed_on(Seconds{e * kMilli});
    EXPECT_NEAR(at[0] / Seconds{kMilli}, 1.5 + 2 * e, 1e-11);
    EXPECT_NEAR(at[1] / Seconds{kMilli}, 3.0 + 4 * e, 1e-11);
    EXPECT_NEAR(at[2] / Seconds{kMilli}, 4.5 + 8 * e, 1e-11);
  }
}

}  // namespace
}  // namespace cox::simulate
