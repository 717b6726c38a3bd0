// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "cox/base/random.hpp"
#include "cox/sync/policy.hpp"

namespace cox::sync {
namespace {

std::int64_t ticks(std::uint64_t x) {
  for (int i = 0; i < 3; ++i) x = (x ^ (x >> 29)) * 0x94d049bb133111ebU;
  return std::int64_t{50} + static_cast<std::int64_t>(x >> 33) % 200;
}

/// A job in order of time; every event goes through the ledger. Worker 2 is `slower` times as slow as the others.
struct RoundsTrial {
  RoundsTrial(const RoundSpec& spec, int workers, int slower, std::int64_t time_out, bool losses)
      : rounds(spec, workers),
        ledger(workers),
        slow(slower),
        limit(time_out),
        drawn(workers),
        stamp(workers) {
    take_events();
    begin(rounds.participants());
    for (int i = 0; i < 3000 && !queue.empty(); ++i) {
      const auto [at, what, w, of] = queue.top();
      queue.pop();
      now = at;
      const std::int64_t before = rounds.version();
      if (what == kExpires) {
        if (of != rounds.version()) continue;
        rounds.expired(released);
        ++expiries;
      } else {
        if (of != stamp[static_cast<std::size_t>(w)]) continue;
        rounds.delivered(w, released);
        // The first who is there sets the clock of the round.
        if (limit > 0 && rounds.arrived() == 1 && rounds.version() == before)
          queue.emplace(now + limit, kExpires, 0, before);
      }
      after_call();
      if (losses && i % 400 == 399 && gone.size() < 4) lose();
    }
  }
  void lose() {
    const int w = static_cast<int>(gone.size()) * 2;
    gone.insert(w);
    ++stamp[static_cast<std::size_t>(w)];
    rounds.left(w, released);
    after_call();
  }
  void after_call() {
    take_events();
    for (const int w : rounds.interrupted()) ++stamp[static_cast<std::size_t>(w)];
    for (const Rounds::Copy& c : rounds.begun_again()) {
      EXPECT_NE(c.by, c.of);
      ++copies;
      begin(std::span(&c.by, 1));
    }
    begin(released);
  }
  void take_events() {
    for (const StreamEvent& e : rounds.events()) {
      ASSERT_TRUE(ledger.take(e)) << ledger.error();
      ASSERT_EQ(ledger.ages(), ledger.aged());
      if (e.kind == StreamEvent::Kind::Read) ++drawn[static_cast<std::size_t>(e.update.worker)];
      if (e.kind == StreamEvent::Kind::Delivered) {
        EXPECT_EQ(e.update.age(), 0);
      }
    }
  }
  void begin(std::span<const int> who) {
    for (const int w : who) {
      const auto i = static_cast<std::size_t>(w);
      queue.emplace(now + ticks(++draws) * (w == 2 ? slow : 1), kEnds, w, ++stamp[i]);
    }
  }

  static constexpr int kExpires = 1, kEnds = 0;
  Rounds rounds;
  Ledger ledger;
  int slow;
  std::int64_t limit;
  std::int64_t now = 0;
  std::uint64_t draws = 0;
  int expiries = 0, copies = 0;
  std::set<int> gone;
  std::vector<int> released, drawn;
  std::vector<std::int64_t> stamp;  ///< of the step that counts
  using Entry = std::tuple<std::int64_t, int, int, std::int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
};

TEST(Rounds, KeepTheLedgerAtEveryEventAlsoWhenWorkersLeave) {
  for (const RoundSpec& spec :
       {RoundSpec{}, RoundSpec{.fraction = 0.3, .local_steps = 3}, RoundSpec{.dropped = 2},
        RoundSpec{.fraction = 0.5, .local_steps = 2, .dropped = 1}, RoundSpec{.fraction = 0.01},
        RoundSpec{.copies = 1}, RoundSpec{.copies = 4}, RoundSpec{.dropped = 1, .copies = 3}})
    for (const std::int64_t time_out : {0, 60})
      for (const bool losses : {false, true}) {
        const RoundsTrial t(spec, 9, 3, time_out, losses);
        EXPECT_TRUE(t.ledger.error().empty()) << t.ledger.error();
        EXPECT_GT(t.rounds.version(), 50);
        EXPECT_EQ(t.ledger.version(), t.rounds.version());
        EXPECT_EQ(t.ledger.discarded(), 0) << "nobody comes too late: it is interrupted";
        EXPECT_FALSE(t.queue.empty()) << "the job waits for ever";
        EXPECT_EQ(t.gone.empty(), !losses);
        EXPECT_EQ(t.copies > 0, spec.copies > 0);
      }
}

// Exponential times: the k last are memoryless, and of two at each the first counts: H(N) - H(k) + H(k) / 2 in the mean, instead of H(N).
// The stream is that of rounds without copies.
TEST(Rounds, CopiesTakeTheTimeOfTheFirstOfTwo) {
  const auto harmonic = [](int n) {
    double sum = 0;
    for (int i = 1; i <= n; ++i) sum += 1.0 / i;
    return sum;
  };
  constexpr int kWorkers = 8, kRounds = 20000;
  for (const int copies : {0, 1, 2, 4}) {
    Rounds rounds({.copies = copies}, kWorkers), plain({}, kWorkers);
    using Entry = std::tuple<double, int, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::vector<int> stamp(kWorkers), released, of_plain;
    const RandomStream draws(11, 0x63);
    std::uint64_t drawn = 0;
    double now = 0;
    const auto begin = [&](int w) {
      queue.emplace(now - std::log(draws.uniform(drawn++, 0)), w, ++stamp[static_cast<std::size_t>(w)]);
    };
    for (int w = 0; w < kWorkers; ++w) begin(w);
    while (rounds.version() < kRounds) {
      const auto [at, w, of] = queue.top();
      queue.pop();
      if (of != stamp[static_cast<std::size_t>(w)]) continue;
      now = at;
      const std::int64_t before = rounds.version();
      rounds.delivered(w, released);
      for (const int i : rounds.interrupted()) ++stamp[static_cast<std::size_t>(i)];
      for (const Rounds::Copy& c : rounds.begun_again()) begin(c.by);
      for (const int r : released) begin(r);
      if (rounds.version() == before || before > 100) continue;
      for (int p = 0; p < kWorkers; ++p) plain.delivered(p, of_plain);
      ASSERT_EQ(rounds.events().size(), plain.events().size());
      for (std::size_t e = 0; e < plain.events().size(); ++e) {
        EXPECT_EQ(rounds.events()[e].kind, plain.events()[e].kind);
        EXPECT_EQ(rounds.events()[e].update.worker, plain.events()[e].update.worker);
      }
    }
    EXPECT_NEAR(now / kRounds, harmonic(kWorkers) - harmonic(copies) / 2, 0.04) << copies;
  }
}

TEST(Rounds, WithoutAnythingAreSynchronousRounds) {
  Rounds rounds({.local_steps = 3}, 4);
  Policy policy({.kind = model::PolicyKind::LocalSgd, .local_steps = 3}, 4);
  EXPECT_TRUE(rounds.events().empty());
  std::vector<int> a, b;
  for (int k = 0; k < 30; ++k)
    for (const int w : {2, 0, 3, 1}) {
      rounds.delivered(w, a);
      policy.delivered(w, b);
      EXPECT_EQ(a, b);
      ASSERT_EQ(rounds.events().size(), policy.events().size());
      for (std::size_t i = 0; i < a.size() && i < rounds.events().size(); ++i) {
        EXPECT_EQ(rounds.events()[i].kind, policy.events()[i].kind);
        EXPECT_EQ(rounds.events()[i].update.worker, policy.events()[i].update.worker);
        EXPECT_EQ(rounds.events()[i].update.steps, policy.events()[i].update.steps);
      }
    }
  EXPECT_EQ(rounds.version(), 10);
}

TEST(Rounds, TheSlowestAreInterruptedAndBeginAnewWithTheOthers) {
  Rounds rounds({.dropped = 1}, 3);
  std::vector<int> released;
  EXPECT_EQ(rounds.awaited(), 2);
  rounds.delivered(2, released);
  EXPECT_TRUE(released.empty());
  rounds.delivered(0, released);
  EXPECT_EQ(released, (std::vector<int>{0, 1, 2}));
  ASSERT_EQ(rounds.interrupted().size(), 1U);
  EXPECT_EQ(rounds.interrupted()[0], 1);
  EXPECT_EQ(rounds.events()[2].kind, StreamEvent::Kind::Abandoned);
  EXPECT_EQ(rounds.events()[2].update.steps, 1);
  rounds.delivered(1, released);
  EXPECT_EQ(rounds.version(), 1) << "it takes part in the next round as any other";
}

TEST(Rounds, ATimeOutTakesThoseWhoAreThere) {
  Rounds rounds({}, 3);
  std::vector<int> released;
  rounds.expired(released);
  EXPECT_TRUE(released.empty()) << "nobody is there: there is nothing to make a version of";
  EXPECT_EQ(rounds.version(), 0);
  rounds.delivered(1, released);
  rounds.expired(released);
  EXPECT_EQ(rounds.version(), 1);
  EXPECT_EQ(released, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(rounds.interrupted().size(), 2U);
}

// Whom a round waits for depends on the draw, not on who happens to be fast: backups never see the slow one.
TEST(Rounds, EveryClientIsDrawnAlikeHoweverSlow) {
  const RoundsTrial t({.fraction = 0.25, .seed = 5}, 12, 10, 0, false);
  const auto rounds = static_cast<double>(t.rounds.version());
  ASSERT_GT(rounds, 500);
  for (const int often : t.drawn) {
    EXPECT_NEAR(often / rounds, 0.25, 4 * std::sqrt(0.25 * 0.75 / rounds)) << "four deviations";
  }
  const RoundsTrial dropping({.dropped = 1}, 12, 10, 0, false);
  EXPECT_EQ(dropping.ledger.abandoned(), dropping.rounds.version()) << "of worker 2, each time";
  Rounds other({.fraction = 0.25, .seed = 6}, 12), same({.fraction = 0.25, .seed = 5}, 12);
  Rounds again({.fraction = 0.25, .seed = 5}, 12);
  EXPECT_TRUE(std::ranges::equal(same.participants(), again.participants()));
  EXPECT_EQ(same.participants().size(), 3U);
  EXPECT_FALSE(std::ranges::equal(same.participants(), other.participants()));
}

}  // namespace
}  // namespace cox::sync
