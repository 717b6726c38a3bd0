// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: Runs of ranks on a ring that wait for messages of their two neighbours in each step, as a guest
/// records them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose::testing {

struct Stencil {
  int ranks = 6;
  int steps = 60;
  int sum_every = 0;         ///< an all-reduce after so many steps; 0: only one before the first
  Duration transfer = 10us;  ///< of a message
  Duration overhead = 1us;   ///< from where a rank starts its messages to its wait
  std::function<Duration(int rank, int step)> work = [](int, int) { return Duration{1ms}; };
};

inline void add_message_wait(trace::EventColumns& e, Duration begin, Duration end, int left, int right,
                             std::uint32_t number, Duration sent_before) {
  const trace::MessageNumbers numbers{number, number, static_cast<std::uint32_t>(sent_before.count() / 1000)};
  for (const int peer : {left, right})
    e.push_back({.kind = trace::EventKind::Awaited,
                 .flags = trace::kNumbered,
                 .begin = begin,
                 .end = begin,
                 .bytes = Bytes{static_cast<std::int64_t>(numbers.bytes())},
                 .comm = CommId{0},
                 .seq = number,
                 .aux = static_cast<std::uint32_t>(peer)});
  e.push_back({.kind = trace::EventKind::Wait,
               .op = static_cast<std::uint8_t>(trace::WaitKind::Peer),
               .begin = begin,
               .end = end,
               .comm = CommId{0},
               .seq = 2,
               .aux = trace::kAnyPeer});
}

/// A Run of it. `without` the extra work of some ranks it is the Run after the fix.
inline trace::Run make_stencil(const Stencil& job) {
  trace::Run run = empty_run(job.ranks);
  run.communicators[0].by_rank = run.communicators[0].ranks;
  const auto n = static_cast<std::size_t>(job.ranks);
  std::vector<Duration> at(n, Duration{5ms});
  std::uint32_t sums = 0;
  const auto sum = [&] {
    const Duration latest = *std::max_element(at.begin(), at.end());
    for (std::size_t r = 0; r < n; ++r) {
      add_call(run.ranks[r].events, model::Collective::AllReduce, at[r], latest + 5us, 8, sums);
      at[r] = latest + 5us;
    }
    ++sums;
  };
  sum();
  std::vector<Duration> sent(n);
  for (int step = 0; step < job.steps; ++step) {
    for (std::size_t r = 0; r < n; ++r) sent[r] = at[r] + job.work(static_cast<int>(r), step);
    for (std::size_t r = 0; r < n; ++r) {
      const std::size_t left = (r + n - 1) % n;
      const std::size_t right = (r + 1) % n;
      const Duration begin = sent[r] + job.overhead;
      const Duration end = std::max(begin, std::max(sent[left], sent[right])) + job.transfer;
      add_message_wait(run.ranks[r].events, begin, end, static_cast<int>(left), static_cast<int>(right),
                       static_cast<std::uint32_t>(step + 1), job.overhead);
      at[r] = end;
    }
    if (job.sum_every > 0 && (step + 1) % job.sum_every == 0) sum();
  }
  return run;
}

/// When the last rank is through.
inline Duration time_of(const trace::Run& run) {
  Duration first = Duration::max();
  Duration last = Duration::min();
  for (const trace::RankTrack& track : run.ranks) {
    first = std::min(first, track.events.begin.front());
    last = std::max(last, *std::max_element(track.events.end.begin(), track.events.end.end()));
  }
  return last - first;
}

}  // namespace cox::diagnose::testing
