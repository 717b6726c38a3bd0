// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/twins.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "forecast/structure/criticality.hpp"

namespace cox::forecast {
namespace {

Law uniform() {
  const std::vector<Seconds> ends{Seconds{0}, Seconds{1}};
  return Law::quantiles(ends);
}

// Without noise a delay goes one rank a step, both ways, and loses nothing.
TEST(Wave, WithoutNoiseEveryoneReachedIsLateByAllOfIt) {
  const Wave w =
      follow_wave(Law::constant(Seconds{1}),
                  {.waits = Waits::TwoSides, .ranks = 60, .steps = 20, .twins = 1, .delay = Seconds{5}});
  for (int k = 0; k < 20; ++k) EXPECT_EQ(w.late[static_cast<std::size_t>(k)], 2 * (k + 1) + 1);
  for (std::size_t h = 0; h <= 20; ++h) EXPECT_DOUBLE_EQ(w.front[h], 1);
  EXPECT_NEAR(w.speed, 1, 1e-9);
  EXPECT_EQ(w.extinction, 0);
}

// The front loses about one deviation of a step's noise per rank: 0.90 (uniform) and 0.98 (exponential) where each waits for
// one side, 1.05 and 1.37 for two; numbers of a computation of its own over 250 steps. It is
// the rate at which undisturbed ranks run ahead of one path, which is reached slowly: 8 %.
TEST(Wave, NoiseTakesAConstantAmountPerRank) {
  const auto loss = [](const Law& law, Waits waits) {
    const WaveQuestion q{
        .waits = waits, .ranks = 300, .steps = 160, .twins = 40, .delay = 100 * law.deviation()};
    const Wave w = follow_wave(law, q);
    EXPECT_NEAR(w.speed, 1, 0.02);
    for (const double kept : w.kept) {
      EXPECT_GE(kept, -1e-12);
      EXPECT_LE(kept, 1 + 1e-12);
    }
    return w.loss_in_deviations;
  };
  EXPECT_NEAR(loss(uniform(), Waits::OneSide), 0.90, 0.08 * 0.90);
  EXPECT_NEAR(loss(Law::exponential(Seconds{1}), Waits::OneSide), 0.98, 0.08 * 0.98);
  EXPECT_NEAR(loss(uniform(), Waits::TwoSides), 1.05, 0.08 * 1.05);
  EXPECT_NEAR(loss(Law::exponential(Seconds{1}), Waits::TwoSides), 1.37, 0.08 * 1.37);
}

// At a barrier the first step's slack takes its part, and what is left stays.
TEST(Wave, ABarrierKeepsWhatSlackLeaves) {
  const Law own = Law::exponential(Seconds{1});
  const Wave w =
      follow_wave(own, {.waits = Waits::All, .ranks = 8, .steps = 5, .twins = 3'000, .delay = Seconds{3}});
  EXPECT_NEAR(w.kept[0], kept_at_barrier(own, 8, Seconds{3}), 0.02);
  for (const double kept : w.kept) EXPECT_NEAR(kept, w.kept[0], 1e-9);
  EXPECT_EQ(w.speed, 0);
}

// Groups that exchange with those beside them: a group a step, and the slowest of a group takes more than a rank does.
TEST(Wave, GroupsPassItOnGroupByGroup) {
  const Law own = Law::exponential(Seconds{1});
  const WaveQuestion q{
      .waits = Waits::Groups, .ranks = 400, .per_group = 8, .steps = 24, .twins = 60, .delay = Seconds{60}};
  const Wave w = follow_wave(own, q);
  EXPECT_NEAR(w.speed, 1, 0.05);
  EXPECT_GT(w.loss_in_deviations, 1.4);
  EXPECT_GT(w.extinction, 10);
}

// Workers up to three steps ahead: the others go on for three steps, then all wait for the one that was held up.
TEST(Wave, BoundedWorkersFeelADelayWhenTheirLeadIsUsedUp) {
  const Wave w = follow_wave(
      Law::constant(Seconds{1}),
      {.waits = Waits::Bounded, .ranks = 8, .ahead = 3, .steps = 10, .twins = 1, .delay = Seconds{5}});
  EXPECT_EQ(w.late[0], 1);
  EXPECT_EQ(w.late[3], 1);
  EXPECT_EQ(w.late[4], 8);
  EXPECT_DOUBLE_EQ(w.kept[9], 1) << "nothing is left over to make up for it";
  const Law own = Law::normal(Seconds{1}, Seconds{0.1});
  WaveQuestion q{
      .waits = Waits::Bounded, .ranks = 8, .ahead = 0, .steps = 5, .twins = 20, .delay = Seconds{0.3}};
  const Wave none_ahead = follow_wave(own, q);
  q.waits = Waits::All;
  EXPECT_EQ(none_ahead.kept, follow_wave(own, q).kept) << "no lead is a barrier";
  q.waits = Waits::Bounded;
  q.ahead = 4;
  EXPECT_LT(follow_wave(own, q).kept[0], none_ahead.kept[0]);
}

// Down a pipeline a delay reaches every stage in the micro-batch that it hits; with noise what waits in between takes some.
TEST(Wave, APipelineHandsADelayDown) {
  WaveQuestion q{.waits = Waits::Stages, .ranks = 8, .steps = 30, .twins = 1, .delay = Seconds{3}};
  const Wave even = follow_wave(Law::constant(Seconds{1}), q);
  EXPECT_EQ(even.late[0], 8);
  EXPECT_DOUBLE_EQ(even.front[7], 1);
  EXPECT_DOUBLE_EQ(even.kept[29], 1);
  EXPECT_EQ(even.speed, 0);
  q.twins = 40;
  const Wave noisy = follow_wave(Law::normal(Seconds{1}, Seconds{0.3}), q);
  EXPECT_LT(noisy.front[7], noisy.front[1]);
  EXPECT_GT(noisy.front[7], 0);
  for (const double d : noisy.kept) EXPECT_LE(d, 1 + 1e-12);
}

/// Eight nodes at a barrier.
model::Scenario barrier(double cv) {
  model::Scenario s;
  s.cluster.nodes = 8;
  s.across = {.latency = Seconds{1e-3}};
  s.job.steps = 40;
  s.replicas = 10;
  s.job.as<model::CollectiveJob>() = {.collective = {.kind = model::Collective::Barrier,
                                                     .algorithm = model::Algorithm::Dissemination,
                                                     .ranks = 8},
                                      .compute = Seconds{1}};
  s.noise = {{.name = "jitter", .law = model::NoiseLaw::Gaussian, .cv = cv}};
  return s;
}

double value_of(const std::vector<TwinElasticity>& all, const std::string& name) {
  for (const TwinElasticity& e : all)
    if (e.to == name) return e.value;
  ADD_FAILURE() << name;
  return 0;
}

TEST(Twins, ElasticitiesAddUpToOne) {
  const auto e = twin_elasticities(barrier(0.1), {});
  ASSERT_TRUE(e) << e.error().to_string();
  const double work = value_of(*e, "own work");
  const double latency = value_of(*e, "latency between nodes");
  const double bandwidth = value_of(*e, "bandwidth between nodes");
  EXPECT_NEAR(work + latency - bandwidth, 1, 1e-3) << "twice of all is twice the time";
  EXPECT_NEAR(latency, 3e-3 / 1.15, 5e-4) << "three rounds of 1 ms";
}

// A node's share is how often it is last: by counting in the sample, or by its twin.
TEST(Twins, ANodesElasticityIsHowOftenItIsLast) {
  model::Scenario s = barrier(0.1);
  s.noise.push_back({.name = "slow", .law = model::NoiseLaw::Constant, .mean_ratio = 0.1, .ranks = {5}});
  s.replicas = 40;
  const auto e = twin_elasticities(s, {.threads = 2});
  ASSERT_TRUE(e);
  std::vector<Law> laws(8, Law::normal(Seconds{1}, Seconds{0.1}));
  laws[5] = Law::normal(Seconds{1.1}, Seconds{0.1});
  const std::vector<double> p = criticality_of(laws);
  for (const int node : {0, 5}) {
    const auto name = "work of node " + std::to_string(node);
    // Over ln: 1 s of work out of 1.18 s of step.
    EXPECT_NEAR(value_of(*e, name), p[static_cast<std::size_t>(node)] / 1.18, 0.04) << name;
  }
  const auto again = twin_elasticities(s, {.threads = 1});
  EXPECT_EQ(value_of(*e, "work of node 5"), value_of(*again, "work of node 5"));
}

// At a tie all ranks are last: a little more costs all of it, a little less of one saves nothing.
TEST(Twins, AtATieMoreOfOneCostsAllOfIt) {
  model::Scenario s = barrier(0);
  s.noise.clear();
  s.replicas = 1;
  const auto e = twin_elasticities(s, {});
  ASSERT_TRUE(e);
  EXPECT_NEAR(value_of(*e, "work of node 3"), 1 / 1.003, 1e-3);
}

// A ring over equal links waits for the slowest: less of one is less of all, more of one is nothing.
TEST(Twins, OneLinkOfARingIsAsMuchAsAllOfThem) {
  model::Scenario s = barrier(0);
  s.noise.clear();
  s.replicas = 1;
  s.job.steps = 2;
  s.cluster.nodes = 4;
  s.cluster.nic = s.fabric.link = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.across = {.latency = Seconds{4e-6}, .per_byte = Bandwidth::gbyte_per_s(10).time_per_byte()};
  s.job.as<model::CollectiveJob>() = {.collective = {.kind = model::Collective::AllReduce,
                                                     .algorithm = model::Algorithm::Ring,
                                                     .ranks = 4,
                                                     .bytes = Bytes{1'000'000'000}},
                                      .compute = Seconds{1e-3}};
  s.engine = model::EngineKind::Flow;
  const auto e = twin_elasticities(s, {});
  ASSERT_TRUE(e) << e.error().to_string();
  const auto link = std::ranges::find(*e, "links of node 2", &TwinElasticity::to);
  ASSERT_NE(link, e->end());
  EXPECT_NEAR(link->if_less, value_of(*e, "bandwidth between nodes"), 0.02);
  EXPECT_NEAR(link->if_more, 0, 0.02);
}

TEST(Twins, DecayTellsWhatLastsWhatHalvesAndWhatIsShared) {
  const auto spread = [](double mean, double half) {
    return simulate::ReplicaSpread{.mean = Seconds{mean}, .half_width_95 = Seconds{half}};
  };
  const Decay barrier =
      decay_of({.delay = Seconds{2}, .by = {spread(1, 0.1), spread(1, 0.1), spread(1, 0.1)}, .ranks = {}});
  EXPECT_TRUE(barrier.lasts);
  EXPECT_FALSE(barrier.shared);
  EXPECT_DOUBLE_EQ(barrier.first, 0.5);
  const Decay fades =
      decay_of({.delay = Seconds{1}, .by = {spread(0.8, 0), spread(0.5, 0), spread(0.3, 0)}, .ranks = {}});
  EXPECT_FALSE(fades.lasts);
  EXPECT_DOUBLE_EQ(fades.half_life, 2);
  // One link, A sends 1 at 0 and B 10 at 0.5, fair shares: A ends at 1.5; 0.6 later it ends at 2.6.
  const Decay link = decay_of({.delay = Seconds{0.6}, .by = {spread(2.6 - 1.5, 0.01)}, .ranks = {}});
  EXPECT_TRUE(link.shared);
  EXPECT_NEAR(link.first, 1.8333, 1e-4);
  EXPECT_FALSE(decay_of({.delay = Seconds{1}, .by = {spread(1.05, 0.1)}, .ranks = {}}).shared)
      << "within chance";
}

TEST(Twins, ADelayInASimulatedBarrierLasts) {
  model::Scenario s = barrier(0.1);
  s.noise.push_back({.name = "delay",
                     .law = model::NoiseLaw::Constant,
                     .pattern = model::NoisePattern::Once,
                     .relative = false,
                     .mean = Seconds{0.3},
                     .step = 4,
                     .ranks = {3}});
  s.replicas = 60;
  const auto kept = simulate::follow_delay(s, {});
  ASSERT_TRUE(kept);
  const Decay d = decay_of(*kept);
  EXPECT_TRUE(d.lasts);
  EXPECT_FALSE(d.shared);
  EXPECT_NEAR(d.first, kept_at_barrier(Law::normal(Seconds{1}, Seconds{0.1}), 8, Seconds{0.3}), 0.15);
}

// ASCI Q (Petrini, Kerbyson, Pakin 2003): interruptions that cost each processor two parts in ten thousand take half of
// 8,192. Without them the job is twice as fast; with a network ten times as fast it is as slow as before.
TEST(Twins, NoiseOfTheSystemTakesHalfAndTheNetworkNothing) {
  model::Scenario s = barrier(0);
  s.cluster.nodes = 8'192;
  s.job.as<model::CollectiveJob>().collective.ranks = 8'192;
  s.job.as<model::CollectiveJob>().compute = Seconds{1e-3};
  s.across.latency = Seconds{2e-6};
  s.noise = {{.name = "daemons",
              .law = model::NoiseLaw::Bimodal,
              .relative = false,
              .mean = Seconds{2e-3},
              .probability = 1e-4}};
  s.replicas = 1;
  s.job.steps = 150;
  const auto step = [](const model::Scenario& one) {
    const auto out = simulate::simulate(one, {});
    EXPECT_TRUE(out);
    return out ? out->total / one.job.steps : Seconds{1};
  };
  const Seconds as_is = step(s);
  model::Scenario quiet = s;
  quiet.noise[0].off = true;
  model::Scenario fast = s;
  fast.across.latency /= 10;
  EXPECT_NEAR((as_is - step(quiet)) / Seconds{2e-3}, 0.559, 0.1) << "1 - (1 - 1e-4)^8192";
  EXPECT_GT(as_is / step(quiet), 1.8);
  EXPECT_LT(as_is / step(fast), 1.03);
}

}  // namespace
}  // namespace cox::forecast
