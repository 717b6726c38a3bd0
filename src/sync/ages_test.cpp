// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/ages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace cox::sync {
namespace {

TEST(AgeCounts, QuantilesAreThoseOfTheSortedAges) {
  std::vector<std::int64_t> ages;
  AgeCounts counts;
  std::uint64_t x = 7;
  for (int i = 0; i < 5000; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    const auto age = static_cast<std::int64_t>((x >> 40) % (i % 10 == 0 ? 100'000 : 200));
    ages.push_back(age);
    counts.add(age);
  }
  std::ranges::sort(ages);
  double sum = 0;
  for (const std::int64_t a : ages) sum += static_cast<double>(a);
  EXPECT_DOUBLE_EQ(counts.mean(), sum / 5000);
  EXPECT_EQ(counts.largest(), ages.back());
  for (const double q : {0.01, 0.5, 0.8, 0.95, 0.99, 1.0}) {
    const std::int64_t exact = ages[static_cast<std::size_t>(std::ceil(q * 5000)) - 1];
    const std::int64_t got = counts.quantile(q);
    EXPECT_LE(got, exact) << q;
    EXPECT_GE(got, exact - exact / 128) << q;
    if (exact < 256) {
      EXPECT_EQ(got, exact) << q;
    }
  }
}

TEST(AgeCounts, RangesDoubleAndHoldAll) {
  AgeCounts counts;
  for (const std::int64_t age : {0, 0, 1, 2, 3, 4, 255, 256, 1023, 1024}) counts.add(age);
  const auto ranges = counts.by_doubling();
  ASSERT_EQ(ranges.size(), 12U);
  const std::int64_t expected[] = {2, 1, 2, 1, 0, 0, 0, 0, 1, 1, 1, 1};
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    EXPECT_EQ(ranges[r].count, expected[r]) << ranges[r].from;
    if (r > 0) {
      EXPECT_EQ(ranges[r].from, ranges[r - 1].to + 1);
    }
  }
  EXPECT_EQ(ranges.back().to, 2047);
  EXPECT_TRUE(AgeCounts{}.by_doubling().empty());
  EXPECT_EQ(AgeCounts{}.quantile(0.5), 0);
  AgeCounts few;
  few.add(2, 3);
  few.add(0);
  EXPECT_EQ(few.by_age(), (std::vector<std::int64_t>{1, 0, 3}));
}

TEST(AgeCounts, MergedIsAsIfAddedToOne) {
  AgeCounts a, b, both;
  for (std::int64_t age = 0; age < 4000; age += 7) {
    (age % 2 == 0 ? a : b).add(age);
    both.add(age);
  }
  a.merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.mean(), both.mean());
  for (const double q : {0.1, 0.5, 0.99}) EXPECT_EQ(a.quantile(q), both.quantile(q));
}

TEST(StreamAges, CountsAppliedUpdatesByWorker) {
  StreamAges ages(2);
  const auto sent = [&](int worker, std::int64_t read, std::int64_t met, bool applied) {
    ages.take(
        {.kind = StreamEvent::Kind::Delivered,
         .update = {.worker = worker, .version_read = read, .version_applied = met, .applied = applied}});
  };
  sent(0, 0, 0, true);
  sent(1, 0, 1, true);
  sent(1, 2, 9, false);
  ages.take({.kind = StreamEvent::Kind::Joined, .update = {.worker = 2}});
  sent(2, 4, 9, true);
  ASSERT_EQ(ages.workers().size(), 3U);
  EXPECT_EQ(ages.workers()[0].largest(), 0);
  EXPECT_EQ(ages.workers()[1].count(), 1) << "what was thrown away has no age";
  EXPECT_EQ(ages.workers()[2].largest(), 5);
  EXPECT_EQ(ages.all().count(), 3);
  EXPECT_EQ(ages.all().quantile(0.5), 1);
}

}  // namespace
}  // namespace cox::sync
