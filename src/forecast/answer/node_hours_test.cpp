// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/node_hours.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <variant>

#include "cox/base/power.hpp"
#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::forecast {
namespace {

/// Four nodes of two; a step computes 0.6 s, and what it exchanges takes some milliseconds.
model::Scenario training() {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 2;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(300).time_per_byte()};
  s.across = {.latency = Seconds{1e-5}, .per_byte = Bandwidth::gbyte_per_s(25).time_per_byte()};
  model::TrainingJob job;
  job.layout.data = 8;
  job.layers.assign(2, {.forward = Seconds{0.1},
                        .backward = Seconds{0.2},
                        .gradients = Bytes{100'000'000},
                        .activations = {}});
  s.job.work = job;
  s.job.steps = 1'000;
  return s;
}

model::Failures failures() {
  return {.node_mtbf = Seconds{30 * 86'400.0},
          .restart = Seconds{300},
          .checkpoint = Seconds{30},
          .checkpoint_interval = Seconds{600}};
}

FullForecast made(const model::Scenario& scenario) {
  Asked q;
  q.sizes = {16, 1'024};
  q.project.replicates = 10;
  auto out = make_forecast(Evidence{.scenario = scenario}, q);
  EXPECT_TRUE(out) << out.error().to_string();
  return out.value_or(FullForecast{});
}

double sum(const NodeHours& h) {
  return h.own + h.communication + h.waiting + h.writes + h.rework + h.restarts + h.repair;
}

// Daly's law by hand: M = 30 d / 512 nodes, R = 300 s, C = 30 s, tau = 600 s.
TEST(NodeHours, GoodputOfEachSizeIsDalys) {
  model::Scenario s = training();
  s.failures = failures();
  const FullForecast f = made(s);
  ASSERT_EQ(f.goodput.size(), 2U);
  const double m = 30 * 86'400.0 / 512;
  EXPECT_NEAR(f.goodput[1].between.count(), m, 1e-9 * m);
  EXPECT_NEAR(f.goodput[1].shares.work, 600 / (m * std::exp(300 / m) * std::expm1(630 / m)), 1e-9);
  EXPECT_GE(f.goodput[1].best_goodput, f.goodput[1].shares.work);
  EXPECT_NEAR(sum(f.node_hours(1)), 1, 1e-12);
  EXPECT_GT(f.node_hours(1).rework, 0);
  EXPECT_NEAR(f.net_speed_up(1),
              f.speed_up(f.projection.points[1]) * f.goodput[1].shares.work / f.goodput_seen(), 1e-12);
  EXPECT_LT(f.elasticity(1), f.projection.points[1].elasticity);
  std::string text;
  for (const TextLine& line : text_lines(f)) text += line.text + "\n";
  EXPECT_LT(f.goodput[1].goodput.low, f.goodput[1].shares.work);
  EXPECT_GT(f.goodput[1].goodput.high, f.goodput[1].shares.work);
  for (const char* word :
       {"goodput", "net rate", "1 024 ranks: goodput ", "node hours at 1 024 ranks: own work"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_NE(to_json(f, {}).find("\"net_throughput_ratio\""), std::string::npos);
}

// The row's elasticity is that of the same net throughput.
TEST(NodeHours, ElasticityWithFailuresIsTheSlopeOfNetThroughput) {
  model::Scenario s = training();
  s.failures = failures();
  Asked q;
  q.sizes = {8'000, 8'192, 8'388};
  q.project.replicates = 2;
  const auto f = make_forecast(Evidence{.scenario = s}, q);
  ASSERT_TRUE(f) << f.error().to_string();
  // Of the job's curve: sizes that are simulated differ from it by their noise.
  const auto throughput = [&](std::int64_t ranks) { return f->job->at(ranks, kEveryMechanism).throughput; };
  const double slope = std::log(throughput(8'388) / throughput(8'000)) / std::log(8'388.0 / 8'000);
  EXPECT_NEAR(f->elasticity(1), slope, 5e-3);
}

TEST(NodeHours, WithoutFailuresNothingIsLost) {
  const FullForecast f = made(training());
  EXPECT_TRUE(f.goodput.empty());
  EXPECT_EQ(f.net_speed_up(1), f.speed_up(f.projection.points[1]));
  EXPECT_NEAR(sum(f.node_hours(1)), 1, 1e-12);
  EXPECT_EQ(f.node_hours(1).writes + f.node_hours(1).rework + f.node_hours(1).restarts, 0);
}

// Without failures the engine's own account; with them as much again as the wall time is longer, where all states draw alike.
TEST(NodeHours, EnergyOfAStepIsThatOfTheSimulation) {
  model::Scenario s = training();
  EXPECT_FALSE(made(s).energy_of_step(0)) << "no power is told";
  s.power = {.busy = Power::watts(1'000),
             .transfer = Power::watts(600),
             .wait = Power::watts(500),
             .idle = Power::watts(200)};
  const FullForecast f = made(s);
  model::Scenario larger = s;
  larger.cluster.nodes = 8;
  larger.job.as<model::TrainingJob>().layout.data = 16;
  const auto played = simulate::simulate(larger, {.threads = 1});
  ASSERT_TRUE(played) << played.error().to_string();
  ASSERT_TRUE(played->energy && f.energy_of_step(0));
  EXPECT_NEAR(*f.energy_of_step(0) * s.job.steps / played->energy->total(), 1, 0.01);
  s.failures = failures();
  s.power = {.busy = Power::watts(100),
             .transfer = Power::watts(100),
             .wait = Power::watts(100),
             .idle = Power::watts(100),
             .pue = 1.2};
  const FullForecast failing = made(s);
  const double wall = failing.projection.points[1].mean.value.count() / failing.goodput[1].shares.work;
  EXPECT_NEAR(failing.energy_of_step(1)->in_joules(), 1.2 * 100 * 512 * wall, 1e-6 * 1.2 * 100 * 512 * wall);
}

TEST(NodeHours, EnergyOfASampleIsThatOfAStepOverItsRanks) {
  model::Scenario s = training();
  EXPECT_FALSE(made(s).energy_of_sample(0)) << "no power is told";
  s.power = {.busy = Power::watts(1'000),
             .transfer = Power::watts(600),
             .wait = Power::watts(500),
             .idle = Power::watts(200)};
  s.failures = failures();
  const FullForecast f = made(s);
  ASSERT_TRUE(f.energy_of_sample(0) && f.energy_of_sample(1));
  const double sizes = *f.energy_of_step(1) / *f.energy_of_step(0) * 16 / 1'024;
  EXPECT_NEAR(*f.energy_of_sample(1) / *f.energy_of_sample(0), sizes, 1e-9);
  EXPECT_GT(*f.energy_of_sample(1), 1.05) << "what failures take draws, too";
  std::string text;
  for (const TextLine& line : text_lines(f)) text += line.text + "\n";
  EXPECT_NE(text.find("energy at 1 024 ranks: "), std::string::npos) << text;
}

// Without a checkpoint a job of W works until W passes without a failure: M e^(R/M) (e^(W/M) - 1) / W.
// One size, one breakdown: a pipeline whose stages wait for each other has it from its simulation, in node hours as in days.
TEST(NodeHours, DaysOfASizeGoWhereItsNodeHoursGo) {
  model::Scenario s = training();
  s.job.steps = 20;
  s.job.as<model::TrainingJob>().layout = {.data = 2, .pipeline = 4};
  s.job.as<model::TrainingJob>().micro_batches = 4;
  s.job.as<model::TrainingJob>().layers.resize(4, s.job.as<model::TrainingJob>().layers.front());
  s.noise = {{.law = model::NoiseLaw::Gaussian, .cv = 0.1}};
  ReadEvidence evidence;
  ASSERT_TRUE(evidence.add_scenario("pipeline.toml", s));
  Question q;
  q.sizes = {16};
  auto answered = make_forecast(evidence, q);
  ASSERT_TRUE(answered) << answered.error().to_string();
  ControlQuestion control;
  control.training = Training{.tokens = 1e9, .tokens_per_step = 1'000};
  ASSERT_TRUE(answered->add_control(control, evidence, q));
  const NodeHours hours = answered->shown().node_hours(0);
  const auto json = Json::parse(answered->to_json({}))["result"]["control"]["days"];
  ASSERT_EQ(json.size(), 2U) << "the scenario's size and the one asked";
  const auto& days = json[1];
  ASSERT_EQ(days["nodes"], 8);
  const double total = days["total_s"];
  EXPECT_NEAR(days["parts"]["communication_s"].get<double>() / total, hours.communication, 1e-6);
  EXPECT_NEAR(days["parts"]["waiting_s"].get<double>() / total, hours.waiting, 1e-6);
  EXPECT_GT(hours.waiting, 0.2) << "of seven places of a stage three are the pipeline's filling";
}

TEST(NodeHours, WithoutCheckpointsAFailureCostsTheWholeJob) {
  model::Scenario s = training();
  s.failures = {.node_mtbf = Seconds{86'400.0}, .restart = Seconds{300}};
  s.job.steps = 100;
  const FullForecast f = made(s);
  const double m = 86'400.0 / 8;
  const double work = 100 * (f.parts->rest.value.count() + 0.6);
  EXPECT_NEAR(f.goodput[0].shares.work, work / (m * std::exp(300 / m) * std::expm1(work / m)), 1e-6);
  EXPECT_EQ(f.goodput[0].best_interval, Seconds{});
}

Sample even_sample() {
  Sample sample;
  sample.name = "job";
  sample.positions.resize(1);
  for (std::int32_t r = 0; r < 8; ++r) sample.ranks.push_back({.rank = r, .node = r / 2});
  for (int k = 0; k < 200; ++k) {
    for (int r = 0; r < 8; ++r) sample.positions[0].own.emplace_back(0.1 + 1e-3 * ((k * 7 + r * 5) % 11));
    sample.steps.push_back({.number = k, .begin = Seconds{0.12 * k}, .length = Seconds{0.115}});
  }
  return sample;
}

TEST(NodeHours, ARunHasTheFailuresThatTheQuestionSays) {
  const Sample sample = even_sample();
  Asked q;
  q.sizes = {64};
  q.project.replicates = 10;
  q.goodness.simulations = 3;
  Evidence e{.inputs = {{.name = "job", .ranks = 8}}, .samples = {sample}};
  EXPECT_TRUE(make_forecast(e, q)->goodput.empty());
  q.failures = failures();
  const auto f = make_forecast(e, q);
  ASSERT_TRUE(f) << f.error().to_string();
  ASSERT_EQ(f->goodput.size(), 1U);
  const double m = 30 * 86'400.0 / 32;
  EXPECT_NEAR(f->goodput[0].shares.work, 600 / (m * std::exp(300 / m) * std::expm1(630 / m)), 1e-9);
}

Result<FullForecast> made_of(const Sample& sample, const model::Failures& failures) {
  Asked q;
  q.sizes = {8, 64};
  q.project.replicates = 10;
  q.goodness.simulations = 3;
  q.failures = failures;
  return make_forecast(Evidence{.inputs = {{.name = "job", .ranks = 8}}, .samples = {sample}}, q);
}

// Every restart begins with the start that was recorded.
TEST(NodeHours, TheScenarioOfARunHasItsFailuresAndItsStart) {
  Sample sample = even_sample();
  sample.record.startup = Seconds{60};
  sample.record.observed = Seconds{90};
  const auto calm = made_of(sample, {});
  ASSERT_TRUE(calm && calm->scenario) << calm.error().to_string();
  EXPECT_FALSE(calm->scenario->failures.happen());
  EXPECT_FALSE(std::holds_alternative<model::TrainingJob>(calm->scenario->job.work));
  const auto f = made_of(sample, failures());
  ASSERT_TRUE(f && f->scenario) << f.error().to_string();
  EXPECT_EQ(f->scenario->failures.node_mtbf, failures().node_mtbf);
  EXPECT_EQ(f->scenario->start.fixed, Seconds{60});
  const double m = 30 * 86'400.0 / 32;
  EXPECT_NEAR(f->goodput[1].shares.work, 600 / (m * std::exp(360 / m) * std::expm1(630 / m)), 1e-9);
  // Read again, it leaves as much of its own size.
  const auto read = model::parse_scenario(model::scenario_toml(*f->scenario), "job.toml", ".");
  ASSERT_TRUE(read) << read.error().to_string();
  const auto again = made(read->scenario);
  EXPECT_NEAR(again.goodput_seen(), f->goodput_seen(), 1e-9);
  EXPECT_NEAR(again.seen.mean.value / f->seen.mean.value, 1, 0.01);
}

TEST(NodeHours, FailuresThatWereSeenAreInTheScenarioAlone) {
  Sample sample = even_sample();
  sample.record.observed = Seconds{9'000};
  sample.record.ended = 1;
  const auto f = made_of(sample, {});
  ASSERT_TRUE(f && f->scenario) << f.error().to_string();
  EXPECT_EQ(f->scenario->failures.node_mtbf, Seconds{4 * 9'000.0}) << "one in the time of four nodes";
  EXPECT_TRUE(f->goodput.empty());
  ASSERT_FALSE(f->scenario_notes.empty());
  EXPECT_NE(f->scenario_notes.back().find("as often as was seen"), std::string::npos);
}

}  // namespace
}  // namespace cox::forecast
