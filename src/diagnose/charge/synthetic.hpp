// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: Runs of programs that meet in nested groups, played out on one true clock.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose::testing {

/// A rank works, then meets the members of a group.
struct Meeting {
  int group = 0;
  Duration work{};
};

/// One program per rank. Every group's members must meet in the same order, as in any program that ends.
struct NestedJob {
  int ranks = 4;
  int nodes = 1;
  std::vector<std::vector<int>> groups;  ///< ascending ranks
  std::vector<std::vector<Meeting>> programs;
  Duration transfer = 100us;
  std::function<Duration(int group)> transfer_of;  ///< where set, instead of `transfer`
  std::function<Duration(int node)> clock_offset = [](int) { return Duration::zero(); };
  std::function<Duration(int rank)> start = [](int) { return Duration{1ms}; };
};

inline trace::Run play(const NestedJob& job) {
  trace::Run run = empty_run(job.ranks, job.nodes);
  run.communicators.clear();
  const auto ranks = static_cast<std::size_t>(job.ranks);
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    trace::Communicator c;
    c.id = CommId{static_cast<int>(g)};
    c.name = "group" + std::to_string(g);
    c.size = static_cast<int>(job.groups[g].size());
    for (const int r : job.groups[g]) c.ranks.emplace_back(r);
    c.by_rank = c.ranks;
    run.communicators.push_back(std::move(c));
  }
  std::vector<Duration> free_at(ranks);
  std::vector<Duration> entry(ranks);
  std::vector<std::size_t> at(ranks, 0);
  std::vector<bool> inside(ranks, false);
  std::vector<std::size_t> arrived(job.groups.size(), 0);
  std::vector<std::uint32_t> seq(job.groups.size(), 0);
  for (std::size_t r = 0; r < ranks; ++r) free_at[r] = job.start(static_cast<int>(r));
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (inside[r] || at[r] >= job.programs[r].size()) continue;
      const Meeting& next = job.programs[r][at[r]];
      const auto g = static_cast<std::size_t>(next.group);
      entry[r] = free_at[r] + next.work;
      inside[r] = moved = true;
      if (++arrived[g] < job.groups[g].size()) continue;
      Duration latest = Duration::min();
      for (const int m : job.groups[g]) latest = std::max(latest, entry[static_cast<std::size_t>(m)]);
      const Duration end = latest + (job.transfer_of ? job.transfer_of(next.group) : job.transfer);
      for (const int m : job.groups[g]) {
        const auto i = static_cast<std::size_t>(m);
        const Duration offset = job.clock_offset(m * job.nodes / job.ranks);
        add_call(run.ranks[i].events, model::Collective::AllReduce, entry[i] + offset, end + offset,
                 1'000'000, seq[g], next.group);
        free_at[i] = end;
        inside[i] = false;
        ++at[i];
      }
      ++seq[g];
      arrived[g] = 0;
    }
  }
  return run;
}

/// Tensor pairs, data-parallel columns and the world: `layers` meetings of each pair, one of each column, one
/// of all, per step. `work(rank, step, layer)` is done before each meeting of the pair.
inline NestedJob parallel_layout(int pairs, int steps, int layers,
                                 const std::function<Duration(int, int, int)>& work) {
  NestedJob job;
  job.ranks = 2 * pairs;
  job.programs.resize(static_cast<std::size_t>(job.ranks));
  for (int p = 0; p < pairs; ++p) job.groups.push_back({2 * p, 2 * p + 1});
  for (int t = 0; t < 2; ++t) {
    std::vector<int> column;
    column.reserve(static_cast<std::size_t>(pairs));
    for (int p = 0; p < pairs; ++p) column.push_back(2 * p + t);
    job.groups.push_back(column);
  }
  std::vector<int> world;
  world.reserve(static_cast<std::size_t>(job.ranks));
  for (int r = 0; r < job.ranks; ++r) world.push_back(r);
  job.groups.push_back(world);
  for (int r = 0; r < job.ranks; ++r)
    for (int s = 0; s < steps; ++s) {
      auto& program = job.programs[static_cast<std::size_t>(r)];
      for (int l = 0; l < layers; ++l) program.push_back({r / 2, work(r, s, l)});
      program.push_back({pairs + r % 2, Duration{1ms}});
      program.push_back({pairs + 2, Duration{1ms}});
    }
  return job;
}

}  // namespace cox::diagnose::testing
