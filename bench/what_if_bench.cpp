// SPDX-License-Identifier: Apache-2.0
// What replay and the what-if cost, as CPU time of one thread; `ops` counts simulated operations per second:
//   Graph/joins/R       replay of R chains that join once per round (operations = nodes)
//   Graph/path          the same with critical path and slack
//   Tracks/world/R/S    R tracks that all meet, S scenarios (operations = stretches of work * scenarios)
//   Tracks/grid/R/S     the same where tracks meet in rows and columns in turn
//   WhatIf/world/R/C    the whole what-if of a Run of R ranks and C collectives, matching included;
//                       `beside_MB` is what the process grew by beside the Run
//   WhatIf/grid/R/C     the same where groups of 8 meet three times, then across
//   build/release/what_if_bench --benchmark_filter='WhatIf/world/1024/10000'
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <numeric>
#include <vector>

#include "cox/replay/replay.hpp"
#include "cox/replay/tracks.hpp"

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/what_if/what_if.hpp"

namespace {

using namespace cox;
using namespace std::chrono_literals;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

Duration some_work(std::uint64_t a, std::uint64_t b) {
  return Duration{static_cast<std::int64_t>(10'000'000'000 + mix(a * 1'000'003 + b) % 1'000'000'000)};
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Joins {
  model::Dependencies graph;
  std::vector<Duration> durations;
};

Joins joins(std::size_t chains, std::size_t rounds) {
  Joins out;
  std::vector<model::OperationIndex> arrivals(chains);
  model::OperationIndex join = model::kNoOperation;
  out.graph.reserve(rounds * (chains + 1), rounds * 2 * chains);
  for (std::size_t c = 0; c < rounds; ++c) {
    for (std::size_t r = 0; r < chains; ++r) {
      arrivals[r] = out.graph.add(join);
      out.durations.push_back(some_work(r, c));
    }
    join = out.graph.add(arrivals);
    out.durations.push_back(500us);
  }
  return out;
}

void count(benchmark::State& state, std::size_t per_turn) {
  state.counters["ops"] =
      benchmark::Counter(static_cast<double>(per_turn), benchmark::Counter::kIsIterationInvariantRate);
}

void graph_joins(benchmark::State& state) {
  const auto chains = static_cast<std::size_t>(state.range(0));
  const Joins j = joins(chains, 2'000'000 / chains);
  std::vector<Duration> room;
  for (auto _ : state) benchmark::DoNotOptimize(replay::makespan(j.graph, j.durations, room));
  count(state, j.graph.size());
}

void graph_path(benchmark::State& state) {
  const Joins j = joins(1024, 2000);
  for (auto _ : state) {
    const replay::OperationTimes t = replay::replay(j.graph, j.durations);
    benchmark::DoNotOptimize(replay::critical_path(j.graph, j.durations, t));
    benchmark::DoNotOptimize(replay::slack(j.graph, j.durations, t));
  }
  count(state, j.graph.size());
}

/// All meet, or rows and columns of a square meet in turn.
replay::Tracks tracks_of(std::size_t count, std::size_t rounds, bool grid) {
  replay::Tracks t(count);
  std::size_t side = 1;
  while (side * side < count) ++side;
  std::vector<std::vector<replay::Track>> groups(grid ? 2 * side : 1);
  for (replay::Track r = 0; r < count; ++r) {
    groups[grid ? r / side : 0].push_back(r);
    if (grid) groups[side + r % side].push_back(r);
  }
  for (const auto& group : groups) t.add_group(group);
  std::vector<Duration> work;
  for (std::size_t c = 0; c < rounds; ++c)
    for (std::size_t g = 0; g < (grid ? side : 1); ++g) {
      const std::size_t which = grid ? g + (c % 2) * side : 0;
      work.clear();
      for (const replay::Track r : groups[which]) work.push_back(some_work(r, c));
      t.meet(static_cast<std::uint32_t>(which), work, 500us, static_cast<std::uint32_t>(c / 16));
    }
  return t;
}

void tracks(benchmark::State& state, bool grid) {
  const auto count_of = static_cast<std::size_t>(state.range(0));
  const auto scenarios = static_cast<std::size_t>(state.range(1));
  const replay::Tracks t = tracks_of(count_of, 2'000'000 / count_of, grid);
  const std::vector<Duration> instead(2'000'000 / count_of, 10ms);
  std::vector<replay::OtherDurations> asked(scenarios);
  for (std::size_t i = 0; i < scenarios; ++i)
    asked[i].instead.emplace_back(static_cast<replay::Track>(i % count_of), instead);
  for (auto _ : state) benchmark::DoNotOptimize(replay::replay(t, asked));
  count(state, t.work().size() * scenarios);
}

trace::Run world_run(int ranks, int collectives) {
  trace::Run run = diagnose::testing::empty_run(ranks);
  for (auto& track : run.ranks) track.events.reserve(static_cast<std::size_t>(collectives));
  std::vector<Duration> entry(static_cast<std::size_t>(ranks));
  Duration free_at{};
  for (int c = 0; c < collectives; ++c) {
    Duration latest{};
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      entry[i] = free_at + some_work(i, static_cast<std::uint64_t>(c)) + (r == 7 ? 1ms : 0ms);
      latest = std::max(latest, entry[i]);
    }
    free_at = latest + 500us;
    for (int r = 0; r < ranks; ++r)
      diagnose::testing::add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::AllReduce,
                                  entry[static_cast<std::size_t>(r)], free_at,
                                  std::int64_t{1'000'000} * (1 + c % 4), static_cast<std::uint32_t>(c));
  }
  return run;
}

/// Ranks in groups of 8 that meet three times per step, then with those
/// of the same place in the other groups.
trace::Run grid_run(int ranks, int collectives) {
  constexpr int kSide = 8;
  trace::Run run = diagnose::testing::empty_run(ranks);
  const auto add_comm = [&](int id, std::vector<Rank> members) {
    const auto size = static_cast<int>(members.size());
    run.communicators.push_back({CommId{id}, 0, "group " + std::to_string(id), size, std::move(members)});
  };
  const int rows = ranks / kSide;
  for (int g = 0; g < rows; ++g) {
    std::vector<Rank> members;
    members.reserve(kSide);
    for (int k = 0; k < kSide; ++k) members.emplace_back(g * kSide + k);
    add_comm(1 + g, std::move(members));
  }
  for (int k = 0; k < kSide; ++k) {
    std::vector<Rank> members;
    members.reserve(static_cast<std::size_t>(rows));
    for (int g = 0; g < rows; ++g) members.emplace_back(g * kSide + k);
    add_comm(1 + rows + k, std::move(members));
  }
  std::vector<Duration> at(static_cast<std::size_t>(ranks));
  for (int c = 0; c < collectives; ++c) {
    const bool across = c % 4 == 3;
    for (int id = across ? 1 + rows : 1; id < (across ? 1 + rows + kSide : 1 + rows); ++id) {
      Duration latest{};
      const auto& members = run.communicators[static_cast<std::size_t>(id)].ranks;
      std::vector<Duration> entry;
      for (const Rank r : members) {
        const auto i = static_cast<std::size_t>(r.value());
        entry.push_back(at[i] + some_work(i, static_cast<std::uint64_t>(c)) + (i == 7 ? 1ms : 0ms));
        latest = std::max(latest, entry.back());
      }
      for (std::size_t k = 0; k < members.size(); ++k) {
        const auto i = static_cast<std::size_t>(members[k].value());
        at[i] = latest + 200us;
        diagnose::testing::add_call(run.ranks[i].events, model::Collective::AllReduce, entry[k], at[i],
                                    across ? 4'000'000 : 1'000'000,
                                    static_cast<std::uint32_t>(across ? c / 4 : c - c / 4), id);
      }
    }
  }
  return run;
}

void what_if_run(benchmark::State& state, trace::Run (*make)(int, int)) {
  const trace::Run run = make(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const double before = peak_mb();
  diagnose::WhatIf w;
  for (auto _ : state) w = diagnose::what_if(diagnose::Matched(run, {.threads = 1}), {.threads = 1});
  state.counters["beside_MB"] = peak_mb() - before;
  state.counters["scenarios"] = static_cast<double>(w.scenarios);
  count(state, static_cast<std::size_t>(w.cells * w.scenarios));
}

BENCHMARK(graph_joins)->Name("Graph/joins")->Arg(4)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(graph_path)->Name("Graph/path")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tracks, world, false)
    ->Name("Tracks/world")
    ->Args({8, 32})
    ->Args({1024, 1})
    ->Args({1024, 32})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tracks, grid, true)
    ->Name("Tracks/grid")
    ->Args({1024, 1})
    ->Args({1024, 32})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(what_if_run, grid, grid_run)
    ->Name("WhatIf/grid")
    ->Args({1024, 1000})
    ->Args({1024, 10'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(what_if_run, world, world_run)
    ->Name("WhatIf/world")
    ->Args({64, 10'000})
    ->Args({1024, 1000})
    ->Args({1024, 10'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
