// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/simulate/outcome.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/calibrate/calibrate.hpp"
#include "forecast/control/carried.hpp"
#include "forecast/sample/read.hpp"
#include "forecast/scenario/as_training.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

Evidence slow_rank() {
  Sample sample = test::sample_of({.residual = 1}, 4, 4, 200, 3);
  for (std::size_t k = 0; k < 200; ++k) {
    Seconds& own = sample.positions[0].own[k * 16 + 9];
    own += Seconds{30};
    sample.steps[k].length = std::max(sample.steps[k].length, own + Seconds{7});
  }
  Evidence out;
  out.samples.push_back(std::move(sample));
  return out;
}

std::string joined(const std::vector<TextLine>& lines) {
  std::string out;
  for (const TextLine& l : lines) out += l.text + "\n";
  return out;
}

TEST(PartControl, LeversOfARunNameItsRanksAndTheSetIsTakenToAllSizes) {
  const Evidence evidence = slow_rank();
  FullForecast made;
  made.parts = calibrate(evidence.samples).value();
  made.seen_ranks = made.margins_at = 16;
  for (const std::int64_t ranks : {16, 64})
    made.projection.points.push_back(project_one(*made.parts, ranks, {}));
  ControlQuestion control;
  control.levers = true;
  control.target = parse_target("throughput >= 1.05 * baseline").value();
  add_part_levers(made, evidence, {}, control);
  ASSERT_TRUE(made.full_control);
  const FullControl& c = *made.full_control;
  ASSERT_TRUE(c.set && c.set->reached);
  EXPECT_EQ(c.set->best.names, std::vector<std::string>{"remove-worst-1"});
  EXPECT_EQ(c.levers->ranks, 16);
  ASSERT_EQ(c.controlled.size(), 2u);
  for (const ControlledSize& at : c.controlled) EXPECT_GT(at.throughput_ratio, 1.05) << at.ranks;
  const std::string text = joined(text_lines(c));
  for (const std::string_view part :
       {"levers, alone", "as it is", "rank 9 replaced", "the cheapest at a price of 5", "price: stated"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(PartControl, ARunWithoutAFiniteTimeHasNeitherLeversNorTarget) {
  const Evidence evidence = slow_rank();
  FullForecast made;
  made.parts = calibrate(evidence.samples).value();
  made.parts->positions[0].residual =
      Law::quantiles(std::vector<Seconds>{Seconds{0}, Seconds{1}}, {Seconds{1}, Seconds{5}, 1.2, 0.01});
  made.parts->positions[0].pooled = Law();
  made.seen_ranks = 16;
  ControlQuestion control;
  control.levers = true;
  control.target = parse_target("p99 <= 1.2 * median").value();
  add_part_levers(made, evidence, {}, control);
  ASSERT_TRUE(made.full_control);
  EXPECT_FALSE(made.full_control->levers);
  EXPECT_FALSE(made.full_control->set);
  ASSERT_FALSE(made.full_control->notes.empty());
  EXPECT_NE(made.full_control->notes.back().find("no finite time at 16 ranks"), std::string::npos);
}

// A scenario of a collective takes no failures, so nobody is told to say some.
TEST(PartControl, OfACollectiveCheckpointsAreNotAdvised) {
  Evidence evidence;
  evidence.scenario.emplace();
  evidence.scenario->job.work = model::CollectiveJob{};
  FullForecast made;
  made.parts = calibrate(slow_rank().samples).value();
  made.seen_ranks = made.margins_at = 16;
  ControlQuestion control;
  control.levers = true;
  add_part_levers(made, evidence, {}, control);
  ASSERT_TRUE(made.full_control && made.full_control->levers);
  int checkpoints = 0;
  for (const LeverEffect& lever : made.full_control->levers->levers) {
    if (!lever.names.front().starts_with("checkpoint-")) continue;
    ++checkpoints;
    EXPECT_EQ(lever.why_not, "a collective writes no checkpoints: a training job does");
  }
  EXPECT_EQ(checkpoints, 3);
}

// Two runs of one size, of which each has a slow rank of its own: whichever is named first, one rank is named.
TEST(PartControl, TheOrderOfRunsChangesNoLever) {
  std::vector<Sample> runs = slow_rank().samples;
  runs.push_back(runs.front());
  for (std::size_t k = 0; k < runs[1].steps.size(); ++k) {
    std::swap(runs[1].positions[0].own[16 * k + 9], runs[1].positions[0].own[16 * k + 4]);
    runs[1].steps[k].length += Seconds{1};
  }
  std::vector<std::string> texts;
  for (const bool turned : {false, true}) {
    Evidence evidence;
    evidence.samples = turned ? std::vector{runs[1], runs[0]} : runs;
    FullForecast made;
    made.parts = calibrate(runs).value();
    made.seen_ranks = made.margins_at = 16;
    ControlQuestion control;
    control.levers = true;
    add_part_levers(made, evidence, {}, control);
    texts.push_back(joined(text_lines(*made.full_control)));
    EXPECT_NE(texts.back().find("rank 9 replaced"), std::string::npos) << texts.back();
  }
  EXPECT_EQ(texts[0], texts[1]);
}

/// 16 ranks whose work is normal with a tenth of it as deviation, and 7 s behind it.
FullForecast even_job(Evidence& evidence) {
  evidence.samples.push_back(test::sample_of({.residual = 10}, 4, 4, 400, 3));
  Asked asked;
  asked.sizes = {64};
  asked.project.replicates = 20;
  asked.goodness.simulations = 20;
  return make_forecast(evidence, asked).value();
}

const LeverEffect& of(const LeverTable& table, std::string_view name) {
  const auto at =
      std::ranges::find_if(table.levers, [&](const LeverEffect& e) { return e.names.front() == name; });
  EXPECT_NE(at, table.levers.end()) << name;
  return *at;
}

// The largest of 16 standard normals is 1.766 on average, the second largest 1.285; the largest of as many sums of eight 1.766 sqrt(8).
TEST(PartControl, OfARunWhoWaitsForWhomIsSimulated) {
  Evidence evidence;
  FullForecast made = even_job(evidence);
  ASSERT_TRUE(made.goodness && made.goodness->reproduces);
  made.told.bytes = Bytes{8};
  ControlQuestion control;
  control.levers = true;
  control.options.threads = 1;
  add_played_levers(made, control);
  ASSERT_TRUE(made.full_control && made.full_control->played);
  const LeverTable& table = *made.full_control->played;
  EXPECT_EQ(table.ranks, 16);
  EXPECT_FALSE(table.by_parts);
  // No shorter than the second largest of fresh times: who was not waited for begins its next step late.
  EXPECT_GT(of(table, "backup-workers").step.low, (107 + 12.85) / (107 + 17.66));
  EXPECT_LT(of(table, "backup-workers").step.high, 0.99);
  EXPECT_NEAR(of(table, "backup-workers").throughput.value * of(table, "backup-workers").step.value,
              15.0 / 16, 1e-3);
  EXPECT_NEAR(of(table, "local-steps").step.value, (100 + 7 / 8.0 + 17.66 / std::sqrt(8.0)) / (107 + 17.66),
              0.01);
  EXPECT_LT(of(table, "bounded-staleness").step.high, 1);
  EXPECT_NE(of(table, "pacing").why_not, "") << "nothing in it is shared";
  for (const LeverEffect& e : table.levers)
    EXPECT_TRUE(!e.why_not.empty() || !e.learning.empty()) << e.names.front();
  const std::string text = joined(text_lines(*made.full_control));
  EXPECT_EQ(text.find("levers of who waits"), std::string::npos) << "behind the levers of the parts only";
  made.full_control->levers = table;
  const std::string both = joined(text_lines(*made.full_control));
  for (const std::string_view part : {"levers of who waits", "not included", "each rank is a worker"})
    EXPECT_NE(both.find(part), std::string::npos) << part << "\n" << both;
}

TEST(PartControl, LeversOfARunWithOverlapSayThatTheyHaveNone) {
  Evidence evidence;
  FullForecast made = even_job(evidence);
  ControlQuestion control;
  control.levers = true;
  control.options.threads = 1;
  const auto notes = [&] {
    made.full_control.reset();
    add_played_levers(made, control);
    return made.full_control->notes;
  };
  EXPECT_TRUE(notes().empty());
  made.run.hidden = RatioEstimate{.value = 0.7, .low = 0.6, .high = 0.8};
  ASSERT_EQ(notes().size(), 1U);
  EXPECT_NE(notes()[0].find("hides 70"), std::string::npos) << notes()[0];
}

/// 16 replicas on 8 nodes that sum 20 MB: work varies by a tenth, by a fiftieth for good.
model::Scenario known_training() {
  model::Scenario s;
  s.name = "known";
  s.cluster.nodes = 8;
  s.cluster.devices_per_node = 2;
  s.inside = s.across = {.latency = Seconds{1e-5}, .per_byte = Bandwidth::gbyte_per_s(10).time_per_byte()};
  model::TrainingJob job;
  job.layout.data = 16;
  job.overlap = false;
  job.layers = {{.forward = Seconds{4e-3},
                 .backward = Seconds{8e-3},
                 .gradients = Bytes{20'000'000},
                 .activations = {}}};
  s.job.work = job;
  s.job.steps = 500;
  model::NoiseSource fresh, lasts;
  fresh.name = "fresh";
  fresh.law = model::NoiseLaw::Lognormal;
  fresh.cv = 0.1;
  lasts.name = "lasts";
  lasts.law = model::NoiseLaw::Gaussian;
  lasts.pattern = model::NoisePattern::Persistent;
  lasts.mean_ratio = 0;
  lasts.cv = 0.02;
  s.noise = {fresh, lasts};
  return s;
}

// From the Run of a known job, against the job itself. What a server's messages cost is told by one collective of one size.
TEST(PartControl, PoliciesOfARunAreThoseOfTheJobThatMadeIt) {
  const model::Scenario known = known_training();
  const auto outcome = simulate::simulate(known, {.threads = 1, .want_run = true});
  ASSERT_TRUE(outcome && outcome->run);
  Evidence evidence;
  evidence.samples.push_back(sample_of(*outcome->run, 1).value());
  Asked asked;
  asked.sizes = {64};
  asked.project.replicates = 20;
  asked.goodness.simulations = 20;
  FullForecast made = make_forecast(evidence, asked).value();
  ASSERT_TRUE(made.goodness && made.goodness->reproduces) << made.misfit;
  ControlQuestion control;
  control.levers = true;
  add_played_levers(made, control);
  ASSERT_TRUE(made.full_control->played);
  const LeverTable truth = compare_levers(known, {.replicas = 8, .threads = 1}).value();
  for (const auto& [name, within] :
       {std::pair{"backup-workers", 0.01}, {"local-steps", 0.01}, {"bounded-staleness", 0.05}})
    EXPECT_NEAR(of(*made.full_control->played, name).throughput.value / of(truth, name).throughput.value, 1,
                within)
        << name;
}

TEST(PartControl, AScenarioThatDoesNotReproduceSaysNothingOfLevers) {
  Evidence evidence;
  FullForecast made = even_job(evidence);
  made.goodness->reproduces = false;
  ControlQuestion control;
  control.levers = true;
  add_played_levers(made, control);
  ASSERT_TRUE(made.full_control);
  EXPECT_FALSE(made.full_control->played);
  ASSERT_EQ(made.full_control->notes.size(), 1u);
  EXPECT_NE(made.full_control->notes[0].find("does not reproduce"), std::string::npos);
}

TEST(PartControl, WhatARunDoesNotTellHasNoLever) {
  Evidence evidence;
  const FullForecast made = even_job(evidence);
  const model::Scenario training = as_training(*made.scenario).value();
  const auto why = [&](const ToldSteps& told, std::string_view name) {
    const std::vector<Lever> levers = carried_levers(training, told);
    const auto at = std::ranges::find(levers, name, &Lever::name);
    return at == levers.end() ? std::string("none") : at->why_not;
  };
  EXPECT_EQ(why({}, "local-steps"), "");
  EXPECT_NE(why({}, "bounded-staleness"), "") << "how much is exchanged is not told";
  EXPECT_EQ(why({.meets_in = model::Collective::AllReduce, .bytes = Bytes{8}}, "bounded-staleness"), "");
  for (const std::string_view name : {"backup-workers", "local-steps", "bounded-staleness"}) {
    EXPECT_NE(why({.synchronisations = 2}, name), "");
    EXPECT_NE(why({.roles = 2}, name), "");
    EXPECT_NE(why({.meets_in = model::Collective::Barrier}, name), "");
  }
  EXPECT_EQ(why({}, "buckets"), "none");
  EXPECT_EQ(why({}, "faster-links"), "none") << "its sum is behind the work: parts know as much";
}

TEST(PartControl, MessagesBesideWorkHaveLeversThatAreSimulated) {
  Evidence evidence;
  model::Scenario training = as_training(*even_job(evidence).scenario).value();
  training.job.as<model::TrainingJob>().overlap = true;
  const std::vector<Lever> levers = carried_levers(training, {});
  for (const std::string_view name : {"faster-links", "compression"}) {
    const auto at = std::ranges::find(levers, name, &Lever::name);
    ASSERT_NE(at, levers.end()) << name;
    EXPECT_EQ(at->why_not, "") << name;
  }
  EXPECT_EQ(std::ranges::find(levers, "buckets", &Lever::name), levers.end())
      << "recorded sums have no parts";
}

}  // namespace
}  // namespace cox::forecast
