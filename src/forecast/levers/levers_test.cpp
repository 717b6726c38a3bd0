// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/levers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "forecast/checkpoints/drawn_failures.hpp"
#include "forecast/checkpoints/goodput.hpp"
#include "support/noisy_training.hpp"

namespace cox::forecast {
namespace {

const LeverEffect& of(const LeverTable& table, std::string_view name) {
  const auto at = std::find_if(table.levers.begin(), table.levers.end(),
                               [&](const LeverEffect& e) { return e.names.front() == name; });
  EXPECT_NE(at, table.levers.end()) << name;
  return *at;
}

TEST(Levers, RatiosToTheJobAsItIs) {
  const auto table = compare_levers(test::noisy_training(60), {.replicas = 4, .threads = 1});
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_EQ(table->baseline.throughput.value, 1);
  EXPECT_EQ(table->baseline.step.high, 1);
  // The slow rank sets the pace: without it the step is two thirds as long, and more even is not promised.
  const LeverEffect& replaced = of(*table, "remove-worst");
  ASSERT_EQ(replaced.why_not, "");
  EXPECT_LT(replaced.step.high, 0.95);
  EXPECT_GT(replaced.throughput.low, 1.05);
  EXPECT_LT(replaced.energy->value, 1);
  EXPECT_NEAR(replaced.cost.value * replaced.throughput.value, 1, 1e-9);  // as many nodes
  EXPECT_EQ(*replaced.most_nodes, *table->baseline.most_nodes);
  // One backup does not wait for it either, and loses a sixteenth of the samples.
  const LeverEffect& backup = of(*table, "backup-workers");
  ASSERT_EQ(backup.why_not, "");
  EXPECT_LT(backup.step.value, 1);
  EXPECT_LT(backup.throughput.value, 1 / backup.step.value);
  EXPECT_NE(backup.learning, "");
  // Links twice as quick never make it slower; what checkpoints do is in goodput alone.
  EXPECT_LE(of(*table, "faster-links").step.value, 1 + 1e-12);
  const LeverEffect& interval = of(*table, "checkpoint-interval");
  EXPECT_EQ(interval.step.value, 1);
  EXPECT_GT(interval.throughput.value, 1);
  EXPECT_GT(*of(*table, "checkpoint-beside").most_nodes, *table->baseline.most_nodes);
  EXPECT_GT(of(*table, "checkpoint-near").throughput.value, 1);
  // Nothing is shared between ranks here, so holding early ones back gains nothing.
  EXPECT_EQ(of(*table, "pacing").why_not, "");
  EXPECT_LE(of(*table, "pacing").throughput.value, 1 + 1e-9);
  EXPECT_NE(of(*table, "overlap").why_not, "");
}

// Each draw has the N* that its failures have; a lever that changes none of them moves it in no draw.
TEST(Levers, MostNodesHaveDrawsOfTheFailures) {
  const model::Scenario scenario = test::noisy_training(20);
  const auto table = compare_levers(scenario, {.replicas = 2, .threads = 1});
  ASSERT_TRUE(table && table->baseline.most_nodes_ends);
  double least = *table->baseline.most_nodes, most = least;
  for (const FailureDraw& draw : failure_draws(20)) {
    model::Scenario s = scenario;
    draw.apply({}, s.failures);
    change_start(s.start, StatedRanges{}.start.at(draw.start));
    const auto nodes = static_cast<double>(most_work(s, 1 << 20)->nodes);
    least = std::min(least, nodes);
    most = std::max(most, nodes);
  }
  EXPECT_NEAR(table->baseline.most_nodes_ends->low / least, 1, 0.02);
  EXPECT_NEAR(table->baseline.most_nodes_ends->high / most, 1, 0.02);
  EXPECT_LT(least, 0.9 * most);
  EXPECT_EQ(of(*table, "remove-worst").most_nodes_over_ends, (DrawnEnds{1, 1}));
  const LeverEffect& beside = of(*table, "checkpoint-beside");
  ASSERT_TRUE(beside.most_nodes_over_ends);
  EXPECT_LE(beside.most_nodes_over_ends->low, *beside.most_nodes_over(table->baseline));
  EXPECT_GE(beside.most_nodes_over_ends->high, *beside.most_nodes_over(table->baseline));
  EXPECT_LT(beside.most_nodes_over_ends->high / beside.most_nodes_over_ends->low, most / least);
}

/// Workers that are not waited for and servers take one sum behind the work: what buckets cost is no part of what they change.
TEST(Levers, WhatAPolicyChangesIsThatOfItAlone) {
  const auto ratio = [](const model::Scenario& s, std::string_view name) {
    const auto table = compare_levers(s, {.replicas = 2, .threads = 1});
    EXPECT_TRUE(table) << table.error().to_string();
    return of(*table, name);
  };
  model::Scenario many = test::noisy_training(60);
  many.noise.pop_back();  // no rank is slow for good
  many.across.latency = Seconds{1e-3};
  auto& job = many.job.as<model::TrainingJob>();
  job.layers.assign(12, {.forward = Seconds{0.002},
                         .backward = Seconds{0.004},
                         .gradients = Bytes{10'000'000},
                         .activations = {}});
  job.bucket = Bytes{10'000'000};
  model::Scenario one = many;
  one.job.as<model::TrainingJob>().bucket = Bytes{120'000'000};
  one.job.as<model::TrainingJob>().overlap = false;
  for (const std::string_view name : {"backup-workers", "bounded-staleness"}) {
    const LeverEffect of_many = ratio(many, name);
    const LeverEffect of_one = ratio(one, name);
    ASSERT_EQ(of_many.why_not, "");
    EXPECT_NEAR(of_many.throughput.value, of_one.throughput.value, 1e-9) << name;
    EXPECT_NEAR(of_many.p99->value, of_one.p99->value, 1e-9) << name;
    ASSERT_TRUE(of_many.one_sum) << name;
    EXPECT_GT(of_many.one_sum->value, 1.1) << "twelve sums are eleven times as much latency";
    EXPECT_NE(of_many.does.find("one sum"), std::string::npos);
    EXPECT_FALSE(of_one.one_sum) << name;
  }
  EXPECT_FALSE(ratio(many, "local-steps").one_sum) << "it is simulated with its buckets";
}

TEST(Levers, TheSameForAnyNumberOfThreads) {
  const auto one = compare_levers(test::noisy_training(60), {.replicas = 2, .threads = 1});
  const auto two = compare_levers(test::noisy_training(60), {.replicas = 2, .threads = 2});
  ASSERT_TRUE(one && two);
  for (std::size_t i = 0; i < one->levers.size(); ++i) {
    EXPECT_EQ(one->levers[i].throughput.value, two->levers[i].throughput.value);
    EXPECT_EQ(one->levers[i].p99, two->levers[i].p99);
  }
}

TEST(Levers, TheCheapestSetForATarget) {
  const auto target = parse_target("throughput >= 1.05 * baseline");
  ASSERT_TRUE(target);
  const auto set = cheapest_levers(test::noisy_training(60), *target, {.replicas = 2, .threads = 1});
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->reached);
  EXPECT_FALSE(set->already);
  EXPECT_EQ(set->best.names.size(), 1u);
  EXPECT_GE(set->best.throughput.value, 1.05);
  EXPECT_TRUE(reaches(set->best));
  EXPECT_FALSE(set->left_out.empty());
}

TEST(Levers, TwoWhereOneIsNotEnough) {
  const auto all = compare_levers(test::noisy_training(60), {.replicas = 2, .threads = 1});
  double best = 1;
  for (const LeverEffect& e : all->levers)
    if (e.why_not.empty()) best = std::max(best, e.throughput.value);
  Target target = *parse_target("throughput >= 1.2 * baseline");
  target.factor = best * 1.01;
  const auto set = cheapest_levers(test::noisy_training(60), target, {.replicas = 2, .threads = 1});
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->reached);
  EXPECT_GE(set->best.names.size(), 2u);
  target.factor = 1000;
  const auto never = cheapest_levers(test::noisy_training(60), target, {.replicas = 1, .threads = 1});
  EXPECT_FALSE(never->reached);
  EXPECT_GT(never->best.throughput.value, 1);
  EXPECT_GT(never->tried, 100);
}

TEST(Levers, WhatIsReachedAlreadyNeedsNone) {
  const auto set = cheapest_levers(test::noisy_training(60), *parse_target("p99 <= 100 * median"),
                                   {.replicas = 1, .threads = 1});
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->already);
  EXPECT_TRUE(set->best.names.empty());
}

TEST(Target, IsReadOrRefused) {
  const auto p99 = parse_target("p99 <= 1.2 * median");
  ASSERT_TRUE(p99);
  EXPECT_EQ(p99->factor, 1.2);
  EXPECT_EQ(*p99->of, Target::Figure::Median);
  EXPECT_EQ(parse_target("cv <= 0.05")->factor, 0.05);
  EXPECT_FALSE(parse_target("cv <= 0.05")->of_baseline);
  EXPECT_TRUE(parse_target("cost <= 0.9 * baseline")->of_baseline);
  EXPECT_TRUE(parse_target("p99 <= 1.2*median"));
  EXPECT_EQ(parse_target("cv<=0.05")->factor, 0.05);
  for (const std::string_view tight : {"p99<=1.2*median", "p99<1.2*median", "p99 < 1.2 * median"}) {
    const auto target = parse_target(tight);
    ASSERT_TRUE(target) << tight;
    EXPECT_TRUE(target->at_most);
    EXPECT_EQ(target->factor, 1.2);
    EXPECT_EQ(*target->of, Target::Figure::Median);
  }
  EXPECT_FALSE(parse_target("throughput>1.1*baseline")->at_most);
  // The word that is at fault is in the message.
  EXPECT_NE(parse_target("p98 <= 1").error().message.find("'p98'"), std::string::npos);
  EXPECT_NE(parse_target("p99 = 1.2 * median").error().message.find("got '='"), std::string::npos);
  EXPECT_NE(parse_target("p99 <= 1.2 * medium").error().message.find("'medium'"), std::string::npos);
  for (const std::string_view bad :
       {"", "p99", "p99 < 2", "p99 <= 0.1", "p99 <= 1.2 * cv", "cv <= -1", "cv <= nan", "cv <= 0.1 * cost",
        "p98 <= 1", "p99 = 1.2 * median", "p99 =< 1.2 * median", "p99 <= 1 * median now", "p99 <= 1 median"})
    EXPECT_EQ(parse_target(bad).error().id, "forecast-033") << bad;
}

}  // namespace
}  // namespace cox::forecast
