// SPDX-License-Identifier: Apache-2.0
#include "cox/model/measured_times.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::model {
namespace {

using namespace literals;

MeasuredTimes table() {
  return {.curves = {
              {.kind = Collective::AllReduce,
               .ranks = 0,
               .rows = {{.bytes = 1_kB, .time = Seconds{10e-6}},
                        {.bytes = 100_kB, .time = Seconds{40e-6}},
                        {.bytes = 10_MB, .time = Seconds{1e-3}, .slow = Seconds{4e-3}, .probability = 0.2}}},
              {.kind = Collective::AllReduce, .ranks = 16, .rows = {{.bytes = 1_MB, .time = Seconds{1}}}}}};
}

TEST(MeasuredTimes, AreOnALineOfLogarithms) {
  const MeasuredTimes t = table();
  EXPECT_EQ(t.at(Collective::AllReduce, 8, 1_kB)->time, Seconds{10e-6});
  EXPECT_EQ(t.at(Collective::AllReduce, 8, 100_kB)->time, Seconds{40e-6});
  // Half way between 1 kB and 100 kB in logarithms is 10 kB; of 10 and 40 us it is 20 us.
  EXPECT_NEAR(t.at(Collective::AllReduce, 8, 10_kB)->time.count(), 20e-6, 1e-18);
  EXPECT_EQ(t.at(Collective::AllReduce, 8, 10_kB)->in, InTable::Within);
}

TEST(MeasuredTimes, LatencyBelowAndCeilingAbove) {
  const MeasuredTimes t = table();
  const auto low = t.at(Collective::AllReduce, 8, Bytes{});
  EXPECT_EQ(low->time, Seconds{10e-6});
  EXPECT_EQ(low->in, InTable::Below);
  const auto high = t.at(Collective::AllReduce, 8, 30_MB);
  EXPECT_NEAR(high->time.count(), 3e-3, 1e-15);
  EXPECT_NEAR(high->slow.count(), 12e-3, 1e-15);
  EXPECT_EQ(high->in, InTable::Above);
}

TEST(MeasuredTimes, ADipBecomesRarerTowardsTheRowThatHasNone) {
  const auto half = table().at(Collective::AllReduce, 8, 1_MB);
  EXPECT_NEAR(half->probability, 0.1, 1e-12);
  EXPECT_NEAR(half->time.count(), std::sqrt(40e-6 * 1e-3), 1e-12);
  EXPECT_NEAR(half->slow.count(), std::sqrt(40e-6 * 4e-3), 1e-12);
  EXPECT_TRUE(table().dips());
  EXPECT_FALSE(MeasuredTimes{}.dips());
}

TEST(MeasuredTimes, OwnRanksBeforeAnyNumber) {
  const MeasuredTimes t = table();
  EXPECT_EQ(t.at(Collective::AllReduce, 16, 1_MB)->time, Seconds{1});
  EXPECT_FALSE(t.at(Collective::AllGather, 16, 1_MB));
  EXPECT_EQ(t.what(), "AllReduce of any number, AllReduce of 16");
}

}  // namespace
}  // namespace cox::model
