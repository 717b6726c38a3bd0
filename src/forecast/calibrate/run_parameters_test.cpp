// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/run_parameters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "cox/base/random.hpp"

namespace cox::forecast {
namespace {

using model::Collective;

/// All-reduces among 8 ranks: `count` of each size, `seconds(bytes, i)` long.
Sample messages(const std::vector<std::int64_t>& sizes, int count,
                const std::function<double(std::int64_t, int)>& seconds) {
  Sample s;
  for (const std::int64_t bytes : sizes) {
    MessageTimes m{.kind = Collective::AllReduce, .ranks = 8, .one_node = true, .bytes = Bytes{bytes}};
    for (int i = 0; i < count; ++i) m.times.emplace_back(seconds(bytes, i));
    s.record.messages.push_back(std::move(m));
  }
  return s;
}

RunParameters of(const Sample& s) {
  return run_parameters(std::span(&s, 1));
}

// 20 us and 10 GB/s.
double hockney(std::int64_t bytes) {
  return 20e-6 + 1e-10 * static_cast<double>(bytes);
}

TEST(RunParameters, ALineOverSizesPartsLatencyFromBandwidth) {
  const RunParameters p =
      of(messages({1'000, 100'000, 10'000'000}, 30, [](auto bytes, int) { return hockney(bytes); }));
  ASSERT_EQ(p.messages.size(), 1U);
  const MessageFit& m = p.messages[0];
  EXPECT_EQ(m.sizes, 3);
  EXPECT_EQ(m.operations, 90);
  EXPECT_EQ(m.latency.origin, Origin::Measured);
  EXPECT_NEAR(m.latency.value.count(), 20e-6, 1e-10);
  EXPECT_NEAR(m.per_byte.value.in_seconds_per_byte(), 1e-10, 1e-15);
  EXPECT_NEAR(m.misfit, 0, 1e-9);
  EXPECT_EQ(m.dip, 0);
  EXPECT_EQ(m.dips.value, 0);
  EXPECT_NEAR(m.dips.high, 0.0212, 1e-3) << "Jeffreys: Beta(1/2, 90.5), 95 %";
}

// Of 200 noisy recordings nine of ten intervals hold the truth.
TEST(RunParameters, IntervalsOfTheLineHoldTheTruth) {
  int latency = 0;
  int per_byte = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const RandomStream random(seed, 5);
    const RunParameters p =
        of(messages({1'000, 30'000, 100'000, 300'000, 1'000'000}, 40, [&](auto bytes, int i) {
          return hockney(bytes) *
                 (1 + 0.1 * random.normal(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(i)));
        }));
    const MessageFit& m = p.messages[0];
    latency += m.latency.low.count() <= 20e-6 && 20e-6 <= m.latency.high.count() ? 1 : 0;
    per_byte +=
        m.per_byte.low.in_seconds_per_byte() <= 1e-10 && 1e-10 <= m.per_byte.high.in_seconds_per_byte() ? 1
                                                                                                        : 0;
  }
  EXPECT_GE(latency, 170);
  EXPECT_LE(latency, 199);
  EXPECT_GE(per_byte, 170);
  EXPECT_LE(per_byte, 199);
}

TEST(RunParameters, OneSizeIsARange) {
  const RunParameters small = of(messages({1'000}, 30, [](auto bytes, int) { return hockney(bytes); }));
  EXPECT_EQ(small.messages[0].latency.origin, Origin::Range);
  EXPECT_EQ(small.messages[0].latency.low, Seconds{});
  EXPECT_NEAR(small.messages[0].latency.high.count(), hockney(1'000), 1e-12);
  const RunParameters near =
      of(messages({1'000'000, 1'500'000}, 30, [](auto bytes, int) { return hockney(bytes); }));
  EXPECT_EQ(near.messages[0].latency.origin, Origin::Range) << "less than a factor of 2 apart";
  EXPECT_EQ(near.messages[0].latency.value, Seconds{}) << "large: bandwidth";
}

TEST(RunParameters, TheCeilingIsTheBussWhereMoreBytesGiveNoMore) {
  const auto flat = [](std::int64_t bytes, int) { return 1e-10 * static_cast<double>(bytes); };
  const MessageFit m = of(messages({1'000'000, 4'000'000, 16'000'000}, 5, flat)).messages[0];
  ASSERT_TRUE(m.ceiling);
  EXPECT_NEAR(m.ceiling->in_bytes_per_s(), 1e10 * 2 * 7 / 8, 1);
  EXPECT_EQ(*m.ceiling_from, Bytes{1'000'000});
  const auto rising = [](std::int64_t, int) { return 1e-3; };
  EXPECT_FALSE(of(messages({1'000'000, 4'000'000, 16'000'000}, 5, rising)).messages[0].ceiling);
}

TEST(RunParameters, DipsAreCountedWithTheirProbability) {
  // 3 of 100 take five times as long.
  const MessageFit m =
      of(messages({1'000}, 100, [](auto, int i) { return i % 40 == 7 ? 5e-3 : 1e-3; })).messages[0];
  EXPECT_NEAR(m.dips.value, 0.03, 1e-12);
  EXPECT_NEAR(m.dip, 5, 1e-12);
  EXPECT_LT(m.dips.low, 0.03);
  EXPECT_GT(m.dips.low, 0.008);
  EXPECT_LT(m.dips.high, 0.08);
}

TEST(RunParameters, HiddenIsTheShareOfWhatWasUnderWay) {
  Sample s;
  s.steps.resize(10);
  s.record.background = {{.operations = 10, .in_flight = Seconds{1}, .hidden = Seconds{0.6}},
                         {.operations = 10, .in_flight = Seconds{1}, .hidden = Seconds{0.8}}};
  RunParameters p = of(s);
  ASSERT_TRUE(p.hidden);
  EXPECT_NEAR(p.hidden->value, 0.7, 1e-12);
  EXPECT_EQ(p.hidden->origin, Origin::Measured);
  EXPECT_NEAR(p.in_flight.count(), 0.1, 1e-12);
  s.record.until_waits = true;
  p = of(s);
  EXPECT_TRUE(p.hidden_at_most);
  EXPECT_EQ(p.hidden->origin, Origin::Range);
  EXPECT_EQ(p.hidden->low, 0);
  EXPECT_FALSE(of(Sample{}).hidden);
}

Sample started(int ranks, double seconds) {
  Sample s;
  for (int r = 0; r < ranks; ++r) s.ranks.push_back({.rank = r, .node = r / 4});
  s.record.startup = Seconds{seconds};
  return s;
}

TEST(RunParameters, StartUpOfSeveralSizesIsALine) {
  const std::vector<Sample> three{started(4, 1.4), started(16, 2.6), started(64, 7.4)};
  const auto p = run_parameters(three);
  ASSERT_TRUE(p.start);
  EXPECT_NEAR(p.start->fixed.value.count(), 1, 1e-9);
  EXPECT_NEAR(p.start->per_rank.value.count(), 0.1, 1e-9);
  EXPECT_EQ(p.start->per_rank.origin, Origin::Measured);
  EXPECT_NEAR(p.start->at_seen.value.count(), 7.4, 1e-9);
  const auto two = run_parameters(std::span(three).first(2));
  EXPECT_EQ(two.start->per_rank.origin, Origin::Range);
  EXPECT_NEAR(two.start->per_rank.high.count(), 2.6 / 16, 1e-9) << "all of it grows";
  const auto one = run_parameters(std::span(three).first(1));
  EXPECT_EQ(one.start->per_rank.origin, Origin::Range);
  EXPECT_NEAR(one.start->per_rank.high.count(), 1.4 / 4, 1e-9);
  EXPECT_FALSE(of(Sample{}).start);
}

TEST(RunParameters, TimeBetweenFailuresIsThatOfAPoissonNumber) {
  Sample s = started(8, 1);  // two nodes
  s.record.observed = Seconds{1'000};
  RunParameters p = of(s);
  ASSERT_TRUE(p.failures);
  EXPECT_EQ(p.failures->between.origin, Origin::Range);
  EXPECT_NEAR(p.failures->between.low.count(), 2'000 / -std::log(0.05), 1e-6) << "none seen: e^(-T/M) = 5 %";
  const std::vector<std::int64_t> restarts{4};
  p = run_parameters(std::span(&s, 1), restarts);
  EXPECT_NEAR(p.failures->between.value.count(), 500, 1e-9);
  EXPECT_NEAR(p.failures->between.low.count(), 2'000 / 9.1535, 0.1)
      << "Poisson: 4 seen, 90 %: 1.366 to 9.154";
  EXPECT_NEAR(p.failures->between.high.count(), 2'000 / 1.3663, 1);
  EXPECT_FALSE(of(Sample{}).failures);
}

}  // namespace
}  // namespace cox::forecast
