// SPDX-License-Identifier: Apache-2.0
#include "learn/run/shard_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

namespace cox::learn {
namespace {

// One shard is all parameters: the bits of a learner without shards, along the same stream and with any elementwise optimizer.
TEST(ShardCopies, OneShardIsTheLearnerWithout) {
  const ProblemSpec spec{.dimension = 30, .condition = 10, .noise = 0.3};
  for (const char* optimizer :
       {"sgd,rate=0.05", "momentum,rate=0.02", "adam,rate=0.01", "sgd,rate=0.1,warm-up=20"}) {
    const auto one = make_problem(spec), other = make_problem(spec);
    ASSERT_TRUE(one && other);
    Way sharded{.policy = {.kind = model::PolicyKind::Asynchronous}};
    Learner plain(**one, *read_optimizer(optimizer), sharded, {.leaves = 2}, 5);
    sharded.rule = Rule::Shards;
    Learner pieces(**other, *read_optimizer(optimizer), sharded, {.leaves = 2}, 5);
    stream_drawn(sharded.policy, {.workers = 5, .law = StepLaw::Exponential, .steps = 100},
                 [&](const sync::StreamEvent& e, Seconds) {
                   EXPECT_TRUE(plain.take(e) && pieces.take(e));
                   return true;
                 });
    EXPECT_TRUE(std::ranges::equal(plain.parameters(), pieces.parameters())) << optimizer;
    EXPECT_EQ(plain.samples(), pieces.samples());
    EXPECT_EQ(plain.version(), pieces.version());
    EXPECT_GT(pieces.version(), 400);
  }
}

// Shards part all parameters, none twice; a copy holds what was read when it was read.
TEST(ShardCopies, ACopyIsPutTogetherOfWhatWasRead) {
  const auto problem = make_problem({.dimension = 7, .condition = 1});
  ASSERT_TRUE(problem);
  ShardCopies copies(**problem, {.rate = 1}, 3, 2);
  std::ranges::fill(copies.gradient(0), 1.0F);
  const std::vector<float> first(copies.of(1).begin(), copies.of(1).end());
  for (const int s : {2, 0}) {
    EXPECT_EQ(copies.begins(0), s == 2);
    EXPECT_FALSE(copies.deliver(0, s));
    copies.advance(s, 1);
  }
  copies.read(1, 2);
  EXPECT_TRUE(copies.deliver(0, 1));
  copies.advance(1, 0.5);
  // Of 7 parameters in 3 shards: two, two, three. What was not read again is as it was.
  const std::vector<float> moved{1, 1, 0.5, 0.5, 1, 1, 1};
  for (std::size_t k = 0; k < 7; ++k) {
    EXPECT_EQ(copies.newest()[k], first[k] - moved[k]) << k;
    EXPECT_EQ(copies.of(1)[k], k < 4 ? first[k] : copies.newest()[k]) << k;
  }
}

// A shard goes back to a copy with its optimizer; another shard and the count of versions do not.
TEST(ShardCopies, AStandbyHasTheBitsOfItsCopy) {
  const auto problem = make_problem({.dimension = 6, .condition = 1});
  ASSERT_TRUE(problem);
  const OptimizerSpec momentum{.kind = OptimizerKind::Momentum, .rate = 0.5, .momentum = 0.9};
  ShardCopies copies(**problem, momentum, 2, 1), straight(**problem, momentum, 2, 1);
  const auto step = [](ShardCopies& of, int shard, float gradient) {
    std::ranges::fill(of.gradient(0), gradient);
    of.deliver(0, shard);
    of.advance(shard, 1);
  };
  const std::vector<float> first(copies.newest().begin(), copies.newest().end());
  for (const float g : {1.0F, 2.0F}) step(copies, 0, g);
  step(copies, 1, 3);
  copies.copy(0);
  for (const float g : {5.0F, 6.0F, 7.0F}) step(copies, 0, g);
  copies.copy(0);
  step(copies, 0, 8);
  copies.restore(0, 2);
  step(copies, 0, 4);
  for (const float g : {1.0F, 2.0F, 4.0F}) step(straight, 0, g);
  step(straight, 1, 3);
  EXPECT_TRUE(std::ranges::equal(copies.newest(), straight.newest()));
  copies.restore(0, 0);
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_EQ(copies.newest()[k], k < 3 ? first[k] : straight.newest()[k]) << k;
  copies.restore(1, 1);
  EXPECT_EQ(copies.newest()[5], straight.newest()[5]) << "nothing was lost";
}

// A step that read two of three shards is over when the pieces of these two are there.
TEST(ShardCopies, AStepIsOverWithThePiecesThatItRead) {
  const auto problem = make_problem({.dimension = 6, .condition = 1});
  ASSERT_TRUE(problem);
  ShardCopies copies(**problem, {.rate = 1}, 3, 1);
  for (const int s : {0, 1}) EXPECT_FALSE(copies.deliver(0, s));
  EXPECT_TRUE(copies.deliver(0, 2));
  for (const int s : {2, 0}) copies.read(0, s);
  EXPECT_FALSE(copies.deliver(0, 0));
  EXPECT_FALSE(copies.begins(0));
  EXPECT_TRUE(copies.deliver(0, 2));
  EXPECT_TRUE(copies.begins(0));
}

}  // namespace
}  // namespace cox::learn
