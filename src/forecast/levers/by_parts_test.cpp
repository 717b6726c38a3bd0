// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/by_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cox/forecast/regimes.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/levers/message_levers.hpp"
#include "forecast/regimes/failing.hpp"
#include "forecast/regimes/parts_job.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

/// Mean of the largest of n standard normals, by its own integral.
double normal_maximum(double n) {
  double sum = 0;
  constexpr double kWidth = 1e-3;
  for (int i = -8000; i < 8000; ++i) {
    const double x = kWidth * i;
    const double below = std::pow(0.5 * std::erfc(-x / std::sqrt(2.0)), n);
    sum += kWidth * (x < 0 ? -below : 1 - below);
  }
  return sum;
}

TimeEstimate exactly(double seconds) {
  return {.value = Seconds{seconds}, .low = Seconds{seconds}, .high = Seconds{seconds}};
}

/// 64 ranks on nodes of their own: 100 s of work, 7 s of communication at any size.
PartsCase case_of(const Law& residual, double rank_sd, std::int64_t ranks) {
  PartsCase job;
  job.parts.ranks = job.parts.nodes = 64;
  job.parts.steps = 1'000;
  PositionParts p;
  p.level = exactly(100);
  p.residual = residual;
  p.residual_sd = exactly(residual.deviation().count());
  p.rank = exactly(rank_sd);
  job.parts.positions = {p};
  job.parts.rest = exactly(7);
  job.rest = [](std::int64_t) { return exactly(7); };
  job.ranks = ranks;
  return job;
}

/// Normal up to its 99 %, an exponential tail of 5 s from there on.
PartsCase with_detours(std::int64_t ranks) {
  std::vector<Seconds> body;
  body.reserve(201);
  for (int i = 0; i < 201; ++i) body.emplace_back(i / 200.0);
  PartsCase job = case_of(Law::quantiles(body, {Seconds{1}, Seconds{5}, 0, 0.01}), 0, ranks);
  job.parts.positions[0].tail_probability = 0.01;
  return job;
}

const LeverEffect& of(const LeverTable& table, std::string_view name) {
  const auto at =
      std::ranges::find_if(table.levers, [&](const LeverEffect& e) { return e.names.front() == name; });
  EXPECT_NE(at, table.levers.end()) << name;
  return *at;
}

LeverTable compared(const PartsCase& job, const Sample* sample = nullptr, int threads = 1) {
  PartLeverOptions options{.replicates = 4};
  options.project.threads = threads;
  return compare_part_levers(job, part_levers(job, sample), options, {});
}

// The modes that a gap parts would be drawn again with every replicate, and the lever undone.
TEST(LeversByParts, WhoTakesDetoursAwayTakesTheirModeAway) {
  PartsCase job = with_detours(1'000);
  const Law usual = Law::normal(Seconds{}, Seconds{1});
  job.parts.positions[0].detours =
      LongerMode{.usual = {.law = usual, .seen = 900},
                 .longer = {.law = Law::normal(Seconds{50}, Seconds{1}), .seen = 9}};
  for (const PartLever& lever : part_levers(job, nullptr)) {
    if (lever.name != "no-detours" && lever.name != "aligned-detours") continue;
    PartsCase with = job;
    lever.apply(with);
    EXPECT_FALSE(with.parts.positions[0].detours) << lever.name;
    if (with.detour) EXPECT_FALSE(with.detour->positions[0].detours);
  }
  const LeverTable table = compared(job);
  EXPECT_GT(of(table, "no-detours").throughput.low, 1.01) << "no draw has them";
}

TEST(LeversByParts, RatiosAreThoseOfTheMaxima) {
  const PartsCase job = case_of(Law::normal(Seconds{}, Seconds{2}), 3, 4'096);
  const LeverTable table = compared(job);
  const double m = normal_maximum(4'096);
  const double now = 107 + std::hypot(2, 3) * m;
  EXPECT_NEAR(of(table, "equal-ranks").step.value, (107 + 2 * m) / now, 2e-4);
  EXPECT_NEAR(of(table, "equal-ranks").throughput.value, now / (107 + 2 * m), 2e-4);
  EXPECT_NEAR(of(table, "equal-ranks").cost.value, (107 + 2 * m) / now, 2e-4);
  EXPECT_NEAR(of(table, "faster-links").step.value, (now - 3.5) / now, 1e-4);
  const double half = (107 + std::hypot(2, 3) * normal_maximum(2'048)) / now;
  EXPECT_NEAR(of(table, "fewer-ranks").step.value, half, 2e-4);
  EXPECT_NEAR(of(table, "fewer-ranks").throughput.value, 0.5 / half, 2e-4);
  EXPECT_NEAR(of(table, "fewer-ranks").cost.value, half, 2e-4);
  EXPECT_NE(of(table, "equal-nodes").why_not, "");
  EXPECT_NE(of(table, "no-detours").why_not, "");
  EXPECT_GT(*of(table, "equal-ranks").margin, *table.baseline.margin);
}

// 2 s of latency stay, 5 s of bytes are halved; twice as quick again, they are a quarter.
TEST(LeversByParts, FasterLinksOfAScenarioLeaveItsLatency) {
  PartsCase job = case_of(Law::normal(Seconds{}, Seconds{2}), 0, 64);
  job.links = [](std::int64_t, double bandwidth) { return exactly(2 + 5 / bandwidth); };
  const LeverTable table = compared(job);
  const double now = 107 + 2 * normal_maximum(64);
  EXPECT_NEAR(of(table, "faster-links").step.value, (now - 2.5) / now, 1e-4);
  PartsCase wide = job;
  widen_links(wide, 4);
  EXPECT_NEAR(wide.rest(1'000).value.count(), 3.25, 1e-12);
  EXPECT_NEAR(wide.links(64, 0.25).value.count(), 7, 1e-12);
}

// A tail without a mean: infinity over infinity is no ratio of one.
TEST(LeversByParts, WhatHasNoFiniteTimeHasNoRatio) {
  PartsCase job = case_of(
      Law::quantiles(std::vector<Seconds>{Seconds{0}, Seconds{1}}, {Seconds{1}, Seconds{5}, 1.2, 0.01}), 1,
      64);
  const LeverTable table = compared(job);
  EXPECT_NE(of(table, "faster-links").why_not, "");
  EXPECT_NE(of(table, "fewer-ranks").why_not, "");
}

// In 99 of 100 steps the slowest of the body, in one the slowest of 1,000 exponentials.
TEST(LeversByParts, DetoursTogetherCostWhatTheirOwnMaximumDoes) {
  const LeverTable table = compared(with_detours(1'000));
  double harmonic = 0;
  for (int i = 1; i <= 1'000; ++i) harmonic += 1.0 / i;
  const double body = 107 + 1'000.0 / 1'001;
  const double now = table.baseline.now.mean.count();
  EXPECT_NEAR(of(table, "no-detours").now.mean.count(), body, 0.02);
  EXPECT_NEAR(of(table, "aligned-detours").now.mean.count(), 0.99 * body + 0.01 * (108 + 5 * harmonic), 0.03);
  EXPECT_LT(of(table, "aligned-detours").step.value, body / now + 0.01);
  EXPECT_FALSE(of(table, "aligned-detours").p99);
  EXPECT_GT(of(table, "aligned-detours").cv->value, 0);
}

// Half the ranks fail half as often: what is left of the time counts, and nothing else does.
TEST(LeversByParts, WhatFailuresLeaveIsInTheThroughput) {
  PartsCase job = case_of(Law::normal(Seconds{}, Seconds{2}), 3, 4'096);
  const LeverTable safe = compared(job);
  model::Scenario failing;
  failing.failures = {
      .node_mtbf = Seconds{4'096 * 3'600.0}, .restart = Seconds{300}, .checkpoint = Seconds{30}};
  job.failing = failing;
  const LeverTable table = compared(job);
  const Failing f = failing_of(job.parts, failing);
  EXPECT_NEAR(of(table, "fewer-ranks").throughput.value,
              of(safe, "fewer-ranks").throughput.value * f.goodput(2'048, true) / f.goodput(4'096, true),
              1e-12);
  EXPECT_EQ(of(table, "fewer-ranks").step, of(safe, "fewer-ranks").step);
  EXPECT_FALSE(safe.baseline.most_nodes);
  ASSERT_TRUE(table.baseline.most_nodes);
  EXPECT_GT(*of(table, "fewer-ranks").most_nodes, 0);
}

// 4,096 nodes, each of which fails once in so many hours: once an hour. Given: every 10 min.
TEST(LeversByParts, CheckpointsAreThoseOfTheSizeAsked) {
  PartsCase job = case_of(Law::normal(Seconds{}, Seconds{2}), 3, 4'096);
  for (const std::string_view name : {"checkpoint-interval", "checkpoint-beside", "checkpoint-near"})
    EXPECT_EQ(of(compared(job), name).why_not, "nothing fails: say --failures");
  model::Scenario failing;
  failing.failures = {.node_mtbf = Seconds{4'096 * 3'600.0},
                      .restart = Seconds{300},
                      .checkpoint = Seconds{30},
                      .checkpoint_interval = Seconds{1'800}};
  job.failing = failing;
  const LeverTable table = compared(job);
  const Interruptions costs = failing_of(job.parts, failing).costs(4'096);
  const WallShares given = wall_shares(costs, {.far = Seconds{1'800}, .near = {}});
  const WallShares best = wall_shares(costs, best_intervals(costs));
  const LeverEffect& interval = of(table, "checkpoint-interval");
  EXPECT_NEAR(interval.throughput.value, best.work / given.work, 1e-9);
  EXPECT_GT(interval.throughput.value, 1.01);
  EXPECT_NEAR(interval.rework->value, best.rework / best.work / (given.rework / given.work), 1e-9);
  EXPECT_EQ(interval.step.value, 1);
  EXPECT_GE(*interval.most_nodes, *table.baseline.most_nodes) << "each size has its own interval";
  for (const std::string_view name : {"checkpoint-beside", "checkpoint-near"})
    EXPECT_GT(of(table, name).throughput.value, interval.throughput.value) << name;
}

TEST(LeversByParts, TheWorstRankIsNamedAndIsWhatHelps) {
  Sample sample = test::sample_of({.rank = 0.3, .residual = 1}, 8, 4, 300, 5);
  for (std::size_t k = 0; k < 300; ++k) {
    Seconds& own = sample.positions[0].own[k * 32 + 21];
    own += Seconds{20};
    sample.steps[k].length = std::max(sample.steps[k].length, own + Seconds{7});
  }
  PartsCase job;
  job.parts = calibrate(sample).value();
  job.ranks = 32;
  const LeverTable table = compared(job, &sample);
  const LeverEffect& one = of(table, "remove-worst-1");
  EXPECT_NE(one.does.find("rank 21 replaced"), std::string::npos) << one.does;
  EXPECT_LT(one.step.high, 0.97);
  EXPECT_GT(one.throughput.low, 1.03);
  EXPECT_NEAR(of(table, "remove-worst-4").step.value, one.step.value, 0.02);
  EXPECT_EQ(one.price, 5);
  EXPECT_EQ(of(table, "remove-worst-4").price, 20);
}

TEST(LeversByParts, NobodyIsNamedWhereRanksDifferByChance) {
  const Sample sample = test::sample_of({.residual = 1}, 8, 4, 200, 7);
  PartsCase job;
  job.parts = calibrate(sample).value();
  for (PositionParts& p : job.parts.positions) p.rank = p.node = {};
  job.ranks = 32;
  for (const PartLever& lever : part_levers(job, &sample))
    EXPECT_TRUE(!lever.name.starts_with("remove-worst") || !lever.why_not.empty()) << lever.name;
}

TEST(LeversByParts, TheCheapestSetReachesTheTarget) {
  const PartsCase job = case_of(Law::normal(Seconds{}, Seconds{2}), 3, 1'024);
  const auto levers = part_levers(job, nullptr);
  const Target target = parse_target("throughput >= 1.03 * baseline").value();
  const LeverSet by_scale = cheapest_part_levers(job, levers, target, {.replicates = 0}, {});
  ASSERT_TRUE(by_scale.reached);
  EXPECT_EQ(by_scale.best.names, std::vector<std::string>{"equal-ranks"});
  const LeverSet stated =
      cheapest_part_levers(job, levers, target, {.replicates = 0}, {.stated = {{"faster-links", 2}}});
  EXPECT_EQ(stated.best.names, std::vector<std::string>{"faster-links"});
  EXPECT_EQ(stated.best.price, 2);
  const auto ratio = throughput_with(job, levers, {"faster-links"}, 1'024, {});
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(*ratio, stated.best.throughput.value, 1e-9);
  EXPECT_FALSE(throughput_with(job, levers, {"nothing"}, 1'024, {}));
}

TEST(LeversByParts, IntervalsHoldWhatWasNotSeen) {
  const PartsCase job = case_of(Law::normal(Seconds{}, Seconds{2}), 3, 4'096);
  PartLeverOptions options{.replicates = 20};
  options.project.growth = {.usual = 0.03, .most = 0.5};
  const LeverTable narrow = compare_part_levers(job, part_levers(job, nullptr), options, {});
  options.unseen = true;
  const LeverTable wide = compare_part_levers(job, part_levers(job, nullptr), options, {});
  for (std::size_t i = 0; i < narrow.levers.size(); ++i) {
    if (!narrow.levers[i].why_not.empty()) continue;
    const LeverRatio &a = narrow.levers[i].throughput, &b = wide.levers[i].throughput;
    EXPECT_EQ(a.value, b.value);
    EXPECT_LE(b.low, a.low);
    EXPECT_GE(b.high, a.high);
  }
  // Half of the ranks: a step that grows by N^0.09 is 6 % shorter.
  const LeverRatio &a = of(narrow, "fewer-ranks").throughput, &b = of(wide, "fewer-ranks").throughput;
  EXPECT_GT(b.high, a.high * 1.03);
}

/// Fails once an hour at 4,096 nodes; what communication takes is known to a factor.
PartsCase failing_case() {
  PartsCase job = case_of(Law::normal(Seconds{}, Seconds{2}), 3, 4'096);
  job.rest = [](std::int64_t ranks) {
    const double size = static_cast<double>(ranks) / 4'096;
    return TimeEstimate{.value = Seconds{7 * size}, .low = Seconds{4 * size}, .high = Seconds{40 * size}};
  };
  model::Scenario failing;
  failing.failures = {.node_mtbf = Seconds{4'096 * 3'600.0},
                      .restart = Seconds{300},
                      .restart_per_node = Seconds{0.02},
                      .checkpoint = Seconds{30}};
  job.failing = failing;
  return job;
}

TEST(LeversByParts, MostNodesHaveTheDrawsOfTheBoundary) {
  const PartsCase job = failing_case();
  const PartLeverOptions options{.replicates = 20};
  const LeverTable table = compare_part_levers(job, part_levers(job, nullptr), options, {});
  PartsJobOptions drawn{.failing = job.failing, .replicates = 20};
  drawn.project.rest = job.rest;
  const PartsJob made = job_of_parts(job.parts, drawn);
  const Regimes r =
      regimes_of(made.job, {.from = 64, .to = 1'048'576, .per_doubling = 2}, true, made.replicates);
  ASSERT_TRUE(r.n_star.value.inside() && table.baseline.most_nodes_ends);
  EXPECT_NEAR(table.baseline.most_nodes_ends->low, static_cast<double>(r.n_star.low.ranks),
              0.01 * static_cast<double>(r.n_star.low.ranks));
  EXPECT_NEAR(table.baseline.most_nodes_ends->high, static_cast<double>(r.n_star.high.ranks),
              0.01 * static_cast<double>(r.n_star.high.ranks));
  EXPECT_LT(table.baseline.most_nodes_ends->low, 0.995 * table.baseline.most_nodes_ends->high);
  // Half of the ranks is another size of the same job: in no draw has it another N*.
  EXPECT_EQ(of(table, "fewer-ranks").most_nodes_over_ends, (DrawnEnds{1, 1}));
  EXPECT_EQ(table.baseline.most_nodes_over_ends, (DrawnEnds{1, 1}));
  const LeverEffect& ranks = of(table, "equal-ranks");
  ASSERT_TRUE(ranks.most_nodes_over_ends);
  EXPECT_LE(ranks.most_nodes_over_ends->low, *ranks.most_nodes_over(table.baseline));
  EXPECT_GE(ranks.most_nodes_over_ends->high, *ranks.most_nodes_over(table.baseline));
  EXPECT_LT(ranks.most_nodes_over_ends->high - ranks.most_nodes_over_ends->low,
            table.baseline.most_nodes_ends->high / table.baseline.most_nodes_ends->low - 1)
      << "what is not known of both cancels";
}

// Goodput is of whole nodes: by ranks throughput would rise within each node and fall at the next, and the highest tooth be anywhere.
TEST(LeversByParts, MostNodesAreWholeNodes) {
  PartsCase job = failing_case();
  job.parts.ranks_per_node = 8;
  job.parts.nodes = 8;
  const LeverTable table = compare_part_levers(job, part_levers(job, nullptr), {.replicates = 0}, {});
  ASSERT_TRUE(table.baseline.most_nodes);
  const double most = *table.baseline.most_nodes;
  EXPECT_EQ(most, std::round(most));
  const PartsJob made = job_of_parts(job.parts, {.project = {.rest = job.rest}, .failing = job.failing});
  const auto at = [&](double nodes) {
    return made.job.at(std::llround(8 * nodes), kEveryMechanism).throughput;
  };
  EXPECT_GE(at(most), at(most - 1));
  EXPECT_GE(at(most), at(most + 1));
  double before = at(most - 40);
  for (double n = most - 40 + 0.125; n < most - 20; n += 0.125) {
    EXPECT_GT(at(n), before) << n << " nodes";
    before = at(n);
  }
}

TEST(LeversByParts, MarginsHaveEnds) {
  PartsCase job = failing_case();
  job.failing.reset();
  const LeverTable table = compare_part_levers(job, part_levers(job, nullptr), {.replicates = 20}, {});
  for (const std::string_view name : {"equal-ranks", "faster-links", "fewer-ranks"}) {
    const LeverEffect& e = of(table, name);
    ASSERT_TRUE(e.margin && e.margin_ends) << name;
    EXPECT_LT(e.margin_ends->low, *e.margin) << name;
    EXPECT_GT(e.margin_ends->high, *e.margin) << name;
    EXPECT_FALSE(e.most_nodes_ends) << "nothing fails";
  }
  const LeverTable once = compare_part_levers(job, part_levers(job, nullptr), {.replicates = 0}, {});
  EXPECT_FALSE(once.baseline.margin_ends);
  EXPECT_EQ(once.baseline.margin, table.baseline.margin);
}

// What it does at most is one end, the job as it is the other, and no target is sought with it.
TEST(LeversByParts, ARangeIsFromTheJobAsItIs) {
  const PartsCase job = failing_case();
  std::vector<PartLever> levers{
      {.name = "free",
       .does = "no communication",
       .part = "free",
       .apply = [](PartsCase& c) { c.rest = [](std::int64_t) { return exactly(0); }; },
       .range = true}};
  const LeverTable ranged = compare_part_levers(job, levers, {.replicates = 20}, {});
  const Target target = parse_target("throughput >= 1.01 * baseline").value();
  const LeverSet none = cheapest_part_levers(job, levers, target, {.replicates = 0}, {});
  EXPECT_FALSE(none.reached);
  ASSERT_EQ(none.left_out.size(), 1U);
  EXPECT_NE(none.left_out[0].find("range"), std::string::npos);
  levers.front().range = false;
  const LeverTable point = compare_part_levers(job, levers, {.replicates = 20}, {});
  const LeverEffect &r = ranged.levers.front(), &p = point.levers.front();
  EXPECT_TRUE(r.range);
  EXPECT_EQ(r.throughput.low, 1);
  EXPECT_EQ(r.throughput.high, p.throughput.high);
  EXPECT_EQ(r.step.high, 1);
  EXPECT_EQ(r.step.low, p.step.low);
  EXPECT_FALSE(r.margin || r.most_nodes || r.most_nodes_over(ranged.baseline));
  ASSERT_TRUE(r.margin_ends && r.most_nodes_ends && r.most_nodes_over_ends);
  EXPECT_LE(r.most_nodes_over_ends->low, 1);
  EXPECT_GE(r.most_nodes_over_ends->high, 1);
  EXPECT_LE(r.margin_ends->low, *ranged.baseline.margin);
  EXPECT_GE(r.margin_ends->high, *p.margin);
}

TEST(LeversByParts, TheSameForAnyNumberOfThreads) {
  const PartsCase job = with_detours(256);
  const LeverTable one = compared(job), two = compared(job, nullptr, 2);
  for (std::size_t i = 0; i < one.levers.size(); ++i) {
    EXPECT_EQ(one.levers[i].throughput, two.levers[i].throughput);
    EXPECT_EQ(one.levers[i].margin, two.levers[i].margin);
    EXPECT_EQ(one.levers[i].margin_ends, two.levers[i].margin_ends);
  }
}

}  // namespace
}  // namespace cox::forecast
