// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/simulated_control.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "forecast/control/control.hpp"
#include "forecast/control/control_json.hpp"
#include "forecast/scenario/resize.hpp"
#include "support/noisy_training.hpp"

namespace cox::forecast {
namespace {

/// Eight replicas on four nodes, whose work varies by a tenth; a step's sums take 14 ms of some 600.
model::Scenario training() {
  model::Scenario s = test::noisy_training(40);
  s.cluster.nodes = 4;
  auto& job = s.job.as<model::TrainingJob>();
  job.layout.data = 8;
  job.layers.resize(2);
  for (model::Layer& l : job.layers) {
    l.forward = Seconds{0.1};
    l.backward = Seconds{0.2};
  }
  model::NoiseSource jitter;
  jitter.law = model::NoiseLaw::Lognormal;
  jitter.cv = 0.1;
  s.noise = {jitter};
  s.failures = {};
  return s;
}

double ratio_by_hand(const model::Scenario& job, const std::string& name, const LeverOptions& options) {
  const LeverTable table = compare_levers(job, options).value();
  for (const LeverEffect& e : table.levers)
    if (e.names.front() == name) return e.throughput.value;
  return 0;
}

TEST(SimulatedControl, IsTheLeverOfEachSize) {
  const LeverOptions options{.replicas = 2};
  for (const char* name : {"backup-workers", "local-steps", "bounded-staleness"}) {
    std::vector<std::string> notes;
    const auto sizes = simulated_control(training(), {name}, {8, 64}, options, notes);
    ASSERT_EQ(sizes.size(), 2U) << name;
    EXPECT_TRUE(notes.empty());
    for (const ControlledSize& at : sizes) {
      EXPECT_EQ(at.throughput_ratio, ratio_by_hand(resized(training(), at.ranks), name, options)) << name;
      ASSERT_TRUE(at.simulated);
      EXPECT_LE(at.simulated->low, at.throughput_ratio);
      EXPECT_GE(at.simulated->high, at.throughput_ratio);
      EXPECT_EQ(at.simulated->steps, 40);
    }
    EXPECT_NE(sizes[0].throughput_ratio, sizes[1].throughput_ratio) << name;
  }
}

TEST(SimulatedControl, SaysWhichSizesAreNot) {
  std::vector<std::string> notes;
  const auto sizes =
      simulated_control(training(), {"local-steps"}, {7, 8, 4, 2, 1 << 20}, {.replicas = 1}, notes);
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[0].ranks, 8);
  EXPECT_EQ(sizes[1].ranks, 4);
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_NE(notes[0].find("at 7 ranks: no whole number"), std::string::npos) << notes[0];
  EXPECT_NE(notes[1].find("fewer than three replicas"), std::string::npos) << notes[1];
  EXPECT_NE(notes[2].find("too much work"), std::string::npos) << notes[2];
}

// A target that such a lever reaches has a curve, which is what a page draws of it.
TEST(SimulatedControl, ATargetThatAPolicyReachesHasACurve) {
  ControlQuestion q;
  q.target = *parse_target("throughput >= 1.01 * baseline");
  q.nodes = {8, 16};
  q.options = {.replicas = 2, .prices = {.stated = {{"local-steps", 0.01}}}};
  const auto c = make_control(training(), q);
  ASSERT_TRUE(c) << c.error().to_string();
  ASSERT_EQ(c->set->best.names, std::vector<std::string>{"local-steps"});
  ASSERT_EQ(c->controlled.size(), 3U);
  EXPECT_EQ(c->controlled.front().throughput_ratio, c->set->best.throughput.value);
  std::string text;
  for (const TextLine& line : text_lines(*c)) text += line.text + '\n';
  for (const char* size : {"8", "16", "32"})
    EXPECT_NE(text.find(fmt::format("  at {} ranks throughput ", size)), std::string::npos) << text;
  EXPECT_NE(text.find(", simulated, 40 steps a seed)"), std::string::npos) << text;
  const Json j = control_json(*c);
  EXPECT_EQ(j["controlled"][2]["ranks"], 32);
  EXPECT_EQ(j["controlled"][2]["simulated_steps"], 40);
  EXPECT_TRUE(j["controlled"][2]["low"].is_number());
}

}  // namespace
}  // namespace cox::forecast
