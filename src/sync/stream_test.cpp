// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "cox/sync/policy.hpp"

namespace cox::sync {
namespace {

using model::PolicyKind;
using model::PolicySpec;

std::uint64_t mixed(std::uint64_t x) {
  for (int i = 0; i < 3; ++i) x = (x ^ (x >> 29)) * 0x94d049bb133111ebU;
  return x >> 33;
}

/// A job in order of time whose workers come and go; every event goes through the ledger.
struct Trial {
  Trial(const PolicySpec& spec, int workers, std::uint64_t seed, bool churn)
      : policy(spec, workers), ledger(workers) {
    for (int w = 0; w < workers; ++w) begin(w);
    for (int i = 0; i < 2000 && !events.empty(); ++i) {
      const auto [now, w] = events.top();
      events.pop();
      time = now;
      if (gone[w]) continue;
      policy.delivered(w, released);
      taken();
      if (churn && mixed(seed * 977 + static_cast<std::uint64_t>(i)) % 50 == 0)
        change(seed + static_cast<std::uint64_t>(i));
    }
  }
  void begin(int w) { events.emplace(time + 50 + static_cast<std::int64_t>(mixed(++draws) % 200), w); }
  void taken() {
    for (const StreamEvent& e : policy.events()) {
      ASSERT_TRUE(ledger.take(e)) << ledger.error();
      if (e.kind == StreamEvent::Kind::Advanced) {
        ASSERT_EQ(ledger.ages(), ledger.aged());
      }
    }
    for (const int r : released) begin(r);
  }
  void change(std::uint64_t draw) {
    if (mixed(draw) % 2 == 0 && policy.members() > 2) {
      int w = 0;
      while (gone[w]) ++w;
      gone[w] = true;
      policy.left(w, released);
    } else {
      policy.joined(released);
      ++joins;
    }
    taken();
  }

  Policy policy;
  Ledger ledger;
  std::int64_t time = 0;
  std::uint64_t draws = 0;
  int joins = 0;
  std::map<int, bool> gone;
  std::vector<int> released;
  std::priority_queue<std::pair<std::int64_t, int>, std::vector<std::pair<std::int64_t, int>>, std::greater<>>
      events;
};

const PolicySpec kSpecs[] = {{.kind = PolicyKind::Synchronous},
                             {.kind = PolicyKind::BoundedWait, .staleness = 0},
                             {.kind = PolicyKind::BoundedWait, .staleness = 3},
                             {.kind = PolicyKind::BoundedDiscard, .staleness = 4},
                             {.kind = PolicyKind::Asynchronous},
                             {.kind = PolicyKind::LocalSgd, .local_steps = 5},
                             {.kind = PolicyKind::Backup, .backups = 2}};

TEST(Ledger, EveryPolicyKeepsItAlsoWhenWorkersComeAndGo) {
  for (const PolicySpec& spec : kSpecs)
    for (const bool churn : {false, true}) {
      const Trial t(spec, 7, 11, churn);
      EXPECT_TRUE(t.ledger.error().empty());
      EXPECT_GT(t.ledger.version(), 20) << model::name_of(spec.kind);
      EXPECT_EQ(t.ledger.version(), t.policy.version());
      EXPECT_EQ(t.joins > 0, churn) << "nobody came or went";
      EXPECT_FALSE(t.events.empty()) << "the job waits for ever";
    }
}

TEST(Ledger, BusyWorkersAgeByAllOthers) {
  for (const int workers : {1, 2, 8, 33}) {
    const Trial t({.kind = PolicyKind::Asynchronous}, workers, 3, false);
    EXPECT_EQ(t.ledger.aged(), (workers - 1) * t.ledger.version());
    EXPECT_EQ(t.ledger.ages(), t.ledger.aged());
  }
}

/// Who may deliver next, and a ledger of what happens.
struct Walk {
  Walk(int bound, int workers)
      : policy({.kind = PolicyKind::BoundedWait, .staleness = bound}, workers), ledger(workers) {
    for (int w = 0; w < workers; ++w) can.push_back(w);
  }
  bool deliver(int w) {
    const auto at = std::find(can.begin(), can.end(), w);
    if (at == can.end()) return false;
    can.erase(at);
    policy.delivered(w, released);
    can.insert(can.end(), released.begin(), released.end());
    for (const StreamEvent& e : policy.events()) EXPECT_TRUE(ledger.take(e)) << ledger.error();
    return true;
  }
  Policy policy;
  Ledger ledger;
  std::vector<int> released, can;
};

// (N - 1)(2 s + 1): a worker that is s steps ahead reads, and then everybody else does 2 s + 1 steps.
TEST(Ledger, TheOldestUpdateUnderWaitingIsBoundedAndTheBoundIsReached) {
  for (const int workers : {2, 3, 8})
    for (const int bound : {0, 1, 2, 5}) {
      Walk walk(bound, workers);
      for (int k = 0; k < bound; ++k) ASSERT_TRUE(walk.deliver(0));
      for (int k = 0; k <= 2 * bound; ++k)
        for (int w = 1; w < workers; ++w) ASSERT_TRUE(walk.deliver(w));
      for (int w = 1; w < workers; ++w) EXPECT_FALSE(walk.deliver(w)) << "somebody is further than the bound";
      ASSERT_TRUE(walk.deliver(0));
      EXPECT_EQ(walk.ledger.largest_age(), (workers - 1) * (2 * bound + 1));
    }
  for (const int bound : {0, 1, 2})
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Walk walk(bound, 3);
      for (std::uint64_t i = 0; i < 300; ++i) {
        const auto pick = mixed(seed * 7919 + i) % walk.can.size();
        ASSERT_TRUE(walk.deliver(walk.can[pick]));
      }
      EXPECT_LE(walk.ledger.largest_age(), 2 * (2 * bound + 1));
    }
}

// The bound changes while the job runs: nobody begins a step further ahead than the bound of that moment.
TEST(Ledger, HoldsWhileTheBoundChanges) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Walk walk(4, 4);
    int bound = 4;
    int held = 0;
    for (std::uint64_t i = 0; i < 400; ++i) {
      ASSERT_FALSE(walk.can.empty()) << "the job waits for ever";
      if (i % 20 == 19) {
        bound = static_cast<int>(mixed(seed + i) % 6);
        walk.policy.set_staleness(bound, walk.released);
        walk.can.insert(walk.can.end(), walk.released.begin(), walk.released.end());
        for (const StreamEvent& e : walk.policy.events())
          ASSERT_TRUE(walk.ledger.take(e)) << walk.ledger.error();
      } else {
        ASSERT_TRUE(walk.deliver(walk.can[mixed(seed * 7919 + i) % walk.can.size()]));
      }
      for (const int w : walk.released) EXPECT_LE(walk.policy.clock(w) - walk.policy.slowest(), bound);
      held += walk.can.size() < 4 ? 1 : 0;
      ASSERT_EQ(walk.ledger.ages(), walk.ledger.aged());
    }
    EXPECT_GT(held, 0) << "nobody ever waited";
  }
}

TEST(Ledger, WhatCannotBeIsNamed) {
  const auto read = [](int w, std::int64_t v) {
    return StreamEvent{.kind = StreamEvent::Kind::Read, .update = {.worker = w, .version_read = v}};
  };
  const auto sent = [](int w, std::int64_t from, std::int64_t to) {
    return StreamEvent{.kind = StreamEvent::Kind::Delivered,
                       .update = {.worker = w, .version_read = from, .version_applied = to}};
  };
  const auto made = [](std::int64_t v) {
    return StreamEvent{.kind = StreamEvent::Kind::Advanced, .update = {.version_applied = v}};
  };
  const auto why = [](std::initializer_list<StreamEvent> events) {
    Ledger ledger(2);
    for (const StreamEvent& e : events)
      if (!ledger.take(e)) break;
    return ledger.error();
  };
  EXPECT_EQ(why({sent(0, 0, 0), made(1), read(0, 1), sent(1, 0, 1), made(2)}), "");
  EXPECT_EQ(why({made(1)}), "version 1 is made of 0 updates after version 0");
  EXPECT_EQ(why({sent(0, 0, 0), sent(0, 0, 0)}), "worker 0 delivers, and has read nothing");
  EXPECT_EQ(why({sent(0, 1, 1)}), "worker 0 delivers of version 1, and has read 0");
  EXPECT_EQ(why({sent(0, 0, 3)}), "an update meets version 3, and 0 is there");
  EXPECT_EQ(why({sent(0, 0, 0), read(0, 1)}), "version 1 is read, and 0 is the newest");
  EXPECT_EQ(why({read(0, 0)}), "worker 0 reads, and is gone or has not delivered");
  EXPECT_EQ(why({sent(5, 0, 0)}), "there is no worker 5");
  const auto given_up = [](int w, std::int64_t from) {
    return StreamEvent{.kind = StreamEvent::Kind::Abandoned, .update = {.worker = w, .version_read = from}};
  };
  EXPECT_EQ(why({given_up(0, 0), sent(1, 0, 0), made(1), read(0, 1), read(1, 1), given_up(0, 1)}), "");
  EXPECT_EQ(why({given_up(0, 0), given_up(0, 0)}), "worker 0 gives up work, and has read nothing");
  EXPECT_EQ(why({given_up(0, 4)}), "worker 0 gives up work of version 4, and has read 0");
}

}  // namespace
}  // namespace cox::sync
