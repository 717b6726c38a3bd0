// SPDX-License-Identifier: Apache-2.0
#include "train/executor/unit_sum.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "cox/base/random.hpp"
#include "cox/learn/number_format.hpp"

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

/// The tree, by its definition: the largest power of two on the left.
std::vector<float> in_tree(const Leaves& leaves, std::size_t first, std::size_t count) {
  if (count == 1) return leaves[first];
  const std::size_t left = std::bit_floor(count - 1);
  std::vector<float> sum = in_tree(leaves, first, left);
  const std::vector<float> right = in_tree(leaves, first + left, count - left);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}
/// The same, each addition rounded.
std::vector<float> in_rounded_tree(learn::NumberFormat format, const Leaves& leaves, std::size_t first,
                                   std::size_t count) {
  if (count == 1) return leaves[first];
  const std::size_t left = std::bit_floor(count - 1);
  std::vector<float> sum = in_rounded_tree(format, leaves, first, left);
  const std::vector<float> right = in_rounded_tree(format, leaves, first + left, count - left);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  learn::round_to(format, sum, sum);
  return sum;
}
std::vector<float> of_one(const Leaves& leaves) {
  return in_tree(leaves, 0, leaves.size());
}

/// One unit, or three of unlike sizes: one of them has fewer elements than ranks.
std::vector<Stretch> units_of(std::int64_t elements, bool one) {
  if (one) return {{.first = 0, .count = elements}};
  return {{.first = 0, .count = 2},
          {.first = 2, .count = elements / 2},
          {.first = 2 + elements / 2, .count = elements - 2 - elements / 2}};
}

struct Summed {
  std::vector<std::vector<float>> values;
  std::vector<std::vector<Bytes>> sent;
  std::vector<Bytes> memory;  ///< the most of each rank
};
Summed summed(const Leaves& leaves, int ranks, int times = 1, bool one = true) {
  const auto all = static_cast<std::size_t>(ranks);
  Summed made{.values = std::vector<std::vector<float>>(all), .sent = {}, .memory = std::vector<Bytes>(all)};
  const auto elements = static_cast<std::int64_t>(leaves.front().size());
  const Parting parting(units_of(elements, one), ranks);
  made.sent = on_ranks(ranks, [&](Transport& link) {
    MemoryCount memory;
    UnitSum sum(static_cast<std::int64_t>(leaves.size()), parting, link.rank(), memory);
    auto& values = made.values[static_cast<std::size_t>(link.rank())];
    std::vector<float> leaf;
    const auto inside = [](std::vector<float>& of, const Stretch& s) {
      return std::span(of).subspan(static_cast<std::size_t>(s.first), static_cast<std::size_t>(s.count));
    };
    for (int t = 0; t < times; ++t) {
      values.assign(leaves.front().size(), 0);
      for (std::int64_t l = sum.leaves().first; l < sum.leaves().end(); ++l) {
        leaf = leaves[static_cast<std::size_t>(l)];
        for (std::size_t u = parting.units(); u-- > 0;) {
          if (!sum.add(u, inside(leaf, parting.unit(u)))) continue;
          sum.begin(link, u);
          ASSERT_TRUE(link.wait());
          std::ranges::copy(sum.finish(u), inside(values, parting.part(u, link.rank())).begin());
          sum.end(u);
        }
      }
      for (std::size_t u = 0; u < parting.units(); ++u)
        begin_gather(link, parting, u, inside(values, parting.part(u, link.rank())), values);
      ASSERT_TRUE(link.wait());
    }
    EXPECT_EQ(memory.now(), Bytes{});
    made.memory[static_cast<std::size_t>(link.rank())] = memory.most();
  });
  return made;
}

TEST(UnitSum, BitsAreThoseOfOneRankForAnyNumberOfRanks) {
  for (const std::int64_t count : {8, 16, 13, 24}) {
    const Leaves leaves = drawn(count, 101);
    const std::vector<float> expected = of_one(leaves);
    for (const int ranks : {1, 2, 3, 4, 5, 8})
      for (const bool one : {true, false})
        for (const auto& values : summed(leaves, ranks, 1, one).values)
          EXPECT_EQ(values, expected) << count << " leaves on " << ranks << " ranks";
  }
}

// Codes of two bytes: each addition is rounded, so partial sums travel as codes and change no bit; half of the bytes of FP32.
TEST(UnitSum, OfCodesHasTheBitsOfOneRankAndHalfOfTheBytes) {
  for (const learn::NumberFormat format : {learn::NumberFormat::Fp16, learn::NumberFormat::Bf16})
    for (const std::int64_t count : {8, 13}) {
      const Leaves leaves = drawn(count, 101);
      Leaves rounded_leaves;
      std::vector<std::vector<std::uint16_t>> codes;
      for (const auto& leaf : leaves) {
        codes.emplace_back(leaf.size());
        learn::encode_all(format, leaf, 0x1p-6F, codes.back());
        std::vector<float> rounded(leaf.size());
        learn::decode_all(format, codes.back(), 1, rounded);
        rounded_leaves.push_back(std::move(rounded));
      }
      std::vector<std::uint16_t> expected(101);
      learn::encode_all(format, in_rounded_tree(format, rounded_leaves, 0, rounded_leaves.size()), 1,
                        expected);
      for (const int ranks : {1, 2, 3, 5, 8}) {
        const Parting parting(units_of(101, true), ranks);
        const auto sent = on_ranks(ranks, [&](Transport& link) {
          MemoryCount memory;
          CodeSum sum(count, parting, link.rank(), memory, format);
          std::vector<std::uint16_t> leaf, all(101);
          for (std::int64_t l = sum.leaves().first; l < sum.leaves().end(); ++l) {
            leaf = codes[static_cast<std::size_t>(l)];
            sum.add(0, leaf);
          }
          sum.begin(link, 0);
          ASSERT_TRUE(link.wait());
          const auto own = sum.finish(0);
          gather_unit<std::uint16_t>(link, parting, 0, own, all);
          ASSERT_TRUE(link.wait());
          EXPECT_EQ(all, expected) << count << " leaves on " << ranks;
        });
        for (int r = 0; r < ranks; ++r) {
          Bytes all{};
          for (const Bytes b : sent[static_cast<std::size_t>(r)]) all += b;
          EXPECT_EQ(all * 2, reduce_bytes(count, parting, r) + gather_bytes(parting, r));
        }
      }
    }
}

TEST(UnitSum, AFoldInRankOrderHasOtherBits) {
  const Leaves leaves = drawn(8, 101);
  std::vector<float> fold = leaves.front();
  for (std::size_t l = 1; l < leaves.size(); ++l)
    for (std::size_t i = 0; i < fold.size(); ++i) fold[i] += leaves[l][i];
  EXPECT_NE(fold, of_one(leaves));
}

TEST(UnitSum, AStretchIsCutIntoTheFewestAlignedOnes) {
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

TEST(UnitSum, BytesAreThoseOfItsSchedulesAndOfARing) {
  for (const int ranks : {2, 3, 4, 8})
    for (const std::int64_t count : {8, 24, 9}) {
      const auto sent = summed(drawn(count, 120), ranks).sent;
      for (int r = 0; r < ranks; ++r) {
        Bytes all{};
        for (const Bytes b : sent[static_cast<std::size_t>(r)]) all += b;
        const Parting parting(units_of(120, true), ranks);
        EXPECT_EQ(all, reduce_bytes(count, parting, r) + gather_bytes(parting, r))
            << ranks << " ranks, " << count << " leaves";
        if (count != 8 || ranks == 3) continue;
        EXPECT_EQ(all, Bytes{8 * 120 * (ranks - 1) / ranks});
      }
    }
}

// Four ranks. Two leaves each: the first waits whole, and is added before parts come. Three each: what waits is a sum, beside two
// received parts for each of the others.
TEST(UnitSum, MemoryIsWhatWaitsAndWhatCame) {
  for (const Bytes most : summed(drawn(4, 400), 4).memory) EXPECT_EQ(most, Bytes{3 * 400});
  for (const Bytes most : summed(drawn(8, 400), 4).memory) EXPECT_EQ(most, Bytes{4 * 400});
  for (const Bytes most : summed(drawn(12, 400), 4).memory) EXPECT_EQ(most, Bytes{4 * 400 + 6 * 400});
}

// Forth, back, and the odd ones first; what waits is what has no neighbour yet.
TEST(UnitSum, LeavesMayComeInAnyOrder) {
  for (const std::int64_t count : {1, 8, 13}) {
    const Leaves leaves = drawn(count, 50);
    std::vector<std::vector<std::int64_t>> orders(3);
    for (std::int64_t l = 0; l < count; ++l) {
      orders[0].push_back(l);
      orders[1].push_back(count - 1 - l);
      orders[2].push_back(2 * l + 1 < count ? 2 * l + 1 : (count - 1 - l) * 2);
    }
    for (const auto& order : orders) {
      MemoryCount memory;
      const Parting parting(units_of(50, true), 1);
      UnitSum sum(count, parting, 0, memory);
      on_ranks(1, [&](Transport& link) {
        for (int times = 0; times < 2; ++times) {
          std::vector<float> leaf;
          for (std::size_t i = 0; i < order.size(); ++i) {
            leaf = leaves[static_cast<std::size_t>(order[i])];
            EXPECT_EQ(sum.add(0, leaf, order[i]), i + 1 == order.size());
          }
          sum.begin(link, 0);
          ASSERT_TRUE(link.wait());
          const std::span<float> made = sum.finish(0);
          EXPECT_EQ(std::vector<float>(made.begin(), made.end()), of_one(leaves)) << count;
          sum.end(0);
          EXPECT_EQ(memory.now(), Bytes{});
        }
      });
      if (count == 8) {
        EXPECT_EQ(memory.most(), Bytes{4 * 50} * (&order == &orders[2] ? 4 : 3));
      }
    }
  }
}

TEST(UnitSum, ASecondSumBeginsAnew) {
  const Leaves leaves = drawn(6, 10);
  for (const auto& values : summed(leaves, 3, 3).values) EXPECT_EQ(values, of_one(leaves));
}

}  // namespace
}  // namespace cox::train
