// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/structure_detail.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cox/base/random.hpp"

#include "forecast/regimes/amplification.hpp"

namespace cox::forecast {
namespace {

/// 100 ms of work and normal noise of `deviation(step)`; rank 2 takes `slow` longer from step `from` on.
struct Job {
  std::int32_t ranks = 16;
  std::size_t steps = 300;
  std::function<double(std::size_t)> deviation = [](std::size_t) { return 0.01; };
  double slow = 0;
  std::size_t from = 0;
};
Sample sample_of(const Job& job) {
  Sample s;
  s.name = "job";
  s.positions.resize(1);
  Seconds at{};
  for (std::int32_t r = 0; r < job.ranks; ++r) s.ranks.push_back({.rank = r, .node = r});
  for (std::size_t k = 0; k < job.steps; ++k) {
    Seconds most{};
    for (std::int32_t r = 0; r < job.ranks; ++r) {
      const double z = RandomStream(5, 0).normal(k, static_cast<std::uint64_t>(r));
      const double slow = r == 2 && k >= job.from ? job.slow : 0;
      s.positions[0].own.emplace_back(0.1 + job.deviation(k) * z + slow);
      most = std::max(most, s.positions[0].own.back());
    }
    s.steps.push_back({.number = static_cast<std::int64_t>(k), .begin = at, .length = most + Seconds{5e-3}});
    at += s.steps.back().length;
  }
  return s;
}

Asked asked(std::vector<std::int64_t> sizes) {
  Asked q;
  q.sizes = std::move(sizes);
  q.project.replicates = 20;
  q.goodness.simulations = 5;
  q.structure.asked = true;
  return q;
}

FullForecast forecast_of(const Sample& sample, const Asked& question) {
  Evidence e;
  e.inputs.push_back({.name = sample.name, .ranks = sample.size()});
  e.samples.push_back(sample);
  auto made = make_forecast(e, question);
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *std::move(made) : FullForecast{};
}

std::string all_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(StructureDetail, LawsAndTwinsSayWhatWasCounted) {
  const FullForecast f = forecast_of(sample_of({.slow = 0.012}), asked({64}));
  ASSERT_TRUE(f.detail);
  ASSERT_EQ(f.detail->critical.size(), 3U);
  const CriticalRank& first = f.detail->critical[0];
  EXPECT_EQ(first.rank, 2);
  EXPECT_GT(first.by_law, first.counted.low - 0.03);
  EXPECT_LT(first.by_law, first.counted.high + 0.03);
  EXPECT_GT(f.detail->near_ties, 0);
  ASSERT_EQ(f.detail->follows.size(), 2U);
  for (const TwoElasticities& t : f.detail->follows) EXPECT_NEAR(t.difference(), 0, 0.01) << t.to;
  EXPECT_NEAR(f.detail->follows[0].by_twins + f.detail->follows[1].by_twins, 1, 0.01);
}

// 64 normal ranks keep 0.281 of three deviations, 4,096 0.059; mechanisms add up.
TEST(StructureDetail, ADelayIsFollowedToOtherSizes) {
  Asked q = asked({1'024, 4'096});
  q.structure.delay = Seconds{0.03};
  const FullForecast f = forecast_of(sample_of({.ranks = 64}), q);
  ASSERT_TRUE(f.detail && f.detail->kept);
  EXPECT_EQ(f.detail->delay, Seconds{0.03});
  EXPECT_NEAR(f.detail->kept->kept.value, 0.281, 0.01);
  ASSERT_GE(f.detail->sizes.size(), 2U);
  EXPECT_EQ(f.detail->sizes[0].ranks, 64);
  EXPECT_NEAR(f.detail->sizes[0].kept, 0.281, 0.02);
  EXPECT_LT(f.detail->sizes.back().kept, f.detail->sizes[0].kept);
  for (const StructureAtSize& s : f.detail->sizes) {
    double sum = 0;
    for (const Amplification::Share& share : s.added.by) sum += share.added;
    EXPECT_NEAR(sum, s.added.whole - 1, 1e-9);
    EXPECT_LT(s.without_slowest, s.longest);
  }
  // The slowest of 64 normals: 2.376 deviations above 100 ms, the second slowest 1.96.
  EXPECT_NEAR(f.detail->sizes[0].longest.count(), 0.12376, 6e-4);
  EXPECT_NEAR(f.detail->sizes[0].without_slowest.count(), 0.1196, 6e-4);
  EXPECT_FALSE(f.detail->waves.empty());
}

TEST(StructureDetail, TimesThatAreHardlyAnyAreSaidInNumbers) {
  constexpr double kHardlyAny = 1e-299;
  Sample s = sample_of({.slow = 0.012});
  for (Seconds& x : s.positions[0].own) x *= kHardlyAny;
  for (SampleStep& step : s.steps) {
    step.begin *= kHardlyAny;
    step.length *= kHardlyAny;
  }
  const std::string text = all_of(structure_detail_lines(forecast_of(s, asked({64}))));
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
}

TEST(StructureDetail, AScenarioIsPlayedBesideItsTwins) {
  model::Scenario s;
  s.cluster.nodes = 8;
  s.across = {.latency = Seconds{1e-3}};
  s.job.steps = 40;
  s.job.as<model::CollectiveJob>() = {.collective = {.kind = model::Collective::Barrier,
                                                     .algorithm = model::Algorithm::Dissemination,
                                                     .ranks = 8},
                                      .compute = Seconds{1}};
  s.noise = {{.name = "jitter", .law = model::NoiseLaw::Gaussian, .cv = 0.1}};
  Evidence e;
  e.scenario = s;
  Asked q = asked({64});
  q.structure.delay = Seconds{0.5};
  const auto f = make_forecast(e, q);
  ASSERT_TRUE(f) << f.error().to_string();
  ASSERT_TRUE(f->detail && f->detail->simulated);
  const Decay& d = f->detail->simulated->decay;
  EXPECT_TRUE(d.lasts);
  EXPECT_FALSE(d.shared);
  EXPECT_NEAR(d.first, 0.715, 0.15) << "8 normals, 5 deviations: 0.715";
  EXPECT_NEAR(f->detail->sizes[0].kept, 0.715, 0.01);
  EXPECT_FALSE(f->detail->twins.empty());
  ASSERT_EQ(f->simulated.sizes.size(), 4U);
  for (const CheckedSize& c : f->simulated.sizes)
    EXPECT_NEAR(c.step / c.forecast.value, 1, 0.02) << c.ranks << " ranks, two ways";
  const std::vector<TextLine> lines = text_lines(*f);
  EXPECT_TRUE(std::ranges::any_of(
      lines, [](const TextLine& l) { return l.text.find("it lasts") != std::string::npos; }));
}

// Twice the jitter is half of the factor that bends the job.
TEST(StructureDetail, AMarginShrinksAsJitterGrows) {
  const auto margin = [](double deviation, double level = 0.9) {
    return window_margin(sample_of({.deviation = [=](std::size_t) { return deviation; }}), level, {});
  };
  const auto calm = margin(0.003);
  const auto wild = margin(0.006);
  ASSERT_TRUE(calm && wild);
  EXPECT_NEAR(*calm - *wild, std::log(2), 0.1);
  EXPECT_FALSE(margin(0)) << "no jitter";
  EXPECT_EQ(margin(0.025, 0.97), 0) << "beyond it already";
}

// A line where there is something to say, none where there is not.
TEST(StructureDetail, TheFirstScreenSaysWhatStandsOut) {
  Asked q = asked({64});
  q.structure.asked = false;
  EXPECT_TRUE(structure_lines(forecast_of(sample_of({}), q)).empty());
  const std::string late =
      all_of(structure_lines(forecast_of(sample_of({.steps = 600, .slow = 0.05, .from = 300}), q)));
  EXPECT_NE(late.find("pace: rank 2"), std::string::npos) << late;
  EXPECT_NE(late.find("from step 300 on"), std::string::npos) << late;
  const Job rising{.steps = 1'000,
                   .deviation = [](std::size_t k) { return 0.004 + 1e-5 * static_cast<double>(k); }};
  EXPECT_NE(all_of(structure_lines(forecast_of(sample_of(rising), q))).find("warning: the spread"),
            std::string::npos);
}

}  // namespace
}  // namespace cox::forecast
