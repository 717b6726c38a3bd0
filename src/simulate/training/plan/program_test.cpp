// SPDX-License-Identifier: Apache-2.0
// Stages as programs: what anybody who knows `model::Program` reads from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/replay/replay.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/training/plan/plan.hpp"
#include "simulate/training/scenarios.hpp"

namespace cox::simulate::training {
namespace {

using model::OperationKind;
using testing::work_of;

PricedProgram program_of(const model::Scenario& s, int stage) {
  auto plan = Plan::make(s);
  EXPECT_TRUE(plan) << plan.error().to_string();
  auto made = make_program(*plan, stage, Meeting::Gradients);
  EXPECT_TRUE(made);
  return *std::move(made);
}

std::int64_t count(const model::Program& p, OperationKind kind) {
  return std::count(p.kind.begin(), p.kind.end(), kind);
}

TEST(PricedProgram, OneStageAloneTakesWhatReplaySays) {
  model::Scenario s = testing::data_parallel(1, 6);
  work_of(s).micro_batches = 3;
  const PricedProgram stage = program_of(s, 0);
  ASSERT_TRUE(stage.program.is_graph());
  ASSERT_TRUE(stage.program.needs.is_ordered());
  std::vector<Duration> durations;
  durations.reserve(stage.prices.size());
  for (const Price& price : stage.prices) durations.push_back(duration_from_seconds(price.work.count()));
  const auto simulated = simulate(s, {});
  ASSERT_TRUE(simulated);
  EXPECT_NEAR(in_seconds(replay::replay(stage.program.needs, durations).makespan), simulated->total.count(),
              1e-9);
}

TEST(PricedProgram, MessagesNameTheirStageAndMailbox) {
  const model::Scenario s = testing::pipeline(2, 4, 3);
  const model::Program first = program_of(s, 0).program;
  const model::Program last = program_of(s, 1).program;
  for (const model::Program* p : {&first, &last}) {
    EXPECT_EQ(count(*p, OperationKind::Send), 3);
    EXPECT_EQ(count(*p, OperationKind::Receive), 3);
    ASSERT_EQ(p->ranks.size(), 2U);
    EXPECT_EQ(p->ranks[1].role.pipeline, 1);
  }
  // What the first sends is what the last takes, by its mailbox.
  const auto tags = [](const model::Program& p, OperationKind kind) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (p.kind[i] == kind) out.push_back(p.tag[i]);
    return out;
  };
  EXPECT_EQ(tags(first, OperationKind::Send), tags(last, OperationKind::Receive));
  EXPECT_EQ(tags(last, OperationKind::Send), tags(first, OperationKind::Receive));
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first.kind[i] == OperationKind::Send) {
      EXPECT_EQ(first.peer[i], 1U);
    }
}

TEST(PricedProgram, TheOptimizerWaitsForTheLastDataCollective) {
  const model::Scenario s = testing::data_parallel(2, 4);
  const model::Program p = program_of(s, 0).program;
  const std::int64_t collectives = count(p, OperationKind::Collective);
  ASSERT_GE(collectives, 1);
  ASSERT_EQ(count(p, OperationKind::Other), 1);
  const auto stand = static_cast<model::OperationIndex>(
      std::find(p.kind.begin(), p.kind.end(), OperationKind::Other) - p.kind.begin());
  const auto awaited = p.needs.before(stand).back();
  EXPECT_EQ(p.kind[awaited], OperationKind::Collective);
  EXPECT_EQ(p.comm[awaited], kDataGroup);
  EXPECT_EQ(p.group_of(awaited)->size, 2);
  for (model::OperationIndex i = awaited + 1; i < p.size(); ++i)
    EXPECT_NE(p.kind[i], OperationKind::Collective) << "it is the last one";
  // Collectives are beside: nothing but the next one and who stands still waits for them.
  for (model::OperationIndex i = 0; i < p.size(); ++i)
    for (const model::OperationIndex b : p.needs.before(i))
      if (p.kind[b] == OperationKind::Collective) {
        EXPECT_TRUE(p.kind[i] == OperationKind::Collective || i == stand);
      }
}

}  // namespace
}  // namespace cox::simulate::training
