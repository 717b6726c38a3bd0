// SPDX-License-Identifier: Apache-2.0
// Published incidents as Scenarios: what an operator's dashboards would have shown, computed from the same Scenario, and what the
// forecast says. Size, cause and remedy of the first two: src/forecast/regimes/simulated_scaling_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/checkpoints/goodput.hpp"
#include "forecast/regimes/amplification.hpp"

namespace cox::forecast {
namespace {

model::Scenario example(const std::string& name, std::vector<std::string> set) {
  auto read = model::read_scenario(COX_EXAMPLES "/" + name, {.set = std::move(set)});
  EXPECT_TRUE(read) << read.error().to_string();
  return read ? std::move(read->scenario) : model::Scenario{};
}

/// What dashboards know of a job: means over ranks and steps, and counts.
struct Dashboard {
  Seconds busy{};             ///< own work of a rank in a step
  std::int64_t messages = 0;  ///< of the job in a step: with bytes that nothing changes, what its links carry
  Seconds step{};             ///< what only the job's clock shows
};
Dashboard dashboard(const model::Scenario& scenario) {
  model::Scenario s = scenario;
  s.failures = {};
  s.start = {};
  s.replicas = 1;
  const auto job = simulate::simulate(s, {.threads = 1});
  // A rank that meets nobody, in many steps: what is its own.
  model::Scenario one = s;
  one.cluster.nodes = one.cluster.devices_per_node = 1;
  one.job.as<model::CollectiveJob>().collective.ranks = 1;
  one.job.steps = 20'000;
  const auto alone = simulate::simulate(one, {.threads = 1});
  EXPECT_TRUE(job) << job.error().to_string();
  EXPECT_TRUE(alone) << alone.error().to_string();
  if (!job || !alone) return {};
  return {.busy = alone->total / one.job.steps,
          .messages = job->messages / s.job.steps,
          .step = job->total / s.job.steps};
}

// marin-community/marin #9205: 704 processes, 1.45 s about every 265 updates on each. Busy time moves by a third of a per cent and
// links carry the same; the step is half as long again.
TEST(Incidents, GarbageThatIsCollectedInTurnIsOnNoDashboard) {
  const std::vector<std::string> size{"cluster.nodes=88", "job.steps=265"};
  const Dashboard with = dashboard(example("garbage-collection.toml", size));
  std::vector<std::string> off = size;
  off.emplace_back("noise.0.mean=1ns");
  const Dashboard without = dashboard(example("garbage-collection.toml", off));
  EXPECT_NEAR(with.busy / without.busy, 1 + 1.45 / 265 / 2, 1e-3);
  EXPECT_EQ(with.messages, without.messages);
  EXPECT_GT((with.step - without.step).count(), 1.3);
}

// marin #8534: a restore is read by all, one read in 703 takes hours. One node's restore, and how often something fails, are as ever;
// the job's restart is the slowest of all.
TEST(Incidents, ARestoreBarrierIsOnNoNodesDashboard) {
  const model::Scenario s =
      example("why-scaling-fails.toml",
              {"failures.node_mtbf=800h", "failures.restart=2min", "failures.restart_per_node=0s",
               "failures.restart_per_pair=0s", "failures.restart_spread=60s", "failures.restart_tail=0.4"});
  const Interruptions one = interruptions(s, 1);
  const Interruptions all = interruptions(s, 703);
  EXPECT_LT(one.restart, Seconds{5 * 60}) << "a node's own restore";
  EXPECT_NEAR(one.between / all.between, 703, 1e-6) << "nodes fail as often as before";
  EXPECT_GT(all.restart, 5 * one.restart) << "the job's";
}

// ASCI Q (Petrini, Kerbyson, Pakin 2003): half of 8,192 processors is gone. Each is busy as ever, to two parts in ten thousand, and
// its network does in a step what it did; the forecast names the daemons, and hardly the network.
TEST(Incidents, NoiseOfTheSystemIsOnNoDashboard) {
  model::Scenario s;
  s.cluster.nodes = 8'192;
  s.across = {.latency = Seconds{2e-6}};
  s.job.steps = 150;
  s.job.as<model::CollectiveJob>() = {.collective = {.kind = model::Collective::Barrier,
                                                     .algorithm = model::Algorithm::Dissemination,
                                                     .ranks = 8'192},
                                      .compute = Seconds{1e-3}};
  s.noise = {{.name = "daemons",
              .law = model::NoiseLaw::Bimodal,
              .relative = false,
              .mean = Seconds{2e-3},
              .probability = 1e-4}};
  model::Scenario off = s;
  off.noise[0].off = true;
  const Dashboard with = dashboard(s);
  const Dashboard without = dashboard(off);
  EXPECT_NEAR(with.busy / without.busy, 1 + 2e-4, 3e-4);
  EXPECT_EQ(with.messages, without.messages);
  EXPECT_GT(with.step / without.step, 1.8);

  Evidence e;
  e.scenario = s;
  Asked q;
  q.sizes = {8'192};
  q.structure.asked = true;
  const auto f = make_forecast(e, q);
  ASSERT_TRUE(f) << f.error().to_string();
  EXPECT_NEAR(f->parts->positions[0].level.value / without.busy, 1 + 2e-4, 1e-6) << "nominal";
  EXPECT_NEAR(f->projection.points[0].mean.value / with.step, 1, 0.1);
  ASSERT_TRUE(f->detail);
  const Amplification& added = f->detail->sizes.back().added;
  const auto most = std::ranges::max_element(added.by, {}, &Amplification::Share::added);
  ASSERT_NE(most, added.by.end());
  EXPECT_EQ(most->mechanism, s.noise[0].name);
  EXPECT_GT(most->added, 0.8 * (added.whole - 1));
}

}  // namespace
}  // namespace cox::forecast
