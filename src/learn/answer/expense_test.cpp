// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/expense.hpp"

#include <gtest/gtest.h>

#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

/// A way that all of two seeds followed to the target within `time`.
WayResult reached(const char* way, Seconds time) {
  WayResult w;
  w.way = *read_way(way);
  w.attempts.resize(2);
  for (Attempt& a : w.attempts) a.reached = true;
  w.time = time;
  w.samples = 1000;
  return w;
}

/// Four nodes that compute for 30 ms and meet for next to nothing.
struct Setting {
  model::Scenario scenario = testing::job(4, Bandwidth::gbyte_per_s(1e6));
  WaysQuestion question{.share = {.leaves = 2}, .ways = {}};
  Setting() {
    scenario.node_price = {.node_hour = 3, .currency = "EUR"};
    scenario.power.busy = Power::watts(1000);
    scenario.power.wait = Power::watts(400);
    scenario.power.transfer = Power::watts(400);
    scenario.job.as<model::TrainingJob>().flops = Flops{1e12};
    scenario.job.as<model::TrainingJob>().micro_batches = 3;
  }
  [[nodiscard]] std::optional<Expense> of(const WayResult& w) const {
    return expense_of({.scenario = scenario, .question = question, .workers = 4}, w);
  }
};

TEST(Expense, IsTheClustersForTheTimeToTheTarget) {
  Setting s;
  const auto e = s.of(reached("synchronous", Seconds{1800}));
  ASSERT_TRUE(e);
  EXPECT_NEAR(*e->node_hours, 4 * 0.5, 1e-9);
  EXPECT_NEAR(*e->cost, 6, 1e-9);
  // All but the messages computes.
  EXPECT_NEAR(e->energy->in_joules(), 4 * 1000.0 * 1800, 0.02 * 4 * 1000 * 1800);
  EXPECT_LT(e->energy->in_joules(), 4 * 1000.0 * 1800);
  EXPECT_EQ(e->flops->count(), 1e12 * 3 * 1000 / static_cast<double>(s.question.share.batch()));
}

TEST(Expense, WaitingCostsLessPowerAndAsMuchMoney) {
  Setting slow;
  slow.scenario.across.per_byte = Bandwidth::gbit_per_s(1).time_per_byte();
  const auto waits = slow.of(reached("synchronous", Seconds{1800}));
  const auto seldom = slow.of(reached("local-sgd,local-steps=8", Seconds{1800}));
  ASSERT_TRUE(waits && seldom);
  EXPECT_LT(waits->energy->in_joules(), 0.6 * 4 * 1000 * 1800) << "mostly messages";
  EXPECT_GT(*seldom->energy, *waits->energy);
  EXPECT_NEAR(*seldom->cost, *waits->cost, 1e-9);
}

TEST(Expense, NothingIsSaidOfWhatIsNotKnown) {
  Setting s;
  s.scenario.power = {};
  s.scenario.node_price = {};
  s.scenario.job.as<model::TrainingJob>().flops = {};
  const auto e = s.of(reached("asynchronous", Seconds{36}));
  ASSERT_TRUE(e);
  EXPECT_NEAR(*e->node_hours, 4 * 0.01, 1e-9);
  EXPECT_FALSE(e->energy || e->cost || e->flops);
  EXPECT_FALSE(s.of(reached("post-local,synchronous-steps=5,local-steps=4", Seconds{36})));
  WayResult missed = reached("synchronous", Seconds{36});
  missed.attempts[0].reached = false;
  EXPECT_FALSE(s.of(missed));
}

}  // namespace
}  // namespace cox::learn
