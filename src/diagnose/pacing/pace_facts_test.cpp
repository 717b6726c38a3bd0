// SPDX-License-Identifier: Apache-2.0
#include "diagnose/pacing/pace_facts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;
using pace::WaitMode;

/// What a main thread did within ten seconds.
struct Habits {
  Duration cpu{};
  Duration ready{};
  std::int64_t switches = 0;
};

/// One host of two CPUs, and ranks that are half of their time inside synchronisations.
struct Host {
  trace::Run run;
  std::vector<NodeLocality> places{{.host = "a", .cpus = 2}};
  std::vector<double> inside;
  explicit Host(int ranks, const Habits& habits) {
    trace::Node& node = run.nodes.emplace_back();
    node.id = NodeId(0);
    node.host = "a";
    for (int r = 0; r < ranks; ++r) {
      trace::RankTrack& track = run.ranks.emplace_back();
      track.rank = Rank(r);
      track.node = NodeId(0);
      track.samples = {
          {.at = 0s, .main_cpu = 0s, .main_wait = 0s, .involuntary = 7},
          {.at = 10s, .main_cpu = habits.cpu, .main_wait = habits.ready, .involuntary = 7 + habits.switches}};
      inside.push_back(0.5);
    }
    places[0].ranks = ranks;
  }
  [[nodiscard]] pace::Facts facts() const { return host_facts(run, places, inside); }
};

TEST(PaceFacts, ARankThatNeverSleepsPollsAndItsSwitchesTellHow) {
  EXPECT_EQ(Host(4, {.cpu = 5s, .ready = 5s, .switches = 900}).facts().wait, WaitMode::Spin);
  EXPECT_EQ(Host(4, {.cpu = 5s, .ready = 5s, .switches = 90'000}).facts().wait, WaitMode::Yield);
  EXPECT_EQ(Host(4, {.cpu = 5s, .ready = 200ms}).facts().wait, WaitMode::Block);
  EXPECT_EQ(Host(4, {.cpu = 7s, .ready = 500ms}).facts().wait, WaitMode::Unknown)
      << "half of the wait asleep";
}

TEST(PaceFacts, WhoSleepsAtItsWorkMayPollAllTheSame) {
  // A late rank that hardly waits tells what work is like: here a device does it, and the host sleeps.
  const auto facts = [](Duration of_late, Duration of_others) {
    Host host(4, {.cpu = of_others});
    host.inside[2] = 0.02;
    host.run.ranks[2].samples[1].main_cpu = of_late;
    return host.facts().wait;
  };
  EXPECT_EQ(facts(200ms, 5s), WaitMode::Spin);
  EXPECT_EQ(facts(200ms, 200ms), WaitMode::Block);
  EXPECT_EQ(facts(9900ms, 5s), WaitMode::Block);
  EXPECT_EQ(facts(9900ms, 9900ms), WaitMode::Spin);
}

TEST(PaceFacts, MessagesAreWaitedForLikeSynchronisations) {
  Host host(4, {.cpu = 10s});
  std::vector<RankAccount> ranks;
  for (int r = 0; r < 4; ++r) ranks.push_back({.rank = Rank(r), .work = 5s, .message_wait = 5s});
  EXPECT_EQ(facts_of(host.run, host.places, ranks, {}).wait, WaitMode::Spin);
}

TEST(PaceFacts, RanksAndCpusAreThoseOfTheMostCrowdedHost) {
  Host host(4, {.cpu = 5s, .ready = 5s});
  host.places.insert(host.places.begin(), {.host = "b", .cpus = 64, .ranks = 64});
  const pace::Facts crowded = host.facts();
  EXPECT_EQ(crowded.ranks_on_host, 4U);
  EXPECT_EQ(crowded.cores, 2U);
  host.places[1].bound = 4;  // each to CPUs of its own
  const pace::Facts bound = host.facts();
  EXPECT_EQ(bound.ranks_on_host, bound.cores);
}

TEST(PaceFacts, WhoBlocksAndLacksCpusSharesThem) {
  EXPECT_TRUE(Host(4, {.cpu = 4s, .ready = 1s}).facts().host_busy_at_start);
  EXPECT_FALSE(Host(4, {.cpu = 4s, .ready = 100ms}).facts().host_busy_at_start);
  EXPECT_FALSE(Host(2, {.cpu = 4s, .ready = 1s}).facts().host_busy_at_start) << "a CPU for each";
}

TEST(PaceFacts, NothingFollowsFromNoSamples) {
  Host host(4, {.cpu = 5s, .ready = 5s});
  for (trace::RankTrack& t : host.run.ranks) t.samples.clear();
  EXPECT_EQ(host.facts().wait, WaitMode::Unknown);
  EXPECT_FALSE(host.facts().host_busy_at_start);
  host.places.clear();
  EXPECT_EQ(host.facts().cores, 0U);
}

TEST(PaceFacts, APriorityThatWasTriedIsNotOfferedAgain) {
  for (const char* found : {"refused", "offered"}) {
    Host host(4, {.cpu = 5s, .ready = 5s});
    EXPECT_TRUE(host.facts().priority_undoable);
    host.run.ranks[2].locality.push_back({"cox/pace/priority", found});
    EXPECT_FALSE(host.facts().priority_undoable) << found;
  }
}

TEST(PaceFacts, ADiagnosisKnowsWhoIsLate) {
  Host host(4, {.cpu = 5s, .ready = 5s});
  std::vector<RankAccount> ranks;
  ranks.reserve(4);
  for (int r = 0; r < 4; ++r) ranks.push_back({.rank = Rank(r), .work = 5s, .wait = 4s, .transfer = 1s});
  std::vector<FindingKind> kinds;
  const auto facts = [&] { return facts_of(host.run, host.places, ranks, kinds); };
  EXPECT_EQ(facts().wait, WaitMode::Spin);
  EXPECT_FALSE(facts().persistent);
  kinds.push_back(FindingKind::SlowRank);
  EXPECT_TRUE(facts().persistent);
  kinds.push_back(FindingKind::RotatingStraggler);
  EXPECT_TRUE(facts().rotating);
}

}  // namespace
}  // namespace cox::diagnose
