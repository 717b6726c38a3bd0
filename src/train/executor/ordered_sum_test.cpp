// SPDX-License-Identifier: Apache-2.0
#include "train/executor/ordered_sum.hpp"

#include <gtest/gtest.h>

#include <string>

#include "cox/base/random.hpp"

#include "train/executor/ranks_for_tests.hpp"

namespace cox::train {
namespace {

using Leaves = std::vector<std::vector<float>>;

/// Of very unlike sizes: another order has other bits.
Leaves drawn(std::int64_t leaves, std::size_t elements) {
  const RandomStream stream(7, 1);
  Leaves made;
  std::vector<double> normals(elements);
  for (std::int64_t l = 0; l < leaves; ++l) {
    stream.normals(static_cast<std::uint64_t>(l), 0, normals);
    made.emplace_back();
    for (const double v : normals) made.back().push_back(static_cast<float>(v * v * v * 1e3));
  }
  return made;
}

std::vector<float> of_one(const Leaves& leaves) {
  learn::TreeSum sum(leaves.front().size());
  for (const auto& leaf : leaves) sum.add(leaf);
  const auto all = sum.take();
  return {all.begin(), all.end()};
}

struct Summed {
  std::vector<std::vector<float>> values;
  std::vector<std::vector<Bytes>> sent;
};
Summed summed(const Leaves& leaves, int ranks, int times = 1) {
  Summed made{.values = std::vector<std::vector<float>>(static_cast<std::size_t>(ranks)), .sent = {}};
  const auto elements = static_cast<std::int64_t>(leaves.front().size());
  made.sent = on_ranks(ranks, [&](Transport& link) {
    OrderedSum sum(static_cast<std::int64_t>(leaves.size()), elements, link.rank(), ranks);
    auto& values = made.values[static_cast<std::size_t>(link.rank())];
    for (int t = 0; t < times; ++t) {
      values.assign(leaves.front().size(), 0);
      for (std::int64_t l = sum.leaves().first; l < sum.leaves().end(); ++l)
        sum.add(leaves[static_cast<std::size_t>(l)]);
      auto part = sum.reduce(link);
      ASSERT_TRUE(part);
      std::ranges::copy(*part, values.begin() + sum.part().first);
      ASSERT_TRUE(sum.gather(link, values));
    }
  });
  return made;
}

TEST(OrderedSum, BitsAreThoseOfOneRankForAnyNumberOfRanks) {
  for (const std::int64_t count : {8, 16, 13, 24}) {
    const Leaves leaves = drawn(count, 101);
    const std::vector<float> expected = of_one(leaves);
    for (const int ranks : {1, 2, 3, 4, 5, 8})
      for (const auto& values : summed(leaves, ranks).values)
        EXPECT_EQ(values, expected) << count << " leaves on " << ranks << " ranks";
  }
}

TEST(OrderedSum, AFoldInRankOrderHasOtherBits) {
  const Leaves leaves = drawn(8, 101);
  std::vector<float> fold = leaves.front();
  for (std::size_t l = 1; l < leaves.size(); ++l)
    for (std::size_t i = 0; i < fold.size(); ++i) fold[i] += leaves[l][i];
  EXPECT_NE(fold, of_one(leaves));
}

TEST(OrderedSum, AStretchIsCutIntoTheFewestAlignedOnes) {
  const auto levels = [](const Stretch& s) {
    std::string text;
    for (const AlignedLeaves& a : aligned(s))
      text += std::to_string(a.first) + ":" + std::to_string(a.level) + " ";
    return text;
  };
  EXPECT_EQ(levels({.first = 8, .count = 8}), "8:3 ");
  EXPECT_EQ(levels({.first = 0, .count = 13}), "0:3 8:2 12:0 ");
  EXPECT_EQ(levels({.first = 3, .count = 6}), "3:0 4:2 8:0 ");
  EXPECT_EQ(levels({.first = 5, .count = 0}), "");
}

TEST(OrderedSum, BytesAreThoseOfItsSchedulesAndOfARing) {
  for (const int ranks : {2, 3, 4, 8})
    for (const std::int64_t count : {8, 24, 9}) {
      const auto sent = summed(drawn(count, 120), ranks).sent;
      for (int r = 0; r < ranks; ++r) {
        Bytes all{};
        for (const Bytes b : sent[static_cast<std::size_t>(r)]) all += b;
        EXPECT_EQ(all, ordered_bytes(count, 120, r, ranks)) << ranks << " ranks, " << count << " leaves";
        if (count != 8 || ranks == 3) continue;
        EXPECT_EQ(all, Bytes{8 * 120 * (ranks - 1) / ranks});
      }
    }
}

TEST(OrderedSum, ASecondSumBeginsAnew) {
  const Leaves leaves = drawn(6, 10);
  for (const auto& values : summed(leaves, 3, 3).values) EXPECT_EQ(values, of_one(leaves));
}

}  // namespace
}  // namespace cox::train
