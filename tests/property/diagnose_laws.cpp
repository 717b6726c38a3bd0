// SPDX-License-Identifier: Apache-2.0
// Laws of diagnosis: names follow ranks, accounts add up, units cancel.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/match/synthetic_stencil.hpp"

namespace cox::diagnose {
namespace {

using testing::Job;
using namespace std::chrono_literals;

Job any_job() {
  Job job;
  job.ranks = *rc::gen::inRange(2, 12);
  job.steps = *rc::gen::inRange(20, 80);
  job.calls_per_step = *rc::gen::inRange(1, 4);
  job.marks = *rc::gen::arbitrary<bool>();
  return job;
}

trace::Run permuted(const trace::Run& run, const std::vector<int>& to) {
  trace::Run other = run;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    auto& track = other.ranks[static_cast<std::size_t>(to[r])];
    track = run.ranks[r];
    track.rank = Rank{to[r]};
  }
  return other;
}

RC_GTEST_PROP(DiagnoseLaws, PermutingRanksPermutesTheName, ()) {
  Job job = any_job();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const int slow = *rc::gen::inRange(0, job.ranks);
  const auto extra = std::chrono::milliseconds{*rc::gen::inRange(0, 6)};
  job.work = [=](int r, int s) {
    return testing::lognormal_work(seed, r, s, 10ms, 0.05) + (r == slow ? Duration{extra} : Duration{});
  };
  std::vector<int> to(static_cast<std::size_t>(job.ranks));
  std::iota(to.begin(), to.end(), 0);
  const int turn = *rc::gen::inRange(0, job.ranks);
  std::rotate(to.begin(), to.begin() + turn, to.end());
  if (*rc::gen::arbitrary<bool>()) std::reverse(to.begin(), to.end());

  const trace::Run run = testing::make_job(job);
  const auto a = diagnose(run);
  const auto b = diagnose(permuted(run, to));
  RC_ASSERT(a.has_value() && b.has_value());
  RC_ASSERT(a->findings.size() == b->findings.size());
  RC_ASSERT(a->lost == b->lost);
  for (std::size_t i = 0; i < a->findings.size(); ++i) {
    RC_ASSERT(a->findings[i].rank.has_value() == b->findings[i].rank.has_value());
    RC_ASSERT(a->findings[i].gain_ratio == b->findings[i].gain_ratio);
    if (a->findings[i].rank)
      RC_ASSERT(b->findings[i].rank->value() == to[static_cast<std::size_t>(a->findings[i].rank->value())]);
  }
  if (extra >= 4ms && job.steps >= 30) {
    RC_ASSERT(a->findings.size() == 1U);
    RC_ASSERT(a->findings[0].rank == Rank{slow});
  }
  if (extra == 0ms) RC_ASSERT(a->findings.empty());
}

RC_GTEST_PROP(DiagnoseLaws, WorkWaitAndTransferAreTheWholeTimeOfARank, ()) {
  Job job = any_job();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  job.work = [=](int r, int s) { return testing::lognormal_work(seed, r, s, 10ms, 0.5); };
  job.leave = [=](int r, int s) { return testing::lognormal_work(seed + 1, r, s, 100us, 0.5); };
  job.nodes = *rc::gen::inRange(1, 3);
  const trace::Run run = testing::make_job(job);
  const auto d = diagnose(run);
  RC_ASSERT(d.has_value());
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const auto& e = run.ranks[r].events;
    const auto first = std::find(e.kind.begin(), e.kind.end(), trace::EventKind::Collective) - e.kind.begin();
    const Duration whole = e.end.back() - e.begin[static_cast<std::size_t>(first)];
    const RankAccount& a = d->ranks[r];
    RC_ASSERT(a.work + a.wait + a.message_wait + a.transfer == whole);
    RC_ASSERT(a.work >= 0ms && a.wait >= 0ms && a.message_wait >= 0ms && a.transfer >= 0ms);
    RC_ASSERT(whole <= d->run_time);
  }
}

RC_GTEST_PROP(DiagnoseLaws, WithWaitsForMessagesTimeAddsUpToo, ()) {
  testing::Stencil job;
  job.ranks = *rc::gen::inRange(2, 9);
  job.steps = *rc::gen::inRange(1, 60);
  job.sum_every = *rc::gen::inRange(0, 12);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  job.work = [=](int r, int s) { return testing::lognormal_work(seed, r, s, 1ms, 0.5); };
  const trace::Run run = testing::make_stencil(job);
  const auto d = diagnose(run);
  RC_ASSERT(d.has_value());
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const auto& e = run.ranks[r].events;
    const RankAccount& a = d->ranks[r];
    RC_ASSERT(a.work + a.wait + a.message_wait + a.transfer == e.end.back() - e.begin.front());
    RC_ASSERT(a.work >= 0ms && a.wait >= 0ms && a.message_wait >= 0ms && a.transfer >= 0ms);
  }
}

RC_GTEST_PROP(DiagnoseLaws, SlowMotionScalesTimesAndKeepsNames, ()) {
  Job job = any_job();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const int slow = *rc::gen::inRange(0, job.ranks);
  job.work = [=](int r, int s) {
    return testing::lognormal_work(seed, r, s, 10ms, 0.05) + (r == slow ? 3ms : 0ms);
  };
  const trace::Run run = testing::make_job(job);
  trace::Run slowed = run;
  const int factor = *rc::gen::inRange(2, 50);
  for (auto& track : slowed.ranks)
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      track.events.begin[i] *= factor;
      track.events.end[i] *= factor;
    }
  const auto a = diagnose(run);
  const auto b = diagnose(slowed);
  RC_ASSERT(a.has_value() && b.has_value());
  RC_ASSERT(b->lost == a->lost * factor);
  RC_ASSERT(b->run_time == a->run_time * factor);
  RC_ASSERT(a->findings.size() == b->findings.size());
  for (std::size_t i = 0; i < a->findings.size(); ++i) {
    RC_ASSERT(a->findings[i].ranks == b->findings[i].ranks);
    RC_ASSERT(std::abs(a->findings[i].gain_ratio - b->findings[i].gain_ratio) < 1e-6);
  }
}

RC_GTEST_PROP(DiagnoseLaws, ThreadsDoNotChangeTheAnswer, ()) {
  Job job = any_job();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  job.work = [=](int r, int s) {
    return testing::lognormal_work(seed, r, s, 10ms, 0.2) + (r == 0 ? 4ms : 0ms);
  };
  const trace::Run run = testing::make_job(job);
  const auto one = diagnose(run, {.threads = 1, .progress = {}});
  const auto four = diagnose(run, {.threads = 4, .progress = {}});
  RC_ASSERT(to_json(*one, run, "x") == to_json(*four, run, "x"));
}

}  // namespace
}  // namespace cox::diagnose
