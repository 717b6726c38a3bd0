// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/stated_scenario.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/stats.hpp"
#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

/// Nodes of four: 1 s, an exponential of 20 ms a rank, and communication of 0.1 s that grows by 1 ms a node beyond the second.
StatedJob job() {
  StatedJob out{.name = "job", .work = Seconds{1}, .jitter = Seconds{0.02}, .ranks_per_node = 4, .from = 4};
  out.terms.push_back({.term = {.mechanism = {},
                                .at =
                                    [](std::int64_t n) {
                                      return TimeAtSize{Seconds{0.1 + 1e-3 * static_cast<double>(n - 2)}, {}};
                                    }},
                       .of = TermOf::Communication});
  return out;
}

double harmonic(int n) {
  double sum = 0;
  for (int i = 1; i <= n; ++i) sum += 1.0 / i;
  return sum;
}

TEST(StatedScenario, ItsStepsTakeWhatTheTermsAddUpTo) {
  model::Scenario s = scenario_of(job());
  s.replicas = 16;
  const auto outcome = simulate::simulate(s, {.threads = 1});
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  Welford totals;
  for (const Seconds total : outcome->totals) totals.add(total.count());
  ASSERT_EQ(totals.count(), 16);
  const double step = totals.mean() / 200;
  const double wanted = 1.102 + 0.02 * harmonic(16);
  // 3,200 steps of deviation 25 ms
  EXPECT_NEAR(step, wanted, 4 * 0.025 / std::sqrt(3'200));
}

TEST(StatedScenario, ItIsReadBackAsItWasWritten) {
  StatedJob stated = job();
  stated.failures =
      FailureTerm{.node_mean_time = Seconds{1e6}, .checkpoint = Seconds{60}, .restart = Seconds{300}};
  const model::Scenario s = scenario_of(stated);
  const auto read = model::parse_scenario(model::scenario_toml(s), "job.toml", {}, {});
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->scenario.failures.node_mtbf, Seconds{1e6});
  EXPECT_EQ(read->scenario.noise.front().mean, Seconds{0.02});
}

TEST(StatedScenario, ItsPartsAreTheTerms) {
  const auto parts = parts_of(scenario_of(job()));
  ASSERT_TRUE(parts) << parts.error().to_string();
  EXPECT_EQ(parts->ranks, 16);
  EXPECT_NEAR(parts->positions.front().level.value.count(), 1.02, 1e-9);
  EXPECT_NEAR(parts->positions.front().residual.deviation().count(), 0.02, 2e-4);
  EXPECT_NEAR(parts->rest.value.count(), 0.102, 1e-6);
}

TEST(StatedScenario, BetweenWholeNodesCommunicationIsOnALine) {
  const RestAt rest = rest_of(job());
  EXPECT_NEAR(rest(16).value.count(), 0.102, 1e-12);
  EXPECT_NEAR(rest(18).value.count(), 0.1025, 1e-12);
  EXPECT_EQ(rest(18).low, rest(18).high);
}

}  // namespace
}  // namespace cox::forecast
