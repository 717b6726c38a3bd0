// SPDX-License-Identifier: Apache-2.0
#include "study/pacing_table/pacing_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/base/elementary.hpp"
#include "cox/base/stats.hpp"
#include "cox/simulate/paced.hpp"
#include "cox/study/inputs.hpp"
#include "cox/study/study.hpp"

#include "study/pacing_table/simplex.hpp"
#include "study/pacing_table/timeouts.hpp"

namespace cox::study {
namespace {

constexpr TableParameters kLink{
    .compute = Seconds{0.1}, .per_node = Seconds{0.002}, .alone = 8, .spread = 0.4};
constexpr TableParameters kRing{
    .compute = Seconds{0.1}, .per_node = Seconds{0.001}, .chance = 1e-4, .timeout = Seconds{0.08}};
constexpr TableAssumptions kShort{.steps = 600, .seeds = 2};

pace::Settings settings(pace::Mode mode) {
  pace::Settings s;
  s.mode = mode;
  return s;
}

std::vector<PredictedRow> predicted(Mechanism m, const TableParameters& p, std::vector<int> sizes,
                                    pace::Mode mode, const TableAssumptions& assumed, int threads = 1) {
  auto rows = predict_table(m, p, sizes, settings(mode), assumed, {.threads = threads});
  EXPECT_TRUE(rows) << rows.error().to_string();
  return rows ? *rows : std::vector<PredictedRow>{};
}

// Midpoints of 100,000 equally likely loads.
TEST(Baseline, LinkAgreesWithASum) {
  for (const int nodes : {2, 8, 12, 64}) {
    std::vector<double> z(100'000);
    for (std::size_t i = 0; i < z.size(); ++i)
      z[i] = (static_cast<double>(i) + 0.5) / static_cast<double>(z.size());
    normal_quantiles(z);
    const double variance = std::log(1 + kLink.spread * kLink.spread);
    Welford all;
    for (const double v : z)
      all.add(0.1 + 0.002 * std::max(nodes * std::exp(std::sqrt(variance) * v - variance / 2), kLink.alone));
    const IterationLaw law = baseline_law(Mechanism::Input, kLink, nodes);
    EXPECT_NEAR(law.mean.count(), all.mean(), 1e-6) << nodes;
    EXPECT_NEAR(law.deviation.count(), all.stddev(), 2e-5) << nodes;
    EXPECT_EQ(baseline_law(Mechanism::Uplink, kLink, nodes).mean, law.mean);
  }
  TableParameters all_share = kLink;
  all_share.alone = 1e-6;
  EXPECT_NEAR(baseline_law(Mechanism::Input, all_share, 10).mean.count(), 0.12, 1e-12);
  EXPECT_NEAR(baseline_law(Mechanism::Input, all_share, 10).deviation.count(), 0.02 * 0.4, 1e-12);
}

/// Every message of every round, no latency: when the last rank is done, in timeouts.
int dense_chain(int nodes, const RingTimeouts::Hits& hits) {
  const auto n = static_cast<std::size_t>(nodes);
  std::vector<int> at(n);
  for (std::size_t round = 0; round < 2 * (n - 1); ++round) {
    std::vector<int> sent = at;
    for (int i = 0; i < hits.count; ++i)
      if (hits.at[i] / nodes == static_cast<std::int64_t>(round))
        ++sent[static_cast<std::size_t>(hits.at[i] % nodes)];
    for (std::size_t rank = 0; rank < n; ++rank) at[rank] = std::max(sent[rank], sent[(rank + n - 1) % n]);
  }
  return *std::max_element(at.begin(), at.end());
}

TEST(RingTimeouts, LongestChainIsThatOfEveryMessage) {
  const TimeoutDraws draws(3, 500);
  int longest = 0;
  int apart = 0;
  for (const int nodes : {2, 3, 8}) {
    const RingTimeouts timeouts(nodes, 0.03, draws);
    for (int step = 0; step < 500; ++step) {
      const RingTimeouts::Hits hits = timeouts.hits(step);
      ASSERT_EQ(timeouts.longest_chain(step), dense_chain(nodes, hits)) << nodes << " " << step;
      longest = std::max(longest, timeouts.longest_chain(step));
      apart += timeouts.longest_chain(step) < hits.count ? 1 : 0;
    }
  }
  EXPECT_GT(longest, 3);  // the cases are there
  EXPECT_GT(apart, 50);
}

TEST(RingTimeouts, AsManyAsTheChanceSays) {
  const TimeoutDraws draws(1, 0);  // keeps none
  const TimeoutDraws kept(1, 4000);
  const RingTimeouts timeouts(16, 1e-3, draws);
  double count = 0;
  for (int step = 0; step < 4000; ++step) {
    count += timeouts.hits(step).count;
    ASSERT_EQ(draws.gap(step, 2), kept.gap(step, 2));
  }
  EXPECT_NEAR(count / 4000, 0.48, 0.04);  // 2 x 16 x 15 messages; 3.7 standard deviations
}

TEST(Simplex, FindsTheLeast) {
  const Minimum found = find_minimum(
      [](const Point& x) {
        return std::pow(x[0] - 1, 2) + 3 * std::pow(x[1] + 2, 2) + std::pow(x[2] - x[3], 2) +
               std::pow(x[3] - 5, 2) + 7;
      },
      {}, 1, 400);
  EXPECT_NEAR(found.value, 7, 1e-9);
  EXPECT_NEAR(found.at[1], -2, 1e-4);
  EXPECT_NEAR(found.at[2], 5, 1e-4);
}

TEST(Simplex, InvertsTheDiagonal) {
  Point d{};
  ASSERT_TRUE(invert_diagonal({{{2, 1, 0, 0}, {1, 2, 0, 0}, {0, 0, 4, 0}, {0, 0, 0, 5}}}, d));
  EXPECT_NEAR(d[0], 2.0 / 3, 1e-12);
  EXPECT_NEAR(d[1], 2.0 / 3, 1e-12);
  EXPECT_NEAR(d[3], 0.2, 1e-12);
  EXPECT_FALSE(invert_diagonal({{{1, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}}, d));
}

std::vector<TableRow> table_of(Mechanism m, const TableParameters& p) {
  std::vector<TableRow> rows;
  for (const int nodes : {4, 8, 16, 32, 64}) {
    const IterationLaw law = baseline_law(m, p, nodes);
    rows.push_back({.nodes = nodes,
                    .baseline_rate = nodes * 32 / law.mean.count(),
                    .baseline_cv = law.cv(),
                    .coordination_rate = 1,
                    .coordination_cv = 0.1});
  }
  return rows;
}

TEST(Fit, FindsTheParametersThatMadeTheTable) {
  const auto link = fit_table(Mechanism::Input, table_of(Mechanism::Input, kLink), {});
  ASSERT_TRUE(link);
  EXPECT_LT(link->misfit, 1e-6);
  EXPECT_NEAR(link->parameters.compute.count(), 0.1, 1e-5);
  EXPECT_NEAR(link->parameters.per_node.count(), 0.002, 1e-6);
  EXPECT_NEAR(link->parameters.alone, 8, 1e-2);
  EXPECT_NEAR(link->parameters.spread, 0.4, 1e-4);
  const auto ring = fit_table(Mechanism::Timeouts, table_of(Mechanism::Timeouts, kRing), {});
  ASSERT_TRUE(ring);
  EXPECT_LT(ring->misfit, 0.1);  // the draws make steps
  EXPECT_NEAR(ring->parameters.timeout.count(), 0.08, 0.004);
}

TEST(Fit, PrintedBaselineByTheLink) {
  const auto fit = fit_table(Mechanism::Input, kPaperTable, {});
  ASSERT_TRUE(fit);
  for (std::size_t i = 0; i < kPaperTable.size(); ++i) {
    EXPECT_NEAR(fit->rows[i].rate / kPaperTable[i].baseline_rate, 1, 0.011) << kPaperTable[i].nodes;
    EXPECT_NEAR(fit->rows[i].cv, kPaperTable[i].baseline_cv, 0.016) << kPaperTable[i].nodes;
  }
  for (const double error : fit->relative_error) EXPECT_LT(error, 0.2);
  // The unit of time is assumed: it scales the times and nothing else.
  const auto twice = fit_table(Mechanism::Input, kPaperTable, {.samples_per_node = 64});
  ASSERT_TRUE(twice);
  EXPECT_NEAR(twice->parameters.compute / fit->parameters.compute, 2, 1e-4);
  EXPECT_NEAR(twice->parameters.alone, fit->parameters.alone, 1e-3);
}

TEST(Predict, WithoutPacingItIsTheClosedForm) {
  for (const PredictedRow& r :
       predicted(Mechanism::Input, kLink, {4, 16, 64}, pace::Mode::Off, {.steps = 8000})) {
    const IterationLaw law = baseline_law(Mechanism::Input, kLink, r.nodes);
    EXPECT_NEAR(r.rate * law.mean.count() / (r.nodes * 32), 1, 0.01) << r.nodes;
    EXPECT_NEAR(r.cv, law.cv(), 0.03 * law.cv() + 1e-3) << r.nodes;
    EXPECT_EQ(r.gain, 0);
    EXPECT_EQ(r.delay_ratio, 0);
  }
}

TEST(Predict, OnlyAResourceThatADelayFreesCanGain) {
  for (const pace::Mode mode : {pace::Mode::Paper, pace::Mode::Auto, pace::Mode::Always, pace::Mode::Random})
    for (const int nodes : {4, 32}) {
      EXPECT_LE(predicted(Mechanism::Uplink, kLink, {nodes}, mode, kShort)[0].gain, 1e-9);
      EXPECT_LE(predicted(Mechanism::Timeouts, kRing, {nodes}, mode, kShort)[0].gain, 1e-9);
    }
  const PredictedRow input = predicted(Mechanism::Input, kLink, {32}, pace::Mode::Paper, kShort)[0];
  EXPECT_GT(input.gain, 0.05);
  EXPECT_GT(input.delay_ratio, 0.01);
}

TEST(Predict, NoSlackNoDelay) {
  TableAssumptions alike = kShort;
  alike.slow_factor = 1;
  for (const pace::Mode mode : {pace::Mode::Paper, pace::Mode::Auto, pace::Mode::Always}) {
    const PredictedRow r = predicted(Mechanism::Input, kLink, {16}, mode, alike)[0];
    EXPECT_EQ(r.gain, 0);
    EXPECT_EQ(r.delay_ratio, 0);
  }
}

TEST(Predict, NoPacingVariesLessThanItCan) {
  for (const pace::Mode mode : {pace::Mode::Paper, pace::Mode::Always})
    for (const PredictedRow& r :
         predicted(Mechanism::Input, kLink, {16, 32, 64}, mode, {.steps = 2000, .seeds = 4})) {
      const Seconds mean{r.nodes * 32 / r.rate};
      EXPECT_GT(r.cv, 0.97 * least_paced_cv(kLink, r.nodes, 1.5, mean)) << r.nodes;  // 3 %: its own sampling
    }
  // At the bound's own mean nothing is cut off; below it there is nothing.
  const Seconds bound = kLink.compute / 1.5 + kLink.per_node * 64;
  EXPECT_NEAR(least_paced_cv(kLink, 64, 1.5, bound * (1 + 1e-9)), 0.4 * 0.128 / bound.count(), 1e-4);
  EXPECT_TRUE(std::isnan(least_paced_cv(kLink, 64, 1.5, bound * 0.99)));
}

// Without line rates and without load it is a job that the simulator of paced jobs can run too: another
// program with the same controller.
TEST(Predict, AgreesWithTheSimulatorOfPacedJobs) {
  TableParameters p = kLink;
  p.alone = 1e-6;
  p.spread = 1e-9;
  for (const int nodes : {8, 32}) {
    model::Iteration job;
    job.ranks = nodes;
    job.fetch = Bytes{1'000'000};
    job.link = Bandwidth::bytes_per_s(1e6 / p.per_node.count());
    job.compute = p.compute / 1.5;
    job.imbalance = model::Imbalance::Persistent;
    job.slow_ranks = nodes / 4;
    job.slow_factor = 1.5;
    for (const pace::Mode mode : {pace::Mode::Off, pace::Mode::Paper, pace::Mode::Auto}) {
      simulate::PacedOptions options;
      options.steps = kShort.steps;
      options.arms[0].settings.mode = mode;
      const auto simulated = simulate::simulate_paced(job, options);
      ASSERT_TRUE(simulated) << simulated.error().to_string();
      const double rate = nodes * 32 / simulated->summary[0].mean.count();
      // A controller that tries may decide a block earlier or later where a last digit differs.
      const double tolerance = mode == pace::Mode::Auto ? 1e-2 : 1e-3;
      EXPECT_NEAR(predicted(Mechanism::Input, p, {nodes}, mode, kShort)[0].rate / rate, 1, tolerance)
          << nodes << " " << pace::name_of(mode);
    }
  }
}

TEST(Predict, SameForAnyNumberOfThreads) {
  const auto one = predicted(Mechanism::Timeouts, kRing, {4, 8, 16}, pace::Mode::Auto, kShort, 1);
  const auto four = predicted(Mechanism::Timeouts, kRing, {4, 8, 16}, pace::Mode::Auto, kShort, 4);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].rate, four[i].rate);
    EXPECT_EQ(one[i].cv, four[i].cv);
  }
}

TEST(PacingTable, RefusesWhatCannotBe) {
  const auto refused = [](const auto& result) { return !result && result.error().id == "study-003"; };
  std::vector<TableRow> rows(kPaperTable.begin(), kPaperTable.end());
  EXPECT_TRUE(refused(fit_table(Mechanism::Input, std::span(rows).first(2), {})));
  rows[1].nodes = 4;
  EXPECT_TRUE(refused(fit_table(Mechanism::Input, rows, {})));
  rows[1] = {.nodes = 8, .baseline_rate = std::nan(""), .baseline_cv = 0.1};
  EXPECT_TRUE(refused(fit_table(Mechanism::Input, rows, {})));
  rows[1] = {.nodes = 8, .baseline_rate = 1, .baseline_cv = 1.5};
  EXPECT_TRUE(refused(fit_table(Mechanism::Input, rows, {})));
  const auto run = [](const TableParameters& p, int nodes, const TableAssumptions& assumed) {
    return predict_table(Mechanism::Input, p, std::vector<int>{nodes}, settings(pace::Mode::Paper), assumed);
  };
  EXPECT_TRUE(refused(run(kLink, 5000, kShort)));
  EXPECT_TRUE(refused(run(kLink, 4096, {.steps = 1'000'000, .seeds = 8})));
  EXPECT_TRUE(refused(run(kLink, 8, {.seeds = 1})));
  EXPECT_TRUE(refused(run(kLink, 8, {.slow_share = 1.5})));
  EXPECT_TRUE(refused(run(kLink, 8, {.slow_factor = 0.5})));
  EXPECT_TRUE(refused(run({}, 8, kShort)));
}

// One table in the code, one in the study's file.
TEST(PacingTable, StudyHoldsThePrintedTable) {
  const auto studies = read_studies(COX_STUDIES);
  ASSERT_TRUE(studies);
  const auto at =
      std::find_if(studies->begin(), studies->end(), [](const Study& s) { return s.name == "pacing-table"; });
  ASSERT_NE(at, studies->end());
  const Inputs in(*at);
  const auto list = [&](const char* name, Dimension d) { return *in.list(name, d); };
  const auto nodes = *in.counts("nodes");
  ASSERT_EQ(nodes.size(), kPaperTable.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i], kPaperTable[i].nodes);
    EXPECT_EQ(list("Baseline throughput", Dimension::PerSecond)[i].value.in_base_unit(),
              kPaperTable[i].baseline_rate);
    EXPECT_NEAR(list("Baseline CV", Dimension::Ratio)[i].value.in_base_unit(), kPaperTable[i].baseline_cv,
                1e-12);
    EXPECT_EQ(list("Coordination throughput", Dimension::PerSecond)[i].value.in_base_unit(),
              kPaperTable[i].coordination_rate);
    EXPECT_NEAR(list("Coordination CV", Dimension::Ratio)[i].value.in_base_unit(),
                kPaperTable[i].coordination_cv, 1e-12);
  }
  const TableAssumptions assumed;
  EXPECT_EQ(*in.count("samples per node"), assumed.samples_per_node);
  EXPECT_EQ(*in.ratio("slow nodes"), assumed.slow_share);
  EXPECT_EQ(*in.ratio("slow factor"), assumed.slow_factor);
  EXPECT_EQ(*in.count("steps"), assumed.steps);
  EXPECT_EQ(*in.count("seeds"), assumed.seeds);
}

}  // namespace
}  // namespace cox::study
