// SPDX-License-Identifier: Apache-2.0
#include "cox/report/forecast_content.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cox::report {
namespace {

forecast::SizePoint point(std::int64_t ranks, double step, double efficiency) {
  forecast::SizePoint p;
  p.ranks = ranks;
  p.mean = {.value = Seconds{step}, .low = Seconds{step * 0.9}, .high = Seconds{step * 1.1}};
  p.median = p.p95 = p.p99 = p.p999 = p.mean;
  p.efficiency = efficiency;
  p.elasticity = 0.9;
  return p;
}

forecast::Forecast small_forecast() {
  forecast::Forecast f;
  f.name = "job";
  f.seen_ranks = 64;
  f.seen = point(64, 1, 0.9);
  f.projection.points = {point(256, 1.2, 0.75), point(4096, 1.8, 0.5)};
  f.projection.points.push_back({});
  f.projection.points.back().ranks = 1'048'576;
  f.projection.points.back().refused = "the tail was not seen";
  f.not_seen = {"slow nodes"};
  forecast::Regimes r;
  r.range = {.from = 64, .to = 1 << 20};
  r.n1.value = r.map.n1 = {.place = forecast::Boundary::Place::Inside, .ranks = 512};
  r.n2.value = r.map.n2 = {.place = forecast::Boundary::Place::Inside, .ranks = 8192};
  r.n_star.value = r.map.n_star = {.place = forecast::Boundary::Place::Inside, .ranks = 20'000};
  f.regimes = r;
  return f;
}

TEST(ForecastContent, ThroughputIsThatOfRanksThatNeverWait) {
  const ForecastPage page = page_of(small_forecast(), nullptr, {});
  ASSERT_EQ(page.sizes.size(), 4u);
  EXPECT_TRUE(page.sizes[0].seen);
  EXPECT_DOUBLE_EQ(page.sizes[2].throughput, 2048);
  EXPECT_NEAR(page.sizes[2].low, 2048 / 1.1, 1e-9);
  EXPECT_NEAR(page.sizes[2].high, 2048 / 0.9, 1e-9);
  EXPECT_NEAR(page.sizes[2].cost, 1.8, 1e-12);
  EXPECT_EQ(page.sizes[3].refused, "the tail was not seen");
}

TEST(ForecastContent, MarginsAreTheNextBoundaryOverTheSize) {
  const ForecastPage page = page_of(small_forecast(), nullptr, {});
  ASSERT_EQ(page.margins.size(), 3u);
  EXPECT_DOUBLE_EQ(page.margins[0].factor, 8);
  EXPECT_DOUBLE_EQ(page.margins[1].factor, 2);
  EXPECT_DOUBLE_EQ(page.margins[2].factor, 2);
}

TEST(ForecastContent, WhatWasNotAskedIsLeftOutAndWhatWasRefusedIsNot) {
  const ForecastPage page = page_of(small_forecast(), nullptr, {{.name = "a", .what = "b", .text = "c"}});
  EXPECT_FALSE(page.levers);
  EXPECT_EQ(page.artefacts.size(), 2u);
  EXPECT_EQ(page.artefacts[1].text.substr(0, page.artefacts[1].text.find('\n')),
            "ranks,throughput,low,high,cost,refused");
  const auto html = render_forecast(page);
  ASSERT_TRUE(html);
  EXPECT_NE(html->find("no number: the tail was not seen"), std::string::npos);
  EXPECT_NE(html->find("slow nodes"), std::string::npos);
  EXPECT_EQ(html->find("nan"), std::string::npos);
  EXPECT_EQ(html->find(">inf"), std::string::npos);
}

TEST(ForecastContent, AForecastThatRefusesEverythingSaysSo) {
  forecast::Forecast f = small_forecast();
  f.regimes.reset();
  for (forecast::SizePoint& p : f.projection.points) p.refused = "too little was seen";
  const ForecastPage page = page_of(f, nullptr, {});
  EXPECT_EQ(page.headline, "No size that was asked has a number");
  EXPECT_TRUE(render_forecast(page));
}

}  // namespace
}  // namespace cox::report
