// SPDX-License-Identifier: Apache-2.0
#include "forecast/learned/learned.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "forecast/answer/forecast.hpp"
#include "support/forecast_sample.hpp"
#include "support/noisy_training.hpp"

namespace cox::forecast {
namespace {

/// Samples in proportion to what a job's replicas are, so as if a larger batch brought nothing; half as many again for local
/// steps. What was asked stays in `asked`.
LearningQuestion proportional(std::vector<model::Scenario>& asked) {
  return {
      .learn = [&asked](const std::vector<model::Scenario>& jobs) -> Result<std::vector<SamplesToTarget>> {
        asked = jobs;
        std::vector<SamplesToTarget> out;
        for (const model::Scenario& s : jobs) {
          const double replicas = s.job.as<model::TrainingJob>().layout.data;
          const double each = s.policy.kind == model::PolicyKind::LocalSgd ? 1.5 : 1;
          if (s.policy.kind == model::PolicyKind::BoundedWait)
            out.push_back({.why_not = "it diverges"});
          else
            out.push_back({.by_seed = {10 * replicas * each, 12 * replicas * each}});
        }
        return out;
      },
      .what = "proportional"};
}

/// A forecast of the noisy job at 32, 64 and 65,536 ranks, with its levers.
struct MadeHere {
  ReadEvidence evidence{};
  Question question{.sizes = {32, 64, 65'536}};
  std::optional<MadeForecast> made{};
  std::vector<model::Scenario> asked{};

  explicit MadeHere(Scaling scaling = Scaling::Weak) {
    EXPECT_TRUE(evidence.add_scenario("noisy.toml", test::noisy_training(20)));
    question.scaling = scaling;
    auto forecast = make_forecast(evidence, question);
    EXPECT_TRUE(forecast) << (forecast ? "" : forecast.error().message);
    made = *std::move(forecast);
    ControlQuestion control;
    control.levers = true;
    control.options.replicas = 2;
    EXPECT_TRUE(made->add_control(control, evidence, question));
    const Status learned = made->add_learning(proportional(asked), evidence, question);
    EXPECT_TRUE(learned) << (learned ? "" : learned.error().message);
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const TextLine& l : made->text_lines()) out += l.text + "\n";
    return out;
  }
  [[nodiscard]] Json json() const { return Json::parse(made->to_json({}))["result"]; }
};

TEST(Learned, RatiosArePairedBySeed) {
  const LeverRatio r = ratio_of({20, 45}, {10, 10});
  EXPECT_NEAR(r.value, 3, 1e-12);  // geometric mean of 2 and 4.5
  // Two seeds: t of 5 % with one degree of freedom is 6.314; deviation of the mean of two logarithms: half their distance.
  const double half = 6.3137515 * std::log(2.25) / 2;
  EXPECT_NEAR(std::log(r.high / r.value), half, 1e-6);
  EXPECT_NEAR(std::log(r.value / r.low), half, 1e-6);
}

// Throughput in proportion to the ranks, and samples that grow as 1 + n / 64 (McCandlish et al. 2018): progress has elasticity
// 1 / (1 + n / 64), which is 0.95 at 3.4 ranks and 0.5 at 64.
TEST(Learned, ACriticalBatchIsWhereHalfOfTheRanksCount) {
  const ScalingJob job{.mechanisms = {{"other"}}, .at = [](std::int64_t n, MechanismSet) {
                         return ThroughputPoint{static_cast<double>(n), 1};
                       }};
  std::vector<double> ranks, samples;
  for (double n = 1; n <= 1024; n *= 2) {
    ranks.push_back(n);
    samples.push_back((1 + n / 64) / (1 + 1.0 / 64));
  }
  const ScalingJob worth = in_samples_that_count(job, ranks, samples);
  const Regimes r = regimes_of(worth, {.from = 1, .to = 1024, .per_doubling = 4});
  ASSERT_TRUE(r.n1.value.inside() && r.n2.value.inside());
  EXPECT_NEAR(static_cast<double>(r.n1.value.ranks), 3.4, 1.1);
  EXPECT_NEAR(static_cast<double>(r.n2.value.ranks), 64, 4);
  EXPECT_EQ(r.n2.because, "larger batches need more samples");
  EXPECT_FALSE(r.n_star.value.inside()) << "it goes on getting slowly better";
  const ThroughputPoint off = worth.at(512, ~(MechanismSet{1} << 1));
  EXPECT_EQ(off.throughput, 512);
  EXPECT_EQ(off.elasticity, 1);
  EXPECT_NEAR(worth.at(512, kEveryMechanism).throughput, 512 / ((1 + 8) / (1 + 1.0 / 64)), 1e-9);
}

TEST(Learned, TimeToTheTargetIsSamplesOverThroughput) {
  const MadeHere here;
  // As it is; backup, local steps, staleness, compression, half the ranks; 32 to 256 ranks.
  ASSERT_EQ(here.asked.size(), 10U);
  EXPECT_EQ(here.asked.front().job.as<model::TrainingJob>().layout.data, 16);
  EXPECT_EQ(here.asked[5].job.as<model::TrainingJob>().layout.data, 8);
  EXPECT_EQ(here.asked.back().job.as<model::TrainingJob>().layout.data, 256);
  const Json learning = here.json()["learning"];
  int seen = 0;
  for (const Json& l : learning["levers"]) {
    const std::string name = l["lever"];
    if (name == "bounded-staleness") {
      EXPECT_EQ(l["not_computed"], "it diverges");
      continue;
    }
    const double samples = l["samples_ratio"]["value"];
    EXPECT_NEAR(samples, name == "local-steps" ? 1.5 : name == "fewer-ranks" ? 0.5 : 1, 1e-12) << name;
    const Json& rate = l["throughput_ratio"];
    EXPECT_NEAR(l["time_to_target_ratio"]["value"].get<double>(), samples / rate["value"].get<double>(),
                1e-9);
    EXPECT_NEAR(
        l["time_to_target_ratio"]["high"].get<double>() / l["time_to_target_ratio"]["low"].get<double>(),
        rate["high"].get<double>() / rate["low"].get<double>(), 1e-6)
        << "every seed says the same of samples";
    ++seen;
  }
  EXPECT_GE(seen, 6);
  ASSERT_EQ(learning["sizes"].size(), 3U);
  EXPECT_NEAR(learning["sizes"][1]["samples_ratio"]["value"].get<double>(), 4, 1e-12);
  EXPECT_NEAR(learning["sizes"][1]["time_to_target_ratio"].get<double>() *
                  learning["sizes"][1]["throughput_ratio"].get<double>(),
              4, 1e-9);
  EXPECT_EQ(learning["sizes"][2]["not_computed"], "more than 256 replicas are not learned");
  // Twice the samples at each doubling: no ranks pay, whatever throughput does.
  EXPECT_EQ(learning["regimes"]["n2"]["at"]["place"], "below");
  EXPECT_EQ(learning["regimes"]["n_star"]["at"]["place"], "below");
  const std::string text = here.text();
  for (const std::string_view part :
       {"with what they do to learning: proportional", "no number: it diverges",
        "bends in samples that count", "least time to the target: already at 16"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Learned, StrongScalingLeavesWhatASampleIsWorth) {
  const MadeHere here(Scaling::Strong);
  EXPECT_EQ(here.asked.size(), 6U);
  EXPECT_NE(here.text().find("strong scaling leaves the batch"), std::string::npos) << here.text();
  EXPECT_TRUE(here.json()["learning"]["regimes"].is_null());
}

// 16 ranks of a Run and a lever's rate at 64: who does not wait is learned at 16, half the ranks at 64 beside the job of that size.
TEST(Learned, OfARunTheCalibratedScenarioIsLearnedAtTheSizeOfEachRate) {
  FullForecast whole;
  Evidence samples;
  samples.samples.push_back(test::sample_of({.residual = 10}, 4, 4, 200, 3));
  Asked of;
  of.sizes = {64};
  of.project.replicates = 20;
  of.goodness.simulations = 20;
  whole = make_forecast(samples, of).value();
  whole.full_control.emplace();
  const auto row = [](std::string name, std::string learning, bool range = false) {
    LeverEffect e{.names = {std::move(name)},
                  .does = {},
                  .learning = std::move(learning),
                  .why_not = {},
                  .range = range};
    e.throughput = {1.5, 1.4, 1.6};
    return e;
  };
  LeverTable played, parts;
  played.ranks = 16;
  played.levers = {row("local-steps", "drift")};
  played.levers[0].one_sum = LeverRatio{.value = 0.8, .low = 0.8, .high = 0.8};
  parts.ranks = 64;
  parts.levers = {row("faster-links", ""), row("fewer-ranks", "a smaller batch"), row("overlap", "", true),
                  row("unheard-of", "something")};
  whole.full_control->played = played;
  whole.full_control->levers = parts;
  MadeForecast made(whole);
  std::vector<model::Scenario> asked;
  Question question;
  question.sizes = {64};
  const Status learned = made.add_learning(proportional(asked), ReadEvidence(), question);
  ASSERT_TRUE(learned) << learned.error().message;
  // As it is; local steps; as it is on 64, half of those; sizes 32 to 256.
  ASSERT_EQ(asked.size(), 8U);
  const auto replicas = [&](std::size_t i) { return asked[i].job.as<model::TrainingJob>().layout.data; };
  EXPECT_EQ(replicas(0), 16);
  EXPECT_EQ(asked[1].policy.kind, model::PolicyKind::LocalSgd);
  EXPECT_EQ(replicas(2), 64);
  EXPECT_EQ(replicas(3), 32);
  const std::vector<LearnedLever>& levers = made.shown().learned->levers;
  ASSERT_EQ(levers.size(), 5U);
  EXPECT_EQ(levers[0].ranks, 16);
  EXPECT_NEAR(levers[0].samples.value, 1.5, 1e-12);
  EXPECT_NEAR(levers[0].throughput.value, 1.2, 1e-12) << "over the job as it is, not over that of one sum";
  EXPECT_NEAR(levers[0].time.value, 1.25, 1e-12);
  EXPECT_EQ(levers[1].ranks, 64);
  EXPECT_EQ(levers[1].samples.value, 1);
  EXPECT_NEAR(levers[2].samples.value, 0.5, 1e-12) << "over the job of 64 ranks";
  EXPECT_NE(levers[3].why_not.find("between 1.400 and 1.600"), std::string::npos) << levers[3].why_not;
  EXPECT_NE(levers[4].why_not, "");
  ASSERT_FALSE(made.shown().learned->notes.empty());
  EXPECT_NE(made.shown().learned->notes.front().find("each rank is taken as a worker"), std::string::npos);
}

TEST(Learned, RanksOfARunThatAreNoReplicasAreRefused) {
  Evidence samples;
  samples.samples.push_back(test::sample_of({.residual = 10}, 4, 4, 50, 3));
  Asked of;
  of.sizes = {64};
  FullForecast whole = make_forecast(samples, of).value();
  whole.told.roles = 2;
  MadeForecast made(whole);
  std::vector<model::Scenario> asked;
  const Status learned = made.add_learning(proportional(asked), ReadEvidence(), {});
  ASSERT_FALSE(learned);
  EXPECT_EQ(learned.error().id, "forecast-038");
  EXPECT_NE(learned.error().message.find("a worker is more than one rank"), std::string::npos);
}

TEST(Learned, WhatHasNoGradientsIsRefused) {
  ReadEvidence evidence;
  model::Scenario sum = test::noisy_training(5);
  sum.job.work = model::CollectiveJob{};
  ASSERT_TRUE(evidence.add_scenario("sum.toml", sum));
  MadeForecast made{FullForecast{}};
  std::vector<model::Scenario> asked;
  EXPECT_EQ(made.add_learning(proportional(asked), evidence, {}).error().id, "forecast-038");
  EXPECT_EQ(made.add_learning(proportional(asked), ReadEvidence(), {}).error().id, "forecast-038");
}

TEST(Learned, AJobThatNeverReachesTheTargetSaysSo) {
  const model::Scenario noisy = test::noisy_training(5);
  const LearningQuestion question{.learn = [](const std::vector<model::Scenario>& jobs) {
    return Result<std::vector<SamplesToTarget>>(
        std::vector<SamplesToTarget>(jobs.size(), {.why_not = "too much noise"}));
  }};
  const auto learned = learned_control({.scenario = noisy, .ranks = 16}, question);
  ASSERT_FALSE(learned);
  EXPECT_NE(learned.error().message.find("too much noise"), std::string::npos);
}

}  // namespace
}  // namespace cox::forecast
