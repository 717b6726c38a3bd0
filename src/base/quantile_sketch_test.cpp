// SPDX-License-Identifier: Apache-2.0
#include "cox/base/quantile_sketch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

namespace cox {
namespace {

/// Values over twelve decades, many alike, some zero.
std::vector<double> values(std::uint64_t seed, int n) {
  const RandomStream random(seed, 1);
  std::vector<double> all;
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const double u = random.uniform(at, 0);
    if (u < 0.01)
      all.push_back(0);
    else if (u < 0.4)
      all.push_back(0.25);
    else
      all.push_back(exponential(28 * random.uniform(at, 1) - 14));
  }
  return all;
}

TEST(QuantileSketch, IsWithinItsErrorOfTheValueOfThatRank) {
  for (const double error : {0.001, 0.01, 0.2})
    for (const int n : {1, 2, 7, 1000, 20'000}) {
      std::vector<double> all = values(static_cast<std::uint64_t>(n), n);
      QuantileSketch sketch(error);
      for (const double v : all) sketch.add(v);
      std::sort(all.begin(), all.end());
      for (int k = 0; k <= 1000; ++k) {
        const double q = k / 1000.0;
        const double exact = all[static_cast<std::size_t>(q * (n - 1))];
        EXPECT_NEAR(sketch.quantile(q), exact, error * exact * (1 + 1e-9)) << n << " " << q;
      }
      EXPECT_EQ(sketch.count(), n);
      EXPECT_EQ(sketch.smallest(), all.front());
      EXPECT_EQ(sketch.largest(), all.back());
    }
}

TEST(QuantileSketch, MergedIsAsIfAddedToOneInAnyOrder) {
  QuantileSketch one, forth, back;
  std::vector<QuantileSketch> parts(5);
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const double v : values(p, 500)) {
      parts[p].add(v);
      one.add(v);
    }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    forth.merge(parts[p]);
    back.merge(parts[parts.size() - 1 - p]);
  }
  back.merge(QuantileSketch());
  for (int k = 0; k <= 200; ++k) {
    EXPECT_EQ(forth.quantile(k / 200.0), one.quantile(k / 200.0));
    EXPECT_EQ(back.quantile(k / 200.0), one.quantile(k / 200.0));
  }
  EXPECT_EQ(back.count(), one.count());
}

TEST(QuantileSketch, ACountIsAsManyValues) {
  QuantileSketch one, many;
  one.add(3, 1000);
  one.add(5, 0);
  for (int i = 0; i < 1000; ++i) many.add(3);
  EXPECT_EQ(one.count(), 1000);
  EXPECT_EQ(one.quantile(0.5), many.quantile(0.5));
  EXPECT_EQ(one.quantile(0.5), 3) << "between the smallest and the largest";
  EXPECT_EQ(QuantileSketch().quantile(0.5), 0);
}

}  // namespace
}  // namespace cox
