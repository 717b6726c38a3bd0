// SPDX-License-Identifier: Apache-2.0
// Messages that are lost and come after a time-out: against every message, against the flow engine, and against what
// can be written down.
#include "cox/simulate/timeouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cox/simulate/max_plus.hpp"

#include "simulate/noise/lane_losses.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Collective;
using model::Protocol;

constexpr double kWait = 4e-3;

model::Timeouts lossy(double loss) {
  return {.wait = Seconds{kWait}, .loss = loss};
}

TEST(Timeouts, AsManyAreLostAsTheProbabilitySays) {
  const TimeoutDraws law(lossy(0.01), 3);
  constexpr std::int64_t kCount = 1'000'000;
  const auto lost = law.lost({}, kCount);
  EXPECT_NEAR(static_cast<double>(lost.size()), 1e4, 400);  // four standard deviations
  std::int64_t twice = 0;
  std::int64_t before = -1;
  for (const TimeoutDraws::Lost& m : lost) {
    ASSERT_GT(m.message, before);
    ASSERT_LT(m.message, kCount);
    before = m.message;
    if (m.late == Seconds{3 * kWait}) ++twice;  // the second timer is twice as long
    if (m.late != Seconds{3 * kWait} && m.late.count() < 4 * kWait) {
      EXPECT_EQ(m.late, Seconds{kWait});
    }
  }
  EXPECT_NEAR(static_cast<double>(twice), 100, 40);
}

TEST(Timeouts, RowsDrawApart) {
  const TimeoutDraws law(lossy(0.1), 3);
  const std::vector<TimeoutDraws::Row> rows = {{},
                                               {.step = 1},
                                               {.number = 1},
                                               {.lane = 1},
                                               {.ordinal = 1},
                                               {.number = -2},
                                               {.number = 1, .lane = 1},
                                               {.lane = 1, .ordinal = 1}};
  std::vector<std::vector<std::int64_t>> seen;
  for (const TimeoutDraws::Row& row : rows) {
    std::vector<std::int64_t> numbers;
    for (const TimeoutDraws::Lost& m : law.lost(row, 1000)) numbers.push_back(m.message);
    EXPECT_EQ(std::ranges::count(seen, numbers), 0);
    seen.push_back(numbers);
  }
  EXPECT_TRUE(TimeoutDraws(lossy(0), 3).lost({}, 1000).empty());
}

struct Case {
  model::CollectiveSpec spec;
  Protocol protocol = Protocol::Rendezvous;
  int per_node = 1;
};

std::vector<Seconds> play(const Case& c, const TimeoutDraws& law, std::int64_t step, bool closure = true) {
  const auto schedule = model::Schedule::make(c.spec);
  EXPECT_TRUE(schedule) << schedule.error().to_string();
  const LinkCosts costs{
      .inside = {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-11)},
      .across = {.latency = Seconds{2e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-10)},
      .ranks_per_node = c.per_node};
  std::vector<int> nodes;
  nodes.reserve(static_cast<std::size_t>(c.spec.ranks));
  for (int r = 0; r < c.spec.ranks; ++r) nodes.push_back(r / c.per_node);
  std::vector<Seconds> times(static_cast<std::size_t>(c.spec.ranks));
  for (std::size_t r = 0; r < times.size(); ++r) times[r] = Seconds{1e-5 * static_cast<double>(r * r % 7)};
  CollectiveOptions options;
  options.protocol = c.protocol;
  options.closure = closure;
  options.step = step;
  options.timeouts = &law;
  options.nodes = nodes;
  (void)run_collective(*schedule, costs, options, times);
  return times;
}

/// Every message of every regular round, one after the other.
std::vector<Seconds> dense(const Case& c, const TimeoutDraws& law, std::int64_t step) {
  const auto schedule = model::Schedule::make(c.spec);
  std::vector<double> t(static_cast<std::size_t>(c.spec.ranks));
  for (std::size_t r = 0; r < t.size(); ++r) t[r] = 1e-5 * static_cast<double>(r * r % 7);
  std::vector<double> done(t.size(), 0);
  for (int lane = 0; lane < schedule->lanes(); ++lane) {
    LaneLosses losses(law, {.step = step, .lane = lane}, schedule->rounds(lane), schedule->participants());
    std::vector<double> now = t;
    std::vector<double> free(t.size(), 0);  // sending port
    std::vector<model::Transfer> messages;
    for (std::int64_t k = 0; k < schedule->rounds(lane); ++k) {
      schedule->transfers(k, messages, lane);
      if (c.protocol == Protocol::EagerGap)
        for (std::size_t r = 0; r < now.size(); ++r) now[r] = std::max(now[r], free[r]);
      std::vector<double> next = now;
      for (const model::Transfer& m : messages) {
        const bool inside = m.from / c.per_node == m.to / c.per_node;
        const double latency = inside ? 1e-6 : 2e-6;
        const double occupied = static_cast<double>(m.bytes.count()) * (inside ? 1e-11 : 1e-10);
        const double late = inside ? 0 : losses.late(k, m.to).count();
        const auto from = static_cast<std::size_t>(m.from);
        const auto to = static_cast<std::size_t>(m.to);
        free[from] = now[from] + occupied;
        if (c.protocol == Protocol::Rendezvous)
          next[to] = std::max(now[from], now[to]) + latency + occupied + late;
        if (c.protocol == Protocol::Eager)
          next[to] = std::max(now[to], now[from] + latency + occupied + late);
        if (c.protocol == Protocol::EagerGap)
          next[to] = std::max(now[to], now[from] + latency + late) + occupied;
      }
      now = next;
    }
    for (std::size_t r = 0; r < t.size(); ++r) done[r] = std::max(done[r], now[r]);
  }
  std::vector<Seconds> out;
  out.reserve(done.size());
  for (const double v : done) out.emplace_back(v);
  return out;
}

TEST(Timeouts, SweepsAreThoseOfEveryMessage) {
  int disturbed = 0;
  for (const Protocol protocol : {Protocol::Rendezvous, Protocol::Eager, Protocol::EagerGap})
    for (const Algorithm algorithm :
         {Algorithm::Ring, Algorithm::BidirectionalRing, Algorithm::RecursiveDoubling})
      for (const auto& [per_node, bytes] : {std::pair{1, 80'003}, {1, 80'000}, {2, 80'003}})
        for (std::int64_t step = 0; step < 6; ++step) {
          const Case c{.spec = {.algorithm = algorithm, .ranks = 32, .bytes = Bytes{bytes}},
                       .protocol = protocol,
                       .per_node = per_node};
          const TimeoutDraws law(lossy(0.004), 5);
          const auto wanted = dense(c, law, step);
          const auto made = play(c, law, step);
          const auto swept = play(c, law, step, false);
          for (std::size_t r = 0; r < wanted.size(); ++r) {
            EXPECT_NEAR(made[r].count(), wanted[r].count(), 1e-12)
                << name_of(algorithm) << " " << name_of(protocol) << " " << per_node << " " << step << " "
                << r;
            EXPECT_NEAR(swept[r].count(), wanted[r].count(), 1e-12);
          }
          disturbed += made[0] > Seconds{kWait} ? 1 : 0;
        }
  EXPECT_GT(disturbed, 100);
}

TEST(Timeouts, OnlyBetweenNodes) {
  const TimeoutDraws law(lossy(0.3), 5);
  const Case inside{.spec = {.ranks = 8, .bytes = Bytes{80'000}}, .per_node = 8};
  EXPECT_EQ(play(inside, law, 0), play(inside, TimeoutDraws(lossy(0), 5), 0));
}

/// Mean of what time-outs add to an all-reduce, and its standard error.
struct Added {
  double mean = 0;
  double error = 0;
};
Added added(const Case& c, double loss, int steps) {
  const TimeoutDraws law(lossy(loss), 11);
  const TimeoutDraws none(lossy(0), 11);
  const auto end = [&](const TimeoutDraws& t, int step) {
    return std::ranges::max(play(c, t, step)).count();
  };
  double sum = 0;
  double squares = 0;
  const double alone = end(none, 0);
  for (int step = 0; step < steps; ++step) {
    const double more = end(law, step) - alone;
    sum += more;
    squares += more * more;
  }
  const double mean = sum / steps;
  return {.mean = mean, .error = std::sqrt((squares / steps - mean * mean) / steps)};
}

/// Of the largest of n in each round: the timer doubles, so the k-th loss in a row adds 2^(k-1) waits.
double every_round_waits(int rounds, int n, double loss) {
  double expected = 0;
  for (int k = 1; k <= kMostLosses; ++k)
    expected += std::ldexp(kWait, k - 1) * (1 - std::pow(1 - std::pow(loss, k), n));
  return rounds * expected;
}

// Two ranks meet in every round: 2 (n - 1) RTO (1 - (1 - p)^n) and what further losses add.
TEST(Timeouts, TwoRanksWaitInEveryRound) {
  const Case c{.spec = {.ranks = 2, .bytes = Bytes{20'000}}};
  const Added a = added(c, 0.1, 4000);
  EXPECT_NEAR(a.mean, every_round_waits(2, 2, 0.1), 4 * a.error);
  EXPECT_LT(a.error, 0.05 * a.mean);
}

// A ring is not a barrier: what is late moves on by a rank a round, so rare losses add up as they come, and frequent
// ones hide each other.
TEST(Timeouts, OfARingAreAtMostThoseOfABarrier) {
  const Case c{.spec = {.ranks = 16, .bytes = Bytes{160'000}}};
  const Added rare = added(c, 1e-4, 4000);
  EXPECT_NEAR(rare.mean, every_round_waits(30, 16, 1e-4), 4 * rare.error);
  const Added frequent = added(c, 0.02, 500);
  EXPECT_LT(frequent.mean + 4 * frequent.error, every_round_waits(30, 16, 0.02));
  EXPECT_GT(frequent.mean, every_round_waits(30, 1, 0.02));
}

}  // namespace
}  // namespace cox::simulate
