// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/of_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

/// Rank 0 serves the others, first come, first served: each brings so many gradients and waits for what it gets back.
struct Served {
  int ranks = 4;
  int turns = 60;
  std::function<Duration(int rank, int turn)> work = [](int r, int turn) {
    return Duration{1ms} + Duration{(r * 7 + turn * 3) % 11 * 10'000'000};  // 10 us apart
  };
  Duration serving = 50us;
  Duration transfer = 10us;
};

struct Side {
  std::uint32_t sent = 0, received = 0;
  Duration sent_at{};
};

void add_wait(trace::EventColumns& e, Duration begin, Duration end, int peer, Side& with,
              std::uint32_t thread = 0) {
  const auto before = with.sent == 0 ? 0 : (begin - with.sent_at).count() / 1000;
  const trace::MessageNumbers numbers{++with.received, with.sent, static_cast<std::uint32_t>(before)};
  e.push_back({.kind = trace::EventKind::Wait,
               .op = static_cast<std::uint8_t>(trace::WaitKind::Peer),
               .flags = trace::kNumbered,
               .begin = begin,
               .end = end,
               .bytes = Bytes{static_cast<std::int64_t>(numbers.bytes())},
               .comm = CommId{0},
               .seq = with.received,
               .aux = static_cast<std::uint32_t>(peer),
               .thread = thread});
}

trace::Run make_served(const Served& job) {
  trace::Run run = testing::empty_run(job.ranks);
  run.communicators[0].by_rank = run.communicators[0].ranks;
  const auto n = static_cast<std::size_t>(job.ranks);
  std::vector<Side> of_server(n), of_worker(n);
  std::vector<Duration> waits(n, Duration{5ms});  // since when a worker waits
  std::vector<int> turn(n);
  using Came = std::pair<Duration, int>;
  std::priority_queue<Came, std::vector<Came>, std::greater<>> coming;
  Duration server{5ms};
  const auto answer = [&](int r) {
    const auto at = static_cast<std::size_t>(r);
    server += 1us;
    of_server[at].sent_at = server;
    ++of_server[at].sent;
    const Duration read = std::max(waits[at], server) + job.transfer;
    add_wait(run.ranks[at].events, waits[at], read, 0, of_worker[at]);
    if (turn[at] == job.turns) return;
    const Duration done = read + job.work(r, turn[at]++);
    of_worker[at].sent_at = done;
    ++of_worker[at].sent;
    waits[at] = done + 1us;
    coming.emplace(done, r);
  };
  for (int r = 1; r < job.ranks; ++r) answer(r);
  while (!coming.empty()) {
    const auto [sent, r] = coming.top();
    coming.pop();
    const Duration taken = std::max(server, sent) + job.transfer;
    add_wait(run.ranks[0].events, server, taken, r, of_server[static_cast<std::size_t>(r)]);
    server = taken + job.serving;
    answer(r);
  }
  return run;
}

std::vector<Finding> found(const Served& job) {
  const trace::Run run = make_served(job);
  return findings_of_messages(Matched(run));
}

Served with_slow(int rank, Duration extra) {
  Served job;
  job.work = [rank, extra, usual = job.work](int r, int turn) {
    return usual(r, turn) + (r == rank ? extra : Duration::zero());
  };
  return job;
}

TEST(OfMessages, NobodyWhereAllWorkAlike) {
  EXPECT_TRUE(found({}).empty());
  EXPECT_TRUE(found({.ranks = 9}).empty());
}

TEST(OfMessages, ASlowWorkerIsNamedByItsTurns) {
  for (const int slow : {1, 2, 3}) {
    const auto all = found(with_slow(slow, 2ms));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].rank, Rank{slow});
    const auto& e = std::get<MessageEvidence>(all[0].evidence);
    EXPECT_FALSE(e.is_server);
    EXPECT_NEAR(in_seconds(e.work), 3.05e-3, 2e-5);
    EXPECT_NEAR(in_seconds(e.others), 1.05e-3, 2e-5);
    EXPECT_EQ(e.longer, e.turns);
    EXPECT_EQ(e.turns, 60);
    EXPECT_NEAR(*all[0].gain_at_most, 2.0 / 3.14, 0.03);  // of 3.05 ms and the wait
  }
}

TEST(OfMessages, ATwentiethOfATurnIsNotNamed) {
  EXPECT_TRUE(found(with_slow(2, 100us)).empty());
  EXPECT_FALSE(found(with_slow(2, 400us)).empty());
}

TEST(OfMessages, AServerThatHoldsTheOthersUpIsNamedFirst) {
  const auto all = found({.serving = 2ms});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].rank, Rank{0});
  const auto& e = std::get<MessageEvidence>(all[0].evidence);
  EXPECT_TRUE(e.is_server);
  EXPECT_GT(e.busy_ratio, 0.95);
  // A cycle is three services of 2 ms and some; of it a worker works 1 ms.
  EXPECT_NEAR(e.held_ratio, 1 - 1.05 / 6.05, 0.05);

  Served both = with_slow(2, 20ms);
  both.serving = 2ms;
  EXPECT_EQ(found(both).front().rank, Rank{2}) << "the server waits for nobody in a half of its time no more";
}

/// Work whose speed wanders: an autoregression of the logarithm, the same law for all workers.
Served wandering(double memory, double spread, int turns, std::uint64_t seed) {
  Served job{.ranks = 5, .turns = turns};
  job.work = [=, state = std::map<int, double>{}, noise = RandomStream(seed, 7)](int r, int turn) mutable {
    const double fresh = noise.normal(static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(turn));
    const auto [at, is_first] = state.try_emplace(r, fresh);
    if (!is_first) at->second = memory * at->second + std::sqrt(1 - memory * memory) * fresh;
    return Duration{duration_from_seconds(1e-3 * std::exp(spread * at->second))};
  };
  return job;
}

// Equal workers, of which for a while one is slow and then another: most stretches have one that was slower than the others in it.
TEST(OfMessages, SpeedsThatWanderNameSeldom) {
  for (const double memory : {0.0, 0.9, 0.98}) {
    int named = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed)
      named += found(wandering(memory, 0.3, 100, seed)).empty() ? 0 : 1;
    EXPECT_LE(named, 3) << memory;
  }
}

// Whoever is slow for good among workers that vary is told by as many turns.
TEST(OfMessages, AmongWorkersThatVaryASlowOneIsNamed) {
  int named = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Served job = wandering(0.3, 0.3, 100, seed);
    job.work = [usual = job.work](int r, int turn) mutable { return usual(r, turn) * (r == 3 ? 2 : 1); };
    const auto all = found(job);
    named += all.size() == 1 && all[0].rank == Rank{3} ? 1 : 0;
  }
  EXPECT_GE(named, 18);
}

// Head and body: half of what lies between two messages is no work.
TEST(OfMessages, AMessageInTwoPartsIsOneTurn) {
  trace::Run run = make_served(with_slow(2, 2ms));
  for (std::size_t r = 1; r < run.ranks.size(); ++r) {
    trace::EventColumns parts;
    Side side;
    const trace::EventColumns& e = run.ranks[r].events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      add_wait(parts, e.begin[i], e.end[i] - 2us, 0, side);
      add_wait(parts, e.end[i] - 1us, e.end[i], 0, side);
    }
    run.ranks[r].events = parts;
  }
  const auto all = findings_of_messages(Matched(run));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].rank, Rank{2});
  EXPECT_EQ(std::get<MessageEvidence>(all[0].evidence).turns, 60);
}

TEST(OfMessages, AServerThatLacksACpuIsNotSlow) {
  trace::Run run = make_served({.serving = 2ms});
  ASSERT_FALSE(findings_of_messages(Matched(run)).empty());
  const Duration end = run.ranks[0].events.end.back();
  run.ranks[0].samples = {{.at = Duration{}, .main_wait = Duration{}},
                          {.at = end, .main_wait = end * 7 / 10}};
  EXPECT_TRUE(findings_of_messages(Matched(run)).empty());
  run.ranks[0].samples.back().main_wait = end / 20;
  EXPECT_FALSE(findings_of_messages(Matched(run)).empty());
}

TEST(OfMessages, WaitsOfSeveralThreadsNameNobody) {
  trace::Run run = make_served(with_slow(2, 2ms));
  ASSERT_FALSE(findings_of_messages(Matched(run)).empty());
  trace::EventColumns two;
  Side side;
  const trace::EventColumns& e = run.ranks[3].events;
  for (std::size_t i = 0; i < e.size(); ++i)
    add_wait(two, e.begin[i], e.end[i], 0, side, static_cast<std::uint32_t>(1 + i % 2));
  run.ranks[3].events = two;
  EXPECT_TRUE(findings_of_messages(Matched(run)).empty());
}

TEST(OfMessages, WhatWasOverwrittenIsNotCovered) {
  trace::Run run = make_served(with_slow(2, 2ms));
  EXPECT_EQ(diagnose(run)->coverage.ratio, 1);
  std::size_t records = 0;
  for (const trace::RankTrack& rank : run.ranks) records += rank.events.size();
  run.ranks[1].recycled_records = 3 * records;
  EXPECT_NEAR(diagnose(run)->coverage.ratio, 0.25, 1e-9);
}

TEST(OfMessages, WhatAllWouldSaveIsNotClaimed) {
  Served job;
  job.ranks = 7;
  job.work = [usual = job.work](int r, int turn) { return usual(r, turn) + (r == 2 || r == 3 ? 3ms : 0ms); };
  const auto named = diagnose(make_served(job));
  ASSERT_TRUE(named);
  ASSERT_EQ(named->findings.size(), 2U);
  EXPECT_EQ(named->verdict.find("fixing everything"), std::string::npos) << named->verdict;
}

TEST(OfMessages, TwoRanksOrFewTurnsNameNobody) {
  Served two = with_slow(1, 5ms);
  two.ranks = 2;
  EXPECT_TRUE(found(two).empty());
  Served three = with_slow(1, 5ms);
  three.ranks = 3;
  EXPECT_TRUE(found(three).empty()) << "of two workers neither is the usual one";
  Served few = with_slow(1, 5ms);
  few.turns = 15;
  EXPECT_TRUE(found(few).empty());
}

TEST(OfMessages, ADiagnosisSaysWhoAndWhatItWouldSaveAtMost) {
  const auto named = diagnose(make_served(with_slow(3, 2ms)));
  ASSERT_TRUE(named) << named.error().to_string();
  EXPECT_EQ(named->answer.kind, AnswerKind::Named);
  EXPECT_EQ(named->verdict.find("rank 3 works 3.0"), 0U) << named->verdict;
  EXPECT_NE(named->verdict.find("60 of its 60 turns are longer"), std::string::npos) << named->verdict;
  const auto nobody = diagnose(make_served({}));
  ASSERT_TRUE(nobody) << nobody.error().to_string();
  EXPECT_EQ(nobody->answer.kind, AnswerKind::CannotTell);
  EXPECT_EQ(nobody->answer.reasons.front().reason, AnswerReason::MessagesOnly);
}

/// Stages in a chain: each step has so many micro-batches forth and back, and each waits for its neighbours.
std::vector<Finding> found_in_stages(int stages, const std::function<Duration(int stage)>& work) {
  trace::Run run = testing::empty_run(stages);
  run.communicators[0].by_rank = run.communicators[0].ranks;
  constexpr int kSteps = 40, kMicroBatches = 4;
  for (int s = 0; s < stages; ++s) {
    trace::EventColumns& events = run.ranks[static_cast<std::size_t>(s)].events;
    Duration now{5ms};
    std::vector<Side> with(static_cast<std::size_t>(stages));
    for (int step = 0; step < kSteps; ++step) {
      events.push_back({.kind = trace::EventKind::Step,
                        .begin = now,
                        .end = now,
                        .seq = static_cast<std::uint32_t>(step)});
      for (int b = 0; b < 2 * kMicroBatches; ++b) {
        const bool back = b >= kMicroBatches;
        const int peer = back ? s + 1 : s - 1;
        if (peer >= 0 && peer < stages) {
          add_wait(events, now, now + 1ms, peer, with[static_cast<std::size_t>(peer)]);
          now += 1ms;
        }
        const Duration takes = work(s) / (2 * kMicroBatches) + Duration{(step * 7 + b) % 5 * 1000};
        events.push_back(
            {.kind = trace::EventKind::Phase,
             .op = static_cast<std::uint8_t>(back ? trace::PhaseKind::Backward : trace::PhaseKind::Forward),
             .begin = now,
             .end = now + takes});
        now += takes;
      }
    }
  }
  return findings_of_messages(Matched(run));
}

// The middle one of three is no server, though all others wait for it alone.
TEST(OfMessages, AStageThatWorksLongerIsNamedByItsPhases) {
  for (const int stages : {3, 4}) {
    EXPECT_TRUE(found_in_stages(stages, [](int) { return 8ms; }).empty());
    EXPECT_TRUE(found_in_stages(stages, [](int s) { return s == 1 ? 9ms : 8ms; }).empty());
    for (int slow = 0; slow < stages; ++slow) {
      const auto all = found_in_stages(stages, [slow](int s) { return s == slow ? 24ms : 8ms; });
      ASSERT_EQ(all.size(), 1U) << slow << " of " << stages;
      EXPECT_EQ(all[0].rank, Rank{slow});
      const auto& e = std::get<MessageEvidence>(all[0].evidence);
      EXPECT_TRUE(e.of_phases && !e.is_server);
      EXPECT_NEAR(in_seconds(e.work), 24e-3, 1e-4);
      EXPECT_NEAR(in_seconds(e.others), 8e-3, 1e-4);
      EXPECT_EQ(e.turns, 39);
    }
  }
  EXPECT_TRUE(found_in_stages(2, [](int s) { return s == 1 ? 24ms : 8ms; }).empty());
}

}  // namespace
}  // namespace cox::diagnose
