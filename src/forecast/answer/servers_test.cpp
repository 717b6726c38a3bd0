// SPDX-License-Identifier: Apache-2.0
// Jobs whose ranks meet at servers, forecast and simulated: how messages meet is another thing at each size.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/scenario/port_floor.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

/// 24 ranks with 35 ms of work, and 60 MB to so many servers.
model::Scenario served(int servers, double noise) {
  const std::string text = fmt::format(R"(
[cluster]
preset = "cloud-100g"
nodes = 24
[job]
compute = "35ms"
steps = 12
[job.collective]
kind = "all-reduce"
algorithm = "parameter-server"
servers = {}
bytes = "60MB"
)",
                                       servers);
  auto read = model::parse_scenario(
      noise > 0 ? text + fmt::format("[[noise]]\nname = \"jitter\"\nlaw = \"lognormal\"\ncv = {}\n", noise)
                : text,
      "test.toml", ".");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return std::move(read->scenario);
}

FullForecast forecast_of(const model::Scenario& scenario, std::vector<std::int64_t> sizes) {
  Evidence evidence;
  evidence.inputs.push_back({.path = "test.toml", .kind = InputKind::Scenario});
  evidence.scenario = scenario;
  Asked asked;
  asked.sizes = std::move(sizes);
  asked.project.replicates = 20;
  auto made = make_forecast(evidence, asked);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return *std::move(made);
}

simulate::Outcome simulated(const model::Scenario& scenario, std::int64_t ranks, std::uint64_t seed = 77) {
  model::Scenario s = resized(scenario, ranks);
  s.seed = seed;
  auto outcome = simulate::simulate(s, {.threads = 1});
  EXPECT_TRUE(outcome);
  return *std::move(outcome);
}

// As many servers as nodes: throughput is a saw that rises from tooth to tooth. Its first one is no peak.
TEST(Servers, TheFirstToothOfASawIsNoPeak) {
  const model::Scenario s = served(24, 0);
  const FullForecast made = forecast_of(s, {48, 150, 192, 240, 384});
  ASSERT_TRUE(made.regimes);
  EXPECT_NE(made.regimes->n_star.value.place, RegimeBoundary::Place::Inside);
  for (std::size_t i = 0; i < made.projection.points.size(); ++i) {
    const SizePoint& p = made.projection.points[i];
    EXPECT_NE(made.regime(i), Regime::Collapse) << p.ranks;
    const Seconds truth = simulated(s, p.ranks).total / 12.0;
    EXPECT_GE(truth, 0.995 * p.mean.low) << p.ranks;
    EXPECT_LE(truth, 1.005 * p.mean.high) << p.ranks;
  }
}

TEST(Servers, BeyondWhatIsSimulatedNoStepIsBelowWhatThePortsTake) {
  const model::Scenario s = served(6, 0);
  const FullForecast made = forecast_of(s, {3'072, 20'000});
  for (const SizePoint& p : made.projection.points) {
    if (!p.refused.empty()) continue;
    EXPECT_GE(p.mean.low, port_floor(resized(s, p.ranks))) << p.ranks;
    EXPECT_LE(p.mean.low, p.mean.value);
  }
  ASSERT_EQ(made.projection.points.front().refused, "");
  EXPECT_LE(made.projection.points.front().mean.low,
            Seconds{3.699});  // `cox simulate` at that size: 3.6989 s
  EXPECT_GE(made.projection.points.front().mean.high, Seconds{3.6988});
}

// A dozen steps, of which the first is the longest by far: all of the job's, so their quantiles are its own.
TEST(Servers, FewStepsThatAreAllOfTheJobHaveTheirQuantiles) {
  const FullForecast quiet = forecast_of(served(24, 0), {384});
  const SizePoint& p = quiet.projection.points.front();
  const simulate::Outcome truth = simulated(served(24, 0), 384);
  EXPECT_NEAR(p.median.value.count() / truth.steps.quantile(0.5), 1, 0.02);
  EXPECT_GE(p.p99.value.count(), 0.98 * truth.steps.quantile(0.99));
  EXPECT_LE(p.p99.value.count(), 1.02 * truth.steps.quantile(1));
  EXPECT_GT(p.p99.value, 2 * p.median.value);
  EXPECT_GT(p.cv, 0.3);
  const FullForecast noisy = forecast_of(served(6, 0.1), {96});
  const SizePoint& n = noisy.projection.points.front();
  const double p99 = simulated(served(6, 0.1), 96).steps.quantile(0.99);
  EXPECT_GE(p99, 0.9 * n.p99.low.count());
  EXPECT_LE(p99, 1.1 * n.p99.high.count());
}

}  // namespace
}  // namespace cox::forecast
