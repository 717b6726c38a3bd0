// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/net_tables.hpp"

namespace cox::bench {
namespace {

CostPoint point(double latencies, std::int64_t bytes, double seconds) {
  return {.latencies = latencies,
          .bytes = Bytes{bytes},
          .low = Seconds{seconds * 0.9},
          .middle = Seconds{seconds},
          .high = Seconds{seconds * 1.1}};
}

/// alpha 10 us, beta 1 ns per byte.
std::vector<CostPoint> exact() {
  std::vector<CostPoint> points;
  for (std::int64_t n = 1; n <= 1 << 20; n *= 4)
    points.push_back(point(1, n, 10e-6 + static_cast<double>(n) * 1e-9));
  return points;
}

TEST(FitLink, FindsAnExactLine) {
  const auto fit = fit_link(exact());
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency->count(), 10e-6, 1e-15);
  EXPECT_NEAR(fit->per_byte.in_seconds_per_byte(), 1e-9, 1e-18);
  EXPECT_NEAR(fit->latency_low.count(), 9e-6, 1e-12);
  EXPECT_NEAR(fit->per_byte_high.in_seconds_per_byte(), 1.1e-9, 1e-15);
  EXPECT_EQ(fit->sizes, 11);
  EXPECT_LT(fit->worst_error_ratio, 1e-9);
}

TEST(FitLink, AnOutlierDoesNotMoveIt) {
  auto points = exact();
  points[3].middle = Seconds{1};
  points[8].middle = Seconds{points[8].middle.count() * 3};
  const auto fit = fit_link(points);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency->count(), 10e-6, 1e-15);
  EXPECT_NEAR(fit->per_byte.in_seconds_per_byte(), 1e-9, 1e-18);
  EXPECT_GT(fit->worst_error_ratio, 0.6);
}

TEST(FitLink, NeitherPartIsNegative) {
  // Faster than linear: the line through the last two would cross zero below.
  const std::vector<CostPoint> convex{point(1, 1000, 1e-6), point(1, 2000, 3e-6), point(1, 4000, 9e-6)};
  const auto fit = fit_link(convex);
  ASSERT_TRUE(fit);
  EXPECT_GE(fit->latency->count(), 0);
  EXPECT_GT(fit->per_byte.in_seconds_per_byte(), 0);
}

TEST(FitLink, BandwidthAloneSaysNothingAboutLatency) {
  const std::vector<CostPoint> points{point(0, 1 << 10, 1e-6), point(0, 1 << 20, 1024e-6)};
  const auto fit = fit_link(points);
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->latency);
  EXPECT_NEAR(fit->per_byte.in_seconds_per_byte(), 1e-6 / 1024, 1e-15);
}

TEST(FitLink, RefusesOneSize) {
  for (const auto& points : {std::vector<CostPoint>{},
                             {point(1, 8, 1e-6)},
                             {point(1, 8, 1e-6), point(1, 8, 2e-6)},
                             {point(1, 8, 1e-6), point(1, 16, 0)}}) {
    const auto fit = fit_link(points);
    ASSERT_FALSE(fit);
    EXPECT_EQ(fit.error().id, "bench-005");
  }
}

TEST(CostOf, TakesMediansOfTheProbe) {
  std::vector<ProbeSeries> series;
  for (const std::int64_t n : {8, 4096, 1 << 20}) {
    const double t = 5e-6 + static_cast<double>(n) * 2e-9;
    series.push_back({.size = Bytes{n},
                      .message_s = {t, 100 * t, t},
                      .stream_s = {static_cast<double>(n) * 0.8e-9},
                      .start_s = {n <= 4096 ? 3e-7 : 1e-3}});
  }
  const auto cost = cost_of(series);
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->fit.latency->count(), 5e-6, 1e-12);
  EXPECT_EQ(cost->samples, 9);
  EXPECT_NEAR(cost->overhead->count(), 3e-7, 1e-15);
  EXPECT_NEAR(cost->stream->in_bytes_per_s(), 1.25e9, 1);
  const std::string text = cost_part("across", *cost, "from a test");
  EXPECT_NE(text.find("[cost.across]\nlatency = \"5us\""), std::string::npos) << text;
  EXPECT_NE(text.find("bandwidth = \"500MB/s\""), std::string::npos) << text;
  EXPECT_NE(text.find("1.25GB/s back to back"), std::string::npos) << text;
  EXPECT_NE(text.find("# overhead: 300ns"), std::string::npos) << text;
}

}  // namespace
}  // namespace cox::bench
