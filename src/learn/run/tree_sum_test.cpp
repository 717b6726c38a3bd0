// SPDX-License-Identifier: Apache-2.0
#include "learn/run/tree_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cox/base/random.hpp"

namespace cox::learn {
namespace {

constexpr std::size_t kLength = 97;

std::vector<std::vector<float>> leaves(std::size_t count) {
  std::vector<std::vector<float>> all(count, std::vector<float>(kLength));
  const RandomStream draws(3, 1);
  for (std::size_t l = 0; l < count; ++l)
    for (std::size_t i = 0; i < kLength; ++i) all[l][i] = static_cast<float>(draws.normal(l, i));
  return all;
}

std::vector<float> sum_of(const std::vector<std::vector<float>>& all, std::size_t first, std::size_t count) {
  TreeSum sum(kLength);
  for (std::size_t l = first; l < first + count; ++l) sum.add(all[l]);
  EXPECT_EQ(sum.leaves(), static_cast<std::int64_t>(count));
  const auto total = sum.take();
  return {total.begin(), total.end()};
}

TEST(TreeSum, ALeafThatIsWrittenInPlaceIsLikeOneThatIsAdded) {
  const auto all = leaves(7);
  TreeSum added(kLength), written(kLength);
  for (int round = 0; round < 2; ++round) {  // what a sum leaves behind is not in the next one
    for (const auto& leaf : all) {
      added.add(leaf);
      std::ranges::copy(leaf, written.room().begin());
      written.add_room();
    }
    EXPECT_EQ(written.leaves(), 7);
    const auto a = added.take(), b = written.take();
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST(TreeSum, HasTheSameBitsOnOneTo64Workers) {
  const auto all = leaves(64);
  const auto whole = sum_of(all, 0, 64);
  for (std::size_t level = 0; level <= 6; ++level) {
    TreeSum sum(kLength);
    for (std::size_t first = 0; first < 64; first += std::size_t{1} << level)
      sum.add(sum_of(all, first, std::size_t{1} << level), level);
    const auto total = sum.take();
    EXPECT_TRUE(std::equal(total.begin(), total.end(), whole.begin())) << (64 >> level) << " workers";
  }
}

// Sums of two are rounded, so a block's sum is a number of the format, and workers that hand it over change no bit.
TEST(TreeSum, RoundedAtEachAdditionItHasTheSameBitsOnOneTo64Workers) {
  for (const NumberFormat format : {NumberFormat::Fp16, NumberFormat::Bf16}) {
    auto all = leaves(64);
    for (auto& leaf : all) round_to(format, leaf, leaf);
    const auto rounded = [&](std::size_t first, std::size_t count) {
      TreeSum sum(kLength, format);
      for (std::size_t l = first; l < first + count; ++l) sum.add(all[l]);
      const auto total = sum.take();
      return std::vector<float>(total.begin(), total.end());
    };
    const auto whole = rounded(0, 64);
    auto again = whole;
    round_to(format, whole, again);
    EXPECT_EQ(whole, again);
    EXPECT_NE(whole, sum_of(all, 0, 64));
    std::vector<float> two(kLength);
    for (std::size_t i = 0; i < kLength; ++i) two[i] = all[0][i] + all[1][i];
    round_to(format, two, two);
    EXPECT_EQ(rounded(0, 2), two);
    for (std::size_t level = 0; level <= 6; ++level) {
      TreeSum sum(kLength, format);
      for (std::size_t first = 0; first < 64; first += std::size_t{1} << level)
        sum.add(rounded(first, std::size_t{1} << level), level);
      const auto total = sum.take();
      EXPECT_TRUE(std::equal(total.begin(), total.end(), whole.begin())) << (64 >> level) << " workers";
    }
  }
}

TEST(TreeSum, DiffersFromASumInOrderInTheLastBitsOnly) {
  const auto all = leaves(64);
  const auto whole = sum_of(all, 0, 64);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    double exact = 0;
    float in_order = 0;
    for (const auto& leaf : all) {
      exact += leaf[i];
      in_order += leaf[i];
    }
    EXPECT_NEAR(whole[i], exact, 64 * 1e-6);
    equal += whole[i] == in_order ? 1U : 0U;
  }
  EXPECT_LT(equal, kLength) << "the order of summation makes no difference: the test shows nothing";
}

TEST(TreeSum, AnyNumberOfLeavesAndAgain) {
  const auto all = leaves(13);
  for (const std::size_t n : {0U, 1U, 2U, 3U, 5U, 7U, 12U, 13U}) {
    TreeSum sum(kLength);
    for (int again = 0; again < 2; ++again) {
      for (std::size_t l = 0; l < n; ++l) sum.add(all[l]);
      const auto total = sum.take();
      for (std::size_t i = 0; i < kLength; ++i) {
        double exact = 0;
        for (std::size_t l = 0; l < n; ++l) exact += static_cast<double>(all[l][i]);
        ASSERT_NEAR(total[i], exact, 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace cox::learn
