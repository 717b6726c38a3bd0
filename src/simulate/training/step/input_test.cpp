// SPDX-License-Identifier: Apache-2.0
// What a step waits for before it begins, against what docs/concepts/mechanisms.md calculates by hand.
#include "simulate/training/step/input.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;

/// Nodes of four devices, one replica each; 3 ms of computation, 0.4 ms of optimizer, nothing to send.
model::Scenario job(int nodes) {
  model::Scenario s = data_parallel(4 * nodes, 1);
  s.cluster = cluster(nodes, 4);
  work_of(s).layers[0].gradients = {};
  s.inside = {};
  s.across = {};
  return s;
}

double total_ms(const model::Scenario& s) {
  const auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? out->total.count() * 1e3 : 0;
}

TEST(StepInput, SharesCoresAndLinks) {
  model::Scenario s = job(2);
  const double step = total_ms(s);
  EXPECT_NEAR(step, 3.4, 1e-9);
  model::StepInput& in = work_of(s).input;
  in = {.cores = 4, .prepare = Seconds{10e-3}};
  EXPECT_NEAR(total_ms(s), step + 10, 1e-9) << "a core each";
  in.cores = 8;
  EXPECT_NEAR(total_ms(s), step + 10, 1e-9) << "more do not help: one core each";
  in.cores = 2;
  EXPECT_NEAR(total_ms(s), step + 20, 1e-9) << "half a core each";
  in.fetch = Bytes{1'000'000};
  in.link = Bandwidth::gbyte_per_s(1);
  EXPECT_NEAR(total_ms(s), step + 20 + 4, 1e-9) << "4 x 1 MB over the node's link";
  in.link = {};
  in.storage = Bandwidth::gbyte_per_s(1);
  EXPECT_NEAR(total_ms(s), step + 20 + 8, 1e-9) << "8 x 1 MB from the job's storage";
}

// On one core: the first rank has it alone for 5 ms, then half of it until 15 ms; the second one ends at 20 ms.
TEST(StepInput, IsSharedAmongThoseWhoAreThere) {
  model::Scenario s = job(1);
  s.cluster = cluster(1, 2);
  work_of(s).layout = {.data = 2};
  work_of(s).input = {.cores = 1, .prepare = Seconds{10e-3}};
  const auto plan = training::Plan::make(s);
  ASSERT_TRUE(plan);
  training::NodeInput input(*plan, 0, 2);
  const std::vector<Seconds> now = {Seconds{1}, Seconds{1.005}};
  const auto begins = input.begins(now);
  EXPECT_NEAR(begins[0].count(), 1.015, 1e-12);
  EXPECT_NEAR(begins[1].count(), 1.020, 1e-12);
}

// Made while the step before runs, it costs what it takes longer than a step, and the first one in full.
TEST(StepInput, AheadOfTimeCostsWhatIsLeft) {
  model::Scenario s = job(2);
  s.job.steps = 5;
  model::StepInput& in = work_of(s).input;
  in = {.cores = 4, .prepare = Seconds{3e-3}, .ahead = true};
  EXPECT_NEAR(total_ms(s), 3 + 5 * 3.4, 1e-9) << "hidden";
  in.prepare = Seconds{5e-3};
  EXPECT_NEAR(total_ms(s), 5 * 5 + 3.4, 1e-9) << "the input sets the pace";
  in.ahead = false;
  EXPECT_NEAR(total_ms(s), 5 * (5 + 3.4), 1e-9);
}

// Steps that repeat are not played again, and are what they are.
TEST(StepInput, RepeatsAsItWas) {
  for (const bool ahead : {false, true}) {
    model::Scenario s = job(2);
    s.job.steps = 12;
    s.noise = {slow_rank(1, 0.5)};
    work_of(s).layers[0].gradients = Bytes{8'000'000};
    s.across = {.latency = Seconds{10e-6}, .per_byte = Bandwidth::gbyte_per_s(2).time_per_byte()};
    work_of(s).input = {.cores = 2, .prepare = Seconds{7e-3}, .ahead = ahead};
    const auto quick = simulate_training(s, {});
    const auto whole = simulate_training(s, {.memo = false});
    ASSERT_TRUE(quick && whole);
    for (std::size_t k = 0; k < whole->step_ends.size(); ++k)
      EXPECT_NEAR(quick->step_ends[k].count(), whole->step_ends[k].count(), 1e-10);
    EXPECT_NEAR(quick->groups[0].waiting.count(), whole->groups[0].waiting.count(), 1e-10);
  }
}

TEST(StepInput, IsAPartOfTheStep) {
  model::Scenario s = job(2);
  work_of(s).input = {.cores = 2, .prepare = Seconds{7e-3}};
  const auto step = analyse_step(s, 0);
  ASSERT_TRUE(step);
  expect_adds_up(*step, "input");
  EXPECT_NEAR(step->parts[static_cast<std::size_t>(StepPart::Input)].count(), 8 * 14e-3, 1e-12);
  EXPECT_NEAR(step->path[static_cast<std::size_t>(StepPart::Input)].count(), 14e-3, 1e-12);
}

// What a file may say and nothing can take.
TEST(StepInput, AbsurdSizesDoNotEnd) {
  model::Scenario s = job(2);
  s.job.steps = 3;
  s.noise = {slow_rank(1, 0.5)};
  for (const double rate : {1e-300, 1e-320, 1.0}) {
    work_of(s).input = {.prepare = Seconds{1e-3},
                        .fetch = Bytes{1'000'000'000'000'000},
                        .link = Bandwidth::bytes_per_s(rate)};
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(!out || out->total > Seconds{1e9}) << rate;
  }
  work_of(s).input = {.prepare = Seconds{1e308}};
  EXPECT_TRUE(simulate_training(s, {}));
}

// Input that is fetched from where checkpoints are written to: each has it to itself, and the outcome says so.
TEST(StepInput, AStorageBesideThatOfCheckpointsIsAnother) {
  model::Scenario s = job(2);
  work_of(s).input = {.fetch = Bytes{1'000'000}, .storage = Bandwidth::gbyte_per_s(1)};
  const auto says = [&] {
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out);
    return out && std::ranges::any_of(out->not_modelled, [](const std::string& line) {
             return line.find("one storage for input and checkpoints") != std::string::npos;
           });
  };
  EXPECT_FALSE(says());
  s.failures.checkpoint_interval = Seconds{1};
  s.failures.checkpoint_size = Bytes{1'000'000};
  s.failures.storage = Bandwidth::gbyte_per_s(1);
  EXPECT_TRUE(says());
}

}  // namespace
}  // namespace cox::simulate
