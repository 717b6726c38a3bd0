// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/tick_scale.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace cox::trace {
namespace {

using namespace cox::literals;

RawHeader tsc(double ticks_per_second) {
  RawHeader h{};
  h.clock_kind = ClockKind::Tsc;
  h.ticks_per_second = ticks_per_second;
  return h;
}

void add_pair(RawHeader& h, std::uint64_t ticks, std::int64_t monotonic_ns) {
  h.pairs[h.pair_count++] = {ticks, monotonic_ns, monotonic_ns + 1'000'000};
}

TEST(TickScale, PairsOverruleTheFirstEstimate) {
  RawHeader h = tsc(2.5e9);  // 4 % off: the counter runs at 2.6 GHz
  for (int i = 0; i < 10; ++i)
    add_pair(h, 7'000'000'000U + 2'600'000'000U * static_cast<std::uint64_t>(i), 5'000 + 1'000'000'000LL * i);
  const TickScale scale = TickScale::from(h, 0);
  EXPECT_NEAR(static_cast<double>(scale.at(7'000'000'000U + 26'000'000'000U)->count()), 10e12, 10);
  EXPECT_EQ(scale.reference_monotonic_ns(), 5'000);
  EXPECT_LT(scale.residual(), 1ns);
  EXPECT_EQ(scale.realtime_offset_ns(), 1'000'000);
  EXPECT_TRUE(scale.aligned());
}

TEST(TickScale, ResidualIsTheLargestDistanceFromTheLine) {
  RawHeader h = tsc(1e9);
  // On the line but for the middle one, 400 ns late; least squares lifts the line by a third of that.
  add_pair(h, 1'000'000'000, 0);
  add_pair(h, 2'000'000'000, 1'000'000'400);
  add_pair(h, 3'000'000'000, 2'000'000'000);
  const TickScale scale = TickScale::from(h, 0);
  EXPECT_NEAR(in_seconds(scale.residual()) * 1e9, 400.0 * 2 / 3, 0.01);
}

TEST(TickScale, ShortSpansUseTheEstimate) {
  RawHeader h = tsc(2e9);
  add_pair(h, 1'000'000, 0);
  add_pair(h, 3'000'000, 1'500'000);  // 1.5 ms: too short for a fit
  EXPECT_EQ(*TickScale::from(h, 0).at(1'000'000 + 2'000'000'000), 1s);
}

TEST(TickScale, ImplausibleReadingsAreNotFollowed) {
  RawHeader h = tsc(2e9);
  add_pair(h, 0, 0);
  add_pair(h, 2'000'000'000, 5'000'000'000);  // would be 0.4 GHz
  const TickScale scale = TickScale::from(h, 0);
  EXPECT_EQ(*scale.at(2'000'000'000), 1s);
  EXPECT_FALSE(scale.loss().empty());
  EXPECT_GT(scale.residual(), 1s);
}

TEST(TickScale, MonotonicTicksAreTheTime) {
  RawHeader h = tsc(1e9);
  h.clock_kind = ClockKind::Monotonic;
  add_pair(h, 123'456'789'000, 123'456'789'250);
  const TickScale scale = TickScale::from(h, 0);
  EXPECT_EQ(scale.reference_monotonic_ns(), 123'456'789'000);
  EXPECT_EQ(*scale.at(123'456'789'001), 1ns);
  EXPECT_EQ(*scale.at(123'456'788'999), -1ns);
  EXPECT_EQ(scale.residual(), 250ns);
}

TEST(TickScale, PicosecondTicksAreExact) {
  RawHeader h = tsc(1e12);
  h.clock_kind = ClockKind::Monotonic;
  add_pair(h, 1'000'000'000'000'123U, 1'000'000'000'000);
  const TickScale scale = TickScale::from(h, 0);
  EXPECT_EQ(*scale.at(1'000'000'000'000'123U + 8'640'000'000'000'000'000U),
            Duration{8'640'000'000'000'000'000});
  EXPECT_EQ(scale.reference_monotonic_ns(), 1'000'000'000'000);
  EXPECT_EQ(scale.reference_fraction(), 123_ps);
}

TEST(TickScale, TicksFromAnotherAgeAreRefused) {
  RawHeader h = tsc(1e9);
  add_pair(h, 1'000'000'000'000'000U, 0);
  const TickScale scale = TickScale::from(h, 0);
  EXPECT_FALSE(scale.at(1));
  EXPECT_FALSE(scale.at(~std::uint64_t{0}));
  EXPECT_TRUE(scale.at(1'000'000'000'000'000U + 86'400'000'000'000U * 99));
  EXPECT_FALSE(scale.at(1'000'000'000'000'000U + 86'400'000'000'000U * 101));
}

TEST(TickScale, HostileHeaders) {
  for (const double hz : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity()}) {
    const TickScale scale = TickScale::from(tsc(hz), 5);
    EXPECT_EQ(*scale.at(6), 1ns);
    EXPECT_FALSE(scale.loss().empty());
    EXPECT_FALSE(scale.aligned());
  }
  RawHeader h = tsc(1e9);
  h.pair_count = ~std::uint64_t{0};
  for (ClockPair& p : h.pairs) p = {~std::uint64_t{0}, INT64_MIN, INT64_MAX};
  EXPECT_FALSE(TickScale::from(h, 0).aligned());
}

}  // namespace
}  // namespace cox::trace
