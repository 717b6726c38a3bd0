// SPDX-License-Identifier: Apache-2.0
#include "report/forecast/forecast_content.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "forecast/ways/curves.hpp"

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
  r.n1.value = r.map.n1 = {.place = forecast::RegimeBoundary::Place::Inside, .ranks = 512};
  r.n2.value = r.map.n2 = {.place = forecast::RegimeBoundary::Place::Inside, .ranks = 8192};
  r.n_star.value = r.map.n_star = {.place = forecast::RegimeBoundary::Place::Inside, .ranks = 20'000};
  f.regimes = r;
  return f;
}

TEST(ForecastContent, ThroughputIsThatOfRanksThatNeverWait) {
  const ForecastPage page = page_of(small_forecast(), {});
  ASSERT_EQ(page.sizes.size(), 4u);
  EXPECT_TRUE(page.sizes[0].seen);
  EXPECT_DOUBLE_EQ(page.sizes[2].throughput, 2048);
  EXPECT_NEAR(page.sizes[2].low, 2048 / 1.1, 1e-9);
  EXPECT_NEAR(page.sizes[2].high, 2048 / 0.9, 1e-9);
  EXPECT_NEAR(page.sizes[2].cost, 1.8, 1e-12);
  EXPECT_EQ(page.sizes[3].refused, "the tail was not seen");
}

// The headline is of the best size, what a step takes of the largest asked: each says of which.
TEST(ForecastContent, ALeadSaysWhichSizeItIsOf) {
  const ForecastPage page = page_of(small_forecast(), {});
  EXPECT_NE(page.headline.find("20 000 ranks"), std::string::npos) << page.headline;
  EXPECT_NE(page.lead.find("A step takes 1.80 s at 4 096 ranks"), std::string::npos) << page.lead;
}

TEST(ForecastContent, MarginsAreTheNextBoundaryOverTheSize) {
  const ForecastPage page = page_of(small_forecast(), {});
  ASSERT_EQ(page.margins.size(), 3u);
  EXPECT_DOUBLE_EQ(page.margins[0].factor, 8);
  EXPECT_DOUBLE_EQ(page.margins[1].factor, 2);
  EXPECT_DOUBLE_EQ(page.margins[2].factor, 2);
}

// One number is not a range of it, in sentences, tables and artefacts.
TEST(ForecastContent, WhatHasNoBandHasNone) {
  forecast::Forecast f = small_forecast();
  for (forecast::SizePoint& p : f.projection.points) p.mean.low = p.mean.high = p.mean.value;
  f.seen.mean.low = f.seen.mean.high = f.seen.mean.value;
  f.margins.emplace();
  f.margins->alone = {{.name = "jitter", .factor = 5.36}};
  const ForecastPage page = page_of(f, {});
  EXPECT_EQ(page.lead.find(" to "), std::string::npos) << page.lead;
  EXPECT_EQ(sizes_csv(page).find("2048,2048"), std::string::npos);
  const auto html = render_forecast(page);
  ASSERT_TRUE(html);
  for (const char* part : {"5.36 to", "2 048 to", "class=\"band\"", "90 % band"})
    EXPECT_EQ(html->find(part), std::string::npos) << part;
  f.margins->alone[0].banded = true;
  f.margins->alone[0].low = 5;
  f.margins->alone[0].high = 6;
  EXPECT_NE(render_forecast(page_of(f, {}))->find("x5 to x6"), std::string::npos);
}

// Over days a rank does what failures leave of it.
TEST(ForecastContent, APatternToRecogniseCountsFailuresAndSaysWhereItDoesNot) {
  forecast::Forecast f = small_forecast();
  f.goodput.resize(3);
  f.goodput[0].shares.work = f.at_seen.shares.work = 1;
  f.goodput[1].shares.work = 0.5;
  f.goodput[1].elasticity = -1;
  const ForecastPage page = page_of(f, {});
  ASSERT_GE(page.recognised.size(), 2u);
  EXPECT_EQ(page.recognised[0].now, "0.278");
  EXPECT_EQ(page.recognised[1].now, "0.556");
  EXPECT_EQ(page.recognised.back().now, "x0.50");
  EXPECT_NE(std::ranges::find(page.implications, "Beyond 4 096 ranks, twice as many give x0.50."),
            page.implications.end());
}

TEST(ForecastContent, APictureThatIsNotDrawnSaysWhy) {
  forecast::Forecast f = small_forecast();
  f.job_words = forecast::JobWords{.system = "a fabric", .mode = "shards", .runtime = "long"};
  const auto html = render_forecast(page_of(f, {}));
  EXPECT_NE(html->find("Not drawn: a study states terms of a step"), std::string::npos);
  EXPECT_EQ(html->find("the ranks form one group"), std::string::npos);
}

TEST(ForecastContent, WhatWasNotAskedIsLeftOutAndWhatWasRefusedIsNot) {
  const ForecastPage page = page_of(small_forecast(), {{.name = "a", .what = "b", .text = "c"}});
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

TEST(ForecastContent, ControlIsDrawnBesideTheJobAsItIs) {
  forecast::Forecast f = small_forecast();
  f.control.emplace();
  f.control->controlled = {{.ranks = 256, .throughput_ratio = 1.1},
                           {.ranks = 4096, .throughput_ratio = 1.5},
                           {.ranks = 1'048'576, .throughput_ratio = 9}};
  const ForecastPage page = page_of(f, {});
  ASSERT_EQ(page.controlled.size(), 2u) << "a size without a number has none with control";
  EXPECT_DOUBLE_EQ(page.controlled[1].throughput, 1.5 * 2048);
  EXPECT_NE(render_forecast(page)->find("class=\"control\""), std::string::npos);
}

TEST(ForecastContent, TitlesAndScaleCountAsPeopleDo) {
  forecast::Forecast f = small_forecast();
  f.name = "run";
  f.inputs = {{.name = "run", .ranks = 4}, {.name = "run", .ranks = 8}, {.name = "run", .ranks = 16}};
  EXPECT_EQ(page_of(f, {}).name, "run of 4, 8 and 16 ranks");
  f.inputs[1].name = "other";
  EXPECT_EQ(page_of(f, {}).name, "run, other and run");
  f.scenario.emplace();
  f.scenario->cluster.nodes = 1;
  f.scenario->cluster.devices_per_node = 1;
  EXPECT_EQ(page_of(f, {}).system, "1 node with 1 device each");
}

// How much of a delay stays depends on how long it is, not on how long ago it was.
TEST(ForecastContent, ADelayIsDrawnAgainstItsLength) {
  forecast::Forecast f = small_forecast();
  f.structure.emplace();
  f.structure->kept = {{.delay = Seconds{0.1}, .kept = {.value = 0.1, .low = 0.05, .high = 0.2}},
                       {.delay = Seconds{0.3}, .kept = {.value = 0.3, .low = 0.25, .high = 0.4}}};
  const ForecastPage page = page_of(f, {});
  ASSERT_EQ(page.kept.size(), 2u);
  EXPECT_NEAR(page.kept[1].step, 3, 1e-12);
  EXPECT_NE(render_forecast(page)->find("delay, in deviations of one rank"), std::string::npos);
}

// Of a Scenario nothing was recorded: its pictures are of steps that were simulated, and say so.
TEST(ForecastContent, AScenariosPicturesAreOfSimulatedSteps) {
  forecast::Forecast f = small_forecast();
  forecast::DrawnStructure drawn;
  drawn.structure.emplace();
  drawn.structure->groups = {0, 1};
  drawn.structure->entered = {{0.5, 0.1}, {0.1, 0.3}};
  drawn.structure->synchronisations = 48;
  drawn.over_time.emplace();
  for (int w = 0; w < 2; ++w) {
    drawn.over_time->windows.push_back({.steps = {.first = static_cast<std::size_t>(24 * w), .count = 24}});
    drawn.over_time->windows.back().structure.ranks = {{.unit = 3, .critical = {.value = 0.75}},
                                                       {.unit = 4, .critical = {.value = 0.25}}};
  }
  drawn.delay = forecast::DelayOverSteps{
      .delay = Seconds{0.1},
      .rank = 5,
      .kept = {{.value = 0.8, .low = 0.7, .high = 0.9}, {.value = 0.4, .low = 0.3, .high = 0.5}}};
  drawn.structure->kept = {{.delay = Seconds{0.001}, .kept = {}}, {.delay = Seconds{0.003}, .kept = {}}};
  drawn.kept = forecast::KeptPart{.delay = Seconds{0.1}, .kept = {.value = 0.77, .low = 0.7, .high = 0.8}};
  drawn.why_not = "something is too large";
  f.drawn = drawn;
  const ForecastPage page = page_of(f, {});
  ASSERT_EQ(page.kept_over_steps.size(), 2u);
  EXPECT_EQ(page.kept_over_steps[1].step, 1);
  EXPECT_EQ(page.coupling.rows.size(), 2u);
  EXPECT_EQ(page.path.rows.size(), 2u);
  EXPECT_NE(page.observations[0].evidence.find("simulated"), std::string::npos);
  EXPECT_EQ(page.limits.size(), 2u);
  const auto html = render_forecast(page);
  ASSERT_TRUE(html) << html.error().to_string();
  EXPECT_EQ(html->find("delay of 3.00 ms"), std::string::npos)
      << "a share of another delay than the one drawn";
  for (const char* part :
       {"id=\"decay-steps\"", "Of a delay of 100 ms on one rank 77 %", "A delay of 100 ms on rank 5",
        "on rank 5", "steps behind the delay", "something is too large"})
    EXPECT_NE(html->find(part), std::string::npos) << part;
  f.drawn.reset();
  EXPECT_EQ(render_forecast(page_of(f, {}))->find("decay-steps"), std::string::npos);
}

TEST(ForecastContent, GoodputHasAColumnAndABandWhereSomethingFails) {
  forecast::Forecast f = small_forecast();
  EXPECT_EQ(render_forecast(page_of(f, {}))->find(">goodput<"), std::string::npos);
  f.goodput.resize(3);
  for (forecast::SizeGoodput* g : {&f.goodput[0], &f.goodput[1], &f.at_seen}) {
    g->shares.work = 0.75;
    g->shares.rework = 0.25;
    g->goodput = {.low = 0.61, .high = 0.87};
    g->throughput = {.low = 0.5, .high = 1.5};
  }
  const ForecastPage page = page_of(f, {});
  EXPECT_NEAR(page.sizes[2].low, page.sizes[2].throughput * 0.5, 1e-9);
  EXPECT_NEAR(page.sizes[2].high, page.sizes[2].throughput * 1.5, 1e-9);
  const auto html = render_forecast(page);
  ASSERT_TRUE(html);
  for (const char* part : {">goodput<", "61 % to 87 %", "goodput 61 % to 87 %"})
    EXPECT_NE(html->find(part), std::string::npos) << part;
}

TEST(ForecastContent, AStatedJobSaysItselfWhatItIs) {
  forecast::Forecast f = small_forecast();
  f.job_words = forecast::JobWords{.system = "a fabric", .mode = "shards", .runtime = "long"};
  forecast::ControlledJob control{.what = "less of it"};
  control.regimes.n_star.value = {.place = forecast::RegimeBoundary::Place::Inside, .ranks = 40'000};
  control.sizes = {{.ranks = 256, .throughput_ratio = 1.1}, {.ranks = 4096, .throughput_ratio = 1.5}};
  control.most = 2;
  f.controlled_job = control;
  const ForecastPage page = page_of(f, {});
  EXPECT_EQ(page.system, "a fabric");
  EXPECT_EQ(page.runtime, "long");
  ASSERT_EQ(page.controlled.size(), 2u);
  EXPECT_DOUBLE_EQ(page.controlled[1].throughput, 1.5 * 2048);
  EXPECT_NE(page.implications.back().find("at 40 000 ranks, 2.00 times"), std::string::npos);
}

TEST(ForecastContent, ATableOfSizesHasAPage) {
  forecast::Forecast f;
  f.name = "sizes.csv";
  forecast::Curve curve{.name = "sizes.csv", .value = forecast::CurveValue::StepTime, .points = {}};
  for (const auto& [size, step] :
       {std::pair{4, 0.1}, std::pair{8, 0.105}, std::pair{16, 0.11}, std::pair{32, 0.116}})
    curve.points.push_back({.size = size, .value = step});
  f.curve = forecast::project_curve(curve, {64}, forecast::Scaling::Weak);
  const ForecastPage page = page_of(f, {});
  ASSERT_EQ(page.sizes.size(), 5u);
  EXPECT_DOUBLE_EQ(page.sizes[0].throughput, 4);
  EXPECT_NEAR(page.sizes[3].throughput, 32 * 0.1 / 0.116, 1e-9);
  EXPECT_TRUE(page.sizes[3].seen);
  EXPECT_LT(page.sizes[4].low, page.sizes[4].high);
  EXPECT_FALSE(page.observations.empty());
  const auto html = render_forecast(page);
  ASSERT_TRUE(html) << html.error().to_string();
  EXPECT_EQ(html->find("id=\"decay\""), std::string::npos) << "what a table has none of is left out";
}

// Steps of 1 + N / 100 s have throughput N / (1 + N / 100), which a straight line of logarithms from 64 to 128 misses.
TEST(ForecastContent, ATableOfSizesIsDrawnByItsCurve) {
  forecast::Forecast f;
  f.name = "sizes.csv";
  forecast::Curve curve{.name = "sizes.csv", .value = forecast::CurveValue::StepTime, .points = {}};
  const auto step = [](double n) { return 1 + n / 100; };
  for (const int size : {4, 8, 16, 32, 64}) curve.points.push_back({.size = size, .value = step(size)});
  curve.points[1].value *= 1.003;  // measured beside the curve
  f.curve = forecast::project_curve(curve, {128}, forecast::Scaling::Weak);
  const ForecastPage page = page_of(f, {});
  ASSERT_GT(page.curve.size(), 20u);
  EXPECT_EQ(page.curve.front().ranks, 4);
  EXPECT_EQ(page.curve.back().ranks, 128);
  for (const forecast::SizeRatios& p : page.curve)
    EXPECT_NEAR(p.throughput / (static_cast<double>(p.ranks) * step(4) / step(static_cast<double>(p.ranks))),
                1, 0.01)
        << p.ranks;
  const auto eight = std::ranges::find(page.curve, 8, &forecast::SizeRatios::ranks);
  ASSERT_NE(eight, page.curve.end());
  EXPECT_NEAR(eight->throughput / page.sizes[1].throughput, 1.003, 0.001) << "past what was measured";
  const auto html = render_forecast(page);
  ASSERT_TRUE(html) << html.error().to_string();
  EXPECT_EQ(html->find("joined straight"), std::string::npos);
}

TEST(ForecastContent, AForecastThatRefusesEverythingSaysSo) {
  forecast::Forecast f = small_forecast();
  f.regimes.reset();
  for (forecast::SizePoint& p : f.projection.points) p.refused = "too little was seen";
  const ForecastPage page = page_of(f, {});
  EXPECT_EQ(page.headline, "No size that was asked has a number");
  EXPECT_TRUE(render_forecast(page));
}

}  // namespace
}  // namespace cox::report
