// SPDX-License-Identifier: Apache-2.0
// Ranks' time, and energy, under policies without common steps.
#include "simulate/training/policy/worker_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::PolicyKind;

Outcome ran(const model::Scenario& s) {
  auto out = simulate_training(s, {.threads = 1});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? *std::move(out) : Outcome{};
}

// Whatever the policy, what ranks do adds up to the job's time; and so does their energy.
TEST(WorkerTimes, AddUpUnderEveryPolicy) {
  for (const PolicyKind kind :
       {PolicyKind::BoundedWait, PolicyKind::BoundedDiscard, PolicyKind::Asynchronous, PolicyKind::Backup})
    for (model::Scenario s : assorted()) {
      if (work_of(s).zero_stage > 0 || work_of(s).layout.data < 3) continue;
      s.policy = {.kind = kind, .staleness = 1, .backups = kind == PolicyKind::Backup ? 1 : 0, .servers = 2};
      s.job.steps = 9;
      s.replicas = 2;
      s.noise.push_back(slow_rank(0, 0.7));
      s.power = {.busy = Power::watts(100),
                 .transfer = Power::watts(100),
                 .wait = Power::watts(100),
                 .idle = Power::watts(100)};
      const Outcome out = ran(s);
      const double total = out.over_replicas.mean.count();
      ASSERT_FALSE(out.groups.empty()) << s.name;
      for (const GroupTime& g : out.groups) {
        EXPECT_NEAR((g.busy + g.exposed + g.waiting).count(), total / s.job.steps, 1e-9) << s.name << g.name;
        EXPECT_GE(std::min({g.busy, g.exposed, g.waiting}).count(), -1e-12) << s.name << g.name;
      }
      ASSERT_TRUE(out.energy);
      EXPECT_NEAR(out.energy->total().in_joules(), 100 * total * s.cluster.nodes, 1e-6) << s.name;
    }
}

// Two workers of one device and one server, 3 ms of computing a step with 0.4 ms of optimizer, gradients of 8 MB at
// 1 GB/s: the port takes 8 ms, so that two that come together are through after 8 and 16 ms, and read as long. One step:
// the first waits from 11.4 ms on for the second at 19.4 ms, as the job's end.
TEST(WorkerTimes, TwoWorkersByHand) {
  model::Scenario s = data_parallel(2, 1);
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  s.policy.kind = PolicyKind::Asynchronous;
  const Outcome out = ran(s);
  EXPECT_NEAR(out.total.count(), 19.4e-3, 1e-12);
  ASSERT_EQ(out.groups.size(), 1U);
  EXPECT_NEAR(out.groups[0].busy.count(), 3.4e-3, 1e-12);
  EXPECT_NEAR(out.groups[0].exposed.count(), (8e-3 + 16e-3) / 2, 1e-12);
  EXPECT_NEAR(out.groups[0].waiting.count(), 8e-3 / 2, 1e-12);
}

// Three workers, one of them four times as slow and not waited for: two steps of 3.4 ms end at 6.8 ms, and of its step
// of 13.6 ms half is left out. Nothing is sent.
TEST(WorkerTimes, TheEndCutsOffWhoIsNotWaitedFor) {
  model::Scenario s = data_parallel(3, 1);
  work_of(s).layers[0].gradients = Bytes{};
  s.across = {};
  s.job.steps = 2;
  s.noise = {slow_rank(2, 3)};
  s.policy = {.kind = PolicyKind::Backup, .backups = 1};
  const Outcome out = ran(s);
  EXPECT_NEAR(out.total.count(), 6.8e-3, 1e-12);
  EXPECT_NEAR(out.groups[0].busy.count(), 3.4e-3, 1e-12);
  EXPECT_NEAR(out.groups[0].waiting.count(), 0, 1e-12);
}

// By hand: nodes of a class draw 300 W computing and 30 W waiting, the other 100 W and 50 W; the class is twice as fast,
// 1.7 ms of 3.4 ms. It costs 4 an hour, the other 1.
TEST(WorkerTimes, ClassesDrawAndCostAsTheySay) {
  model::Scenario s = data_parallel(2, 1);
  work_of(s).layers[0].gradients = Bytes{1};
  s.across = {};
  s.power = {.busy = Power::watts(100),
             .transfer = Power::watts(50),
             .wait = Power::watts(50),
             .idle = Power::watts(20),
             .pue = 1.5};
  s.node_price.node_hour = 1;
  s.failures.spares = 1;
  s.cluster.classes = {{.name = "new",
                        .first = 1,
                        .count = 1,
                        .speed = 2,
                        .busy = Power::watts(300),
                        .wait = Power::watts(30),
                        .node_hour = 4}};
  const Outcome out = ran(s);
  ASSERT_TRUE(out.energy);
  EXPECT_NEAR(out.energy->busy.in_joules(), 100 * 3.4e-3 + 300 * 1.7e-3, 1e-9);
  EXPECT_NEAR(out.energy->wait.in_joules(), 30 * 1.7e-3, 1e-9);
  EXPECT_NEAR(out.energy->idle.in_joules(), 20 * 3.4e-3, 1e-9) << "the spare is of no class";
  EXPECT_NEAR(out.energy->total().in_joules(), 1.5 * (0.34 + 0.51 + 0.051 + 0.068), 1e-9);
  EXPECT_NEAR(out.energy->ideal.in_joules(), 1.5 * (0.34 + 0.51), 1e-9);
  EXPECT_NEAR(*out.cost, (1 + 4 + 1) * 3.4e-3 / 3600, 1e-15);
  EXPECT_NEAR(*out.ideal_cost, (1 * 3.4e-3 + 4 * 1.7e-3) / 3600, 1e-15);
}

// Ranks that share layers have one account.
TEST(WorkerTimes, PowerByClassNeedsUnitsOnNodesOfOne) {
  model::Scenario s = data_parallel(1, 1);
  s.cluster = cluster(2, 1);
  work_of(s).layout = {.data = 1, .tensor = 1, .pipeline = 1, .expert = 1, .context = 2};
  s.power.busy = s.power.wait = s.power.transfer = s.power.idle = Power::watts(100);
  s.cluster.classes = {{.name = "new", .first = 1, .count = 1, .busy = Power::watts(300)}};
  const auto out = simulate_training(s, {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().id, "simulate-003");
}

}  // namespace
}  // namespace cox::simulate
