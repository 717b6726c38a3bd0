// SPDX-License-Identifier: Apache-2.0
// Laws of what hangs: nobody is blamed without a record, whatever the records say; who never enters is found.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

/// A Run whose columns say anything that a reader lets through: events ordered, ends after begins, known
/// communicators or none.
trace::Run any_run(std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  const auto below = [&](std::uint64_t n) { return bits() % n; };
  trace::Run run = testing::empty_run(1 + static_cast<int>(below(6)));
  for (std::uint64_t c = below(3); c > 0; --c) {
    trace::Communicator comm;
    comm.id = CommId{static_cast<std::int32_t>(run.communicators.size())};
    comm.size = static_cast<int>(below(9)) - 1;
    for (int r = 0; r < 8; ++r)
      if (below(2) == 0) comm.ranks.emplace_back(r);
    for (std::uint64_t k = below(5); k > 0; --k) comm.by_rank.emplace_back(static_cast<int>(below(9)) - 1);
    run.communicators.push_back(std::move(comm));
  }
  run.nodes[0].boot_id = below(2) == 0 ? "boot" : "";
  if (below(2) == 0) run.nodes[0].monotonic_origin_ns = static_cast<std::int64_t>(bits());
  run.origin_realtime_ns = static_cast<std::int64_t>(bits());
  const std::int64_t far = below(4) == 0 ? std::numeric_limits<std::int64_t>::max() / 2 : 1'000'000'000'000;
  for (trace::RankTrack& track : run.ranks) {
    track.state = static_cast<trace::WriterState>(below(4));
    track.pid = static_cast<int>(below(4));
    track.start_time = below(3);
    track.dropped_records = below(8) == 0 ? bits() : 0;
    track.recycled_records = below(8) == 0 ? bits() : 0;
    if (below(9) == 0) track.node = NodeId{static_cast<std::int32_t>(below(5)) - 2};
    std::vector<Duration> begins;
    for (std::uint64_t n = below(40); n > 0; --n)
      begins.emplace_back(static_cast<std::int64_t>(below(static_cast<std::uint64_t>(far))));
    std::sort(begins.begin(), begins.end());
    for (const Duration begin : begins) {
      const bool open = below(3) == 0;
      testing::add_event(
          track.events, static_cast<trace::EventKind>(below(8)), static_cast<std::uint8_t>(below(15)), begin,
          open ? trace::kStillRunning : begin + Duration{static_cast<std::int64_t>(below(1'000'000))},
          static_cast<std::int64_t>(below(3) == 0 ? bits() : below(3)),
          CommId{static_cast<std::int32_t>(below(run.communicators.size() + 1)) - 1},
          static_cast<std::uint32_t>(below(8) == 0 ? bits() : below(6)), static_cast<std::uint16_t>(bits()),
          static_cast<std::uint32_t>(below(3)));
      track.events.aux.set_back(static_cast<std::uint32_t>(below(4) == 0 ? bits() : below(5)));
    }
    for (std::uint64_t n = below(4); n > 0; --n) {
      trace::Sample s;
      s.at = Duration{static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(far)) - far / 2};
      s.state = "RSDTtZ\0?"[below(8)];
      track.samples.push_back(s);
    }
    std::sort(track.samples.begin(), track.samples.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
  }
  return run;
}

bool holds(const std::vector<Rank>& ranks, Rank r) {
  return std::find(ranks.begin(), ranks.end(), r) != ranks.end();
}

RC_GTEST_PROP(HangLaws, NobodyIsBlamedWithoutARecord, (std::uint64_t seed)) {
  const trace::Run run = any_run(seed);
  ListedProcesses machine;
  machine.boot = "boot";
  machine.now_ns = static_cast<std::int64_t>(seed);
  for (int pid = 0; pid < 3; ++pid)
    machine.processes[pid] = {.state = "RSTZ"[seed >> pid & 3], .start_ticks = 1, .started_ns = 0};
  DiagnoseOptions options;
  options.processes = &machine;
  options.asked_monotonic_ns = machine.now_ns;
  const auto d = diagnose(run, options);
  if (!d) return;  // no synchronisation in it
  RC_ASSERT(!to_json(*d, run, "x").empty());
  for (const Stall& s : d->trouble.stalls) {
    RC_ASSERT(!s.calls.empty() && !s.text.empty());
    RC_ASSERT(s.waited >= Duration::zero() && s.bar > Duration::zero());
    for (const Rank r : s.ranks) {
      const bool involved = std::any_of(s.calls.begin(), s.calls.end(), [&](const StalledCall& c) {
        return holds(c.missing, r) || holds(c.waiting, r) || holds(c.left, r);
      });
      RC_ASSERT(involved);
      const auto at =
          std::find_if(run.ranks.begin(), run.ranks.end(), [&](const auto& t) { return t.rank == r; });
      RC_ASSERT(at != run.ranks.end());
      if (s.kind == StallKind::MissingRank || s.kind == StallKind::PeerWait) {
        RC_ASSERT(at->dropped_records == 0);
        RC_ASSERT(at->state != trace::WriterState::Disabled);
      }
    }
    for (const StalledCall& c : s.calls)
      for (const Rank r : c.waiting)
        RC_ASSERT(!holds(c.missing, r) && !holds(c.left, r) && !holds(c.not_recorded, r));
  }
}

RC_GTEST_PROP(HangLaws, WhoNeverEntersIsFoundWhereverItHappens, ()) {
  testing::Job job;
  job.ranks = *rc::gen::inRange(2, 12);
  job.steps = *rc::gen::inRange(3, 60);
  job.nodes = *rc::gen::inRange(1, 3);
  const int victim = *rc::gen::inRange(0, job.ranks);
  trace::Run run = testing::make_job(job);
  const Duration end = run.ranks[0].events.end.back();
  const auto longest = Duration{12ms};
  for (int r = 0; r < job.ranks; ++r) {
    trace::RankTrack& track = run.ranks[static_cast<std::size_t>(r)];
    track.state = trace::WriterState::Open;
    if (r != victim)
      testing::add_call(track.events, model::Collective::AllReduce, end + 1ms, trace::kStillRunning, 8,
                        static_cast<std::uint32_t>(job.steps));
    trace::Sample s;
    s.at = end + 1s + 3 * longest;
    track.samples.push_back(s);
  }
  const auto d = diagnose(run);
  RC_ASSERT(d.has_value());
  RC_ASSERT(d->trouble.stalls.size() == 1U);
  RC_ASSERT(d->trouble.stalls[0].kind == StallKind::MissingRank);
  RC_ASSERT(d->trouble.stalls[0].hung);
  RC_ASSERT(d->trouble.stalls[0].ranks == std::vector{Rank{victim}});
  RC_ASSERT(d->trouble.stalls[0].calls[0].waiting.size() == static_cast<std::size_t>(job.ranks - 1));
  for (trace::RankTrack& track : run.ranks) track.state = trace::WriterState::Closed;
  RC_ASSERT(diagnose(run)->trouble.stalls.empty());
}

RC_GTEST_PROP(HangLaws, WhoDisagreesIsNamed, ()) {
  testing::Job job;
  job.ranks = *rc::gen::inRange(3, 12);
  job.steps = *rc::gen::inRange(3, 60);
  trace::Run run = testing::make_job(job);
  const auto victim = static_cast<std::size_t>(*rc::gen::inRange(0, job.ranks));
  const auto call = static_cast<std::size_t>(*rc::gen::inRange(0, job.steps));
  trace::PackedColumn<Bytes>& bytes = run.ranks[victim].events.bytes;
  bytes.set(call, bytes[call] + Bytes{8});
  const auto d = diagnose(run);
  RC_ASSERT(d.has_value());
  RC_ASSERT(d->trouble.mismatches.size() == 1U);
  RC_ASSERT(d->trouble.mismatches[0].kind == MismatchKind::Count);
  RC_ASSERT(d->trouble.mismatches[0].ranks == std::vector{run.ranks[victim].rank});
  RC_ASSERT(d->trouble.mismatches[0].first_seq == call);
}

}  // namespace
}  // namespace cox::diagnose
