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

TEST(SetSearch, NothingIsTriedWhereTheTargetIsReached) {
  EXPECT_TRUE(searched({{.name = "a", .part = "a"}}, {2}, 0.9).already);
}

}  // namespace
}  // namespace cox::forecast
