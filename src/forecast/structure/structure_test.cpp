// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/structure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "cox/base/random.hpp"

namespace cox::forecast {
namespace {

/// `own(step, rank)` before one barrier that takes `rest`.
Sample sample_of(std::int32_t ranks, std::int64_t steps, const std::function<double(std::int64_t, int)>& own,
                 double rest = 0, int per_node = 0) {
  Sample s;
  s.name = "job";
  s.positions = {{.name = "barrier", .own = {}}};
  for (std::int32_t r = 0; r < ranks; ++r)
    s.ranks.push_back({.rank = r, .node = per_node > 0 ? r / per_node : -1});
  Seconds at{};
  for (std::int64_t k = 0; k < steps; ++k) {
    Seconds longest{};
    for (std::int32_t r = 0; r < ranks; ++r) {
      const Seconds x{own(k, r)};
      s.positions[0].own.push_back(x);
      longest = std::max(longest, x);
    }
    s.steps.push_back({.number = k, .begin = at, .length = longest + Seconds{rest}});
    at += s.steps.back().length;
  }
  return s;
}

double exponential_draw(std::int64_t step, int rank) {
  return -std::log(
      RandomStream(3, 1).uniform(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(rank)));
}

Structure structure(const Sample& sample) {
  const auto s = structure_of(sample);
  EXPECT_TRUE(s) << s.error().to_string();
  return s.value_or(Structure{});
}

TEST(Structure, SharesOfBeingLastAddUpAndAreThoseOfTheLaws) {
  // Two exponentials of mean 1 and 1/2: the first is last with 2/3.
  const Structure s =
      structure(sample_of(2, 20'000, [](std::int64_t k, int r) { return exponential_draw(k, r) / (r + 1); }));
  ASSERT_EQ(s.ranks.size(), 2U);
  EXPECT_NEAR(s.ranks[0].critical.value, 2.0 / 3, 0.01);
  EXPECT_NEAR(s.ranks[0].critical.value + s.ranks[1].critical.value, 1, 1e-12);
  EXPECT_LT(s.ranks[0].critical.low, 2.0 / 3);
  EXPECT_GT(s.ranks[0].critical.high, 2.0 / 3);
  // All time is own work while last.
  EXPECT_NEAR(s.ranks[0].elasticity + s.ranks[1].elasticity, 1, 1e-12);
  EXPECT_NEAR(s.who.moves.value, 4.0 / 9, 0.01);
  EXPECT_NEAR(s.who.moves_if_free, 4.0 / 9, 0.01);
  EXPECT_GT(s.depends[0].chance, 0.02) << "steps do not depend on each other";
}

// The elasticity is a derivative: the step time with one rank's work longer by a part in a thousand.
TEST(Structure, ElasticityIsWhatALittleMoreWorkCosts) {
  const auto own = [](std::int64_t k, int r) { return 5 + exponential_draw(k, r) + (r == 1 ? 0.5 : 0.0); };
  const Sample before = sample_of(4, 4'000, own, 1);
  const Sample after = sample_of(
      4, 4'000, [&](std::int64_t k, int r) { return own(k, r) * (r == 1 ? 1.0001 : 1.0); }, 1);
  const auto total = [](const Sample& s) {
    Seconds sum{};
    for (const SampleStep& step : s.steps) sum += step.length;
    return sum;
  };
  const double by_twin = std::log(total(after) / total(before)) / std::log(1.0001);
  EXPECT_NEAR(structure(before).ranks[1].elasticity, by_twin, 1e-3);
}

TEST(Structure, PartsOfTheStepAddUpToOne) {
  Sample s = sample_of(
      3, 100, [](std::int64_t, int r) { return r == 2 ? 3.0 : 1.0; }, 1);
  s.positions.push_back(s.positions[0]);
  s.positions[1].name = "second";
  for (SampleStep& step : s.steps) step.length = Seconds{10};
  const Structure out = structure(s);
  ASSERT_EQ(out.parts.size(), 3U);
  EXPECT_EQ(out.parts[1].to, "own work before second");
  EXPECT_NEAR(out.parts[0].value.value, 0.3, 1e-12);
  EXPECT_NEAR(out.parts[2].value.value, 0.4, 1e-12);
  EXPECT_NEAR(out.parts[2].value.high, 0.4, 1e-12) << "constant data: no width";
  EXPECT_NEAR(out.amplification, 10 / (2 * 5.0 / 3 + 4), 1e-12);
}

// Ties are split, and told by what a little more or less would do.
TEST(Structure, WhoIsLastTogetherHasEqualParts) {
  const Structure s = structure(sample_of(
      4, 50, [](std::int64_t, int r) { return r < 2 ? 2.0 : 1.0; }, 0, 2));
  EXPECT_DOUBLE_EQ(s.ranks[0].critical.value, 0.5);
  EXPECT_DOUBLE_EQ(s.ranks[2].critical.value, 0);
  EXPECT_DOUBLE_EQ(s.ranks[0].if_slower, 1);
  EXPECT_DOUBLE_EQ(s.ranks[0].if_faster, 0);
  ASSERT_EQ(s.nodes.size(), 2U);
  EXPECT_DOUBLE_EQ(s.nodes[0].if_faster, 1);
  ASSERT_EQ(s.entered.size(), 2U);
  EXPECT_NEAR(s.entered[0][0], 1, 1e-12);
  EXPECT_EQ(s.who.moves.value, 0);
  ASSERT_EQ(s.kept.size(), 4U);
  EXPECT_GT(s.kept[0].kept.value, 0.49) << "half of the ranks have no slack";
}

TEST(Structure, OneRankIsAlwaysLastAndKeepsAllOfADelay) {
  const Sample one = sample_of(1, 10, [](std::int64_t k, int) { return 1.0 + static_cast<double>(k % 3); });
  const Structure s = structure(one);
  EXPECT_EQ(s.ranks[0].critical.value, 1);
  EXPECT_EQ(s.who.effective, 1);
  EXPECT_EQ(s.amplification, 1);
  EXPECT_NEAR(kept_of(one, Seconds{2}).kept.value, 1, 1e-12);
}

// D_0 / d by an integral of its own: exponential, 8 ranks, d = 3 means: 0.483; 64 ranks: 0.099.
TEST(Structure, WhatIsKeptOfADelayIsWhatSlackLeaves) {
  const auto draw = [](std::int64_t k, int r) { return exponential_draw(k, r); };
  const KeptPart eight = kept_of(sample_of(8, 4'000, draw), Seconds{3});
  EXPECT_NEAR(eight.kept.value, 0.483, 0.01);
  EXPECT_LT(eight.kept.low, 0.483);
  EXPECT_GT(eight.kept.high, 0.483);
  EXPECT_NEAR(kept_of(sample_of(64, 2'000, draw), Seconds{3}).kept.value, 0.099, 0.006);
  // One rank in eight has no slack, so all of its delay stays; the slack of more than one in twenty is above d.
  EXPECT_EQ(eight.one_high, 1);
  EXPECT_EQ(eight.one_low, 0);
}

// A rank that is slow for 20 steps at a time: who is last depends on who was before, and its interval is wider.
TEST(Structure, MemoryIsSeenAndWidensTheInterval) {
  const auto memory = [](std::int64_t k, int r) {
    return exponential_draw(k, r) / 10 + exponential_draw(100'000 + k / 20, r);
  };
  const auto fresh = [](std::int64_t k, int r) {
    return exponential_draw(k, r) / 10 + exponential_draw(100'000 + k, r);
  };
  const Structure with = structure(sample_of(8, 1'000, memory));
  const Structure without = structure(sample_of(8, 1'000, fresh));
  EXPECT_EQ(with.depends[0].on, "who was last before");
  EXPECT_LT(with.depends[0].chance, 0.01);
  EXPECT_GT(with.depends[0].excess, 0.5);
  EXPECT_LT(with.who.moves.value, 0.4);
  const auto width = [](const Structure& s) { return s.ranks[0].critical.high - s.ranks[0].critical.low; };
  EXPECT_GT(width(with), 2.5 * width(without));
}

// Long steps are those of rank 3, and rank 0 sets the pace in the other half of the run.
TEST(Structure, StatesThatDecideWhoIsLastAreFound) {
  const Structure s = structure(sample_of(8, 1'000, [](std::int64_t k, int r) {
    const bool hiccup = r == 3 && RandomStream(5, 2).uniform(static_cast<std::uint64_t>(k), 0) < 0.3;
    return 10 + exponential_draw(k, r) + (hiccup ? 20 : 0) + (r == 0 && k < 500 ? 3.0 : 0.0);
  }));
  EXPECT_EQ(s.depends[1].on, "how long the step is");
  EXPECT_LT(s.depends[1].chance, 0.01);
  EXPECT_EQ(s.depends[2].on, "which half of the run");
  EXPECT_LT(s.depends[2].chance, 0.05);
}

TEST(Structure, ChanceIsCalled) {
  int called = 0;
  constexpr int kJobs = 60;
  for (int job = 0; job < kJobs; ++job) {
    const Structure s = structure(sample_of(
        8, 300, [&](std::int64_t k, int r) { return exponential_draw(k + std::int64_t{1'000} * job, r); }));
    for (const Dependence& d : s.depends) called += d.chance <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(called, 3 * kJobs * 0.09) << "5 % of 180, and two standard deviations";
}

TEST(Structure, TheOrderOfRanksChangesNothing) {
  const Sample s = sample_of(
      6, 400, [](std::int64_t k, int r) { return exponential_draw(k, r) + r % 2; }, 0.5, 2);
  Sample turned = s;
  const std::vector<std::size_t> order{4, 2, 0, 5, 1, 3};
  for (std::size_t i = 0; i < 6; ++i) {
    turned.ranks[i] = s.ranks[order[i]];
    for (std::size_t k = 0; k < 400; ++k)
      turned.positions[0].own[k * 6 + i] = s.positions[0].own[k * 6 + order[i]];
  }
  const Structure a = structure(s);
  const Structure b = structure(turned);
  for (std::size_t r = 0; r < 6; ++r) {
    EXPECT_EQ(a.ranks[r].unit, b.ranks[r].unit);
    EXPECT_DOUBLE_EQ(a.ranks[r].critical.value, b.ranks[r].critical.value);
    EXPECT_DOUBLE_EQ(a.ranks[r].elasticity, b.ranks[r].elasticity);
  }
  EXPECT_EQ(a.entered, b.entered);
  EXPECT_NEAR(a.who.entropy, b.who.entropy, 1e-12);
  EXPECT_NEAR(a.kept[2].kept.value, b.kept[2].kept.value, 1e-12);
}

TEST(Structure, StepTimesAloneSayNothingOfWho) {
  Sample s = sample_of(2, 5, [](std::int64_t, int) { return 1.0; });
  s.positions.clear();
  const auto out = structure_of(s);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().id, "forecast-020");
}

}  // namespace
}  // namespace cox::forecast
