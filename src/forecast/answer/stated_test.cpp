// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/stated.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace cox::forecast {
namespace {

/// Nodes of four ranks: 1 s of work, 0.1 s of communication, and 0.02 s times the logarithm of the nodes.
StatedJob job() {
  return {
      .name = "job",
      .work = Seconds{1},
      .terms =
          {{.term = {.mechanism = {},
                     .at =
                         [](std::int64_t) {
                           return TimeAtSize{Seconds{0.1}, {}};
                         }},
            .of = TermOf::Communication},
           {.term = {.mechanism = {"waiting", Reach::Flattens},
                     .at =
                         [](std::int64_t n) {
                           return TimeAtSize{Seconds{0.02 * std::log(static_cast<double>(n))}, Seconds{0.02}};
                         }},
            .of = TermOf::Waiting}},
      .failures = FailureTerm{.node_mean_time = Seconds{100 * 86'400.0},
                              .checkpoint = Seconds{60},
                              .restart = Seconds{300},
                              .restart_per_node = Seconds{0.1}},
      .ranks_per_node = 4,
      .from = 2,
      .to = 4'096};
}

FullForecast made(const StatedJob& stated, std::vector<std::int64_t> sizes) {
  Asked q;
  q.sizes = std::move(sizes);
  auto out =
      make_forecast(Evidence{.inputs = {{.name = "job", .kind = InputKind::Study}}, .stated = stated}, q);
  EXPECT_TRUE(out) << out.error().to_string();
  return out.value_or(FullForecast{});
}

TEST(StatedJobs, AStepIsTheSumOfItsTerms) {
  const FullForecast f = made(job(), {4 * 256});
  const SizePoint& p = f.projection.points[0];
  EXPECT_NEAR(p.mean.value.count(), 1.1 + 0.02 * std::log(256.0), 1e-12);
  EXPECT_EQ(p.rest, Seconds{0.1});
  EXPECT_NEAR(p.elasticity, 1 - 0.02 / p.mean.value.count(), 1e-12);
  const NodeHours h = f.node_hours(0);
  EXPECT_NEAR(h.own + h.communication + h.waiting + h.writes + h.rework + h.restarts + h.repair, 1, 1e-12);
}

// Throughput with failures is that of the job: two ways to the same number.
TEST(StatedJobs, NetRateIsThatOfTheScalingJob) {
  const FullForecast f = made(job(), {8, 4 * 256, 4 * 4'096});
  const ScalingJob scaling = job().job();
  const double first = scaling.at(2, kEveryMechanism).throughput;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t nodes = f.projection.points[i].ranks / 4;
    const double there = scaling.at(nodes, kEveryMechanism).throughput;
    EXPECT_NEAR(f.net_speed_up(i) / (there / first), 1, 1e-6) << nodes;
    EXPECT_LT(f.goodput[i].goodput.low, f.goodput[i].shares.work);
  }
}

TEST(StatedJobs, MarginsAreFactorsOnNamedTerms) {
  const FullForecast f = made(job(), {4 * 16});
  ASSERT_TRUE(f.margins);
  ASSERT_EQ(f.margins->alone.size(), 3U);
  EXPECT_EQ(f.margins->alone[1].name, "waiting");
  ASSERT_TRUE(f.margins->alone[1].factor);
  StatedJob at = job();
  at.terms[1].term.at = [k = *f.margins->alone[1].factor](std::int64_t n) {
    return TimeAtSize{Seconds{k * 0.02 * std::log(static_cast<double>(n))}, Seconds{k * 0.02}};
  };
  EXPECT_NEAR(at.job().at(16, kEveryMechanism).elasticity, f.margins->level, 1e-3);
}

TEST(StatedJobs, WhatIsNotStatedIsRefused) {
  const FullForecast f = made(job(), {4, 10, 16});
  EXPECT_FALSE(f.projection.points[0].refused.empty());
  EXPECT_FALSE(f.projection.points[1].refused.empty());
  EXPECT_TRUE(f.projection.points[2].refused.empty());
  Asked q;
  q.sizes = {64};
  q.project.scaling = Scaling::Strong;
  const auto strong = make_forecast(Evidence{.stated = job()}, q);
  ASSERT_FALSE(strong);
  EXPECT_EQ(strong.error().id, "forecast-013");
  q.project.scaling = Scaling::Weak;
  q.failures.node_mtbf = Seconds{3.6e6};
  const auto failing = make_forecast(Evidence{.stated = job()}, q);
  ASSERT_FALSE(failing);
  EXPECT_EQ(failing.error().id, "forecast-013");
  EXPECT_NE(failing.error().message.find("failures"), std::string::npos);
  q.failures = {};
  q.structure.asked = true;
  EXPECT_EQ(make_forecast(Evidence{.stated = job()}, q).error().id, "forecast-010");
}

/// The same with exponential work beside the stated one, of which the waiting is.
StatedJob with_law() {
  StatedJob out = job();
  out.jitter = Seconds{0.02};
  out.terms[1].term.at = [](std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 1; i <= 4 * n; ++i) sum += 0.02 / static_cast<double>(i);
    return TimeAtSize{Seconds{sum}, Seconds{0.02}};
  };
  return out;
}

// The largest of N exponentials is below -b ln(1 - q^(1 / N)) with q.
TEST(StatedJobs, QuantilesAreThoseOfTheSlowestRank) {
  const FullForecast f = made(with_law(), {16, 1'024});
  for (const SizePoint& p : f.projection.points) {
    const auto at = [&](double q) {
      return 1.1 - 0.02 * std::log1p(-std::pow(q, 1.0 / static_cast<double>(p.ranks)));
    };
    EXPECT_NEAR(p.p99.value.count(), at(0.99), 2e-4) << p.ranks;
    EXPECT_NEAR(p.median.value.count(), at(0.5), 2e-4) << p.ranks;
    EXPECT_EQ(p.p99.low, p.p99.high) << "stated, so without a band";
  }
  ASSERT_TRUE(f.scenario);
  EXPECT_EQ(model::nodes_of(*f.scenario), 2);
  EXPECT_GT(f.scenario->failures.checkpoint_interval, Seconds{});
  ASSERT_EQ(f.simulated.sizes.size(), 1U);
  EXPECT_TRUE(f.simulated.sizes.front().agrees());
}

TEST(StatedJobs, ATrainingTakesItsStepsOverItsGoodput) {
  const StatedJob stated = with_law();
  const FullForecast f = made(stated, {4 * 256});
  ControlQuestion q;
  q.training = Training{.tokens = 1e9, .tokens_per_step = 1e4};
  q.nodes = {256};
  const auto control = control_of(f, stated, q);
  ASSERT_TRUE(control) << control.error().to_string();
  ASSERT_EQ(control->days.size(), 2U);
  const Days& d = control->days[1];
  EXPECT_EQ(d.nodes, 256);
  // 1e4 tokens on two nodes are 1.28e6 on 256.
  const double steps = std::ceil(1e9 / 1.28e6);
  EXPECT_NEAR(d.total.count(), steps * f.projection.points[0].mean.value.count() / f.goodput[0].shares.work,
              1e-6 * d.total.count());
}

// A budget of terms costs nothing, so days are looked for beyond 64 times the two nodes that it begins with.
TEST(StatedJobs, DaysAreLookedForAtAnySize) {
  const StatedJob stated = with_law();
  const FullForecast f = made(stated, {4 * 256});
  ControlQuestion q;
  q.training = Training{.tokens = 1e9, .tokens_per_step = 1e4};
  q.nodes = {256};
  const Days there = control_of(f, stated, q)->days[1];
  q.nodes.clear();
  q.training->within = there.total * 1.001;
  const auto control = control_of(f, stated, q);
  ASSERT_TRUE(control && control->nodes_for);
  EXPECT_TRUE(control->nodes_for->reached) << control->nodes_for->why;
  EXPECT_LE(control->nodes_for->at.nodes, 256);
  EXPECT_GT(control->nodes_for->at.nodes, 128);
  EXPECT_EQ(control->nodes_for->most, 131'072);
  const auto told = [](const FullControl& c) {
    return std::ranges::any_of(c.notes,
                               [](const std::string& n) { return n.find("its terms go on") != n.npos; });
  };
  EXPECT_FALSE(told(*control));
  StatedJob small = stated;
  small.to = 128;
  EXPECT_TRUE(told(*control_of(f, small, q)));
}

TEST(StatedJobs, StructureIsToldByItsOwnMechanisms) {
  Asked q;
  q.sizes = {64};
  q.structure.asked = true;
  const auto f = make_forecast(Evidence{.stated = with_law()}, q);
  ASSERT_TRUE(f) << f.error().to_string();
  ASSERT_TRUE(f->detail);
  ASSERT_FALSE(f->detail->sizes.empty());
  const auto& by = f->detail->sizes.back().added.by;
  ASSERT_EQ(by.size(), 3U);
  EXPECT_EQ(by.front().mechanism, "waiting");
  EXPECT_FALSE(f->detail->twins.empty());
}

}  // namespace
}  // namespace cox::forecast
