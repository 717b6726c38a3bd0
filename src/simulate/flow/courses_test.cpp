// SPDX-License-Identifier: Apache-2.0
// Several collectives on one network.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

#include "cox/base/random.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/flow/engine.hpp"

namespace cox::simulate {
namespace courses {
namespace {

constexpr double kMs = 1e-3;
constexpr double kMega = 1e6;  // bytes: a millisecond on an idle link of 1 GB/s

/// Hosts of one device on one switch, or on a tree; links of 1 GB/s.
struct Fabric {
  model::Cluster cluster;
  model::Fabric fabric;
};

Fabric on_switch(int hosts, double latency = 0) {
  Fabric f;
  f.cluster.nodes = hosts;
  f.cluster.nic = {.latency = Seconds{latency}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  f.fabric.link = f.cluster.nic;
  return f;
}

Fabric on_tree(int hosts, int per_leaf, double oversubscription, double latency = 0) {
  Fabric f = on_switch(hosts, latency);
  f.fabric.kind = model::FabricKind::FatTree;
  f.fabric.hosts_per_leaf = per_leaf;
  f.fabric.oversubscription = oversubscription;
  return f;
}

/// A collective, on which devices, and when each member comes.
struct Wanted {
  model::CollectiveSpec spec;
  std::vector<int> devices;
  std::vector<double> arrivals;
  int groups = 1;
  std::int64_t number = 0;
};

Wanted message(int from, int to, double bytes, double sender, double receiver) {
  return {.spec = {.kind = model::Collective::SendRecv,
                   .algorithm = model::Algorithm::Chain,
                   .ranks = 2,
                   .bytes = Bytes{static_cast<std::int64_t>(bytes)}},
          .devices = {from, to},
          .arrivals = {sender, receiver}};
}
Wanted message(int from, int to, double bytes, double at) {
  return message(from, to, bytes, at, at);
}

Wanted ring(std::vector<int> devices, double bytes, double at) {
  const int n = static_cast<int>(devices.size());
  return {.spec = {.ranks = n, .bytes = Bytes{static_cast<std::int64_t>(bytes)}},
          .devices = std::move(devices),
          .arrivals = std::vector<double>(static_cast<std::size_t>(n), at)};
}

std::vector<int> numbers(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// An engine with what it needs to stand on.
struct Stand {
  explicit Stand(Fabric f, FlowOptions options = {})
      : setting(std::move(f)),
        network(*Network::make(setting.cluster, setting.fabric)),
        engine(network, setting.fabric, std::move(options), Seconds{}) {}

  FlowCourseId begin(const Wanted& w) {
    std::unique_ptr<model::Schedule>& schedule =
        schedules[{w.spec.kind, w.spec.algorithm, w.spec.ranks, w.spec.bytes.count()}];
    if (!schedule) {
      auto made = model::Schedule::make(w.spec);
      EXPECT_TRUE(made) << made.error().to_string();
      schedule = std::make_unique<model::Schedule>(*std::move(made));
    }
    return engine.begin(
        {.schedule = schedule.get(), .rank_of = w.devices, .groups = w.groups, .number = w.number});
  }
  void arrive(FlowCourseId course, const Wanted& w) {
    for (std::size_t p = 0; p < w.arrivals.size(); ++p)
      engine.arrive(course, static_cast<int>(p), Seconds{w.arrivals[p]});
  }

  Fabric setting;
  Network network;
  std::map<std::tuple<model::Collective, model::Algorithm, int, std::int64_t>,
           std::unique_ptr<model::Schedule>>
      schedules;
  FlowEngine engine;
};

using Times = std::vector<std::vector<double>>;  // departures: [collective][member]

Times drain(FlowEngine& engine, const std::map<FlowCourseId, std::size_t>& which,
            const std::vector<Wanted>& all) {
  Times out;
  for (const Wanted& w : all) out.emplace_back(w.arrivals.size(), -1);
  double before = 0;
  while (const auto one = engine.next()) {
    EXPECT_GE(one->at.count(), before) << "departures are in the order of time";
    before = one->at.count();
    std::vector<double>& times = out[which.at(one->course)];
    if (static_cast<std::size_t>(one->place) < times.size())
      times[static_cast<std::size_t>(one->place)] = before;
  }
  for (const std::vector<double>& times : out)
    for (const double t : times) EXPECT_GE(t, 0) << "somebody never left";
  return out;
}

/// All of them told in `order`.
Times play(Stand& stand, const std::vector<Wanted>& all, const std::vector<int>& order) {
  std::map<FlowCourseId, std::size_t> which;
  for (const int i : order) {
    const Wanted& w = all[static_cast<std::size_t>(i)];
    const FlowCourseId id = stand.begin(w);
    which[id] = static_cast<std::size_t>(i);
    stand.arrive(id, w);
  }
  return drain(stand.engine, which, all);
}
Times play(const Fabric& f, const std::vector<Wanted>& all, FlowOptions options = {}) {
  Stand stand(f, std::move(options));
  return play(stand, all, numbers(static_cast<int>(all.size())));
}

// How long the last member of each takes.
std::vector<double> ends(const Times& times) {
  std::vector<double> out;
  for (const std::vector<double>& t : times) out.push_back(*std::max_element(t.begin(), t.end()));
  return out;
}

void expect_near(const Times& a, const Times& b, double relative) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t c = 0; c < a.size(); ++c) {
    ASSERT_EQ(a[c].size(), b[c].size());
    for (std::size_t p = 0; p < a[c].size(); ++p)
      EXPECT_NEAR(a[c][p], b[c][p], relative * b[c][p]) << c << " " << p;
  }
}

// Small collectives of all sorts at random times on the hosts of a network.
std::vector<Wanted> random_mix(const RandomStream& draw, int hosts, int count) {
  std::vector<Wanted> all;
  std::uint64_t k = 0;
  const auto below = [&](std::uint64_t n) { return static_cast<int>(draw.bits(1, k++) % n); };
  for (int i = 0; i < count; ++i) {
    std::vector<int> devices = numbers(hosts);
    for (std::size_t d = devices.size(); d > 1; --d)
      std::swap(devices[d - 1], devices[static_cast<std::size_t>(below(d))]);
    Wanted w;
    const int members = 2 + below(static_cast<std::uint64_t>(hosts) - 1);
    devices.resize(static_cast<std::size_t>(members));
    switch (below(4)) {
      case 0:
        w = message(devices[0], devices[1], 1 + below(4'000'000), 0);
        break;
      case 1:
        w = ring(devices, 1 + below(8'000'000), 0);
        break;
      case 2:
        w = ring(devices, 1 + below(8'000'000), 0);
        w.spec.kind = model::Collective::AllToAll;
        w.spec.algorithm = model::Algorithm::Direct;
        break;
      default:
        w = ring(devices, 1 + below(4'000'000), 0);
        w.spec.algorithm = model::Algorithm::BinomialTree;
    }
    const double begin = 1e-5 * below(2000);
    for (double& a : w.arrivals) a = begin + 1e-6 * below(1000);
    all.push_back(std::move(w));
  }
  return all;
}

/// Collectives of the same hosts, one after the other: who leaves one joins the next, `late` later.
struct Turns {
  std::vector<Wanted> all;
  std::vector<std::vector<double>> late;  ///< [collective][member]
  Wanted other;                           ///< beside them, at its own time, where it has devices
  bool breaks = false;                    ///< one of them does not go as those before it
  double look = 0;                        ///< the clock is held every so many seconds; 0 = never
};

/// Departures: [collective][member], and the other one's last.
Times play(Stand& stand, const Turns& turns) {
  Times out;
  for (const Wanted& w : turns.all) out.emplace_back(w.arrivals.size(), -1);
  out.emplace_back(turns.other.devices.size(), -1);
  std::map<FlowCourseId, std::size_t> which;
  std::vector<FlowCourseId> course(turns.all.size(), 0);
  std::size_t begun = 0;
  const auto join = [&](std::size_t turn, int place, double at) {
    if (turn == begun) {
      course[begun++] = stand.begin(turns.all[turn]);
      which[course[turn]] = turn;
    }
    stand.engine.arrive(course[turn], place, Seconds{at + turns.late[turn][static_cast<std::size_t>(place)]});
  };
  for (std::size_t p = 0; p < turns.all[0].arrivals.size(); ++p) join(0, static_cast<int>(p), 0);
  const auto take = [&](const FlowDeparture& one) {
    const std::size_t turn = which.at(one.course);
    double& at = out[turn][static_cast<std::size_t>(one.place)];
    EXPECT_LT(at, 0) << "nobody leaves twice";
    at = one.at.count();
    if (turn + 1 < turns.all.size()) join(turn + 1, one.place, at);
  };
  double until = 0;
  const auto hold = [&](double at) {
    while (const auto one = stand.engine.next(Seconds{at})) take(*one);
  };
  if (!turns.other.devices.empty()) {
    const double at = turns.other.arrivals[0];
    for (; turns.look > 0 && until < at; until += turns.look) hold(until);
    hold(at);
    const FlowCourseId id = stand.begin(turns.other);
    which[id] = turns.all.size();
    stand.arrive(id, turns.other);
  }
  const double end = 100 * turns.look;
  for (; until < end; until += turns.look) hold(std::max(until, stand.engine.said().count()));
  while (const auto one = stand.engine.next()) take(*one);
  for (const auto& times : out)
    for (const double t : times) EXPECT_GE(t, 0) << "somebody never left";
  return out;
}

/// Of one departure, relative.
double most_apart(const Times& a, const Times& b) {
  double most = 0;
  for (std::size_t c = 0; c < a.size(); ++c)
    for (std::size_t p = 0; p < a[c].size(); ++p)
      most = std::max(most, std::abs(a[c][p] - b[c][p]) / b[c][p]);
  return most;
}

Turns random_turns(const RandomStream& draw, int hosts) {
  std::uint64_t k = 0;
  const auto below = [&](std::uint64_t n) { return static_cast<int>(draw.bits(1, k++) % n); };
  Turns t;
  const std::vector<double> sizes{(1 + below(8)) * hosts * 1e5, (1 + below(8)) * hosts * 1e5 + below(2)};
  const std::size_t kinds = 1 + static_cast<std::size_t>(below(2));
  std::vector<int> devices = numbers(hosts);
  if (below(2) == 0) std::swap(devices[1], devices[static_cast<std::size_t>(hosts) - 2]);
  for (std::size_t i = 0; i < 20; ++i) t.all.push_back(ring(devices, sizes[i % kinds], 0));
  t.late.assign(20, std::vector<double>(static_cast<std::size_t>(hosts), below(2) == 0 ? 0.0 : 1e-4));
  const int what = below(4);
  t.breaks = what < 3;
  if (what == 0)  // one is late once
    t.late[static_cast<std::size_t>(3 + below(16))][static_cast<std::size_t>(below(8))] += 1e-6 * below(5000);
  if (what == 1)  // all of one are
    for (double& late : t.late[static_cast<std::size_t>(3 + below(16))]) late += 1e-6 * below(5000);
  if (what == 2)
    t.other = message(0, hosts - 1, 1 + below(4'000'000), 20 * sizes[0] * 4e-9 * draw.uniform(2, k++));
  if (below(2) == 0) t.look = 1e-4 * (1 + below(100));
  return t;
}

TEST(Courses, TwoMessagesMeetOnALinkAndPart) {
  // Into host 2 both get half; when the shorter is through, the other one gets all.
  const double latency = 1e-6;
  const Times t = play(on_switch(3, latency), {message(0, 2, 1 * kMega, 0), message(1, 2, 3 * kMega, 0)});
  EXPECT_NEAR(t[0][1], 2 * latency + 2 * kMs, 1e-15);
  EXPECT_NEAR(t[1][1], 2 * latency + 4 * kMs, 1e-15);
  // Other ways do not meet.
  const Times apart = play(on_switch(4), {message(0, 2, 1 * kMega, 0), message(1, 3, 3 * kMega, 0)});
  EXPECT_NEAR(apart[0][1], 1 * kMs, 1e-15);
  EXPECT_NEAR(apart[1][1], 3 * kMs, 1e-15);
}

TEST(Courses, OneThatComesLaterTakesItsShareFromThen) {
  const Times t = play(on_switch(3), {message(0, 2, 4 * kMega, 0), message(1, 2, 1 * kMega, 1 * kMs)});
  EXPECT_NEAR(t[1][1], 3 * kMs, 1e-15);  // 1 MB at half the rate
  EXPECT_NEAR(t[0][1], 5 * kMs, 1e-15);  // 1 MB alone, 1 beside, 2 alone
}

TEST(Courses, AMemberThatComesLateHoldsUpItsOwnOnly) {
  // Rendezvous: 0 -> 2 begins when 2 comes to it, after 2 ms; 1 -> 2 has the link until then.
  const Times t = play(on_switch(3), {message(0, 2, 1 * kMega, 0, 2 * kMs), message(1, 2, 4 * kMega, 0)});
  EXPECT_NEAR(t[0][1], 4 * kMs, 1e-15);
  EXPECT_NEAR(t[1][1], 5 * kMs, 1e-15);
  // Eager: it begins with its sender.
  FlowOptions eager;
  eager.protocol = model::Protocol::Eager;
  const Times e =
      play(on_switch(3), {message(0, 2, 1 * kMega, 0, 2 * kMs), message(1, 2, 4 * kMega, 0)}, eager);
  EXPECT_NEAR(e[0][1], 2 * kMs, 1e-15);
  EXPECT_NEAR(e[1][1], 5 * kMs, 1e-15);
}

TEST(Courses, TwoRingsShareAnUpLink) {
  // Leaves {0, 1} and {2, 3} with one up-link each. Two rounds of 1 MB either way, two messages on each up-link.
  const double latency = 1e-6;
  const Fabric tree = on_tree(4, 2, 2, latency);
  Times t = play(tree, {ring({0, 2}, 2 * kMega, 0), ring({1, 3}, 2 * kMega, 0)});
  for (const double end : ends(t)) EXPECT_NEAR(end, 2 * (4 * latency + 2 * kMs), 1e-15);
  t = play(tree, {ring({0, 2}, 2 * kMega, 0)});
  EXPECT_NEAR(ends(t)[0], 2 * (4 * latency + 1 * kMs), 1e-15);
  // Half a round apart, without latencies: alone for 0.5 ms, together from there to 3.5 ms, alone again.
  t = play(on_tree(4, 2, 2), {ring({0, 2}, 2 * kMega, 0), ring({1, 3}, 2 * kMega, 0.5 * kMs)});
  EXPECT_NEAR(ends(t)[0], 3.5 * kMs, 1e-15);
  EXPECT_NEAR(ends(t)[1], 4.0 * kMs, 1e-15);
}

TEST(Courses, GroupsOfOneCourseAreCourses) {
  // What several groups do together is what they do as collectives of their own.
  const Fabric tree = on_tree(8, 4, 4, 1e-6);
  Wanted both = ring({0, 2, 4, 6, 1, 3, 5, 7}, 4 * kMega, 0);
  both.spec.ranks = 4;
  both.groups = 2;
  both.arrivals = {0, 3e-4, 0, 1e-4};
  std::vector<Wanted> apart{ring({0, 2, 4, 6}, 4 * kMega, 0), ring({1, 3, 5, 7}, 4 * kMega, 0)};
  for (Wanted& w : apart) w.arrivals = both.arrivals;
  const Times together = play(tree, {both});
  const Times one_by_one = play(tree, apart);
  for (std::size_t p = 0; p < 4; ++p)
    EXPECT_NEAR(together[0][p], std::max(one_by_one[0][p], one_by_one[1][p]), 1e-15);
  EXPECT_GT(ends(together)[0], 1.9 * ends(play(tree, {apart[0]}))[0]);
}

TEST(Courses, TheOrderOfCallsChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomStream draw(seed, 4);
    const Fabric tree = on_tree(16, 4, 4, 2e-6);
    const std::vector<Wanted> all = random_mix(draw, 16, 8);
    std::vector<int> order = numbers(8);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.bits(2, i) % i]);
    Stand other(tree);
    expect_near(play(other, all, order), play(tree, all), 1e-11);
    // Members in another order: to the bit, as they wait in the order of time and place.
    Stand backwards(tree);
    std::map<FlowCourseId, std::size_t> which;
    for (std::size_t i = 0; i < all.size(); ++i) which[backwards.begin(all[i])] = i;
    for (std::size_t i = all.size(); i-- > 0;)
      for (std::size_t p = all[i].arrivals.size(); p-- > 0;)
        backwards.engine.arrive(static_cast<FlowCourseId>(i), static_cast<int>(p),
                                Seconds{all[i].arrivals[p]});
    EXPECT_EQ(drain(backwards.engine, which, all), play(tree, all));
  }
}

// A later course is told only when the clock has got there, as a training step does it.
TEST(Courses, WhoIsToldLateIsAsWhoIsToldAtOnce) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomStream draw(seed, 5);
    const Fabric tree = on_tree(16, 4, 4, 2e-6);
    std::vector<Wanted> all = random_mix(draw, 16, 8);
    const auto begin_of = [](const Wanted& w) {
      return *std::min_element(w.arrivals.begin(), w.arrivals.end());
    };
    std::sort(all.begin(), all.end(),
              [&](const Wanted& a, const Wanted& b) { return begin_of(a) < begin_of(b); });
    Stand stand(tree);
    Times times;
    for (const Wanted& w : all) times.emplace_back(w.arrivals.size(), -1);
    const auto note = [&](const FlowDeparture& one) {
      times[one.course][static_cast<std::size_t>(one.place)] = one.at.count();
    };
    for (const Wanted& w : all) {
      const Seconds at{begin_of(w)};
      while (const auto one = stand.engine.next(at)) {
        EXPECT_LE(one->at, at * (1 + 1e-11));
        note(*one);
      }
      stand.arrive(stand.begin(w), w);
    }
    while (const auto one = stand.engine.next()) note(*one);
    expect_near(times, play(tree, all), 1e-11);
  }
}

TEST(Courses, SkippedPeriodsEndWhereSomebodyComes) {
  int skipped = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RandomStream draw(seed, 6);
    const Fabric hosts = on_switch(64, 1e-6);
    // A ring soon repeats; its rounds take 1 ms. Others come in its middle.
    std::vector<Wanted> all{ring(numbers(64), 64 * kMega, 0)};
    for (int i = 0; i < 3; ++i) {
      const double at = 130 * kMs * draw.uniform(1, static_cast<std::uint64_t>(i));
      const int from = static_cast<int>(draw.bits(2, static_cast<std::uint64_t>(i)) % 64);
      all.push_back(message(from, (from + 9) % 64, 0.3 * kMega, at, at + 5e-4));
    }
    Stand stand(hosts);
    const Times with = play(stand, all, numbers(4));
    const FlowOutcome outcome = stand.engine.take_outcome();
    skipped += outcome.memo ? 1 : 0;
    FlowOptions options;
    options.memo = false;
    Stand plain(hosts, options);
    const Times without = play(plain, all, numbers(4));
    expect_near(with, without, 1e-9);
    const FlowOutcome every = plain.engine.take_outcome();
    EXPECT_EQ(outcome.messages, every.messages);
    for (std::size_t l = 0; l < every.link_bytes.size(); ++l)
      EXPECT_NEAR(outcome.link_bytes[l], every.link_bytes[l], 1e-9 * (1 + every.link_bytes[l]));
  }
  EXPECT_GT(skipped, 30) << "else this compares nothing";
}

// Nobody has said yet that somebody will come; but the clock must not be beyond it.
TEST(Courses, SkippedPeriodsEndWhereTheClockIsHeld) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Fabric hosts = on_switch(64, 1e-6);
    const double at = 130 * kMs * RandomStream(seed, 7).uniform(0, 0);
    const std::vector<Wanted> all{ring(numbers(64), 64 * kMega, 0), message(7, 8, 20 * kMega, at)};
    Stand stand(hosts);
    stand.arrive(stand.begin(all[0]), all[0]);
    std::optional<FlowDeparture> early;
    if (at < 120 * kMs) {
      early = stand.engine.next(Seconds{at});
      EXPECT_FALSE(early) << "the ring takes 126 ms";
    }
    stand.arrive(stand.begin(all[1]), all[1]);
    const Times told = drain(stand.engine, {{0, 0}, {1, 1}}, all);
    EXPECT_TRUE(stand.engine.take_outcome().memo || at < 20 * kMs);
    FlowOptions options;
    options.memo = false;
    expect_near(told, play(hosts, all, options), 1e-9);
  }
}

// Against every message played, with all that may break what was foreseen. Some orders of the hosts are such that
// rounding decides who is first, and all that follows: then a start 1e-14 s later changes more than what is compared.
TEST(Courses, WhatGoesAsBeforeEndsAsIfItWerePlayed) {
  std::int64_t recurred = 0;
  int broken = 0;
  int unstable = 0;
  FlowOptions options;
  options.memo = false;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const int hosts = seed % 2 == 0 ? 8 : 16;
    Turns turns = random_turns(RandomStream(seed, 8), hosts);
    const Fabric tree = on_tree(hosts, 4, seed % 3 == 0 ? 2 : 4, 2e-6);
    Stand stand(tree);
    const Times with = play(stand, turns);
    Stand plain(tree, options);
    const Times without = play(plain, turns);
    const FlowOutcome outcome = stand.engine.take_outcome();
    const FlowOutcome every = plain.engine.take_outcome();
    recurred += outcome.recurred;
    broken += outcome.recurred > 0 && turns.breaks ? 1 : 0;
    EXPECT_EQ(outcome.messages, every.messages) << seed;
    for (std::size_t l = 0; l < every.link_bytes.size(); ++l)
      EXPECT_NEAR(outcome.link_bytes[l], every.link_bytes[l], 1e-9 * (1 + every.link_bytes[l])) << seed;
    const double apart = most_apart(with, without);
    if (apart < 1e-10) continue;
    ++unstable;
    turns.late[0][0] += 1e-14;
    Stand later(tree, options);
    EXPECT_GT(most_apart(play(later, turns), without), apart) << seed;
  }
  EXPECT_GT(recurred, 2500) << "else this compares little";
  EXPECT_GT(broken, 100);
  EXPECT_LT(unstable, 6);
}

TEST(Courses, OneAfterTheOtherNeedsTheRoomOfOne) {
  Stand stand(on_switch(8));
  double at = 0;
  std::size_t after_first = 0;
  for (int i = 0; i < 1000; ++i) {
    Wanted w = ring(numbers(i % 2 == 0 ? 8 : 4), 8000, at);
    const FlowCourseId id = stand.begin(w);
    stand.arrive(id, w);
    for (int left = 0; left < w.spec.ranks; ++left) {
      const auto one = stand.engine.next();
      ASSERT_TRUE(one);
      EXPECT_EQ(one->course, id);
      at = one->at.count();
    }
    if (i == 1) after_first = stand.engine.slots();
  }
  EXPECT_EQ(stand.engine.slots(), after_first);
  // Each has its own time again: 14 rounds of 1 kB, 6 of 2 kB.
  EXPECT_NEAR(at, 500 * (14 * 1e-6 + 6 * 2e-6), 1e-9 * at);
}

TEST(Courses, NothingToDoTakesNoTime) {
  using model::Algorithm;
  const Fabric plain = on_switch(4, 1e-6);
  // One member.
  for (const Algorithm a : {Algorithm::Ring, Algorithm::BinomialTree, Algorithm::DoubleBinaryTree}) {
    Wanted alone = ring({2}, 1 * kMega, 5e-3);
    alone.spec.algorithm = a;
    EXPECT_EQ(play(plain, {alone})[0][0], 5e-3) << name_of(a);
  }
  // No bytes: the latencies only; and they take nothing from anybody.
  const Times t = play(plain, {ring(numbers(4), 0, 0), message(0, 1, 1 * kMega, 0)});
  EXPECT_NEAR(ends(t)[0], 6 * 2e-6, 1e-15);
  EXPECT_NEAR(t[1][1], 2e-6 + 1 * kMs, 1e-15);
  // All members on one device.
  EXPECT_EQ(ends(play(plain, {ring({1, 1, 1}, 1 * kMega, 1e-3)}))[0], 1e-3);
  // No latency, no bytes, any number of them.
  std::vector<Wanted> nothing(20, ring(numbers(4), 0, 1e-3));
  for (const double end : ends(play(on_switch(4), nothing))) EXPECT_EQ(end, 1e-3);
}

TEST(Courses, ManyThatBeginAtOnceShareAlike) {
  std::vector<Wanted> all(50, message(0, 1, 1 * kMega, 2e-3));
  for (const double end : ends(play(on_switch(2), all))) EXPECT_NEAR(end, 2 * kMs + 50 * kMs, 1e-12);
}

TEST(Courses, BackgroundFlowsBringNobodyOn) {
  FlowOptions options;
  options.background.flows = 4;
  Stand stand(on_switch(4), options);
  const Wanted w = ring(numbers(4), 4 * kMega, 1e-3);
  const FlowCourseId id = stand.begin(w);
  stand.engine.arrive(id, 0, Seconds{1e-3});
  EXPECT_FALSE(stand.engine.next()) << "three have not come";
  for (int p = 1; p < 4; ++p) stand.engine.arrive(id, p, Seconds{2e-3});
  EXPECT_TRUE(stand.engine.next());
}

// A sends 1 MB at 0, B 10 MB at 0.5 ms. Alone on the link for 0.5 ms, A ends at 1.5 ms; 0.6 ms later it has B beside it
// all the time, and ends at 2.6 ms: 1.8333 of the delay.
TEST(Courses, ADelayGrowsWhereALinkIsShared) {
  const auto end_of_a = [](bool off) {
    const auto noise = Noise::make({{.name = "delay",
                                     .law = model::NoiseLaw::Constant,
                                     .pattern = model::NoisePattern::Once,
                                     .relative = false,
                                     .mean = Seconds{0.6 * kMs},
                                     .ranks = {0},
                                     .off = off}},
                                   {.ranks = 2}, 1);
    EXPECT_TRUE(noise);
    std::vector<Seconds> at{Seconds{}, Seconds{0.5 * kMs}};
    noise->compute(0, 0, at, at);
    return ends(play(on_switch(3),
                     {message(0, 2, 1 * kMega, at[0].count()), message(1, 2, 10 * kMega, at[1].count())}))[0];
  };
  EXPECT_NEAR(end_of_a(true), 1.5 * kMs, 1e-15);
  EXPECT_NEAR(end_of_a(false), 2.6 * kMs, 1e-15);
  EXPECT_NEAR((end_of_a(false) - end_of_a(true)) / (0.6 * kMs), 1.8333, 1e-4);
}

// On an idle switch nothing is shared, so noise must do what it does in the max-plus engine, draw by draw.
TEST(Courses, NoiseOfGroupsIsThatOfTheMaxPlusEngine) {
  for (const auto target : {model::NoiseTarget::Message, model::NoiseTarget::Bandwidth}) {
    const std::vector<model::NoiseSource> sources{
        {.name = "jitter", .target = target, .law = model::NoiseLaw::Uniform, .mean_ratio = 0.05}};
    const auto noise = Noise::make(sources, {.ranks = 24}, 4);
    ASSERT_TRUE(noise) << noise.error().to_string();
    FlowOptions options;
    options.noise = &*noise;
    options.step = 3;
    Wanted w = ring(numbers(24), 8 * kMega, 0);
    w.spec.ranks = 8;
    w.groups = 3;
    w.number = 14;
    w.arrivals = {0, 1e-4, 0, 0, 3e-4, 0, 2e-5, 0};
    const Times flow = play(on_switch(24, 5e-6), {w}, options);
    const auto schedule = model::Schedule::make(w.spec);
    LinkCosts costs;
    costs.across = {.latency = Seconds{1e-5}, .per_byte = TimePerByte::seconds_per_byte(1e-9)};
    std::vector<double> latest(8, 0);
    for (int g = 0; g < 3; ++g) {
      std::vector<Seconds> times;
      times.reserve(w.arrivals.size());
      for (const double a : w.arrivals) times.emplace_back(a);
      std::vector<int> ranks = numbers(8);
      for (int& rank : ranks) rank += 8 * g;
      (void)run_collective(*schedule, costs,
                           {.noise = &*noise, .step = 3, .number = 14 + 2 * g, .ranks = std::move(ranks)},
                           times);
      for (std::size_t r = 0; r < 8; ++r) latest[r] = std::max(latest[r], times[r].count());
    }
    for (std::size_t r = 0; r < 8; ++r) EXPECT_NEAR(flow[0][r], latest[r], 1e-9 * latest[r]) << r;
  }
}

}  // namespace
}  // namespace courses
}  // namespace cox::simulate
