// SPDX-License-Identifier: Apache-2.0
#include "forecast/ways/several_sizes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "forecast/calibrate/calibrate.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

/// 4, 8 and 16 ranks of one node, whose steps take `more(ranks)` beside what their parts say.
std::vector<Sample> sizes_with(const std::function<double(double)>& more, double residual = 1) {
  std::vector<Sample> out;
  for (const int ranks : {4, 8, 16}) {
    out.push_back(test::sample_of({.residual = residual}, 1, ranks, 200, 5));
    for (SampleStep& s : out.back().steps) s.length += Seconds{more(ranks)};
  }
  return out;
}

Projection foretold(const std::vector<Sample>& samples, const std::vector<std::int64_t>& sizes) {
  Parts parts = calibrate(samples).value();
  compare_sizes(parts, samples);
  Projection p = project(parts, sizes, {.replicates = 40});
  apply_ways(p, ways_of(samples, {}), samples, parts);
  return p;
}

const Way& heaviest(const std::vector<Way>& ways) {
  return *std::max_element(ways.begin(), ways.end(),
                           [](const Way& a, const Way& b) { return a.weight < b.weight; });
}

TEST(SeveralSizes, TwoSizesHoldNothingOut) {
  std::vector<Sample> samples = sizes_with([](double) { return 0.0; });
  samples.pop_back();
  EXPECT_TRUE(ways_of(samples, {}).empty());
  const Parts parts = calibrate(samples).value();
  Projection p = project(parts, {64}, {.replicates = 20});
  const Seconds before = p.points[0].mean.value;
  apply_ways(p, {}, samples, parts);
  EXPECT_EQ(p.points[0].mean.value, before);
}

// Two sizes fit a line, a logarithm and what levels off alike: all are in the band, and it is said.
TEST(SeveralSizes, OfTwoSizesEachLawIsInTheBand) {
  const auto log2 = [](double n) { return 12 * std::log2(n); };
  const auto line = [](double n) { return 0.8 * n; };
  const auto bytes = [](double n) { return 120 * (1 - 1 / n); };
  for (const std::function<double(double)>& law :
       {std::function<double(double)>(log2), std::function<double(double)>(line),
        std::function<double(double)>(bytes)}) {
    std::vector<Sample> samples = sizes_with(law);
    samples.erase(samples.begin(), samples.end() - 2);
    const Parts parts = calibrate(samples).value();
    EXPECT_TRUE(std::ranges::any_of(parts.untold, [](const std::string& told) {
      return told.starts_with("by which law what a step has beside own work grows");
    }));
    const SizePoint at = project(parts, {256}, {.replicates = 200}).points[0];
    const double truth = 107 + 2.8 + law(256);
    EXPECT_LE(at.mean.low.count(), truth) << law(256);
    EXPECT_GE(at.mean.high.count(), truth) << law(256);
  }
}

TEST(SeveralSizes, WhatIsSharedByAllIsALineThatWeighsMost) {
  const std::vector<Sample> samples = sizes_with([](double n) { return 3 * n; });
  const std::vector<Way> ways = ways_of(samples, {});
  EXPECT_NEAR(
      std::accumulate(ways.begin(), ways.end(), 0.0, [](double s, const Way& w) { return s + w.weight; }), 1,
      1e-12);
  // Parts of the two smaller sizes know the line, too.
  const std::string& most = heaviest(ways).name;
  EXPECT_TRUE(most == "linear (Amdahl)" || most == "parts") << ways_text(ways);
  // 107 beside the slowest of 64 (2.34 deviations of 1), and 3 a rank.
  const SizePoint at = foretold(samples, {64}).points[0];
  const double truth = 107 + 2.34 + 3 * 64;
  EXPECT_NEAR(at.mean.value.count() / truth, 1, 0.03);
  EXPECT_LE(at.mean.low.count(), truth);
  EXPECT_GE(at.mean.high.count(), truth);
}

TEST(SeveralSizes, PartsThatHoldOutWeighMost) {
  const std::vector<Sample> samples = sizes_with([](double) { return 0.0; }, 8);
  const std::vector<Way> ways = ways_of(samples, {});
  EXPECT_EQ(heaviest(ways).name, "parts") << ways_text(ways);
  const SizePoint at = foretold(samples, {64}).points[0];
  EXPECT_NEAR(at.mean.value.count(), 107 + 8 * 2.343733, 2);
  EXPECT_LE(at.mean.low.count(), 107 + 8 * 2.343733);
  EXPECT_GE(at.mean.high.count(), 107 + 8 * 2.343733);
}

TEST(SeveralSizes, AnErrorThatWasHeldOutWidensWithTheDistance) {
  const Projection p = foretold(sizes_with([](double n) { return n > 8 ? 12.0 : 0.0; }), {16, 32, 64, 1024});
  for (std::size_t i = 1; i < 3; ++i)
    EXPECT_GT((p.points[i].mean.high - p.points[i].mean.low).count(),
              1.2 * (p.points[i - 1].mean.high - p.points[i - 1].mean.low).count())
        << p.points[i].ranks;
  EXPECT_FALSE(p.points[3].refused.empty()) << "wider than a factor of 2";
}

TEST(SeveralSizes, ATailThatMayHaveNoMeanLeavesCurvesAlone) {
  const std::vector<Sample> samples = sizes_with([](double n) { return 0.5 * n; });
  Parts parts = calibrate(samples).value();
  parts.positions[0].tail_probability = 0.01;
  parts.positions[0].tail_shape = {.value = 0.9, .low = 0.5, .high = 1.3};
  Projection p = project(parts, {64}, {.replicates = 20});
  EXPECT_NE(p.points[0].refused.find("no mean"), std::string::npos);
  apply_ways(p, ways_of(samples, {}), samples, parts);
  EXPECT_TRUE(p.points[0].refused.empty());
  EXPECT_NEAR(p.points[0].mean.value.count(), 107 + 2.34 + 32, 6);
  EXPECT_GT(p.points[0].median.value.count(), 0);
  EXPECT_EQ(p.points[0].p99.value.count(), 0) << "nobody told it";
}

TEST(SeveralSizes, ConstantStepsKeepNoSpread) {
  const std::vector<Sample> samples = sizes_with([](double) { return 0.0; }, 0);
  const SizePoint at = foretold(samples, {64}).points[0];
  EXPECT_NEAR(at.mean.value.count(), 107, 1e-6);
  EXPECT_NEAR(at.mean.high.count(), 107, 1e-6);
  EXPECT_NEAR(at.mean.low.count(), 107, 1e-6);
}

// More sizes of a job whose parts hold do not make a right answer worse: 16 jobs of normal noise, 1,024 ranks asked.
TEST(SeveralSizes, MoreSizesKeepARightAnswerRight) {
  constexpr int kJobs = 16;
  const double truth = 107 + 3.2414;  // the largest of 1,024 normals
  int inside[3] = {};
  double width[3] = {};
  for (int j = 0; j < kJobs; ++j) {
    std::vector<Sample> all;
    for (const int nodes : {2, 4, 8})
      all.push_back(
          test::sample_of({.residual = 1}, nodes, 8, 200, static_cast<std::uint64_t>(100 + 3 * j + nodes)));
    const std::vector<std::vector<Sample>> given{{all[2]}, {all[0], all[2]}, all};
    for (std::size_t n = 0; n < given.size(); ++n) {
      const TimeBand band = foretold(given[n], {1024}).points[0].mean;
      inside[n] += band.low.count() <= truth && truth <= band.high.count() ? 1 : 0;
      width[n] += (band.high - band.low).count() / kJobs;
      EXPECT_GE(band.low.count(), 99.5) << "a rank alone takes 100";
    }
  }
  for (std::size_t n = 1; n < 3; ++n) EXPECT_GE(inside[n], 12) << n + 1 << " sizes";
  EXPECT_LE(width[2], 1.5 * width[0]);
  EXPECT_LE(width[2], 1.5 * width[1] + 0.005 * truth) << "what was missed at the largest size, too";
}

}  // namespace
}  // namespace cox::forecast
