// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/over_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/base/random.hpp"

namespace cox::forecast {
namespace {

/// Restarts every 400 steps; the 200 after each are `factor` times as unsteady.
struct Restarted {
  std::vector<SampleStep> steps;
  std::vector<std::size_t> restarts;
};
Restarted restarted(std::uint64_t number, int restarts, double factor) {
  Restarted out;
  const RandomStream random(number, 23);
  for (std::size_t k = 0; k < 400 * static_cast<std::size_t>(restarts + 1); ++k) {
    const bool after = k >= 400 && k % 400 < 200;
    if (k > 0 && k % 400 == 0) out.restarts.push_back(k);
    out.steps.push_back({.number = static_cast<std::int64_t>(k),
                         .length = Seconds{100 + (after ? factor : 1.0) * random.normal(k, 0)}});
  }
  return out;
}

int count_verdicts(AfterRestart wanted, int restarts, double factor) {
  int n = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Restarted r = restarted(i, restarts, factor);
    n += after_restarts(r.steps, r.restarts).verdict == wanted ? 1 : 0;
  }
  return n;
}

// 8 restarts of 200 steps find a factor of 1.3 always, and call one where there is none in 5 % (2.5 % each way).
TEST(AfterRestarts, HigherLowerAndEqualAreTold) {
  EXPECT_GE(count_verdicts(AfterRestart::Higher, 8, 1.3), 195);
  EXPECT_GE(count_verdicts(AfterRestart::Lower, 8, 1 / 1.3), 195);
  const int higher = count_verdicts(AfterRestart::Higher, 8, 1);
  const int lower = count_verdicts(AfterRestart::Lower, 8, 1);
  EXPECT_LE(higher + lower, 17) << "5 % of 200 and 2.3 standard deviations";
  EXPECT_GE(count_verdicts(AfterRestart::Equal, 8, 1), 180);
}

TEST(AfterRestarts, FewerThanFourGiveNoVerdict) {
  const Restarted r = restarted(1, 3, 3);
  const RestartTest t = after_restarts(r.steps, r.restarts);
  EXPECT_EQ(t.verdict, AfterRestart::NoVerdict);
  EXPECT_EQ(t.restarts, 3);
  EXPECT_EQ(name_of(t.verdict), "no verdict");
  const Restarted four = restarted(1, 4, 3);
  EXPECT_EQ(after_restarts(four.steps, four.restarts).verdict, AfterRestart::Higher);
  const std::vector<std::size_t> close{100, 110, 120, 130, 140};
  EXPECT_EQ(after_restarts(four.steps, close).verdict, AfterRestart::NoVerdict) << "too few steps between";
}

/// Two ranks; rank 1 slows down from step `from` on by `by`.
Sample two_ranks(std::size_t steps, std::size_t from, double by) {
  const RandomStream random(9, 2);
  Sample s;
  s.ranks = {{.rank = 0}, {.rank = 1}};
  s.positions = {{.name = "", .own = {}}};
  Seconds at{};
  for (std::size_t k = 0; k < steps; ++k) {
    const Seconds a{10 + 0.1 * random.normal(k, 0)};
    const Seconds b{10 + 0.1 * random.normal(k, 1) + (k >= from ? by : 0)};
    s.positions[0].own.insert(s.positions[0].own.end(), {a, b});
    s.steps.push_back(
        {.number = static_cast<std::int64_t>(k), .begin = at, .length = std::max(a, b) + Seconds{1}});
    at += s.steps.back().length;
  }
  return s;
}

TEST(OverTime, ARankThatTurnsSlowChangesTheStructure) {
  const auto out = over_time_of(two_ranks(1'000, 600, 1));
  ASSERT_TRUE(out) << out.error().to_string();
  ASSERT_EQ(out->windows.size(), 10U);
  EXPECT_NEAR(out->windows[0].structure.ranks[1].critical.value, 0.5, 0.15);
  EXPECT_EQ(out->windows[9].structure.ranks[1].critical.value, 1);
  ASSERT_EQ(out->changes.size(), 1U);
  EXPECT_NEAR(static_cast<double>(out->changes[0].first_step.value()), 600, 3);
  ASSERT_EQ(out->trends.size(), 3U);
  EXPECT_GT(out->trends[0].last, out->trends[0].first) << "amplification";
  EXPECT_LT(out->trends[1].last, 1.1) << "one rank sets the pace";
  EXPECT_EQ(out->restarts.verdict, AfterRestart::NoVerdict);
}

TEST(OverTime, ASteadyRunChangesNothing) {
  const auto out = over_time_of(two_ranks(1'000, 2'000, 0));
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->changes.empty());
  EXPECT_FALSE(out->warning.alarm);
  for (const FigureTrend& t : out->trends) EXPECT_GT(t.chance, 0.01) << t.figure;
}

TEST(OverTime, MarginsOfWindowsAreTheirTrend) {
  double next = 1;
  const auto out =
      over_time_of(two_ranks(1'000, 2'000, 0), [&](const Sample&) { return std::optional{next *= 0.9}; });
  ASSERT_TRUE(out);
  ASSERT_TRUE(out->warning.margin_falls);
  EXPECT_TRUE(out->warning.alarm);
}

TEST(OverTime, RestartsAreNumbersThatComeAgainAndGaps) {
  Sample s = two_ranks(10, 20, 0);
  EXPECT_TRUE(restarts_of(s).empty());
  for (std::size_t k = 4; k < 10; ++k) s.steps[k].number -= 2;  // 0 1 2 3 2 3 ...
  for (std::size_t k = 8; k < 10; ++k) s.steps[k].begin += Seconds{500};
  EXPECT_EQ(restarts_of(s), (std::vector<std::size_t>{4, 8}));
}

TEST(OverTime, AShortRunHasNoWindows) {
  const auto out = over_time_of(two_ranks(100, 200, 0));
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->windows.empty());
  EXPECT_TRUE(out->trends.empty());
  EXPECT_EQ(out->warning.windows, 0);
}

}  // namespace
}  // namespace cox::forecast
