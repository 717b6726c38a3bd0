// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/forecast.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <string>

#include "cox/base/random.hpp"

namespace cox::forecast {
namespace {

/// A job on nodes of four: 100 ms of work, normal noise of `noise`, steps as long as their slowest rank and 5 ms.
Sample job(std::int32_t ranks, std::size_t steps, double noise, std::uint64_t seed = 1) {
  Sample s;
  s.name = "job of " + std::to_string(ranks);
  for (std::int32_t r = 0; r < ranks; ++r) s.ranks.push_back({.rank = r, .node = r / 4});
  s.positions.resize(1);
  Seconds at{};
  for (std::size_t k = 0; k < steps; ++k) {
    Seconds most{};
    for (std::int32_t r = 0; r < ranks; ++r) {
      const double z = RandomStream(seed, 0).normal(k, static_cast<std::uint64_t>(r));
      s.positions[0].own.emplace_back(0.1 * (1 + noise * z));
      most = std::max(most, s.positions[0].own.back());
    }
    s.steps.push_back({.number = static_cast<std::int64_t>(k), .begin = at, .length = most + Seconds{5e-3}});
    at += s.steps.back().length;
  }
  return s;
}

Asked to(std::vector<std::int64_t> sizes) {
  Asked q;
  q.sizes = std::move(sizes);
  q.project.replicates = 40;
  q.goodness.simulations = 20;
  return q;
}

Evidence of(std::vector<Sample> samples) {
  Evidence e;
  for (const Sample& s : samples) e.inputs.push_back({.name = s.name, .ranks = s.size()});
  e.samples = std::move(samples);
  return e;
}

// What somebody asks of a table: half of own work that is not divided is in the band that is printed of each size, not of the largest alone.
TEST(Forecast, OneSizeOfAStrongScalingHasItsSecondBandAtEverySize) {
  const std::string path = ::testing::TempDir() + "strong.csv";
  {
    const Sample s = job(32, 200, 0.02);
    std::ofstream out(path);
    out << "rank,step,compute_ms,node\n";
    for (std::size_t k = 0; k < s.steps.size(); ++k)
      for (std::size_t r = 0; r < 32; ++r)
        out << r << "," << k << "," << s.positions[0].at(k, r, 32).count() * 1e3 << "," << r / 4 << "\n";
  }
  ReadEvidence evidence;
  ASSERT_TRUE(evidence.add_table(path).value());
  Question q;
  q.sizes = {48, 64};
  q.scaling = Scaling::Strong;
  const auto made = make_forecast(evidence, q);
  ASSERT_TRUE(made) << made.error().to_string();
  const SizePoint& first = made->shown().projection.points[0];
  ASSERT_EQ(first.refused, "");
  ASSERT_EQ(made->shown().projection.points[1].refused, "");
  const double half = 0.1 * (32.0 / 48 + 0.45 * (1 - 32.0 / 48));
  EXPECT_GT(first.with_shared.high, Seconds{half}) << "what is printed holds nearly half";
  std::string text;
  for (const TextLine& line : made->text_lines()) text += line.text + "\n";
  EXPECT_NE(text.find("48 ranks: where up to half of own work at 32 ranks is not divided"), std::string::npos)
      << text;
}

// A prior is a number of the question: bands that rest on it follow, values do not.
TEST(Forecast, AStatedPriorMovesTheBandsThatRestOnIt) {
  const Evidence evidence = of({job(16, 200, 0.02)});
  const auto with = [&](const Prior& prior) {
    Asked q = to({256});
    q.prior = prior;
    q.failures = {.node_mtbf = Seconds{1e6},
                  .restart = Seconds{600},
                  .checkpoint = Seconds{60},
                  .checkpoint_interval = Seconds{3600}};
    q.project.prior = unseen_prior(prior);
    q.project.of_one_size = GrowthPrior{.usual = prior.growth, .most = prior.shared};
    return make_forecast(evidence, q).value();
  };
  const FullForecast usual = with({});
  const SizePoint& u = usual.projection.points[0];
  const FullForecast more = with({.slow_nodes = 0.1, .growth = 0.1, .shared = 0.2, .failures = 4});
  const SizePoint& m = more.projection.points[0];
  EXPECT_EQ(m.mean.value, u.mean.value);
  EXPECT_GT(m.mean.high, u.mean.high);
  EXPECT_LT(m.with_shared.high, u.with_shared.high);
  EXPECT_GT(m.unseen_chance, u.unseen_chance);
  EXPECT_LT(more.goodput[0].goodput.low, usual.goodput[0].goodput.low);
  EXPECT_EQ(more.goodput[0].shares.work, usual.goodput[0].shares.work);
  const FullForecast exact =
      with({.slow_nodes = 0, .growth = 0, .shared = 0, .failures = 1, .restarts = 1, .checkpoints = 1});
  EXPECT_EQ(exact.projection.points[0].unseen_chance, 0);
  EXPECT_LT(exact.projection.points[0].mean.high, u.mean.high);
  EXPECT_EQ(exact.projection.points[0].with_shared.high, Seconds{});
  EXPECT_NEAR(exact.goodput[0].goodput.low, exact.goodput[0].goodput.high, 1e-9);
}

TEST(Forecast, ASmallJobTellsOfALargeOne) {
  const auto made = make_forecast(of({job(32, 400, 0.02)}), to({64, 256}));
  ASSERT_TRUE(made) << made.error().to_string();
  // 100 ms, the largest of 256 normals (2.78 deviations of 2 ms), and 5 ms of communication: eight rounds instead of five.
  EXPECT_NEAR(made->projection.points[1].mean.value.count(), 0.11356, 0.0008);
  EXPECT_LE(made->projection.points[1].mean.low.count(), 0.11356);
  EXPECT_GE(made->projection.points[1].mean.high.count(), 0.11356);
  ASSERT_EQ(made->measured.size(), 1U);
  EXPECT_TRUE(made->measured[0].inside);
  ASSERT_TRUE(made->scenario);
  ASSERT_TRUE(made->goodness);
  EXPECT_TRUE(made->goodness->reproduces) << made->goodness->because;
  EXPECT_NEAR(made->speed_up(made->projection.points[0]), 2, 0.05);
}

TEST(Forecast, ThreadsAndTheOrderOfInputsChangeNothing) {
  Asked q = to({64});
  const auto one = make_forecast(of({job(8, 100, 0.02), job(16, 100, 0.02)}), q);
  q.project.threads = q.goodness.threads = 4;
  const auto four = make_forecast(of({job(8, 100, 0.02), job(16, 100, 0.02)}), q);
  ASSERT_TRUE(one && four);
  EXPECT_EQ(to_json(*one, {}), to_json(*four, {}));
  const auto other = make_forecast(of({job(16, 100, 0.02), job(8, 100, 0.02)}), q);
  ASSERT_TRUE(other);
  EXPECT_NEAR(other->projection.points[0].mean.value / one->projection.points[0].mean.value, 1, 1e-6);
}

Sample scaled(Sample s, double factor) {
  for (Seconds& own : s.positions[0].own) own *= factor;
  for (SampleStep& step : s.steps) step.length *= factor;
  return s;
}

// The model is of what comes after, and so is what it is held against.
TEST(Forecast, ChecksAreOfTheStepsAfterAChange) {
  Sample sample = job(16, 400, 0.02);
  for (std::size_t k = 300; k < 400; ++k) {
    const std::span<Seconds> own = std::span(sample.positions[0].own).subspan(k * 16, 16);
    for (Seconds& one : own) one *= 1.3;
    sample.steps[k].length = *std::ranges::max_element(own) + Seconds{5e-3};
  }
  const auto made = make_forecast(of({sample}), to({64}));
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->goodness);
  EXPECT_TRUE(made->goodness->reproduces) << made->goodness->because;
  ASSERT_EQ(made->measured.size(), 1U);
  EXPECT_TRUE(made->measured[0].inside) << made->measured[0].step.count();
}

TEST(Forecast, RunsThatAreNotOfOneJobAreRefusedInEitherOrder) {
  const Sample slow = scaled(job(8, 100, 0.02, 2), 1.5);
  const auto one = make_forecast(of({job(8, 100, 0.02), slow}), to({64}));
  const auto other = make_forecast(of({slow, job(8, 100, 0.02)}), to({64}));
  ASSERT_FALSE(one);
  ASSERT_FALSE(other);
  EXPECT_EQ(one.error().id, "forecast-012");
  EXPECT_NE(one.error().message.find("8 ranks both"), std::string::npos);
  EXPECT_EQ(one.error().message, other.error().message);
  EXPECT_TRUE(make_forecast(of({job(8, 100, 0.02), job(8, 100, 0.02, 2)}), to({64}))->contradictions.empty());
}

TEST(Forecast, OwnWorkThatNoGrowthExplainsIsRefused) {
  const auto units = make_forecast(of({scaled(job(8, 100, 0.02), 1000), job(32, 100, 0.02)}), to({64}));
  ASSERT_FALSE(units);
  EXPECT_NE(units.error().message.find("own work is 100 s a step at 8 ranks"), std::string::npos)
      << units.error().message;
  EXPECT_NE(units.error().hint.find("unit"), std::string::npos);
  const auto strong = make_forecast(of({scaled(job(8, 100, 0.02), 4), job(32, 100, 0.02)}), to({64}));
  ASSERT_FALSE(strong);
  EXPECT_NE(strong.error().hint.find("--scaling strong"), std::string::npos);
  const auto twice = make_forecast(of({job(8, 100, 0.02), scaled(job(32, 100, 0.02), 2)}), to({64}));
  ASSERT_TRUE(twice) << twice.error().to_string();
  ASSERT_EQ(twice->contradictions.size(), 1U);
  EXPECT_NE(twice->contradictions[0].find("taken as growth"), std::string::npos);
}

TEST(Forecast, InputsOfDifferentKindsAreRefused) {
  Evidence e = of({job(8, 50, 0.02)});
  e.curves.push_back({.name = "t", .value = CurveValue::StepTime, .points = {{8, 1}}});
  EXPECT_EQ(make_forecast(e, to({64})).error().id, "forecast-006");
  EXPECT_EQ(make_forecast({}, to({64})).error().id, "forecast-006");
  Evidence curves;
  curves.curves = {{.name = "t", .value = CurveValue::StepTime, .points = {{8, 1}}},
                   {.name = "x", .value = CurveValue::Throughput, .points = {{8, 1}}}};
  EXPECT_EQ(make_forecast(curves, to({64})).error().id, "forecast-006");
}

TEST(Forecast, ConstantDataHaveNoWidthFromNoise) {
  const auto made = make_forecast(of({job(8, 50, 0)}), to({64}));
  ASSERT_TRUE(made) << made.error().to_string();
  const SizePoint& p = made->projection.points[0];
  // What one size cannot tell, how communication and work grow, is all that is left of the band.
  EXPECT_NEAR(p.median.value / p.p99.value, 1, 1e-9);
  EXPECT_NEAR(p.cv, 0, 1e-9);
}

TEST(Forecast, MillisecondsAndSecondsGiveTheSameRatios) {
  Sample scaled = job(16, 200, 0.05);
  for (Seconds& own : scaled.positions[0].own) own *= 1e-3;
  for (SampleStep& s : scaled.steps) s.length *= 1e-3;
  const auto s = make_forecast(of({job(16, 200, 0.05)}), to({64}));
  const auto ms = make_forecast(of({scaled}), to({64}));
  ASSERT_TRUE(s && ms);
  EXPECT_NEAR(ms->projection.points[0].mean.value / s->projection.points[0].mean.value, 1e-3, 1e-8);
  EXPECT_NEAR(ms->projection.points[0].efficiency, s->projection.points[0].efficiency, 1e-6);
}

TEST(Forecast, OneRankIsAnsweredWithWhatItCannotTell) {
  const auto made = make_forecast(of({job(1, 100, 0.02)}), to({64}));
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_FALSE(made->not_seen.empty());
}

TEST(Forecast, TheFirstScreenSaysInputSizesAndGrounds) {
  const auto made = make_forecast(of({job(16, 200, 0.05)}), to({64, 1024}));
  ASSERT_TRUE(made);
  const std::vector<TextLine> lines = text_lines(*made);
  EXPECT_LE(lines.size(), 24U);
  std::string all;
  for (const TextLine& line : lines) all += line.text + "\n";
  for (const char* word :
       {"job of 16", "weak scaling", "1 024", "90 % band", "seen to 1 in", "check:", "not seen:"})
    EXPECT_NE(all.find(word), std::string::npos) << word << "\n" << all;
  EXPECT_GT(text_lines(*made, true).size(), lines.size());
}

// Rows are those of the table, whatever blanks a name holds.
TEST(Forecast, OnlyTheTablesLinesAreRows) {
  Sample sample = job(16, 200, 0.05);
  sample.name = "job  of  16";
  const auto made = make_forecast(of({sample}), to({64, 1024}));
  ASSERT_TRUE(made);
  std::vector<std::string> rows;
  for (const TextLine& line : text_lines(*made))
    if (line.kind == LineKind::Row) rows.push_back(line.text.substr(0, line.text.find("  ", 9)));
  EXPECT_EQ(rows, (std::vector<std::string>{"    ranks", "       64", "    1 024"}));
}

/// Of 1 in 100 times 30 ms more, by a draw of its own.
Sample with_detours(Sample s) {
  const auto ranks = s.ranks.size();
  for (std::size_t k = 0; k < s.steps.size(); ++k) {
    Seconds most{};
    for (std::size_t r = 0; r < ranks; ++r) {
      Seconds& own = s.positions[0].own[k * ranks + r];
      if (RandomStream(7, 1).uniform(k, r) < 0.01) own += Seconds{0.03};
      most = std::max(most, own);
    }
    s.steps[k].length = most + Seconds{5e-3};
  }
  return s;
}

// 1 of 100 times is 30 ms longer: 512 ranks have one in nearly every step, so that they take 130 ms and what the largest of five
// normals adds, less what no detour in 1 of 170 steps takes off, and nine rounds of communication. It was a tail without a mean and `nan`.
TEST(Forecast, RareDetoursAreAnsweredAndFinite) {
  for (const std::int32_t ranks : {16, 64}) {
    const auto made = make_forecast(of({with_detours(job(ranks, 500, 0.01))}), to({512}));
    ASSERT_TRUE(made) << made.error().to_string();
    const SizePoint& p = made->projection.points[0];
    ASSERT_EQ(p.refused, "");
    EXPECT_NEAR(p.mean.value.count(), 0.131 + 5e-3 * 9 / std::log2(ranks), 0.0015) << ranks;
    for (const TextLine& line : text_lines(*made, true))
      EXPECT_EQ(line.text.find("nan"), std::string::npos) << line.text;
  }
}

TEST(Forecast, BendsAreSaidUpToTheLargestSizeThatHasANumber) {
  const auto made = make_forecast(of({job(2, 12, 0.3)}), to({4, 65'536}));
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_NE(made->projection.points[1].refused, "");
  for (const TextLine& line : text_lines(*made))
    EXPECT_EQ(line.text.find("beyond 65 536"), std::string::npos) << line.text;
  if (made->regimes) {
    const auto at = make_forecast(of({job(2, 12, 0.3)}), to({made->regimes->range.to}));
    EXPECT_EQ(at->projection.points[0].refused, "");
  }
}

TEST(Forecast, OneRankTellsNothingOfWhatRanksDifferBy) {
  const auto made = make_forecast(of({job(1, 200, 0.01)}), to({16}));
  ASSERT_TRUE(made) << made.error().to_string();
  const PositionParts& p = made->parts->positions[0];
  EXPECT_EQ(p.rank.origin, Origin::Range);
  EXPECT_NEAR(p.rank.high.count(), 0.005, 1e-4);
  EXPECT_TRUE(std::ranges::any_of(
      made->not_seen, [](const std::string& s) { return s.find("ranks differ by for good") != s.npos; }));
}

TEST(Forecast, ASlowNodeIsNamed) {
  Sample s = job(32, 200, 0.01);
  for (std::size_t k = 0; k < s.steps.size(); ++k) {
    for (std::size_t r = 20; r < 24; ++r) s.positions[0].own[k * 32 + r] += Seconds{0.01};
    s.steps[k].length += Seconds{0.008};
  }
  const auto made = make_forecast(of({s}), to({64}));
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->parts->positions[0].slow.nodes, std::vector<std::int32_t>{5});
  std::string all;
  for (const TextLine& line : text_lines(*made)) all += line.text + "\n";
  EXPECT_NE(all.find("1 of 8 nodes is slow for good, by 10"), std::string::npos) << all;
  EXPECT_NE(all.find(": node 5"), std::string::npos) << all;
  EXPECT_NE(to_json(*made, {}).find("\"slow_nodes\": {"), std::string::npos);
}

TEST(ForecastTable, OfOneSizeHasNoNumberOfAnotherAndIsRefused) {
  Evidence one;
  one.curves = {{.name = "t", .value = CurveValue::StepTime, .points = {{8, 1}, {8, 1.1}}}};
  const auto made = make_forecast(one, to({64, 256}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "forecast-040");
  EXPECT_EQ(made.error().code, Errc::InvalidInput);
  EXPECT_TRUE(make_forecast(one, to({8, 64}))) << "8 is measured";
  one.curves.front().points.push_back({16, 1.2});
  EXPECT_TRUE(make_forecast(one, to({64})));
}

TEST(ForecastTable, APriorIsSaidToBeWithoutEffect) {
  Evidence curves;
  curves.curves = {{.name = "t", .value = CurveValue::StepTime, .points = {{8, 1}, {16, 1.1}, {32, 1.2}}}};
  Asked q = to({64});
  q.prior.growth = 0.2;
  std::string said;
  for (const TextLine& line : text_lines(make_forecast(curves, q).value())) said += line.text + "\n";
  EXPECT_NE(said.find("prior: growth 0.2: without effect"), std::string::npos) << said;
}

TEST(Forecast, StructureOfATableOfSizesIsRefused) {
  Evidence curves;
  curves.curves = {{.name = "t", .value = CurveValue::StepTime, .points = {{8, 1}, {16, 1.1}}}};
  Asked q = to({64});
  q.structure.asked = true;
  EXPECT_EQ(make_forecast(curves, q).error().id, "forecast-010");
}

}  // namespace
}  // namespace cox::forecast
