// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "cox/simulate/training.hpp"

#include "simulate/training/plan/pipeline_orders.hpp"
#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using Kind = StageOp::Kind;
using model::PipelineSchedule;
using Shape = testing::PipelineShape;
using testing::run_orders;

TEST(Pipeline, BalancedBubbleIsTheTextbooks) {
  const std::map<int, double> printed{{1, 87.50}, {2, 77.78},  {4, 63.64},
                                      {8, 46.67}, {16, 30.43}, {32, 17.95}};
  for (const auto schedule : {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward})
    for (const auto& [m, percent] : printed) {
      const Shape s{.schedule = schedule, .stages = 8, .micro_batches = m};
      const auto ran = run_orders(s);
      ASSERT_TRUE(ran);
      EXPECT_EQ(ran->makespan, (m + 7) * 6);
      EXPECT_NEAR(100.0 * (1 - m * 6.0 / ran->makespan), percent, 0.005);
    }
}

TEST(Pipeline, LiveMicroBatchesAreAllOrAsManyAsStagesFollow) {
  for (const int p : {1, 2, 5, 8})
    for (const int m : {1, 2, 3, 8, 19}) {
      const auto all = run_orders({.schedule = PipelineSchedule::GPipe, .stages = p, .micro_batches = m});
      const auto few =
          run_orders({.schedule = PipelineSchedule::OneForwardOneBackward, .stages = p, .micro_batches = m});
      const auto split =
          run_orders({.schedule = PipelineSchedule::ZeroBubble, .stages = p, .micro_batches = m});
      ASSERT_TRUE(all && few && split);
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(all->live[static_cast<std::size_t>(s)], m);
        EXPECT_EQ(few->live[static_cast<std::size_t>(s)], std::min(p - s, m));
        EXPECT_LE(split->live[static_cast<std::size_t>(s)], std::min(p, m));
      }
    }
}

TEST(Pipeline, InterleavingDividesTheBubble) {
  for (const int v : {1, 2, 4})
    for (const int m : {8, 16, 32}) {
      const Shape s{.schedule = PipelineSchedule::Interleaved,
                    .stages = 4,
                    .micro_batches = m,
                    .chunks = v,
                    .forward = 4,
                    .input = 4,
                    .weight = 4};
      const auto ran = run_orders(s);
      ASSERT_TRUE(ran);
      EXPECT_NEAR(1 - m * 12.0 / ran->makespan, 3.0 / (v * m + 3), 1e-12) << v << " chunks, " << m;
    }
}

TEST(Pipeline, ZeroBubbleLeavesATwoThirdsSmallerBubble) {
  for (const int p : {2, 4, 8})
    for (const int m : {8, 16, 32}) {
      const auto ran =
          run_orders({.schedule = PipelineSchedule::ZeroBubble, .stages = p, .micro_batches = m});
      ASSERT_TRUE(ran);
      // (p - 1)(T_F + T_B - T_W), Qi et al. 2024, against (p - 1)(T_F + T_B + T_W) of 1F1B.
      EXPECT_EQ(ran->makespan, 6 * m + 2 * (p - 1)) << p << " stages, " << m;
    }
}

TEST(Pipeline, WhatMeetsAtACardIsToldWhereItIsNotShared) {
  const auto tells = [](const model::Scenario& s) {
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out);
    return out && std::ranges::any_of(out->not_modelled, [](const std::string& n) {
             return n.find("messages between stages") != std::string::npos;
           });
  };
  model::Scenario s = testing::pipeline(4, 4, 4);
  s.cluster = testing::cluster(8, 1);
  testing::work_of(s).layout.data = 2;
  for (model::Layer& l : testing::work_of(s).layers) l.activations = Bytes{1'000'000};
  EXPECT_TRUE(tells(s)) << "sums over replicas leave by the same card";
  s.engine = model::EngineKind::Flow;
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  EXPECT_FALSE(tells(s)) << "where they share it";
  s.engine = model::EngineKind::Auto;
  testing::work_of(s).layout.pipeline = 2;
  s.cluster = testing::cluster(2, 2);
  EXPECT_FALSE(tells(s)) << "stages of a replica are in one node, replicas on two";
  s.cluster = testing::cluster(2, 1);
  testing::work_of(s).layout.data = 1;
  EXPECT_FALSE(tells(s)) << "nothing but messages between stages";
}

TEST(Pipeline, NoOrderWaitsForEver) {
  for (const auto schedule : {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward,
                              PipelineSchedule::Interleaved, PipelineSchedule::ZeroBubble})
    for (int p = 1; p <= 6; ++p)
      for (int m = 1; m <= 20; ++m)
        for (int v = 1; v <= (schedule == PipelineSchedule::Interleaved ? 4 : 1); ++v) {
          const Shape s{.schedule = schedule,
                        .stages = p,
                        .micro_batches = m,
                        .chunks = v,
                        .forward = 12,
                        .input = 12,
                        .weight = 12};
          const auto ran = run_orders(s);
          ASSERT_TRUE(ran) << static_cast<int>(schedule) << ": " << p << " stages, " << m
                           << " micro-batches, " << v;
          for (int i = 0; i < p; ++i) {
            const auto ops = pipeline_order(schedule, p, i, m, v);
            const auto forwards = std::count_if(ops.begin(), ops.end(),
                                                [](const StageOp& o) { return o.kind == Kind::Forward; });
            EXPECT_EQ(forwards, m * v);
          }
        }
}

TEST(Pipeline, WhatNobodyTakesIsNoted) {
  using testing::data_parallel;
  using testing::work_of;
  const auto notes = [](const model::Scenario& s, const char* of = "nothing passes activations on") {
    const auto made = simulate_training(s, {});
    EXPECT_TRUE(made);
    return made && std::ranges::any_of(made->notes, [&](const std::string& note) {
             return note.find(of) != std::string::npos;
           });
  };
  model::Scenario s = data_parallel(4, 4);
  EXPECT_FALSE(notes(s)) << "there are none";
  for (model::Layer& layer : work_of(s).layers) layer.activations = Bytes{1000};
  EXPECT_TRUE(notes(s));
  work_of(s).layout = {.data = 2, .pipeline = 2};
  EXPECT_FALSE(notes(s));
  EXPECT_FALSE(notes(s, "job.layers.gradients"));
  work_of(s).layout = {.pipeline = 4};
  EXPECT_TRUE(notes(s, "job.layers.gradients"));
  s.cluster.device_memory = Bytes{1'000'000'000};
  EXPECT_FALSE(notes(s, "job.layers.gradients")) << "they have to fit";
}

}  // namespace
}  // namespace cox::simulate
