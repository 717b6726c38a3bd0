// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/even_stages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/levers/levers.hpp"
#include "support/forecast_sample.hpp"
#include "support/noisy_training.hpp"

namespace cox::forecast {
namespace {

/// Four stages of two ranks; the last of them has so much to do, the others 100 s, and 7 s pass beside own work.
Sample staged(double last) {
  Sample sample = test::sample_of({.residual = 1}, 8, 1, 100, 9);
  for (std::size_t r = 0; r < 8; ++r) {
    sample.ranks[r].node = -1;
    sample.ranks[r].role = static_cast<std::int32_t>(r / 2);
  }
  for (std::size_t k = 0; k < sample.steps.size(); ++k) {
    Seconds slowest{};
    for (std::size_t r = 0; r < 8; ++r) {
      Seconds& own = sample.positions[0].own[8 * k + r];
      if (r >= 6) own += Seconds{last - 100};
      slowest = std::max(slowest, own);
    }
    sample.steps[k].length = slowest + Seconds{7};
  }
  return sample;
}

PartsCase case_of(const Sample& sample) {
  PartsCase job;
  job.parts = calibrate(sample).value();
  job.ranks = 8;
  return job;
}

const PartLever* find(const std::vector<PartLever>& levers, std::string_view name) {
  const auto at = std::ranges::find(levers, name, &PartLever::name);
  return at == levers.end() ? nullptr : &*at;
}

// 100, 100, 100, 200: all have 125 then, and a step takes 132 instead of 207, beside what its slowest rank varies by.
TEST(EvenStages, OfARunItIsARangeUpToTheMeanOfTheRoles) {
  const Sample sample = staged(200);
  const PartsCase job = case_of(sample);
  const std::vector<PartLever> levers = part_levers(job, &sample);
  const PartLever* lever = find(levers, "even-stages");
  ASSERT_NE(lever, nullptr);
  EXPECT_EQ(lever->why_not, "");
  EXPECT_TRUE(lever->range);
  PartsCase with = job;
  lever->apply(with);
  double before = 0, after = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    before += job.parts.positions[i].level.value.count();
    after += with.parts.positions[i].level.value.count();
    EXPECT_NEAR(with.parts.positions[i].level.value.count(), 125, 0.5);
  }
  EXPECT_NEAR(after, before, 1e-9) << "the sum is kept";
  const auto most = throughput_with(job, levers, {"even-stages"}, 8, {});
  ASSERT_TRUE(most);
  EXPECT_NEAR(*most, 207 / 133.0, 0.02);
  const LeverTable table = compare_part_levers(job, {*lever}, {.replicates = 10}, {});
  EXPECT_TRUE(table.levers[0].range);
  EXPECT_EQ(table.levers[0].throughput.low, 1);
  EXPECT_EQ(table.levers[0].price, 1);
}

TEST(EvenStages, WhoIsWorstIsSaidToBeSoAmongItsOwn) {
  const Sample sample = staged(200);
  const std::vector<PartLever> levers = part_levers(case_of(sample), &sample);
  const PartLever* worst = find(levers, "remove-worst-1");
  ASSERT_NE(worst, nullptr);
  EXPECT_NE(worst->does.find("the worst beside others of the same stage or role"), std::string::npos)
      << worst->does;
  Sample alike = sample;
  for (SampleRank& r : alike.ranks) r.role = 0;
  const std::vector<PartLever> of_one = part_levers(case_of(alike), &alike);
  EXPECT_EQ(find(of_one, "remove-worst-1")->does.find("role"), std::string::npos);
  EXPECT_EQ(find(of_one, "even-stages"), nullptr) << "there is one role";
}

TEST(EvenStages, NotWhereTheyDifferByChance) {
  const Sample sample = staged(100);
  const std::vector<PartLever> levers = part_levers(case_of(sample), &sample);
  ASSERT_NE(find(levers, "even-stages"), nullptr);
  EXPECT_NE(find(levers, "even-stages")->why_not, "");
}

/// Four stages of three layers, of which the last ones take twice as long.
model::Scenario pipelined() {
  model::Scenario s = test::noisy_training(20);
  s.noise.clear();
  s.failures = {};
  auto& job = s.job.as<model::TrainingJob>();
  job.layout = {.data = 4, .tensor = 1, .pipeline = 4};
  job.micro_batches = 8;
  job.layers.assign(12, job.layers.front());
  for (std::size_t l = 9; l < 12; ++l) {
    job.layers[l].forward *= 2;
    job.layers[l].backward *= 2;
  }
  return s;
}

const Lever* find(const std::vector<Lever>& levers, std::string_view name) {
  const auto at = std::ranges::find(levers, name, &Lever::name);
  return at == levers.end() ? nullptr : &*at;
}

// A stage waits for the one before it: 3 more micro-batches than there are. Even ones take 11 x 1.25, and these wait 8 x 2 and 3 x 1.
TEST(EvenStages, OfAPipelineItIsSimulated) {
  const model::Scenario s = pipelined();
  const std::vector<Lever> levers = levers_of(s);
  const Lever* lever = find(levers, "even-stages");
  ASSERT_NE(lever, nullptr);
  ASSERT_EQ(lever->why_not, "");
  model::Scenario even = s;
  lever->apply(even);
  const auto work = [](const model::Scenario& of) {
    Seconds sum{};
    for (const model::Layer& l : of.job.as<model::TrainingJob>().layers) sum += l.forward + l.backward;
    return sum.count();
  };
  EXPECT_NEAR(work(even), work(s), 1e-12);
  const auto table = compare_levers(s, {*lever}, {.replicas = 2, .threads = 1});
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_NEAR(table->levers[0].throughput.value, (8 * 2 + 3) / (11 * 1.25), 0.02);
  const std::vector<Lever> again = levers_of(even);
  EXPECT_EQ(find(again, "even-stages")->why_not, "they do already");
  EXPECT_EQ(find(levers_of(test::noisy_training(2)), "even-stages"), nullptr) << "there are no stages";
}

// Nine layers of one length on four stages: two, two, two and three.
TEST(EvenStages, StagesOfUnlikeNumbersOfLayersAreEvened) {
  model::Scenario s = pipelined();
  s.job.as<model::TrainingJob>().layers.assign(
      9, {.forward = Seconds{1}, .backward = Seconds{2}, .gradients = {}, .activations = {}});
  const std::vector<Lever> levers = levers_of(s);
  ASSERT_EQ(find(levers, "even-stages")->why_not, "");
  find(levers, "even-stages")->apply(s);
  const auto& layers = s.job.as<model::TrainingJob>().layers;
  EXPECT_NEAR((layers[0].forward + layers[1].forward).count(), 2.25, 1e-12);
  EXPECT_NEAR((layers[6].forward + layers[7].forward + layers[8].forward).count(), 2.25, 1e-12);
  EXPECT_TRUE(parse_prices("even-stages=7"));
}

}  // namespace
}  // namespace cox::forecast
