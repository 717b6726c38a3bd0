// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: Runs of a job whose own work per rank and step is a function that the test writes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cox/trace/run.hpp"

namespace cox::diagnose::testing {

using namespace std::chrono_literals;

struct Job {
  int ranks = 8;
  int steps = 100;
  int calls_per_step = 1;
  int nodes = 1;
  Duration transfer = 500us;
  bool marks = false;
  bool ddp = false;  ///< collectives on a worker thread, the program waits once per step
  std::function<Duration(int rank, int step)> work = [](int, int) { return Duration{10ms}; };
  std::function<Duration(int node)> clock_offset = [](int) { return Duration::zero(); };
  /// How much later than the first one a rank leaves the operation of a step.
  std::function<Duration(int rank, int step)> leave = [](int, int) { return Duration::zero(); };
};

inline void add_event(trace::EventColumns& e, trace::EventKind kind, std::uint8_t op, Duration begin,
                      Duration end, std::int64_t bytes, CommId comm, std::uint32_t seq,
                      std::uint16_t flags = 0, std::uint32_t thread = 0) {
  e.push_back({.kind = kind,
               .op = op,
               .flags = flags,
               .begin = begin,
               .end = end,
               .bytes = Bytes{bytes},
               .comm = comm,
               .seq = seq,
               .thread = thread});
}

inline void add_call(trace::EventColumns& e, model::Collective op, Duration begin, Duration end,
                     std::int64_t bytes, std::uint32_t seq, int comm = 0, std::uint16_t flags = 0,
                     std::uint32_t thread = 0) {
  add_event(e, trace::EventKind::Collective, static_cast<std::uint8_t>(op), begin, end, bytes, CommId{comm},
            seq, flags, thread);
}

/// Ranks, nodes and one communicator of all ranks, without events.
inline trace::Run empty_run(int ranks, int nodes = 1) {
  trace::Run run;
  run.info.provenance = trace::Provenance::Simulated;
  run.world_size = ranks;
  for (int n = 0; n < nodes; ++n) run.nodes.push_back({NodeId{n}, "node" + std::to_string(n), ""});
  trace::Communicator world;
  world.id = CommId{0};
  world.name = "world";
  world.size = ranks;
  for (int r = 0; r < ranks; ++r) {
    world.ranks.emplace_back(r);
    trace::RankTrack track;
    track.rank = Rank{r};
    track.node = NodeId{r * nodes / ranks};
    run.ranks.push_back(std::move(track));
  }
  run.communicators.push_back(std::move(world));
  return run;
}

inline void add_ddp_step(trace::EventColumns& e, std::uint32_t step, Duration entry, Duration latest,
                         Duration exit) {
  // Two buckets on the worker thread; the first is under way while the program still works.
  add_call(e, model::Collective::AllReduce, entry - 2ms, std::max(latest - 1ms, entry - 2ms), 4'000'000,
           2 * step, 0, trace::kOffThread | trace::kTagged, 1);
  add_event(e, trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::GradientSync), entry, exit,
            0, CommId{0}, 0);
  add_call(e, model::Collective::AllReduce, entry + 1us, exit - 1us, 1'000'000, 2 * step + 1, 0,
           trace::kOffThread | trace::kTagged, 1);
}

inline trace::Run make_job(const Job& job) {
  trace::Run run = empty_run(job.ranks, job.nodes);
  std::vector<Duration> free_at(static_cast<std::size_t>(job.ranks), Duration{5ms});
  std::vector<Duration> entry(free_at.size());
  for (int step = 0; step < job.steps; ++step) {
    for (int call = 0; call < job.calls_per_step; ++call) {
      for (int r = 0; r < job.ranks; ++r) {
        const auto i = static_cast<std::size_t>(r);
        const Duration offset = job.clock_offset(r * job.nodes / job.ranks);
        if (job.marks && call == 0)
          add_event(run.ranks[i].events, trace::EventKind::Step, 0, free_at[i] + offset, free_at[i] + offset,
                    step, trace::kNoComm, 0);
        entry[i] = free_at[i] + job.work(r, step) / job.calls_per_step;
      }
      const Duration latest = *std::max_element(entry.begin(), entry.end());
      for (int r = 0; r < job.ranks; ++r) {
        const auto i = static_cast<std::size_t>(r);
        const Duration offset = job.clock_offset(r * job.nodes / job.ranks);
        free_at[i] = latest + job.transfer + job.leave(r, step);
        auto& e = run.ranks[i].events;
        const auto seq = static_cast<std::uint32_t>(step * job.calls_per_step + call);
        if (job.ddp)
          add_ddp_step(e, seq, entry[i] + offset, latest + offset, free_at[i] + offset);
        else
          add_call(e, model::Collective::AllReduce, entry[i] + offset, free_at[i] + offset,
                   std::int64_t{1'000'000} * (call + 1), seq);
      }
    }
  }
  return run;
}

/// Work of `base` times a lognormal factor of median 1, the same for the same (seed, rank, step).
inline Duration lognormal_work(std::uint64_t seed, int rank, int step, Duration base, double sigma) {
  std::seed_seq at{seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step)};
  std::minstd_rand bits(at);
  bits.discard(3);
  const double u = (static_cast<double>(bits()) + 0.5) / static_cast<double>(std::minstd_rand::max());
  const double v = (static_cast<double>(bits()) + 0.5) / static_cast<double>(std::minstd_rand::max());
  const double normal = std::sqrt(-2 * std::log(std::min(u, 1.0))) * std::cos(2 * 3.141592653589793 * v);
  return duration_from_seconds(in_seconds(base) * std::exp(sigma * normal));
}

/// The same with a tail so heavy that the mean of many does not settle (Pareto, shape 1.3).
inline Duration pareto_work(std::uint64_t seed, int rank, int step, Duration base) {
  std::seed_seq at{seed + 77, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step)};
  std::minstd_rand bits(at);
  bits.discard(3);
  const double u = (static_cast<double>(bits()) + 0.5) / (static_cast<double>(std::minstd_rand::max()) + 1);
  return duration_from_seconds(in_seconds(base) * std::min(1000.0, std::pow(u, -1 / 1.3)));
}

}  // namespace cox::diagnose::testing
