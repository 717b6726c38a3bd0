// SPDX-License-Identifier: Apache-2.0
// Laws of delays. Where nothing is shared the job is max-plus: departures are maxima of sums of arrivals, so
// a delay never helps and never costs more than itself (monotone and nonexpansive in the largest difference:
// Baccelli, Cohen, Olsder, Quadrat 1992, section 2.8). Gains need something shared.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/paced.hpp"

#include "model/every_collective.hpp"

namespace cox::simulate {
namespace {

using model::Imbalance;
using model::Iteration;
using model::JitterLaw;
using pace::WaitMode;

constexpr double kRounding = 1e-12;

Iteration any_job() {
  Iteration job;
  job.ranks = *rc::gen::inRange(1, 25);
  job.hosts = *rc::gen::inRange(1, job.ranks + 1);
  job.cores = *rc::gen::inRange(1, 5);
  job.compute = Seconds{1e-6 * *rc::gen::inRange(0, 50'000)};
  job.jitter = *rc::gen::element(JitterLaw::None, JitterLaw::Lognormal, JitterLaw::Exponential);
  job.spread = 0.01 * *rc::gen::inRange(0, 60);
  job.imbalance = *rc::gen::element(Imbalance::None, Imbalance::Persistent, Imbalance::Rotating);
  job.slow_ranks = *rc::gen::inRange(0, job.ranks + 1);
  job.slow_factor = 1 + 0.1 * *rc::gen::inRange(0, 20);
  job.episode = *rc::gen::inRange(1, 8);
  job.reduce = Bytes{*rc::gen::element(0, 997, 1'000'000)};
  job.link = Bandwidth::gbyte_per_s(1);
  return job;
}

Iteration any_sharing_job() {
  Iteration job = any_job();
  job.prepare = Seconds{1e-6 * *rc::gen::inRange(0, 2000)};
  job.fetch = Bytes{*rc::gen::inRange(0, 2'000'000)};
  job.compute_on_cores = *rc::gen::arbitrary<bool>();
  job.wait = *rc::gen::element(WaitMode::Spin, WaitMode::Yield, WaitMode::Block);
  job.time_slice = Seconds{*rc::gen::element(0.0, 0.5e-3, 3e-3)};
  return job;
}

/// Delays of at most 20 ms, none for some.
PacedArm any_delays() {
  const RandomStream draw(*rc::gen::inRange<std::uint64_t>(0, 1000), 7);
  PacedArm arm;
  arm.delays = [draw](int rank, std::int64_t step) {
    const double u = draw.uniform(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(rank));
    return Seconds{u < 0.3 ? 0 : 0.02 * u};
  };
  arm.settings.placement = *rc::gen::element(pace::Placement::Iteration, pace::Placement::Collective);
  return arm;
}

PacedOutcome run(const Iteration& job, const PacedArm& arm, std::uint64_t seed, std::int64_t steps) {
  PacedOptions options;
  options.seed = seed;
  options.steps = steps;
  options.arms = {arm};
  auto made = simulate_paced(job, options);
  RC_ASSERT(made.has_value());
  return *std::move(made);
}

RC_GTEST_PROP(PacedLaws, WithNothingSharedADelayNeverHelpsAndCostsAtMostItself, ()) {
  const Iteration job = any_job();
  const PacedArm delayed = any_delays();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  constexpr std::int64_t kSteps = 12;
  const PacedOutcome without = run(job, {}, seed, kSteps);
  const PacedOutcome with = run(job, delayed, seed, kSteps);
  double end_without = 0;
  double end_with = 0;
  double most = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    Seconds largest{};
    for (int r = 0; r < job.ranks; ++r) largest = std::max(largest, delayed.delays(r, step));
    end_without += without.periods[static_cast<std::size_t>(step)].count();
    end_with += with.periods[static_cast<std::size_t>(step)].count();
    most += largest.count();
    RC_ASSERT(end_with >= end_without - kRounding);
    RC_ASSERT(end_with <= end_without + most + kRounding);
  }
}

/// The same of any collective in the max-plus engine, and of every rank's departure.
RC_GTEST_PROP(PacedLaws, LaterArrivalsNeverMakeACollectiveEndEarlier, ()) {
  const int ranks = *rc::gen::inRange(1, 33);
  const Bytes bytes{*rc::gen::element(0, 1, 997, 65537)};
  const auto spec = *rc::gen::elementOf(model::every_collective(ranks, bytes));
  const auto schedule = model::Schedule::make(spec);
  RC_ASSERT(schedule.has_value());
  const model::MessageCost cost{.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-9)};
  const LinkCosts costs{.inside = cost, .across = cost};
  const RandomStream draw(*rc::gen::inRange<std::uint64_t>(0, 1000), 8);
  std::vector<Seconds> plain;
  std::vector<Seconds> later;
  double largest = 0;
  for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(schedule->ranks()); ++r) {
    const double delay = draw.uniform(1, r) < 0.5 ? 0 : 1e-3 * draw.uniform(2, r);
    largest = std::max(largest, delay);
    plain.emplace_back(1e-3 * draw.uniform(0, r));
    later.push_back(plain.back() + Seconds{delay});
  }
  run_collective(*schedule, costs, {}, plain);
  run_collective(*schedule, costs, {}, later);
  for (std::size_t r = 0; r < plain.size(); ++r) {
    RC_ASSERT(later[r].count() >= plain[r].count() - kRounding);
    RC_ASSERT(later[r].count() <= plain[r].count() + largest + kRounding);
  }
}

/// Whatever is shared: cores and link do no more than they can, and nobody is faster than alone.
RC_GTEST_PROP(PacedLaws, NoStepIsShorterThanItsWorkAllows, ()) {
  const Iteration job = any_sharing_job();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  PacedArm arm = any_delays();
  arm.early_nice = *rc::gen::inRange(0, 20);
  const PacedOutcome made = run(job, arm, seed, 6);
  const int per_host = (job.ranks + job.hosts - 1) / job.hosts;
  for (std::size_t step = 0; step < made.periods.size(); ++step) {
    const double fetch = static_cast<double>(job.fetch.count()) / job.link.in_bytes_per_s();
    double least = fetch * job.ranks;
    std::vector<double> on_host(static_cast<std::size_t>(job.hosts));
    for (int r = 0; r < job.ranks; ++r) {
      const auto s = static_cast<std::int64_t>(step);
      const double compute = model::compute_time(job, seed, r, s).count();
      least = std::max(least, arm.delays(r, s).count() + job.prepare.count() + fetch + compute);
      on_host[static_cast<std::size_t>(r / per_host)] +=
          job.prepare.count() + (job.compute_on_cores ? compute : 0);
    }
    for (const double work : on_host) least = std::max(least, work / job.cores);
    RC_ASSERT(made.periods[step].count() >= least + transfer_time(job).count() - 1e-9);
  }
}

RC_GTEST_PROP(PacedLaws, TheSameCallsGiveTheSameOutcome, ()) {
  const Iteration job = any_sharing_job();
  PacedArm arm;
  arm.settings.mode = *rc::gen::element(pace::Mode::Observe, pace::Mode::Paper, pace::Mode::Auto,
                                        pace::Mode::Always, pace::Mode::Random);
  arm.settings.window = 8;
  arm.settings.warm_up = 8;
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const PacedOutcome a = run(job, arm, seed, 80);
  const PacedOutcome b = run(job, arm, seed, 80);
  RC_ASSERT(a.periods == b.periods);
  RC_ASSERT(a.changes.size() == b.changes.size());
  for (std::size_t i = 0; i < a.changes.size(); ++i) {
    RC_ASSERT(a.changes[i].step == b.changes[i].step);
    RC_ASSERT(a.changes[i].rank == b.changes[i].rank);
    RC_ASSERT(a.changes[i].decision.reason == b.changes[i].decision.reason);
    RC_ASSERT(a.changes[i].decision.delay == b.changes[i].decision.delay);
  }
}

TEST(PacedLaws, WithSharedCoresADelayCanHelp) {
  Iteration job;
  job.ranks = 8;
  job.cores = 1;
  job.prepare = Seconds{1e-3};
  job.compute = Seconds{10e-3};
  job.imbalance = Imbalance::Persistent;
  job.slow_ranks = 1;
  job.slow_factor = 2;
  PacedArm arm;
  arm.delays = [](int rank, std::int64_t) { return rank < 7 ? Seconds{1e-3} : Seconds{}; };
  EXPECT_NEAR(run(job, {}, 1, 1).periods[0].count(), 28e-3, kRounding);
  EXPECT_NEAR(run(job, arm, 1, 1).periods[0].count(), 21e-3, kRounding);
}

}  // namespace
}  // namespace cox::simulate
