// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/largest_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/random.hpp"

namespace cox::learn {
namespace {

using Places = std::vector<std::uint32_t>;

/// By the definition: a stable sort.
Places sorted_places(const std::vector<float>& x, std::size_t k) {
  Places places(x.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return size_bits(x[a]) > size_bits(x[b]); });
  places.resize(k);
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<float> gaussian(std::size_t n) {
  std::vector<double> z(n);
  RandomStream(3, 1).normals32(0, 0, z);
  return {z.begin(), z.end()};
}

TEST(LargestPlaces, AreThoseOfASort) {
  const std::vector<float> x = gaussian(40000);
  for (const std::size_t k : {1U, 100U, 1000U, 10000U, 30000U, 40000U})
    EXPECT_EQ(largest_places(x, k), sorted_places(x, k)) << k;
}

TEST(LargestPlaces, OfEqualsTheFirst) {
  std::vector<float> x = gaussian(50000);
  for (float& v : x) v = std::round(v * 4) / 4;
  for (const std::size_t k : {10U, 500U, 5000U, 49999U})
    EXPECT_EQ(largest_places(x, k), sorted_places(x, k)) << k;
  EXPECT_EQ(largest_places(std::vector<float>(40000, 0.0F), 3), (Places{0, 1, 2}));
  EXPECT_EQ(largest_places(std::vector<float>{1, -1, 1, -1}, 2), (Places{0, 1}));
}

TEST(LargestPlaces, WhereASampleMisleads) {
  std::vector<float> x(100000, 0.0F);  // the sample sees only zeros, or only some of the few
  for (std::size_t i = 0; i < 60; ++i) x[777 * i] = static_cast<float>(i + 1);
  for (const std::size_t k : {1U, 30U, 60U, 61U}) EXPECT_EQ(largest_places(x, k), sorted_places(x, k)) << k;
}

TEST(LargestPlaces, NaNIsAboveAll) {
  EXPECT_EQ(largest_places(std::vector<float>{1, INFINITY, NAN, 5}, 1), (Places{2}));
}

}  // namespace
}  // namespace cox::learn
