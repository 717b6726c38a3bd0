// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/packed_column.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "cox/trace/run.hpp"

namespace cox::trace {
namespace {

/// Does the same to a PackedColumn and to a vector, and holds them against each other.
template <class T>
void expect_as_a_vector(const std::vector<T>& values, std::mt19937& random) {
  PackedColumn<T> column;
  std::vector<T> plain;
  column.reserve(values.size() / 2);
  for (const T value : values) {
    column.push_back(value);
    plain.push_back(value);
    if (random() % 4 == 0) {
      const std::size_t at = random() % plain.size();
      const T other = values[random() % values.size()];
      column.set(at, other);
      plain[at] = other;
    }
  }
  ASSERT_EQ(column.size(), plain.size());
  EXPECT_TRUE(std::equal(column.begin(), column.end(), plain.begin(), plain.end()));
  std::vector<std::uint32_t> order(plain.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  column.reorder(order);
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(column[i], plain[order[i]]) << i;
}

TEST(PackedColumn, IsAVectorWhateverItHolds) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same every time
  for (const unsigned different : {1U, 2U, 31U, 32U, 33U, 34U, 500U})
    for (const std::size_t length : {1UL, 2UL, 100UL, 3000UL}) {
      std::vector<std::int64_t> wide(length);
      std::vector<std::uint8_t> narrow(length);
      for (std::size_t i = 0; i < length; ++i) {
        wide[i] = std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(random() % different);
        narrow[i] = static_cast<std::uint8_t>(random() % different);
      }
      expect_as_a_vector(wide, random);
      expect_as_a_vector(narrow, random);
    }
}

TEST(PackedColumn, OneValueTakesNoRoomAndFewTakeAByte) {
  PackedColumn<std::int64_t> column;
  for (int i = 0; i < 100'000; ++i) column.push_back(5);
  EXPECT_LE(column.footprint(), 64U);
  column.set_back(6);
  EXPECT_LE(column.footprint(), 100'000U + 64);
  for (int i = 0; i < 100; ++i) column.push_back(i);
  EXPECT_GE(column.footprint(), 800'000U);
  EXPECT_EQ(column[99'998], 5);
  EXPECT_EQ(column[99'999], 6);
  EXPECT_EQ(column.back(), 99);
}

TEST(PackedColumn, LeavesNothingBehindOfAFormThatItLeaves) {
  PackedColumn<std::int64_t> column;
  column.reserve(1000);
  for (std::int64_t i = 0; i < 1000; ++i) column.push_back(i % 100);
  EXPECT_EQ(column.footprint(), 1000 * sizeof(std::int64_t));
}

TEST(PackedColumn, IsEqualByValuesNotByForm) {
  PackedColumn<std::uint32_t> a;
  PackedColumn<std::uint32_t> b;
  for (std::uint32_t i = 0; i < 50; ++i) b.push_back(i);  // each as it is
  for (std::size_t i = 0; i < 50; ++i) b.set(i, 1);
  for (int i = 0; i < 50; ++i) a.push_back(1);
  EXPECT_EQ(a, b);
  a.set(3, 2);
  EXPECT_FALSE(a == b);
}

TEST(EventColumns, GiveBackEveryEventAsItWasPut) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EventColumns columns;
  columns.push_back({.kind = EventKind::Collective,
                     .op = 3,
                     .flags = 0x8001,
                     .begin = Duration{5},
                     .end = kStillRunning,
                     .bytes = Bytes{most},
                     .comm = CommId{7},
                     .seq = 0xffffffff,
                     .aux = 0xfffffffe,
                     .thread = 9});
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40, most, least})
    columns.push_back({.kind = EventKind::Step, .bytes = Bytes{number}});
  const Event call = columns[0];
  EXPECT_EQ(call.flags, 0x8001);
  EXPECT_EQ(call.end, kStillRunning);
  EXPECT_EQ(call.bytes, Bytes{most});
  EXPECT_EQ(call.comm, CommId{7});
  EXPECT_EQ(call.seq, 0xffffffffU);
  EXPECT_EQ(call.aux, 0xfffffffeU);
  EXPECT_EQ(call.thread, 9U);
  EXPECT_EQ(columns.step_number(2), -1);
  EXPECT_EQ(columns.step_number(3), std::int64_t{1} << 40);
  EXPECT_EQ(columns[4].bytes, Bytes{most});
  EXPECT_EQ(columns[5].bytes, Bytes{least});
  EXPECT_EQ(columns[5].seq, 0U);
  EXPECT_EQ(columns[5].aux, 0U);
}

}  // namespace
}  // namespace cox::trace
