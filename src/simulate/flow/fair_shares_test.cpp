// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/fair_shares.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/random.hpp"
#include "cox/simulate/flow.hpp"

namespace cox::simulate {
namespace {

std::vector<Bandwidth> bandwidths(const std::vector<double>& values) {
  std::vector<Bandwidth> all;
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
TEST(FairShares, AgreesWithTheDefinitionAfterEveryChange) {
  const RandomStream draw(7, 1);
  std::uint64_t step = 0;
  const auto below = [&](std::uint64_t n) { return draw.bits(step++, 0) % n; };
  for (int network = 0; network < 30; ++network) {
    const std::size_t links = 3 + below(25);
    std::vector<double> capacity;
    for (std::size_t l = 0; l < links; ++l) capacity.push_back(static_cast<double>(1 + below(5)) * 1e9);
    FairShares shares(capacity, {});
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

}  // namespace
}  // namespace cox::simulate
