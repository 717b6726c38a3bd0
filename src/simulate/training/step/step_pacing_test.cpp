// SPDX-License-Identifier: Apache-2.0
// Pacing of training steps, against what docs/concepts/pacing-simulated.md calculates by hand.
#include "simulate/training/step/step_pacing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;

/// Two replicas on one node whose input shares a core, 10 ms each; one computes 20 ms, the other 30 ms.
model::Scenario two_on_a_core() {
  model::Scenario s = data_parallel(2, 1);
  s.cluster = cluster(1, 2);
  s.job.steps = 40;
  work_of(s).layers[0] = {.forward = Seconds{8e-3}, .backward = Seconds{12e-3}, .gradients = Bytes{1000}};
  work_of(s).optimizer = {};
  work_of(s).input = {.cores = 1, .prepare = Seconds{10e-3}};
  s.inside = {};
  s.noise = {slow_rank(1, 0.5)};
  return s;
}

Seconds last_step(const Outcome& o) {
  return o.step_ends.back() - o.step_ends[o.step_ends.size() - 2];
}

Outcome outcome_of(const model::Scenario& s) {
  auto out = simulate_training(s, {.threads = 1});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? *std::move(out) : Outcome{};
}

// Unpaced, both inputs are ready after 20 ms and the late rank ends at 50 ms; its neighbour waits 10 ms. Held back by
// half of that, 5 ms, it leaves the core to the late one, which ends at 45 ms; itself it ends at 40 ms.
TEST(StepPacing, AnEarlyRankLeavesTheCoreToALateOne) {
  model::Scenario s = two_on_a_core();
  EXPECT_NEAR(last_step(outcome_of(s)).count(), 50e-3, 1e-12);
  work_of(s).pace = {{"mode", "always"}, {"window", "8"}, {"deviations", "0"}};
  const Outcome paced = outcome_of(s);
  EXPECT_NEAR(last_step(paced).count(), 45e-3, 1e-9);
  ASSERT_TRUE(paced.paced);
  const PacedJobOutcome& p = *paced.paced;
  EXPECT_EQ(p.mode, pace::Mode::Always);
  EXPECT_EQ(p.with.total, paced.total);
  EXPECT_NEAR(p.without.mean.count(), 50e-3, 1e-12);
  EXPECT_NEAR(p.without.ranks[0].wait.count(), 10e-3, 1e-12);
  EXPECT_EQ(p.without.ranks[1].wait, Seconds{});
  EXPECT_EQ(p.with.ranks[1].delay, Seconds{}) << "the late one is never held";
  EXPECT_NEAR(p.with.ranks[0].delay.count(), 5e-3 * static_cast<double>(p.with.paced_steps) / 40, 1e-12);
  EXPECT_GT(p.with.paced_steps, 25);
  EXPECT_GT(p.gain(), 0.06);
  ASSERT_EQ(paced.groups.size(), 1U);
  const GroupTime& g = paced.groups[0];
  EXPECT_NEAR((g.busy + g.exposed + g.waiting).count(), paced.total.count() / 40, 1e-12)
      << "what is held back waits";
}

// The controller of live jobs finds out on its own that it pays.
TEST(StepPacing, AutoHoldsWhereItPays) {
  model::Scenario s = two_on_a_core();
  s.job.steps = 1500;
  s.noise.push_back(jitter(0.01));
  work_of(s).pace = {{"mode", "auto"}, {"window", "16"}, {"warm_up", "8"}};
  const Outcome out = outcome_of(s);
  ASSERT_TRUE(out.paced);
  EXPECT_GT(out.paced->gain(), 0.05);
  EXPECT_EQ(out.paced->with.ranks[0].last.state, pace::State::Hold);
  EXPECT_FALSE(out.paced->changes.empty());
}

// Where ranks share nothing a step is max-plus: a delay makes none end earlier, and one within the slack none later.
TEST(StepPacing, WithoutAnythingSharedNothingIsGained) {
  for (model::Scenario s : assorted()) {
    if (work_of(s).layout.data < 2) continue;
    s.job.steps = 24;
    s.noise.push_back(slow_rank(0, 0.3));
    const Outcome without = outcome_of(s);
    EXPECT_FALSE(without.paced);
    work_of(s).pace = {{"mode", "off"}};
    EXPECT_EQ(outcome_of(s).step_ends, without.step_ends) << s.name;
    work_of(s).pace = {{"mode", "observe"}};
    EXPECT_EQ(outcome_of(s).step_ends, without.step_ends) << s.name;
    work_of(s).pace = {{"mode", "always"}, {"window", "8"}, {"deviations", "0"}};
    const Outcome paced = outcome_of(s);
    ASSERT_TRUE(paced.paced) << s.name;
    EXPECT_EQ(paced.paced->without.total, without.total) << s.name;
    EXPECT_EQ(paced.paced->with.ranks.size(), static_cast<std::size_t>(s.cluster.ranks())) << s.name;
    if (work_of(s).overlap_slowdown > 0) continue;  // computation beside communication is no maximum
    for (std::size_t k = 0; k < paced.step_ends.size(); ++k)
      EXPECT_GE(paced.step_ends[k].count(), without.step_ends[k].count() - 1e-12) << s.name << k;
  }
}

// Half of the slack of a rank that is always early costs nothing where nothing is shared.
TEST(StepPacing, ADelayWithinTheSlackCostsNothing) {
  model::Scenario s = two_on_a_core();
  work_of(s).input = {};
  const Outcome without = outcome_of(s);
  work_of(s).pace = {{"mode", "always"}, {"window", "8"}, {"deviations", "0"}};
  const Outcome paced = outcome_of(s);
  EXPECT_GT(paced.paced->with.ranks[0].delay, Seconds{1e-3});
  EXPECT_NEAR(paced.total.count(), without.total.count(), 1e-12);
}

// Between averages nobody waits: a round of local steps is one iteration, and is held back once.
TEST(StepPacing, LocalStepsAreHeldOnceARound) {
  model::Scenario s = two_on_a_core();
  s.policy = {.kind = model::PolicyKind::LocalSgd, .local_steps = 4};
  work_of(s).input = {};
  work_of(s).pace = {{"mode", "always"}, {"window", "2"}, {"deviations", "0"}, {"warm_up", "2"}};
  s.job.steps = 80;
  const Outcome out = outcome_of(s);
  ASSERT_TRUE(out.paced);
  EXPECT_GT(out.paced->with.paced_steps, 0);
  EXPECT_LE(out.paced->with.paced_steps, 80 / 4);
}

// The same for any number of threads, and for what is played again or not.
TEST(StepPacing, IsDeterministic) {
  model::Scenario s = two_on_a_core();
  s.noise.push_back(jitter(0.05));
  s.replicas = 3;
  work_of(s).pace = {{"mode", "auto"}, {"window", "8"}, {"warm_up", "8"}};
  const auto one = simulate_training(s, {.threads = 1});
  const auto two = simulate_training(s, {.threads = 4, .memo = false});
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->step_ends, two->step_ends);
  EXPECT_EQ(one->over_replicas.mean, two->over_replicas.mean);
}

// A Run has the decisions, and the delay lies before the step's first work.
TEST(StepPacing, IsRecorded) {
  model::Scenario s = two_on_a_core();
  work_of(s).pace = {{"mode", "always"}, {"window", "8"}, {"deviations", "0"}};
  const auto out = simulate_training(s, {.threads = 1, .want_run = true});
  ASSERT_TRUE(out && out->run);
  const trace::EventColumns& e = out->run->ranks[0].events;
  std::int64_t served = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] != trace::EventKind::Pace || e.end[i] == e.begin[i]) continue;
    ++served;
    EXPECT_NEAR(Seconds(e.end[i] - e.begin[i]).count(), 5e-3, 1e-9);
  }
  EXPECT_EQ(served, out->paced->with.paced_steps);
}

// A step that is taken apart is the one that was played.
TEST(StepPacing, StepsAreTakenApartAsTheyWere) {
  model::Scenario s = two_on_a_core();
  work_of(s).pace = {{"mode", "always"}, {"window", "8"}, {"deviations", "0"}};
  const auto step = analyse_step(s, 39);
  ASSERT_TRUE(step);
  EXPECT_NEAR(step->step.count(), 45e-3, 1e-9);
}

}  // namespace
}  // namespace cox::simulate
