// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/set_search.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::forecast {
namespace {

LeverEffect throughput(double ratio) {
  LeverEffect e;
  e.throughput = {.value = ratio, .low = ratio, .high = ratio};
  e.cost = {.value = 1 / ratio, .low = 1 / ratio, .high = 1 / ratio};
  e.now = {.throughput = ratio, .cost = 1 / ratio};
  return e;
}

/// Ratios multiply.
LeverSet searched(const std::vector<Choice>& choices, const std::vector<double>& ratios, double factor,
                  std::size_t failing = 99) {
  Target target = parse_target("throughput >= 1.5 * baseline").value();
  target.factor = factor;
  return cheapest_set(choices, throughput(1), target, [&](const std::vector<std::size_t>& set) {
    double all = 1;
    LeverEffect out;
    for (const std::size_t i : set) all *= ratios[i];
    out = throughput(all);
    for (const std::size_t i : set) {
      out.names.push_back(choices[i].name);
      if (i == failing) out.why_not = "cannot be played";
    }
    return out;
  });
}

TEST(SetSearch, WhatIsRoughlyFarIsNotAskedForInFull) {
  const std::vector<Choice> choices{{.name = "far", .part = "a", .price = 1},
                                    {.name = "close", .part = "b", .price = 2},
                                    {.name = "there", .part = "c", .price = 30}};
  const std::vector<double> ratios{0.5, 1.45, 1.6};
  const auto of = [&](const std::vector<std::size_t>& set) {
    double all = 1;
    for (const std::size_t i : set) all *= ratios[i];
    LeverEffect out = throughput(all);
    for (const std::size_t i : set) out.names.push_back(choices[i].name);
    return out;
  };
  std::vector<std::vector<std::size_t>> in_full;
  const LeverSet found = cheapest_set(
      choices, throughput(1), parse_target("throughput >= 1.5 * baseline").value(),
      [&](const std::vector<std::size_t>& set) {
        in_full.push_back(set);
        return of(set);
      },
      of);
  EXPECT_TRUE(found.reached);
  EXPECT_EQ(found.best.names, std::vector<std::string>{"there"});
  EXPECT_EQ(in_full, (std::vector<std::vector<std::size_t>>{{1}, {2}}))
      << "half of the throughput is far from 1.5";
}

TEST(SetSearch, TwoCheapLeversAreBetterThanADearOne) {
  const std::vector<Choice> choices{{.name = "dear", .part = "a", .price = 30},
                                    {.name = "cheap", .part = "b", .price = 1},
                                    {.name = "fair", .part = "c", .price = 3}};
  const std::vector<double> ratios{2, 1.3, 1.3};
  const LeverSet set = searched(choices, ratios, 1.5);
  ASSERT_TRUE(set.reached);
  EXPECT_EQ(set.best.names, (std::vector<std::string>{"cheap", "fair"}));
  EXPECT_EQ(set.best.price, 4);
  EXPECT_EQ(set.tried, 3);  // the two alone, and both
  EXPECT_EQ(searched(choices, ratios, 1.9).best.names, std::vector<std::string>{"dear"});
}

TEST(SetSearch, OfOnePriceTheOneWhoseSamplesCostLeast) {
  const std::vector<Choice> choices{{.name = "less", .part = "a"}, {.name = "more", .part = "b"}};
  EXPECT_EQ(searched(choices, {1.6, 1.7}, 1.5).best.names, std::vector<std::string>{"more"});
}

TEST(SetSearch, TwoOfOnePartAreNotCombinedAndWhatFailsIsLeftOut) {
  const std::vector<Choice> choices{{.name = "a", .part = "same"},
                                    {.name = "b", .part = "same"},
                                    {.name = "c", .part = "other"},
                                    {.name = "d", .part = "none", .why_not = "not here"}};
  const LeverSet set = searched(choices, {1.2, 1.2, 1.2, 9}, 1.7);
  EXPECT_FALSE(set.reached);
  EXPECT_EQ(set.tried, 5);
  EXPECT_EQ(set.best.names.size(), 2u) << "the nearest";
  EXPECT_EQ(set.left_out, std::vector<std::string>{"d: not here"});
  const LeverSet failing = searched(choices, {1.2, 1.2, 1.2, 9}, 1.7, 2);
  EXPECT_EQ(failing.tried, 3);
  EXPECT_EQ(failing.left_out.size(), 2u);
}

/// A job whose p99 over its median is these, seed by seed.
LeverEffect of_seeds(const std::vector<double>& p99) {
  LeverEffect e = throughput(1);
  for (const double x : p99)
    e.seeds.push_back({.mean = Seconds{1}, .median = Seconds{1}, .p95 = Seconds{1}, .p99 = Seconds{x}});
  return e;
}

// Logarithms of 1 and 1.21 have a mean of ln 1.1 and a standard error of ln 1.1; Student's t of one degree is 6.314 at 95 %.
TEST(SetSearch, OfSeedsTheIntervalIsStudents) {
  const Target target = parse_target("p99 <= 1.1 * median").value();
  const LeverEffect job = of_seeds({1, 1.21});
  const auto far = of_target(job, target, job);
  ASSERT_TRUE(far);
  EXPECT_NEAR(far->value, 1, 1e-9);
  EXPECT_NEAR(far->high, std::pow(1.1, 6.314), 1e-3);
  EXPECT_NEAR(far->low, std::pow(1.1, -6.314), 1e-3);
  const auto more = of_target(job, parse_target("p99 <= 0.8 * baseline").value(), of_seeds({2, 2.42}));
  EXPECT_NEAR(more->high, 0.625, 1e-9) << "each seed beside its own: half in both";
}

TEST(SetSearch, AQuantileIsReachedByAllOfItsIntervalAndElsePerhaps) {
  const Target target = parse_target("p99 <= 1.1 * median").value();
  const std::vector<Choice> choices{{.name = "unsure", .part = "a", .price = 1},
                                    {.name = "sure", .part = "b", .price = 5}};
  const auto of = [&](bool sure_is_sure) {
    return cheapest_set(choices, of_seeds({1.5, 1.6, 1.4}), target, [&](const std::vector<std::size_t>& set) {
      LeverEffect out = set == std::vector<std::size_t>{1} && sure_is_sure ? of_seeds({1.05, 1.06, 1.04})
                                                                           : of_seeds({0.9, 1.3, 1.0});
      for (const std::size_t i : set) out.names.push_back(choices[i].name);
      return out;
    });
  };
  const LeverSet found = of(true);
  EXPECT_TRUE(found.reached);
  EXPECT_EQ(found.best.names, std::vector<std::string>{"sure"});
  ASSERT_TRUE(found.perhaps);
  EXPECT_EQ(found.perhaps->names, std::vector<std::string>{"unsure"});
  EXPECT_TRUE(perhaps_reaches(*found.perhaps));
  EXPECT_LT(found.perhaps->of_target->value, 1);
  EXPECT_GT(found.perhaps->of_target->high, 1);
  const LeverSet unsure = of(false);
  EXPECT_FALSE(unsure.reached);
  ASSERT_TRUE(unsure.perhaps);
  EXPECT_EQ(unsure.best.names, std::vector<std::string>{"unsure"}) << "the cheapest";
  EXPECT_EQ(unsure.tried, 3);
}

TEST(SetSearch, OfPartsTheEndsAreThoseOfTheDraws) {
  LeverEffect job = throughput(1);
  job.now.cv = 0.04;
  std::vector<LeverFigures> draws(101);
  for (std::size_t i = 0; i < draws.size(); ++i) draws[i].cv = 0.02 + 4e-4 * static_cast<double>(i);
  job.draws = {draws, {}};
  LeverTable table{.baseline = job, .levers = {job}};
  const auto held = [&](const char* text) {
    add_target(table, parse_target(text).value());
    return table.levers.front();
  };
  EXPECT_TRUE(reaches(held("cv <= 0.059")));
  EXPECT_TRUE(perhaps_reaches(held("cv <= 0.057"))) << "19 of 20 draws are below 0.058";
  EXPECT_FALSE(perhaps_reaches(held("cv <= 0.03")));
}

TEST(SetSearch, NothingIsTriedWhereTheTargetIsReached) {
  EXPECT_TRUE(searched({{.name = "a", .part = "a"}}, {2}, 0.9).already);
}

}  // namespace
}  // namespace cox::forecast
