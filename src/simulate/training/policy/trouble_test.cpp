// SPDX-License-Identifier: Apache-2.0
// Noise and losses of messages between workers and servers, and of those among workers that are in time, by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cox/simulate/training.hpp"

#include "simulate/training/policy/server_ports.hpp"
#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::EngineKind;
using model::PolicyKind;

/// Workers of 3 ms, 8 MB of gradients, 1 GB/s and 1 ms: a message to one server takes 9 ms.
model::Scenario job(int workers, int servers, EngineKind engine) {
  model::Scenario s = data_parallel(workers, 1);
  s.policy = {.kind = PolicyKind::Asynchronous, .servers = servers};
  work_of(s).optimizer = {};
  s.cluster.nic = {.latency = Seconds{0.5e-3}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.link = s.cluster.nic;
  s.across = {.latency = Seconds{1e-3}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  s.engine = engine;
  return s;
}

double total_ms(const model::Scenario& s) {
  const auto out = simulate_policy(s, s.seed);
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? out->total.count() * 1e3 : 0;
}

model::NoiseSource on(model::NoiseTarget target, double ratio) {
  model::NoiseSource n = slow_rank(0, ratio);
  n.target = target;
  n.ranks = {};
  return n;
}

constexpr EngineKind kWays[] = {EngineKind::Event, EngineKind::Flow};

// One worker on the first node of two (its server beside it by ports crosses the card all the same).
TEST(PolicyTrouble, AMessageTakesLongerByWhatIsAdded) {
  model::Scenario s = job(1, 1, EngineKind::Event);
  EXPECT_NEAR(total_ms(s), 3 + 9, 1e-9);
  s.noise = {on(model::NoiseTarget::Message, 0.5)};
  EXPECT_NEAR(total_ms(s), 3 + 9 * 1.5, 1e-9);
  s.noise = {on(model::NoiseTarget::Bandwidth, 0.5)};
  EXPECT_NEAR(total_ms(s), 3 + 1 + 8 * 1.5, 1e-9) << "no more latency";
  s.job.steps = 2;  // and what it reads, as much again
  EXPECT_NEAR(total_ms(s), 2 * (3 + 13) + 13, 1e-9);
}

// All wait as long before their bytes share the server's card: two of the three are at home.
TEST(PolicyTrouble, OnLinksTheDelayPassesBeforeTheFirstByte) {
  model::Scenario s = job(2, 1, EngineKind::Flow);
  EXPECT_NEAR(total_ms(s), 3 + 9, 1e-9);
  s.noise = {on(model::NoiseTarget::Message, 0.5)};
  EXPECT_NEAR(total_ms(s), 3 + 9 * 1.5, 1e-9);
  s.noise = {on(model::NoiseTarget::Bandwidth, 0.5)};
  EXPECT_NEAR(total_ms(s), 3 + 1 + 8 * 1.5, 1e-9);
}

// Four workers at one port, 1 + 8 ms each in turn: one that comes later by half a message alone is last, or hidden.
TEST(PolicyTrouble, WhoIsLateIsServedLater) {
  model::Scenario s = job(4, 1, EngineKind::Event);
  EXPECT_NEAR(total_ms(s), 3 + 4 * 8 + 1, 1e-9);
  // Of rank 0, where the server is: it receives all gradients, so that all come 4.5 ms later.
  s.noise = {on(model::NoiseTarget::Message, 0.5)};
  s.noise[0].ranks = {0};
  EXPECT_NEAR(total_ms(s), 3 + 4.5 + 4 * 8 + 1, 1e-9);
  // Of another one, which receives parameters alone: nothing in one step.
  s.noise[0].ranks = {3};
  EXPECT_NEAR(total_ms(s), 3 + 4 * 8 + 1, 1e-9);
}

TEST(PolicyTrouble, NoStrengthIsAsUndisturbed) {
  for (const PolicyKind kind : {PolicyKind::Asynchronous, PolicyKind::BoundedWait, PolicyKind::Backup})
    for (const EngineKind engine : kWays) {
      if (kind == PolicyKind::Backup && engine == EngineKind::Flow) continue;
      model::Scenario s = job(5, 2, engine);
      s.policy.kind = kind;
      s.policy.backups = kind == PolicyKind::Backup ? 1 : 0;
      s.job.steps = 12;
      s.noise = {jitter(0.3)};
      const double before = total_ms(s);
      s.noise.push_back(on(model::NoiseTarget::Message, 1e-15));
      s.noise.push_back(on(model::NoiseTarget::Bandwidth, 1e-15));
      EXPECT_NEAR(total_ms(s), before, 1e-12 * before);
      s.fabric.timeouts = {.wait = Seconds{1}, .loss = 1e-12};
      EXPECT_NEAR(total_ms(s), before, 1e-12 * before);
    }
}

// Over 20 seeds the mean of stronger noise, and of more frequent losses, is not shorter.
TEST(PolicyTrouble, MoreIsNotShorterInTheMean) {
  for (const PolicyKind kind : {PolicyKind::Asynchronous, PolicyKind::BoundedWait, PolicyKind::Backup})
    for (const EngineKind engine : kWays) {
      if (kind == PolicyKind::Backup && engine == EngineKind::Flow) continue;
      double before[2] = {};
      for (const double strength : {0.0, 0.2, 0.8}) {
        double sum[2] = {};
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
          model::Scenario s = job(4, 2, engine);
          s.policy.kind = kind;
          s.policy.backups = kind == PolicyKind::Backup ? 1 : 0;
          s.job.steps = 6;
          s.seed = seed;
          s.noise = {on(model::NoiseTarget::Message, strength)};
          s.noise[0].law = model::NoiseLaw::Exponential;
          s.noise[0].pattern = model::NoisePattern::EveryStep;
          if (strength == 0) s.noise = {};
          sum[0] += total_ms(s);
          s.noise = {};
          s.fabric.timeouts = {.wait = Seconds{20e-3}, .loss = strength / 4};
          sum[1] += total_ms(s);
        }
        for (const int i : {0, 1}) {
          EXPECT_GE(sum[i], before[i]) << strength;
          EXPECT_TRUE(strength == 0 || sum[i] > before[i]) << strength;
          before[i] = sum[i];
        }
      }
    }
}

// Every message is lost once or more: with a part p of all, k times in a row with p^k, and 2^k - 1 timers each time.
TEST(PolicyTrouble, ALostMessageComesATimerLater) {
  for (const EngineKind engine : kWays) {
    model::Scenario s = job(2, 1, engine);
    const double before = total_ms(s);
    s.fabric.timeouts = {.wait = Seconds{0.5}, .loss = 0.4};
    int lost = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      s.seed = seed;
      const double late = (total_ms(s) - before) / 500;
      // The one message that crosses is late by 0, 1, 3, 7 ... timers; what comes late shares nothing, at a port 8 ms less.
      const double timers = std::round(late);
      const double exponent = std::log2(timers + 1);
      EXPECT_NEAR(exponent, std::round(exponent), 1e-9) << late;
      EXPECT_LE(std::abs(late - timers) * 500, 8.0 + 1e-6);
      lost += timers > 0 ? 1 : 0;
    }
    EXPECT_NEAR(lost, 80, 3 * std::sqrt(200 * 0.4 * 0.6));
  }
}

// Two that send at once, the first of which saves latency: the port begins when they send, and the second is served behind it.
TEST(PolicyTrouble, WhatIsSoonerIsNotServedBeforeItIsSent) {
  model::Scenario s = job(3, 1, EngineKind::Event);
  s.noise = {jitter(0.5)};
  s.noise[0].target = model::NoiseTarget::Message;
  const auto plan = training::Plan::make(s);
  ASSERT_TRUE(plan);
  const training::ServerMessages messages(*plan);
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto noise = Noise::make(s.noise, plan->placement(), seed);
    ASSERT_TRUE(noise);
    const training::MessageTrouble trouble{.noise = &*noise};
    const auto late_ms = [&](int w) {
      return trouble.delay(*plan, 0, messages.number(w, 0, true), w, 0, messages.part(0, true)).count() * 1e3;
    };
    if (late_ms(0) > -0.1 || late_ms(1) < 0.1 || late_ms(1) > 7) continue;
    ++seen;
    training::ServerPorts ports(*plan, trouble);
    for (const int w : {0, 1}) ports.send(w, true, Seconds{10e-3}, 0);
    const auto first = ports.next(Seconds{1}), second = ports.next(Seconds{1});
    ASSERT_TRUE(first && second);
    EXPECT_NEAR(first->at.count() * 1e3, 10 + 8 + 1 + late_ms(0), 1e-9);
    EXPECT_NEAR(second->at.count() * 1e3, 10 + 2 * 8 + 1, 1e-9);
  }
  EXPECT_GT(seen, 5);
}

// One draw a message, however many devices there are: by links the same ones are lost as by ports.
TEST(PolicyTrouble, WhetherAMessageIsLostIsADrawOfItsOwn) {
  model::Scenario s = job(2, 1, EngineKind::Event);
  s.fabric.timeouts = {.wait = Seconds{0.5}, .loss = 0.4};
  const auto plan = training::Plan::make(s);
  ASSERT_TRUE(plan);
  const TimeoutDraws law(s.fabric.timeouts, 7);
  const training::MessageTrouble trouble{.timeouts = &law};
  int lost = 0;
  for (std::int64_t number = 0; number < 1000; ++number) {
    const auto drawn = law.lost({.step = 3, .number = number, .ordinal = 1}, 1);
    EXPECT_EQ(trouble.delay(*plan, 3, number, 0, 1, Bytes{8}), drawn.empty() ? Seconds{} : drawn[0].late);
    lost += drawn.empty() ? 0 : 1;
  }
  EXPECT_NEAR(lost, 400, 3 * std::sqrt(1000 * 0.4 * 0.6));
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    double timers[2] = {};
    for (const int way : {0, 1}) {
      s = job(2, 1, kWays[way]);
      const double before = total_ms(s);
      s.seed = seed;
      s.fabric.timeouts = {.wait = Seconds{0.5}, .loss = 0.4};
      timers[way] = std::round((total_ms(s) - before) / 500);
    }
    EXPECT_EQ(timers[0], timers[1]) << seed;
  }
}

// Eight workers push at once to a server whose port has room for two: those that find none try again after 50 ms, ever
// doubled. On one switch: 8 ms a message, alone.
TEST(PolicyTrouble, IncastToAServerFillsItsPort) {
  model::Scenario s = job(4, 1, EngineKind::Auto);
  s.fabric.timeouts = {.wait = Seconds{50e-3}, .flows = 3};
  // Three cross, and there is room: 1 ms, then 24 ms for three that share the card.
  EXPECT_NEAR(total_ms(s), 3 + 1 + 24, 1e-9);
  s.fabric.timeouts.flows = 2;  // the third comes 50 ms later and has the card alone
  EXPECT_NEAR(total_ms(s), 3 + 1 + 50 + 8, 1e-9);
  s.fabric.timeouts.flows = 1;  // two are lost; at 50 ms one of them again, which comes at 50 + 100
  EXPECT_NEAR(total_ms(s), 3 + 1 + 150 + 8, 1e-9);
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->engine, EngineKind::Flow);
}

// One of two workers pushes 8 MB over links of 1 GB/s to the other's node, 1 ms and 8 ms from 3 ms on. A neighbour's burst of 3 MB
// from node 1 to node 0 begins at 4 ms, 1 ms of latency: from 5 ms on both have half, and the burst is over at 11 ms. The
// message is 3 ms late.
TEST(PolicyTrouble, ANeighbourSharesLinksWithServers) {
  model::Scenario s = job(2, 1, EngineKind::Auto);
  s.neighbours = {{.name = "n",
                   .nodes = {1, 0},
                   .start = Seconds{4e-3},
                   .bytes = Bytes{3'000'000},
                   .period = Seconds{10}}};
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_EQ(out->engine, EngineKind::Flow);
  EXPECT_NEAR(out->total.count() * 1e3, 3 + 9 + 3, 1e-9);
  ASSERT_EQ(out->neighbours.size(), 1U);
  EXPECT_EQ(out->neighbours[0].done, 1);
  EXPECT_NEAR(out->neighbours[0].mean.count() * 1e3, 7, 1e-9);
  EXPECT_NEAR(out->neighbours[0].alone.count() * 1e3, 4, 1e-9);
}

// One that goes on for ever, of each kind, ends with the job; one that sends next to nothing changes nothing; bursts of more bytes
// do not make it shorter.
TEST(PolicyTrouble, NeighboursOfServersEndWithTheJob) {
  for (const PolicyKind kind :
       {PolicyKind::Asynchronous, PolicyKind::BoundedWait, PolicyKind::BoundedDiscard})
    for (const auto of :
         {model::NeighbourKind::Flows, model::NeighbourKind::Collective, model::NeighbourKind::Training}) {
      model::Scenario s = job(4, 2, EngineKind::Flow);
      s.policy.kind = kind;
      s.policy.staleness = 1;
      s.job.steps = 5;
      s.noise = {jitter(0.1)};
      const double alone = total_ms(s);
      double before = alone;
      for (const std::int64_t bytes : {2, 2'000'000, 20'000'000}) {
        const bool flows = of == model::NeighbourKind::Flows;
        model::Neighbour n{.name = "n", .kind = of, .nodes = {0, 3}, .bytes = Bytes{bytes}};
        n.compute = Seconds{flows ? 0 : 5e-3};
        n.period = Seconds{flows ? 5e-3 : 0};
        n.bucket = Bytes{bytes};
        s.neighbours = {n};
        const double now = total_ms(s);
        EXPECT_GE(now, (flows ? before : alone) * (1 - 1e-4))
            << bytes;  // jobs of larger steps send less often
        EXPECT_TRUE(bytes > 2 || std::abs(now - alone) < 1e-4 * alone) << now;
        before = now;
      }
      EXPECT_GT(before, alone);
    }
}

// Three of four sum 8 MB by a ring: 4 rounds of 8/3 MB and 1 ms; half as long again where all messages are.
TEST(PolicyTrouble, BackupsSumByMessagesThatAreDisturbed) {
  model::Scenario s = job(4, 1, EngineKind::Event);
  s.policy = {.kind = PolicyKind::Backup, .backups = 1};
  EXPECT_NEAR(total_ms(s), 3 + 4 * (1 + 8.0 / 3), 1e-5);
  s.noise = {on(model::NoiseTarget::Message, 0.5)};
  EXPECT_NEAR(total_ms(s), 3 + 4 * (1 + 8.0 / 3) * 1.5, 1e-5);
  s.noise = {on(model::NoiseTarget::Bandwidth, 0.5)};
  EXPECT_NEAR(total_ms(s), 3 + 4 * (1 + 8.0 / 3 * 1.5), 1e-5);
  // Only of one who is not in time: the fourth, slower, is told its parameters late, and nobody waits for it.
  s.noise = {on(model::NoiseTarget::Message, 0.5), slow_rank(3, 1)};
  s.noise[0].ranks = {3};
  EXPECT_NEAR(total_ms(s), 3 + 4 * (1 + 8.0 / 3), 1e-5);
}

}  // namespace
}  // namespace cox::simulate
