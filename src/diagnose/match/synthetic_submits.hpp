// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: Runs of a job that submits the buckets of a step to a worker and waits for all of them at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "cox/trace/run.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose::testing {

struct SubmitJob {
  int ranks = 4;
  int steps = 60;
  std::function<int(int step)> buckets = [](int) { return 4; };
  /// Beyond 2 ms of work before each submit.
  std::function<Duration(int rank, int step, int bucket)> late = [](int, int, int) { return Duration{}; };
};

inline trace::Run make_submit_job(const SubmitJob& job) {
  trace::Run run = empty_run(job.ranks);
  Duration now = 1ms;
  std::uint32_t seq = 0;
  for (int step = 0; step < job.steps; ++step) {
    const int buckets = job.buckets(step);
    std::vector<std::vector<Duration>> submit(static_cast<std::size_t>(job.ranks));
    Duration latest{};
    for (int r = 0; r < job.ranks; ++r) {
      Duration at = now;
      for (int b = 0; b < buckets; ++b) {
        at += 2ms + job.late(r, step, b);
        submit[static_cast<std::size_t>(r)].push_back(at);
      }
      latest = std::max(latest, at);
    }
    for (int r = 0; r < job.ranks; ++r) {
      auto& e = run.ranks[static_cast<std::size_t>(r)].events;
      add_event(e, trace::EventKind::Step, 0, now, now, step, trace::kNoComm, 0);
      const auto& own = submit[static_cast<std::size_t>(r)];
      const auto all_reduce = static_cast<std::uint8_t>(model::Collective::AllReduce);
      for (std::size_t b = 0; b < own.size(); ++b) {
        const std::uint32_t number = seq + static_cast<std::uint32_t>(b);
        add_event(e, trace::EventKind::Submit, all_reduce, own[b], own[b], 1000, CommId{0}, number);
        add_call(e, model::Collective::AllReduce, own[b], latest + 100us, 1000, number, 0,
                 trace::kOffThread | trace::kTagged, 1);
      }
      add_event(e, trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::GradientSync),
                own.back(), latest + 200us, 0, CommId{0}, 0);
    }
    seq += static_cast<std::uint32_t>(buckets);
    now = latest + 300us;
  }
  return run;
}

}  // namespace cox::diagnose::testing
