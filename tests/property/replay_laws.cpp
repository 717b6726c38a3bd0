// SPDX-License-Identifier: Apache-2.0
// Laws of replay: more time never shortens, units cancel, slack is exact, and both kernels agree.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "cox/replay/replay.hpp"
#include "cox/replay/tracks.hpp"

namespace cox::replay {
namespace {

using model::Dependencies;
using model::OperationIndex;

struct Sample {
  Dependencies graph;
  std::vector<std::vector<OperationIndex>> before;
  std::vector<std::vector<Duration>> lags;
  std::vector<Duration> durations;
};

Duration any_time(int below) {
  return Duration{*rc::gen::inRange(0, below)};
}

Sample any_graph(int time_below = 1000) {
  Sample s;
  const bool with_lags = *rc::gen::arbitrary<bool>();
  const int size = *rc::gen::inRange(1, 40);
  for (int i = 0; i < size; ++i) {
    std::vector<OperationIndex> before;
    std::vector<Duration> lags;
    const int count = i == 0 ? 0 : *rc::gen::inRange(0, std::min(i, 4) + 1);
    before.reserve(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) before.push_back(static_cast<OperationIndex>(*rc::gen::inRange(0, i)));
    lags.reserve(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) lags.push_back(with_lags ? any_time(100) : Duration::zero());
    with_lags ? s.graph.add(before, lags) : s.graph.add(before);
    s.before.push_back(std::move(before));
    s.lags.push_back(std::move(lags));
    s.durations.push_back(any_time(time_below));
  }
  return s;
}

OperationIndex any_node(const Sample& s) {
  return static_cast<OperationIndex>(*rc::gen::inRange<std::size_t>(0, s.graph.size()));
}

RC_GTEST_PROP(ReplayLaws, MoreTimeNeverShortens, ()) {
  Sample s = any_graph();
  const OperationTimes a = replay(s.graph, s.durations);
  s.durations[any_node(s)] += any_time(500);
  const OperationTimes b = replay(s.graph, s.durations);
  for (std::size_t i = 0; i < a.finish.size(); ++i) RC_ASSERT(b.finish[i] >= a.finish[i]);
}

RC_GTEST_PROP(ReplayLaws, SlowMotionIsTheSameFilm, ()) {
  const Sample s = any_graph();
  const int factor = *rc::gen::inRange(2, 1000);
  Dependencies slowed;
  for (std::size_t i = 0; i < s.before.size(); ++i) {
    auto lags = s.lags[i];
    for (Duration& lag : lags) lag *= factor;
    s.graph.has_lags() ? slowed.add(s.before[i], lags) : slowed.add(s.before[i]);
  }
  auto durations = s.durations;
  for (Duration& d : durations) d *= factor;
  const OperationTimes a = replay(s.graph, s.durations);
  const OperationTimes b = replay(slowed, durations);
  RC_ASSERT(b.makespan == a.makespan * factor);
  RC_ASSERT(b.last == a.last);
  RC_ASSERT(critical_path(s.graph, s.durations, a) == critical_path(slowed, durations, b));
}

RC_GTEST_PROP(ReplayLaws, TheCriticalPathIsTheMakespan, ()) {
  const Sample s = any_graph();
  std::vector<Duration> release;
  for (std::size_t i = 0; i < s.graph.size(); ++i)
    release.push_back(*rc::gen::inRange(0, 10) == 0 ? any_time(2000) : Duration::zero());
  const OperationTimes t = replay(s.graph, s.durations, release);
  const std::vector<OperationIndex> path = critical_path(s.graph, s.durations, t);
  RC_ASSERT(!path.empty() && path.back() == t.last);
  Duration sum = release[path.front()];
  for (std::size_t i = 0; i < path.size(); ++i) {
    sum += s.durations[path[i]];
    if (i == 0) continue;
    Duration lag = Duration::min();
    for (std::size_t k = 0; k < s.before[path[i]].size(); ++k)
      if (s.before[path[i]][k] == path[i - 1]) lag = std::max(lag, s.lags[path[i]][k]);
    RC_ASSERT(lag != Duration::min());
    sum += lag;
  }
  RC_ASSERT(sum == t.makespan);
}

RC_GTEST_PROP(ReplayLaws, SlackIsExact, ()) {
  Sample s = any_graph();
  const OperationTimes t = replay(s.graph, s.durations);
  const std::vector<Duration> spare = slack(s.graph, s.durations, t);
  for (const OperationIndex node : critical_path(s.graph, s.durations, t))
    RC_ASSERT(spare[node] == Duration::zero());
  const OperationIndex node = any_node(s);
  const Duration own = s.durations[node];
  std::vector<Duration> room;
  s.durations[node] = own + spare[node];
  RC_ASSERT(makespan(s.graph, s.durations, room) == t.makespan);
  s.durations[node] = own + spare[node] + Duration{1};
  RC_ASSERT(makespan(s.graph, s.durations, room) == t.makespan + Duration{1});
}

RC_GTEST_PROP(ReplayLaws, SensitivitiesAreFiniteDifferences, ()) {
  // Durations so long that no two ways are within the change of each other, or else equal to it.
  Sample s = any_graph(1'000'000'000);
  const auto count = static_cast<std::uint32_t>(*rc::gen::inRange(1, 4));
  std::vector<std::uint32_t> classes;
  std::vector<double> weights;
  for (std::size_t i = 0; i < s.graph.size(); ++i) {
    classes.push_back(*rc::gen::inRange<std::uint32_t>(0, count));
    weights.push_back(*rc::gen::inRange(0, 4));
  }
  const OperationTimes t = replay(s.graph, s.durations);
  const auto path = critical_path(s.graph, s.durations, t);
  const auto answers = sensitivities(path, classes, count, weights);
  for (std::uint32_t c = 0; c < count; ++c) {
    auto longer = s.durations;
    for (std::size_t i = 0; i < longer.size(); ++i)
      if (classes[i] == c) longer[i] += Duration{static_cast<std::int64_t>(weights[i])};
    std::vector<Duration> room;
    const Duration moved = makespan(s.graph, longer, room) - t.makespan;
    RC_ASSERT(static_cast<double>(moved.count()) >= answers[c]);
    // Another way may be equally long by chance and have more of the class on it;
    // then the answer is one-sided.
    if (critical_path(s.graph, longer, replay(s.graph, longer)) == path)
      RC_ASSERT(static_cast<double>(moved.count()) == answers[c]);
  }
}

RC_GTEST_PROP(ReplayLaws, AnotherOrderIsTheSameGraph, ()) {
  const Sample s = any_graph();
  const std::size_t size = s.graph.size();
  // Any order in which predecessors come first: by depth, ties by a random key.
  std::vector<int> depth(size, 0);
  std::vector<int> key;
  std::vector<OperationIndex> order(size);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < size; ++i) {
    for (const OperationIndex p : s.before[i]) depth[i] = std::max(depth[i], depth[p] + 1);
    key.push_back(*rc::gen::inRange(0, 1000));
  }
  std::sort(order.begin(), order.end(), [&](OperationIndex a, OperationIndex b) {
    return std::tuple{depth[a], key[a], a} < std::tuple{depth[b], key[b], b};
  });
  std::vector<OperationIndex> place(size);
  for (OperationIndex i = 0; i < size; ++i) place[order[i]] = i;
  Dependencies other;
  std::vector<Duration> durations;
  for (const OperationIndex from : order) {
    std::vector<OperationIndex> before;
    for (const OperationIndex p : s.before[from]) before.push_back(place[p]);
    s.graph.has_lags() ? other.add(before, s.lags[from]) : other.add(before);
    durations.push_back(s.durations[from]);
  }
  const OperationTimes a = replay(s.graph, s.durations);
  const OperationTimes b = replay(other, durations);
  RC_ASSERT(a.makespan == b.makespan);
  const auto spare_a = slack(s.graph, s.durations, a);
  const auto spare_b = slack(other, durations, b);
  for (OperationIndex i = 0; i < size; ++i) {
    RC_ASSERT(a.finish[i] == b.finish[place[i]]);
    RC_ASSERT(spare_a[i] == spare_b[place[i]]);
  }
}

/// Tracks with nested and overlapping groups.
Tracks any_tracks() {
  const auto count = *rc::gen::inRange<std::size_t>(1, 9);
  Tracks t(count);
  std::vector<std::vector<Track>> groups;
  const int kinds = *rc::gen::inRange(1, 4);
  for (int g = 0; g < kinds; ++g) {
    std::vector<Track> members;
    for (Track r = 0; r < count; ++r)
      if (*rc::gen::inRange(0, 3) > 0) members.push_back(r);
    if (members.empty()) members.push_back(0);
    t.add_group(members);
    groups.push_back(std::move(members));
  }
  for (Track r = 0; r < count; ++r) {
    t.set_start(r, any_time(50));
    t.set_tail(r, any_time(50));
  }
  const int meetings = *rc::gen::inRange(0, 30);
  for (int c = 0; c < meetings; ++c) {
    const auto g = *rc::gen::inRange<std::size_t>(0, groups.size());
    std::vector<Duration> work;
    for (std::size_t k = 0; k < groups[g].size(); ++k) work.push_back(any_time(100));
    t.meet(static_cast<std::uint32_t>(g), work, any_time(30), static_cast<std::uint32_t>(c / 5));
  }
  return t;
}

/// The same as a Dependencies: a root per track, a node per cell, a join per meeting, a node per tail.
Duration makespan_as_graph(const Tracks& t, const OtherDurations& s) {
  Dependencies g;
  std::vector<Duration> d;
  std::vector<OperationIndex> at(t.size());
  std::vector<std::size_t> met(t.size(), 0);
  for (Track r = 0; r < t.size(); ++r) {
    at[r] = g.add();
    d.push_back(t.starts()[r]);
  }
  const auto work = s.work.empty() ? t.work() : s.work;
  for (std::size_t c = 0; c < t.meetings().size(); ++c) {
    const auto& m = t.meetings()[c];
    std::vector<OperationIndex> arrivals;
    const auto members = t.members(m.group);
    for (std::size_t k = 0; k < members.size(); ++k) {
      Duration own = work[m.first_cell + k];
      for (const auto& [track, instead] : s.instead)
        if (track == members[k]) own = instead[met[track]];
      ++met[members[k]];
      arrivals.push_back(g.add(at[members[k]]));
      d.push_back(own);
    }
    const OperationIndex join = g.add(arrivals);
    d.push_back(s.transfer.empty() ? m.transfer : s.transfer[c]);
    for (const Track r : members) at[r] = join;
  }
  for (Track r = 0; r < t.size(); ++r) {
    g.add(at[r]);
    d.push_back(t.tails()[r]);
  }
  return replay(g, d).makespan;
}

RC_GTEST_PROP(ReplayLaws, TracksAreTheirGraph, ()) {
  const Tracks t = any_tracks();
  std::vector<std::vector<Duration>> columns;
  columns.reserve(1000);
  const auto column = [&](std::size_t size) {
    columns.emplace_back();
    for (std::size_t i = 0; i < size; ++i) columns.back().push_back(any_time(100));
    return std::span<const Duration>(columns.back());
  };
  std::vector<OtherDurations> questions(*rc::gen::inRange<std::size_t>(1, 70));
  const auto other_work = column(t.work().size());
  for (OtherDurations& s : questions) {
    if (*rc::gen::inRange(0, 4) == 0) s.work = other_work;
    if (*rc::gen::inRange(0, 4) == 0) s.transfer = column(t.meetings().size());
    for (Track r = 0; r < t.size(); ++r)
      if (*rc::gen::inRange(0, 4) == 0) s.instead.emplace_back(r, column(t.meetings().size()));
  }
  const auto answers = replay(t, questions, 2);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    RC_ASSERT(answers[i].makespan == makespan_as_graph(t, questions[i]));
    RC_ASSERT(answers[i].block_end.size() == t.blocks());
    RC_ASSERT(std::is_sorted(answers[i].block_end.begin(), answers[i].block_end.end()));
    if (t.blocks() > 0) RC_ASSERT(answers[i].block_end.back() == answers[i].makespan);
  }
  RC_ASSERT(times_of(t).makespan == makespan_as_graph(t, {}));
}

}  // namespace
}  // namespace cox::replay
