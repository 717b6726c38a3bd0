// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/span_math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cox/base/hash.hpp"

namespace cox::diagnose {
namespace {

/// `values` different ones at most, in no order; or in rising or falling order.
std::vector<Duration> sample_of(std::size_t n, std::uint64_t values, int order) {
  std::vector<Duration> out;
  for (std::size_t i = 0; i < n; ++i)
    out.emplace_back(static_cast<std::int64_t>(mix_bits(n + 1000 * i) % values) - 5);
  if (order > 0) std::sort(out.begin(), out.end());
  if (order > 1) std::reverse(out.begin(), out.end());
  return out;
}

TEST(SpanMath, SelectsAsSortingDoes) {
  for (const std::size_t n : {1U, 2U, 48U, 49U, 100U, 1000U, 4097U})
    for (const std::uint64_t values : {1U, 2U, 3U, 50U, 1'000'000'000U})
      for (const int order : {0, 1, 2})
        for (const std::size_t k : {std::size_t{0}, n / 3, (n - 1) / 2, n - 1}) {
          std::vector<Duration> sample = sample_of(n, values, order);
          std::vector<Duration> sorted = sample;
          std::sort(sorted.begin(), sorted.end());
          EXPECT_EQ(select_in_place(sample, k), sorted[k]) << n << ' ' << values << ' ' << order << ' ' << k;
          EXPECT_EQ(sample[k], sorted[k]);
          const auto at = sample.begin() + static_cast<std::ptrdiff_t>(k);
          EXPECT_LE(*std::max_element(sample.begin(), at + 1), *std::min_element(at, sample.end()));
          std::sort(sample.begin(), sample.end());
          EXPECT_EQ(sample, sorted);
        }
}

TEST(SpanMath, LowerMedianOfTwoIsTheSmallerOne) {
  std::vector<Duration> two{Duration{9}, Duration{4}};
  EXPECT_EQ(lower_median_in_place(two), Duration{4});
}

}  // namespace
}  // namespace cox::diagnose
