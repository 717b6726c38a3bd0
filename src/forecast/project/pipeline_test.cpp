// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/pipeline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace cox::forecast {
namespace {

using enum model::PipelineSchedule;

TEST(Pipeline, EqualStagesHaveTheBubbleOfTheirSchedule) {
  const std::vector<Seconds> stages(4, Seconds{8});
  const auto step = [&](model::PipelineSchedule schedule, int micro_batches) {
    return pipelined({.stages = 4, .micro_batches = micro_batches, .chunks = 2, .schedule = schedule}, stages)
        .count();
  };
  EXPECT_DOUBLE_EQ(step(GPipe, 8), 11);
  EXPECT_DOUBLE_EQ(step(OneForwardOneBackward, 8), 11);
  EXPECT_DOUBLE_EQ(step(OneForwardOneBackward, 2), 20) << "fewer micro-batches than stages";
  EXPECT_DOUBLE_EQ(step(Interleaved, 8), 9.5);
  EXPECT_DOUBLE_EQ(step(ZeroBubble, 8), 9);
}

TEST(Pipeline, TheSlowestStageSetsThePace) {
  // Hand-solved: three stages of 1, 2, 1 a micro-batch, four of them. GPipe: 2 x 4 + 1 + 1.
  const std::vector<Seconds> stages = {Seconds{4}, Seconds{8}, Seconds{4}};
  EXPECT_DOUBLE_EQ(pipelined({.stages = 3, .micro_batches = 4, .schedule = GPipe}, stages).count(), 10);
  // 1F1B: the second waits for the third while it fills and drains, less what it does itself meanwhile.
  EXPECT_DOUBLE_EQ(pipelined({.stages = 3, .micro_batches = 4}, stages).count(), 2 * 4 + 1 + (2 * 1 - 2));
}

TEST(Pipeline, WhatANodeSharesIsAReplicasWhereItHoldsWholeOnes) {
  const Pipeline pipeline{.stages = 2, .members = 2, .micro_batches = 2, .schedule = GPipe};
  const Nest stage{
      .own = Law::constant(Seconds{2}), .node = Law::normal(Seconds{}, Seconds{0.1}), .ranks_per_node = 8};
  const Crowd replicas = replicas_of(pipeline, {stage, stage}, 64, {});
  EXPECT_EQ(replicas.ranks, 16);
  EXPECT_EQ(replicas.nest.ranks_per_node, 2);
  // Eight nodes: (m + p - 1) / m times what a stage has.
  EXPECT_NEAR(Maximum(replicas.nest, replicas.ranks).mean().count(), 3 + 1.5 * 0.1 * 1.423600, 1e-4);
}

TEST(Pipeline, MembersGoOnWithTheSlowest) {
  const Pipeline pipeline{.stages = 2, .members = 8, .micro_batches = 1, .schedule = GPipe};
  const Nest stage{.own = Law::normal(Seconds{10}, Seconds{1})};
  const Crowd replicas = replicas_of(pipeline, {stage, stage}, 16, {});
  EXPECT_EQ(replicas.ranks, 1);
  EXPECT_NEAR(replicas.nest.own.mean().count(), 2 * 11.423600, 1e-3);
}

}  // namespace
}  // namespace cox::forecast
