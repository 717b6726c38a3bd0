// SPDX-License-Identifier: Apache-2.0
// Laws of the what-if: replacement is exact, names follow ranks, units cancel, shares add up.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/what_if/what_if.hpp"

namespace cox::diagnose {
namespace {

using testing::Job;
using namespace std::chrono_literals;

Job any_job() {
  Job job;
  job.ranks = *rc::gen::inRange(2, 12);
  job.steps = *rc::gen::inRange(3, 60);
  job.calls_per_step = *rc::gen::inRange(1, 4);
  job.marks = *rc::gen::arbitrary<bool>();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const int slow = *rc::gen::inRange(0, job.ranks);
  const auto extra = std::chrono::milliseconds{*rc::gen::inRange(0, 6)};
  job.work = [=](int r, int s) {
    return testing::lognormal_work(seed, r, s, 10ms, 0.1) + (r == slow ? Duration{extra} : Duration{});
  };
  return job;
}

/// Lower median of the works of a step, one rank left out.
Duration median_of_others(const Job& job, int step, int without) {
  std::vector<Duration> others;
  for (int r = 0; r < job.ranks; ++r)
    if (r != without) others.push_back(job.work(r, step) / job.calls_per_step);
  std::sort(others.begin(), others.end());
  return others[(others.size() - 1) / 2];
}

RC_GTEST_PROP(WhatIfLaws, ReplacingIsExactStepByStep, ()) {
  Job job = any_job();
  job.marks = false;
  job.calls_per_step = 1;
  const trace::Run run = testing::make_job(job);
  const WhatIf w = what_if(run);
  RC_ASSERT(w.fidelity == Fidelity::Good);
  RC_ASSERT(w.measured == w.simulated);
  for (const RankWhatIf& rank : w.ranks) {
    if (!rank.evaluated) continue;
    Duration recorded{};
    Duration fixed{};
    for (int s = 1; s < job.steps; ++s) {  // the first call is where the Run begins
      Duration slowest{};
      Duration replaced = median_of_others(job, s, rank.rank.value());
      for (int r = 0; r < job.ranks; ++r) {
        slowest = std::max(slowest, job.work(r, s));
        if (r != rank.rank.value()) replaced = std::max(replaced, job.work(r, s));
      }
      recorded += slowest + job.transfer;
      fixed += replaced + job.transfer;
    }
    RC_ASSERT(w.simulated == recorded);
    RC_ASSERT(rank.fixed.time == fixed);
  }
}

RC_GTEST_PROP(WhatIfLaws, SharesOfThePathAreTheWhole, ()) {
  Job job = any_job();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  job.leave = [=](int r, int s) { return testing::lognormal_work(seed + 1, r, s, 100us, 0.5); };
  job.nodes = *rc::gen::inRange(1, 3);
  const trace::Run run = testing::make_job(job);
  const WhatIf w = what_if(run);
  RC_PRE(w.fidelity != Fidelity::Refused);
  double all = w.path.carried_in;
  for (const double x : w.path.work) all += x;
  for (const double x : w.path.held) all += x;
  for (const CommWhatIf& c : w.communicators) all += c.path_share;
  RC_ASSERT(std::abs(all - 1) < 1e-9);
}

RC_GTEST_PROP(WhatIfLaws, MoreFixedOrFasterIsNeverSlower, ()) {
  const trace::Run run = testing::make_job(any_job());
  const WhatIf w = what_if(run);
  RC_PRE(w.fidelity != Fidelity::Refused);
  RC_ASSERT(w.ideal <= w.simulated);
  RC_ASSERT(w.fabric_free.time <= w.fabric_tenfold.time);
  RC_ASSERT(w.fabric_tenfold.time <= w.simulated);
  for (const CommWhatIf& c : w.communicators) {
    RC_ASSERT(c.zero.time <= c.lower_quartile.time);
    RC_ASSERT(c.lower_quartile.time <= w.simulated);
    RC_ASSERT(c.zero.time >= w.fabric_free.time);
  }
  for (const SetWhatIf& s : w.sets) RC_ASSERT(s.fixed.time <= w.simulated);
  // All pairs were tried: none found on the way is better than the best of them.
  if (!w.best_pairs.empty() && w.sets.size() > 1)
    RC_ASSERT(w.best_pairs[0].fixed.time <= w.sets[1].fixed.time);
}

RC_GTEST_PROP(WhatIfLaws, PermutingRanksPermutesTheAnswer, ()) {
  const trace::Run run = testing::make_job(any_job());
  std::vector<int> to(run.ranks.size());
  std::iota(to.begin(), to.end(), 0);
  std::rotate(to.begin(), to.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<int>(to.size())),
              to.end());
  if (*rc::gen::arbitrary<bool>()) std::reverse(to.begin(), to.end());
  trace::Run other = run;
  for (std::size_t r = 0; r < to.size(); ++r) {
    auto& track = other.ranks[static_cast<std::size_t>(to[r])];
    track = run.ranks[r];
    track.rank = Rank{to[r]};
  }
  const WhatIf a = what_if(run);
  const WhatIf b = what_if(other);
  RC_ASSERT(a.simulated == b.simulated);
  RC_ASSERT(a.ideal == b.ideal);
  RC_ASSERT(a.injected == b.injected);
  RC_ASSERT(a.fabric_free.time == b.fabric_free.time);
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    const RankWhatIf& there = b.ranks[static_cast<std::size_t>(to[r])];
    RC_ASSERT(a.ranks[r].self_delay == there.self_delay);
    RC_ASSERT(a.ranks[r].fixed.time == there.fixed.time);
    RC_ASSERT(a.ranks[r].add_back_share == there.add_back_share);
  }
  RC_ASSERT(a.sets.empty() == b.sets.empty());
  if (!a.sets.empty()) RC_ASSERT(a.sets[0].fixed.time == b.sets[0].fixed.time);
}

RC_GTEST_PROP(WhatIfLaws, SlowMotionGainsTheSame, ()) {
  const trace::Run run = testing::make_job(any_job());
  const int factor = *rc::gen::inRange(2, 50);
  trace::Run slowed = run;
  for (auto& track : slowed.ranks)
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      track.events.begin[i] *= factor;
      track.events.end[i] *= factor;
    }
  const WhatIf a = what_if(run);
  const WhatIf b = what_if(slowed);
  RC_ASSERT(b.simulated == a.simulated * factor);
  RC_ASSERT(b.ideal == a.ideal * factor);
  RC_ASSERT(a.sets.size() == b.sets.size());
  for (std::size_t i = 0; i < a.sets.size(); ++i) {
    RC_ASSERT(a.sets[i].ranks == b.sets[i].ranks);
    RC_ASSERT(std::abs(a.sets[i].fixed.speedup_ratio - b.sets[i].fixed.speedup_ratio) < 1e-9);
  }
}

}  // namespace
}  // namespace cox::diagnose
