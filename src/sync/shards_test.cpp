// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/shards.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/sync/policy.hpp"

namespace cox::sync {
namespace {

/// Workers in any order that the rules allow: each reads its shards in an order of its own, and delivers them in another.
struct ShardWalk {
  ShardWalk(int workers, int shard_count, std::optional<int> staleness, FirstRead first = FirstRead::Held)
      : rules(workers, shard_count, staleness, first), ledgers(workers, shard_count) {
    follow();
    for (int w = 0; w < workers; ++w) begin(w, first == FirstRead::Held);
  }
  void begin(int worker, bool delivers) {
    for (int s = 0; s < rules.shards(); ++s) can.emplace_back(worker, s, delivers);
  }
  void follow() {
    for (const StreamEvent& e : rules.events()) {
      ASSERT_TRUE(ledgers.take(e)) << ledgers.error();
      ASSERT_TRUE(ledgers.conserved());
      events.push_back(e);
    }
  }
  void step(std::uint64_t draw) {
    const auto pick = static_cast<std::ptrdiff_t>(draw % can.size());
    const auto [worker, shard, delivers] = can[static_cast<std::size_t>(pick)];
    can.erase(can.begin() + pick);
    if (!delivers) {
      rules.read(worker, shard);
      follow();
      const auto is_reading = [w = worker](const auto& c) { return std::get<0>(c) == w && !std::get<2>(c); };
      if (std::ranges::none_of(can, is_reading)) begin(worker, true);
      return;
    }
    std::vector<int> released;
    rules.delivered(worker, shard, released);
    follow();
    for (const int w : released) begin(w, false);
  }
  Shards rules;
  ShardLedgers ledgers;
  std::vector<std::tuple<int, int, bool>> can;  ///< worker, shard, whether it delivers it
  std::vector<StreamEvent> events;
};

std::uint64_t draw(std::uint64_t seed, std::uint64_t step) {
  return RandomStream(seed, 0x5a).bits(step, 0);
}

TEST(Shards, EveryShardKeepsItsLedgerInAnyOrder) {
  for (const FirstRead first : {FirstRead::Held, FirstRead::None})
    for (const auto& [workers, shards] : {std::pair{1, 1}, {3, 1}, {1, 4}, {4, 3}, {7, 8}}) {
      ShardWalk walk(workers, shards, std::nullopt, first);
      for (std::uint64_t k = 0; k < 2000 && !::testing::Test::HasFatalFailure(); ++k) walk.step(draw(1, k));
      std::int64_t least = walk.rules.version(0);
      for (int s = 0; s < shards; ++s) least = std::min(least, walk.rules.version(s));
      EXPECT_GT(least, 2000 / (2 * workers * shards) / 2);
      EXPECT_FALSE(walk.can.empty());
    }
}

// A step's pieces need not meet the same version: that is what one clock for all could not say.
TEST(Shards, AStepMeetsUnlikeVersions) {
  ShardWalk walk(4, 3, std::nullopt);
  for (std::uint64_t k = 0; k < 1000; ++k) walk.step(draw(2, k));
  std::vector<std::int64_t> read(4, -1);
  int differ = 0;
  for (const StreamEvent& e : walk.events) {
    if (e.kind != StreamEvent::Kind::Read) continue;
    std::int64_t& mine = read[static_cast<std::size_t>(e.update.worker)];
    differ += e.update.shard == 1 && mine >= 0 && mine != e.update.version_read ? 1 : 0;
    if (e.update.shard == 0) mine = e.update.version_read;
  }
  EXPECT_GT(differ, 10);
}

// One shard, read when released: the events of the policy of that bound, one by one.
TEST(Shards, OneShardIsThePolicy) {
  for (const int bound : {-1, 0, 2}) {
    const model::PolicySpec spec{
        .kind = bound < 0 ? model::PolicyKind::Asynchronous : model::PolicyKind::BoundedWait,
        .staleness = std::max(bound, 0)};
    Policy policy(spec, 5);
    Shards shards(5, 1, bound < 0 ? std::nullopt : std::optional(bound));
    std::vector<int> can{0, 1, 2, 3, 4}, by_policy, by_shards;
    for (std::uint64_t k = 0; k < 3000; ++k) {
      const auto pick = static_cast<std::ptrdiff_t>(draw(3, k) % can.size());
      const int w = can[static_cast<std::size_t>(pick)];
      can.erase(can.begin() + pick);
      policy.delivered(w, by_policy);
      shards.delivered(w, 0, by_shards);
      std::vector<StreamEvent> events(shards.events().begin(), shards.events().end());
      ASSERT_EQ(by_policy, by_shards);
      for (const int r : by_shards) {
        shards.read(r, 0);
        events.insert(events.end(), shards.events().begin(), shards.events().end());
        can.push_back(r);
      }
      ASSERT_EQ(events.size(), policy.events().size());
      for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(events[i].kind, policy.events()[i].kind);
        EXPECT_EQ(events[i].update.worker, policy.events()[i].update.worker);
        EXPECT_EQ(events[i].update.version_read, policy.events()[i].update.version_read);
        EXPECT_EQ(events[i].update.version_applied, policy.events()[i].update.version_applied);
      }
    }
  }
}

// Steps that need some of the shards, drawn anew: ledgers hold, and shards that no step needed stay at their version.
TEST(Shards, AStepReadsAndBringsWhatItNeeds) {
  constexpr int kWorkers = 5, kShards = 4;
  for (const std::optional<int> bound : {std::optional<int>{}, std::optional(1)}) {
    Shards rules(kWorkers, kShards, bound, FirstRead::None);
    ShardLedgers ledgers(kWorkers, kShards, StepReads::Some);
    std::vector<std::vector<int>> needs(kWorkers);
    std::vector<std::tuple<int, int, bool>> can;
    std::vector<std::int64_t> brought(kShards);
    int steps_ended = 0, steps_begun = 0;
    const auto follow = [&] {
      for (const StreamEvent& e : rules.events()) {
        ASSERT_TRUE(ledgers.take(e)) << ledgers.error();
        ASSERT_TRUE(ledgers.conserved());
        steps_ended += ledgers.ended_step(e) ? 1 : 0;
      }
    };
    const auto begin = [&](int w, std::uint64_t k) {
      std::vector<int>& mine = needs[static_cast<std::size_t>(w)];
      mine.clear();
      // Never shard 3, and one at least.
      for (int s = 0; s < 3; ++s)
        if (draw(5, 8 * k + static_cast<std::uint64_t>(s)) % 2 == 0) mine.push_back(s);
      if (mine.empty()) mine.push_back(static_cast<int>(k % 3));
      rules.needs(w, mine);
      for (const int s : mine) can.emplace_back(w, s, false);
      ++steps_begun;
    };
    follow();
    for (int w = 0; w < kWorkers; ++w) begin(w, static_cast<std::uint64_t>(w));
    std::vector<int> released;
    for (std::uint64_t k = 100; k < 3100 && !::testing::Test::HasFatalFailure(); ++k) {
      const auto pick = static_cast<std::ptrdiff_t>(draw(6, k) % can.size());
      const auto [worker, shard, delivers] = can[static_cast<std::size_t>(pick)];
      can.erase(can.begin() + pick);
      if (!delivers) {
        rules.read(worker, shard);
        follow();
        const auto reads = [w = worker](const auto& c) { return std::get<0>(c) == w && !std::get<2>(c); };
        if (std::ranges::none_of(can, reads))
          for (const int s : needs[static_cast<std::size_t>(worker)]) can.emplace_back(worker, s, true);
        continue;
      }
      ++brought[static_cast<std::size_t>(shard)];
      rules.delivered(worker, shard, released);
      follow();
      for (const int w : released) begin(w, k);
    }
    EXPECT_GT(steps_ended, 500);
    EXPECT_LE(steps_begun - steps_ended, kWorkers) << "whoever waits for the slowest has ended";
    EXPECT_EQ(rules.version(3), 0);
    for (int s = 0; s < 3; ++s) EXPECT_EQ(rules.version(s), brought[static_cast<std::size_t>(s)]);
  }
}

// The bound holds steps of workers together on all shards. When a worker reads a shard, each other has brought at least the pieces of
// all steps up to s before its own, and none beyond s + 1 behind it until it delivers: no age is above (N - 1)(2 s + 1), as on
// one shard.
TEST(Shards, ABoundHoldsWorkersTogether) {
  ShardWalk walk(3, 4, 2);
  for (std::uint64_t k = 0; k < 20000; ++k) {
    walk.step(draw(4, k));
    std::int64_t least = walk.rules.clock(0), most = least;
    for (int w = 1; w < 3; ++w) {
      least = std::min(least, walk.rules.clock(w));
      most = std::max(most, walk.rules.clock(w));
    }
    ASSERT_LE(most - least, 3);
  }
  for (int s = 0; s < 4; ++s) EXPECT_LE(walk.ledgers.of(s).largest_age(), 2 * (2 * 2 + 1));
}

// Servers that die and standbys that have what they took last: no version is given twice, ages are conserved, and what was lost is counted.
TEST(Shards, AStandbyGoesOnWithWhatItHas) {
  ShardWalk walk(4, 3, std::nullopt);
  std::int64_t lost = 0, copied = 0;
  for (std::uint64_t k = 0; k < 3000 && !::testing::Test::HasFatalFailure(); ++k) {
    walk.step(draw(7, k));
    if (k % 20 == 5) {
      walk.rules.copied(1);
      copied = walk.rules.version(1);
      walk.follow();
    }
    if (k % 500 != 137) continue;
    const std::int64_t version = walk.rules.version(1);
    walk.rules.server_left(1);
    walk.follow();
    walk.rules.server_joined(1, copied);
    walk.follow();
    EXPECT_EQ(walk.rules.version(1), version);
    lost += version - copied;
    EXPECT_EQ(walk.ledgers.lost(), lost);
  }
  EXPECT_GT(lost, 0);
}

TEST(Ledger, AServerThatIsNotThereServesNobody) {
  using Kind = StreamEvent::Kind;
  const auto server = [](Kind kind, std::int64_t version) {
    return StreamEvent{.kind = kind, .update = {.worker = kServer, .version_read = version}};
  };
  const StreamEvent update{.kind = Kind::Delivered, .update = {.worker = 0}};
  Ledger gone(2);
  ASSERT_TRUE(gone.take(server(Kind::Left, 0)));
  EXPECT_FALSE(gone.take(update));
  EXPECT_EQ(gone.error(), "worker 0 reads or delivers, and nobody serves");
  Ledger twice(2);
  EXPECT_FALSE(twice.take(server(Kind::Joined, 0)));
  EXPECT_EQ(twice.error(), "a standby takes over from a server that is there");
  Ledger unknown(2);
  ASSERT_TRUE(unknown.take(update));
  ASSERT_TRUE(unknown.take({.kind = Kind::Advanced, .update = {.worker = 0, .version_applied = 1}}));
  ASSERT_TRUE(unknown.take(server(Kind::Left, 1)));
  EXPECT_FALSE(unknown.take(server(Kind::Joined, 2)));
  EXPECT_EQ(unknown.error(), "a standby takes over with version 2, which it has not read");
}

TEST(ShardLedgers, WhatCannotBeIsSaid) {
  const auto event = [](StreamEvent::Kind kind, int worker, int shard, std::int64_t version = 0) {
    return StreamEvent{
        .kind = kind,
        .update = {.worker = worker, .version_read = version, .version_applied = version, .shard = shard}};
  };
  using Kind = StreamEvent::Kind;
  ShardLedgers none(2, 2);
  EXPECT_FALSE(none.take(event(Kind::Read, 0, 2)));
  EXPECT_EQ(none.error(), "there is no shard 2");
  ShardLedgers twice(2, 2);
  ASSERT_TRUE(twice.take(event(Kind::Delivered, 0, 1)));
  EXPECT_FALSE(twice.take(event(Kind::Delivered, 0, 1)));
  EXPECT_EQ(twice.error(), "shard 1: worker 0 delivers, and has read nothing");
  ShardLedgers early(2, 2);
  ASSERT_TRUE(early.take(event(Kind::Delivered, 0, 1)));
  EXPECT_FALSE(early.take(event(Kind::Read, 0, 1)));
  EXPECT_EQ(early.error(), "worker 0 reads, and some of its pieces are not there");
  ShardLedgers part(2, 2);
  ASSERT_TRUE(part.take(event(Kind::Abandoned, 1, 0)));
  EXPECT_FALSE(part.take(event(Kind::Delivered, 1, 1)));
  EXPECT_EQ(part.error(), "worker 1 delivers a piece, and has not read all shards");
}

}  // namespace
}  // namespace cox::sync
