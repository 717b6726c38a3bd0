// SPDX-License-Identifier: Apache-2.0
// Scenarios of iterations through the one call, and the Run that they leave.
#include <gtest/gtest.h>

#include <algorithm>

#include "cox/simulate/outcome.hpp"
#include "cox/simulate/render.hpp"

namespace cox::simulate {
namespace {

/// The shared-host condition on one node.
model::Scenario scenario(int steps) {
  model::Scenario s;
  s.name = "host";
  s.cluster.devices_per_node = 32;
  s.job.work = model::IterationJob{};
  s.job.steps = steps;
  s.job.as<model::IterationJob>().iteration.prepare = Seconds{0.6e-3};
  s.job.as<model::IterationJob>().iteration.compute = Seconds{20e-3};
  s.job.as<model::IterationJob>().iteration.imbalance = model::Imbalance::Persistent;
  s.job.as<model::IterationJob>().iteration.slow_ranks = 4;
  s.job.as<model::IterationJob>().iteration.slow_factor = 1.5;
  return s;
}

TEST(PacedJob, RanksAndHostsAreThoseOfTheCluster) {
  model::Scenario s = scenario(3);
  auto made = simulate(s, {});
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->engine, model::EngineKind::Event);
  EXPECT_EQ(made->ranks, 32);
  EXPECT_NEAR(made->total.count(), 3 * 39.6e-3, 1e-12);
  ASSERT_EQ(made->step_ends.size(), 3U);
  EXPECT_EQ(made->step_ends.back(), made->total);
  s.cluster.nodes = 2;
  s.cluster.devices_per_node = 16;
  made = simulate(s, {});
  ASSERT_TRUE(made);
  EXPECT_NEAR(made->total.count(), 3 * 34.8e-3, 1e-12);
}

// Four ranks, one of half the speed, on one link of 1 GB/s: 4 x 1 MB of input take 4 ms, the sum of 8 MB 2 x 3 x 2 ms. A step is
// 4 + 20 + 12 ms; three ranks wait 10 ms of it.
TEST(PacedJob, TheFirstScreenSaysWhatIsExposedAndLoaded) {
  model::Scenario s;
  s.cluster.devices_per_node = 4;
  s.job.steps = 5;
  s.job.work = model::IterationJob{.iteration = {.fetch = Bytes{1'000'000},
                                                 .link = Bandwidth::gbyte_per_s(1),
                                                 .compute = Seconds{10e-3},
                                                 .imbalance = model::Imbalance::Persistent,
                                                 .slow_ranks = 1,
                                                 .slow_factor = 2,
                                                 .reduce = Bytes{8'000'000}}};
  const auto made = simulate(s, {});
  ASSERT_TRUE(made);
  EXPECT_NEAR(made->total.count(), 5 * 36e-3, 1e-12);
  ASSERT_EQ(made->groups.size(), 1U);
  EXPECT_NEAR(made->groups[0].exposed.count(), 12e-3, 1e-12);
  EXPECT_NEAR(made->groups[0].waiting.count(), 7.5e-3, 1e-12);
  EXPECT_NEAR(made->groups[0].busy.count(), 16.5e-3, 1e-12);
  EXPECT_NEAR(*made->exposed_ratio(), 1. / 3, 1e-12);
  ASSERT_EQ(made->links.size(), 1U);
  EXPECT_EQ(made->links[0].name, "iteration.link");
  EXPECT_EQ(made->links[0].bytes, Bytes{80'000'000});
  EXPECT_NEAR(made->links[0].utilisation_ratio, 16. / 36, 1e-12);
  const std::vector<std::string> text = text_lines(s, *made);
  const auto says = [&](std::string_view what) {
    return std::ranges::any_of(text, [&](const std::string& l) { return l.starts_with(what); });
  };
  EXPECT_TRUE(says(
      "exposed      33 % of the ranks' time in all steps is communication that nothing hides, 21 % waiting"));
  EXPECT_TRUE(says("switched on: 1 slow rank, 2 times, input of steps"));
  EXPECT_TRUE(says("  iteration.link"));
}

// On cards of the cluster, which carry the rounds of the ring in every step.
TEST(PacedJob, TheSumLoadsTheCardsOfTheCluster) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.across.per_byte = s.cluster.nic.bandwidth.time_per_byte();
  s.job.steps = 5;
  s.job.work = model::IterationJob{.iteration = {.compute = Seconds{12e-3}, .reduce = Bytes{8'000'000}}};
  const auto made = simulate(s, {});
  ASSERT_TRUE(made);
  EXPECT_NEAR(made->total.count(), 5 * 24e-3, 1e-9);
  ASSERT_TRUE(made->busiest_port);
  EXPECT_EQ(made->busiest_port->bytes, Bytes{60'000'000});
  EXPECT_NEAR(made->busiest_port->utilisation_ratio, 0.5, 1e-9);
}

TEST(PacedJob, AModeIsComparedWithTheSameDrawsWithoutIt) {
  model::Scenario s = scenario(400);
  s.job.as<model::IterationJob>().iteration.jitter = model::JitterLaw::Lognormal;
  s.job.as<model::IterationJob>().iteration.spread = 0.03;
  s.job.as<model::IterationJob>().pace = {{"mode", "paper"}, {"window", "16"}};
  s.replicas = 3;
  const auto made = simulate(s, {.threads = 2});
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->paced);
  s.job.as<model::IterationJob>().pace = {};
  const auto off = simulate(s, {.threads = 1});
  ASSERT_TRUE(off && off->paced);
  EXPECT_EQ(made->paced->without.total, off->total);
  EXPECT_EQ(off->paced->gain(), 0);
  EXPECT_GT(made->paced->gain(), 0.1);
  EXPECT_GT(made->paced->with.delay, Seconds{});
  EXPECT_EQ(made->over_replicas.replicas, 3);
  const std::vector<std::string> text = text_lines(s, *made);
  EXPECT_TRUE(std::ranges::any_of(text, [](const std::string& l) { return l.starts_with("mode paper"); }));
}

TEST(PacedJob, TheRunHoldsDecisionsAndSynchronisations) {
  model::Scenario s = scenario(200);
  s.job.as<model::IterationJob>().pace = {{"mode", "always"}, {"window", "16"}};
  const auto made = simulate(s, {.want_run = true});
  ASSERT_TRUE(made && made->run);
  const trace::EventColumns& e = made->run->ranks[0].events;
  int marks = 0;
  int synchronisations = 0;
  int decisions = 0;
  Duration served{};
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (i > 0) {
      EXPECT_GE(e.begin[i], e.begin[i - 1]);
    }
    marks += e.kind[i] == trace::EventKind::Step ? 1 : 0;
    synchronisations += e.kind[i] == trace::EventKind::Collective ? 1 : 0;
    if (e.kind[i] != trace::EventKind::Pace) continue;
    ++decisions;
    served += e.end[i] - e.begin[i];
    EXPECT_EQ(trace::PaceFlags::mode(e.flags[i]), static_cast<std::uint8_t>(pace::Mode::Always));
  }
  EXPECT_EQ(marks, 200);
  EXPECT_EQ(synchronisations, 200);
  // The first decision, then one per step with a delay: after the first window.
  EXPECT_EQ(decisions, 1 + 200 - 16);
  EXPECT_NEAR(in_seconds(served), made->paced->with.ranks[0].delay.count() * 200, 1e-6);
}

TEST(PacedJob, WhatItCannotDoIsSaid) {
  const auto refused = [](auto&& change) {
    model::Scenario s = scenario(2);
    change(s);
    const auto made = simulate(s, {});
    return made ? std::string("taken") : made.error().id;
  };
  EXPECT_EQ(refused([](model::Scenario& s) { s.engine = model::EngineKind::Flow; }), "simulate-003");
  EXPECT_EQ(refused([](model::Scenario& s) { s.policy.kind = model::PolicyKind::Backup; }), "simulate-003");
  EXPECT_EQ(refused([](model::Scenario& s) { s.cluster.nodes = 4096; }), "simulate-003");
  EXPECT_EQ(refused([](model::Scenario& s) { s.job.as<model::IterationJob>().pace["window"] = "-1"; }),
            "simulate-007");
  EXPECT_EQ(refused([](model::Scenario& s) { s.job.as<model::IterationJob>().iteration.cores = 0; }),
            "simulate-007");
}

// Four nodes of one device and links of 1 GB/s: a ring of 8 MB takes 2 x 3 / 4 x 8 ms after the last has come. Two leaves
// of two nodes with one up-link each change nothing for a ring in their order; half of it taken by others doubles the time.
TEST(PacedJob, AnAllReduceWithoutALinkOfItsOwnGoesOverTheCluster) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.link = s.cluster.nic;
  s.across = {.latency = {}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  model::IterationJob work;
  work.iteration.compute = Seconds{5e-3};
  work.iteration.reduce = Bytes{8'000'000};
  s.job.work = work;
  s.job.steps = 10;
  const auto total = [&] {
    const auto out = simulate(s, {});
    EXPECT_TRUE(out) << out.error().to_string();
    return out ? out->total.count() : 0;
  };
  EXPECT_NEAR(total(), 10 * (5e-3 + 12e-3), 1e-9);
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 2;
  s.fabric.oversubscription = 2;
  EXPECT_NEAR(total(), 10 * (5e-3 + 12e-3), 1e-9);
  s.fabric.background_load = 0.5;
  EXPECT_NEAR(total(), 10 * (5e-3 + 24e-3), 1e-9);
  s.job.as<model::IterationJob>().iteration.link = Bandwidth::gbyte_per_s(2);
  EXPECT_NEAR(total(), 10 * (5e-3 + 2 * 3 * 2e6 / 2e9), 1e-9) << "its own link, whatever the fabric is";
}

}  // namespace
}  // namespace cox::simulate
