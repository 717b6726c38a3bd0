// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::PolicyKind;
using Kind = sync::StreamEvent::Kind;

model::Scenario job(const model::PolicySpec& policy) {
  model::Scenario s = data_parallel(8, 2);
  s.policy = policy;
  s.job.steps = 60;
  model::NoiseSource noise;
  noise.law = model::NoiseLaw::Lognormal;
  noise.cv = 0.3;
  s.noise.push_back(noise);
  return s;
}

const model::PolicySpec kPolicies[] = {{},
                                       {.kind = PolicyKind::LocalSgd, .local_steps = 4},
                                       {.kind = PolicyKind::BoundedWait, .staleness = 2},
                                       {.kind = PolicyKind::BoundedDiscard, .staleness = 6},
                                       {.kind = PolicyKind::Asynchronous},
                                       {.kind = PolicyKind::Backup, .backups = 2}};

TEST(UpdateStream, EveryPolicyKeepsTheLedgerAndTimeDoesNotGoBack) {
  for (const auto& policy : kPolicies) {
    const model::Scenario s = job(policy);
    ASSERT_EQ(update_workers(s).value(), 8);
    sync::Ledger ledger(8);
    Seconds last{};
    std::int64_t steps = 0;
    const auto done = stream_updates(s, 3, [&](const sync::StreamEvent& e, Seconds at) {
      EXPECT_TRUE(ledger.take(e)) << ledger.error();
      EXPECT_GE(at, last);
      last = at;
      if (e.kind == Kind::Delivered) steps += e.update.steps;
      return true;
    });
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_GE(steps, policy.kind == PolicyKind::Backup ? 6 * 60 : 8 * 60) << model::name_of(policy.kind);
    EXPECT_EQ(ledger.ages(), ledger.aged());
  }
}

TEST(UpdateStream, TimesAreThoseOfTheSimulation) {
  for (const auto& policy : kPolicies) {
    const model::Scenario s = job(policy);
    std::vector<Seconds> versions, delivered;
    ASSERT_TRUE(stream_updates(s, s.seed, [&](const sync::StreamEvent& e, Seconds at) {
      if (e.kind == Kind::Advanced) versions.push_back(at);
      if (e.kind == Kind::Delivered) delivered.push_back(at);
      return true;
    }));
    if (policy.in_step()) {
      const auto out = simulate_training(s, {});
      ASSERT_TRUE(out);
      const auto every = static_cast<std::size_t>(policy.local_steps);
      ASSERT_EQ(versions.size(), out->step_ends.size() / every);
      for (std::size_t v = 0; v < versions.size(); ++v)
        EXPECT_EQ(versions[v], out->step_ends[(v + 1) * every - 1]);
    } else {
      const auto out = simulate_policy(s, s.seed);
      ASSERT_TRUE(out);
      std::vector<Seconds> at = out->at;
      for (std::size_t i = 1; i < at.size(); ++i) at[i] = std::max(at[i], at[i - 1]);
      EXPECT_EQ(delivered, at);
    }
  }
}

TEST(UpdateStream, EndsWhereTheSinkSaysSo) {
  for (const auto& policy : kPolicies) {
    int taken = 0;
    ASSERT_TRUE(
        stream_updates(job(policy), 1, [&](const sync::StreamEvent&, Seconds) { return ++taken < 50; }));
    EXPECT_EQ(taken, 50) << model::name_of(policy.kind);
  }
}

}  // namespace
}  // namespace cox::simulate
