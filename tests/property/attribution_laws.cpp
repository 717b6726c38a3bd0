// SPDX-License-Identifier: Apache-2.0
// Laws of delay costs, time structure and fabric: what is charged is what was waited; names follow ranks and
// ports; units cancel; noise has no structure.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "diagnose/charge/attribution.hpp"
#include "diagnose/charge/synthetic.hpp"
#include "diagnose/fabric/fabric.hpp"
#include "diagnose/over_time/time_structure.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;
using testing::Job;
using testing::NestedJob;

/// Tensor pairs, columns and the world, with noise of any size and perhaps somebody slow.
NestedJob any_layout() {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const int pairs = *rc::gen::inRange(1, 6);
  const int slow = *rc::gen::inRange(0, 2 * pairs);
  const int percent = *rc::gen::inRange(0, 60);
  const auto extra = std::chrono::microseconds{*rc::gen::inRange(0, 3000)};
  NestedJob job = testing::parallel_layout(
      pairs, *rc::gen::inRange(1, 8), *rc::gen::inRange(1, 5), [=](int r, int s, int l) {
        return testing::lognormal_work(seed, r, 100 * s + l, 3ms, percent / 100.0) +
               (r == slow ? Duration{extra} : Duration::zero());
      });
  if (*rc::gen::arbitrary<bool>()) {
    job.nodes = 2;
    job.clock_offset = [](int node) { return node * Duration{3s}; };
  }
  return job;
}

void drop_some_calls(trace::Run& run, std::uint64_t seed, int per_mille) {
  std::minstd_rand bits(static_cast<std::uint32_t>(seed + 1));
  for (auto& track : run.ranks) {
    const trace::EventColumns old = std::move(track.events);
    track.events = {};
    for (std::size_t i = 0; i < old.size(); ++i)
      if (static_cast<int>(bits() % 1000) >= per_mille)
        testing::add_call(track.events, old.collective(i), old.begin[i], old.end[i], old.bytes[i].count(),
                          old.seq[i], old.comm[i].value());
  }
}

void check_sums(const Attribution& a) {
  RC_ASSERT(a.balanced);
  RC_ASSERT(a.waited == a.charged + a.communication + a.carried_in + a.unknown);
  Duration waited{};
  Duration charged{};
  Duration activities{};
  for (const RankCharge& r : a.ranks) {
    RC_ASSERT(r.waited >= 0ms && r.short_term >= 0ms && r.long_term >= 0ms && r.communication >= 0ms);
    waited += r.waited;
    charged += r.short_term + r.long_term;
    for (const Duration d : r.by_activity) activities += d;
  }
  RC_ASSERT(waited == a.waited);
  RC_ASSERT(charged == a.charged);
  RC_ASSERT(activities == a.charged);
  Duration pairs{};
  for (const PairCharge& p : a.pairs) pairs += p.direct + p.passed;
  RC_ASSERT(pairs == a.charged);
}

RC_GTEST_PROP(AttributionLaws, WhatIsChargedIsWhatWasWaited, ()) {
  trace::Run run = testing::play(any_layout());
  const int lost = *rc::gen::element(0, 0, 20, 300);
  drop_some_calls(run, *rc::gen::inRange<std::uint64_t>(0, 1000), lost);
  const auto a = attribute_waits(run);
  RC_ASSERT(a.has_value());
  if (!a->refused) check_sums(*a);
}

/// Times that no program could have made: ends before begins, members in any order, waits for anybody.
RC_GTEST_PROP(AttributionLaws, NonsenseBalancesToo, ()) {
  const int ranks = *rc::gen::inRange(1, 6);
  trace::Run run = testing::empty_run(ranks);
  run.communicators[0].by_rank = run.communicators[0].ranks;
  run.communicators.push_back(run.communicators[0]);
  run.communicators[1].id = CommId{1};
  for (auto& track : run.ranks) {
    Duration at{};
    std::uint32_t seq[2] = {0, 0};
    for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
      at += std::chrono::microseconds{*rc::gen::inRange(0, 500)};
      const Duration end = at + std::chrono::microseconds{*rc::gen::inRange(-100, 900)};
      const int comm = *rc::gen::inRange(0, 2);
      if (*rc::gen::inRange(0, 4) == 0) {
        testing::add_event(track.events, trace::EventKind::Wait,
                           static_cast<std::uint8_t>(trace::WaitKind::Peer), at, end, 0, CommId{comm}, 0);
        track.events.aux.set_back(static_cast<std::uint32_t>(*rc::gen::inRange(0, ranks + 1)));
      } else {
        testing::add_call(track.events, model::Collective::AllReduce, at, end, 8, seq[comm]++, comm);
      }
    }
  }
  const auto a = attribute_waits(run);
  RC_ASSERT(a.has_value());
  check_sums(*a);
}

RC_GTEST_PROP(AttributionLaws, PermutingRanksPermutesTheCosts, ()) {
  const NestedJob job = any_layout();
  const trace::Run run = testing::play(job);
  std::vector<int> to(run.ranks.size());
  std::iota(to.begin(), to.end(), 0);
  std::rotate(to.begin(), to.begin() + *rc::gen::inRange(0, job.ranks), to.end());
  if (*rc::gen::arbitrary<bool>()) std::reverse(to.begin(), to.end());
  trace::Run other = run;
  for (std::size_t r = 0; r < to.size(); ++r) {
    auto& track = other.ranks[static_cast<std::size_t>(to[r])];
    track = run.ranks[r];
    track.rank = Rank{to[r]};
  }
  for (auto& comm : other.communicators) {
    for (auto& rank : comm.ranks) rank = Rank{to[static_cast<std::size_t>(rank.value())]};
    std::sort(comm.ranks.begin(), comm.ranks.end());
  }
  const auto a = attribute_waits(run);
  const auto b = attribute_waits(other);
  RC_ASSERT(a->waited == b->waited && a->carried_in == b->carried_in);
  // Picoseconds that do not divide go to the lower rank.
  const auto same = [&](Duration x, Duration y) {
    return std::abs((x - y).count()) <= 16 * static_cast<std::int64_t>(run.event_count());
  };
  for (std::size_t r = 0; r < to.size(); ++r) {
    const RankCharge& x = a->ranks[r];
    const RankCharge& y = b->ranks[static_cast<std::size_t>(to[r])];
    RC_ASSERT(x.waited == y.waited && x.self_delay == y.self_delay);
    RC_ASSERT(same(x.short_term, y.short_term) && same(x.long_term, y.long_term));
  }
}

RC_GTEST_PROP(AttributionLaws, SlowMotionScalesCosts, ()) {
  trace::Run run = testing::play(any_layout());
  const auto a = attribute_waits(run);
  const int factor = *rc::gen::inRange(2, 50);
  for (auto& track : run.ranks)
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      track.events.begin[i] *= factor;
      track.events.end[i] *= factor;
    }
  const auto b = attribute_waits(run);
  RC_ASSERT(b->waited == a->waited * factor && b->carried_in == a->carried_in * factor);
  const auto rounding = Duration{std::int64_t{16} * factor * static_cast<std::int64_t>(run.event_count())};
  for (std::size_t r = 0; r < a->ranks.size(); ++r) {
    const Duration x = a->ranks[r].short_term * factor - b->ranks[r].short_term;
    RC_ASSERT(x <= rounding && x >= -rounding);
  }
}

RC_GTEST_PROP(AttributionLaws, WhoNeverWaitsChargesNobody, ()) {
  const int ranks = *rc::gen::inRange(1, 9);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  Job job;
  job.ranks = ranks;
  job.steps = *rc::gen::inRange(1, 30);
  job.work = [=](int, int s) { return testing::lognormal_work(seed, 0, s, 5ms, 0.5); };
  const trace::Run run = testing::make_job(job);
  const auto a = attribute_waits(run);
  RC_ASSERT(a->waited == 0ms && a->charged == 0ms && a->unknown == 0ms && a->pairs.empty());
}

std::vector<StepId> numbered(std::size_t n) {
  std::vector<StepId> steps;
  for (std::size_t s = 0; s < n; ++s) steps.emplace_back(static_cast<std::int64_t>(s));
  return steps;
}

RC_GTEST_PROP(TimeStructureLaws, JitterAloneHasNone, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const int percent = *rc::gen::inRange(0, 80);
  std::vector<Duration> times;
  for (int s = *rc::gen::inRange(0, 600); s > 0; --s)
    times.push_back(testing::lognormal_work(seed, 0, s, 20ms, percent / 100.0));
  RC_ASSERT(!understand_times(times, numbered(times.size())).evident());
}

RC_GTEST_PROP(TimeStructureLaws, SlowMotionScalesTimesAndKeepsTheRest, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const int onset = *rc::gen::inRange(20, 80);
  const int factor = *rc::gen::inRange(2, 1000);
  std::vector<Duration> times;
  times.reserve(100);
  for (int s = 0; s < 100; ++s)
    times.push_back(testing::lognormal_work(seed, 0, s, s < onset ? 10ms : 14ms, 0.03));
  const TimeStructure a = understand_times(times, numbered(times.size()));
  for (Duration& t : times) t *= factor;
  const TimeStructure b = understand_times(times, numbered(times.size()));
  RC_ASSERT(a.changes.size() == 1U && b.changes.size() == 1U);
  RC_ASSERT(a.changes[0].first_step == StepId{onset} && b.changes[0].first_step == StepId{onset});
  RC_ASSERT(b.median == a.median * factor);
}

/// Four hosts with two ports each, a group for each port and pair of hosts; one port is slow, or none.
RC_GTEST_PROP(FabricLaws, TheSlowPortIsNamedWhereverItIs, ()) {
  const int slow = *rc::gen::inRange(-1, 8);
  NestedJob job;
  job.ranks = 8;
  job.nodes = 4;
  job.programs.resize(8);
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b)
      for (int port = 0; port < 2; ++port) job.groups.push_back({2 * a + port, 2 * b + port});
  for (int step = 0; step < 10; ++step)
    for (std::size_t g = 0; g < job.groups.size(); ++g)
      for (const int r : job.groups[g])
        job.programs[static_cast<std::size_t>(r)].push_back({static_cast<int>(g), 100us});
  job.transfer_of = [&](int group) {
    const auto& members = job.groups[static_cast<std::size_t>(group)];
    return std::find(members.begin(), members.end(), slow) != members.end() ? 300us : 100us;
  };
  job.clock_offset = [](int node) { return node * Duration{1s}; };
  const trace::Run run = testing::play(job);
  const auto f = understand_fabric(run);
  if (slow < 0) {
    RC_ASSERT(f->verdict == FabricVerdict::Healthy);
    return;
  }
  RC_ASSERT(f->verdict == FabricVerdict::Located);
  RC_ASSERT(f->components.size() == 1U && f->components[0].kind == ComponentKind::Nic);
  RC_ASSERT(f->components[0].hosts == std::vector<NodeId>{NodeId{slow / 2}});
  RC_ASSERT(f->components[0].local == std::vector<LocalRank>{LocalRank{slow % 2}});
}

}  // namespace
}  // namespace cox::diagnose
