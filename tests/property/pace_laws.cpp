// SPDX-License-Identifier: Apache-2.0
// Laws of pace::Controller, held by a closed loop in virtual time (property/pace_loop.hpp). To look for more:
//   COX_LAWS_CONDITIONS=20000 COX_LAWS_STEPS=5000 <build>/property_test --gtest_filter='PaceLaws.*'
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "property/pace_conditions.hpp"

namespace cox::pace::laws {
namespace {

constexpr std::array kModes = {Mode::Off, Mode::Observe, Mode::Paper, Mode::Auto, Mode::Always, Mode::Random};

Settings with(Mode mode) {
  Settings settings;
  settings.mode = mode;
  return settings;
}

/// How much further the suite looks when somebody asks it to.
std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

// ---- regret ----

/// Regret may not exceed its allowance at any step; counted from its lowest value, so that a gain of before
/// pays for nothing.
struct Regret {
  double worst = -1;  ///< share of the allowance
  std::uint64_t step = 0;
};

Regret regret_of(Condition& condition, const Settings& settings) {
  Loop loop(condition.ranks, settings);
  Regret out;
  double lowest = 0;
  for (std::uint64_t i = 0; i < condition.steps; ++i) {
    loop.step(*condition.job);
    lowest = std::min(lowest, loop.regret());
    const double share = (loop.regret() - lowest) / loop.allowance();
    if (share > out.worst) out = {.worst = share, .step = i};
  }
  return out;
}

TEST(PaceLaws, RegretStaysInItsBudgetInRandomConditions) {
  const std::uint64_t count = from_environment("COX_LAWS_CONDITIONS", 1000);
  const std::uint64_t steps = from_environment("COX_LAWS_STEPS", 600);
  double worst = -1;
  for (std::uint64_t i = 0; i < count; ++i) {
    Condition condition = random_condition(i, steps);
    const Regret regret = regret_of(condition, with(Mode::Auto));
    worst = std::max(worst, regret.worst);
    EXPECT_LE(regret.worst, 1) << condition.name << ", step " << regret.step;
  }
  // So long that the budget's rate counts and not its window: of 20,000 steps it is 100 against 64.
  for (std::uint64_t i = 0; i < count; i += 40) {
    Condition condition = random_condition(i, 20'000);
    const Regret regret = regret_of(condition, with(Mode::Auto));
    EXPECT_LE(regret.worst, 1) << condition.name << ", long, step " << regret.step;
  }
  RecordProperty("worst_share_of_the_budget", std::to_string(worst));
  EXPECT_GT(worst, 0.1) << "nothing here costs anything: these conditions show nothing";
}

TEST(PaceLaws, RegretStaysInItsBudgetWhateverTheAdversary) {
  for (const Objective objective : {Objective::Throughput, Objective::Tail, Objective::Energy}) {
    Settings settings = with(Mode::Auto);
    settings.objective = objective;
    std::vector<Condition> all = constructed_conditions();
    EXPECT_GE(all.size(), 20U);
    for (Condition& condition : all) {
      const Regret regret = regret_of(condition, settings);
      EXPECT_LE(regret.worst, 1) << condition.name << ", step " << regret.step << ", objective "
                                 << name_of(objective);
      RecordProperty(condition.name + ", " + name_of(objective), std::to_string(regret.worst));
    }
  }
}

/// The law can fail: the same delays without a test of benefit break it.
TEST(PaceLaws, DelaysWithoutATestExceedTheBudget) {
  std::vector<Condition> all = constructed_conditions();
  int broken = 0;
  for (Condition& condition : all) broken += regret_of(condition, with(Mode::Always)).worst > 1;
  EXPECT_GE(broken, 10);
}

// ---- bounds ----

/// What a controller may be told by a program, a clock or an attacker.
class Absurd {
 public:
  explicit Absurd(std::uint64_t seed) : draws_(seed, 4) {}

  Settings settings(Mode mode) {
    Settings s = with(mode);
    s.objective = static_cast<Objective>(choose(3));
    s.seed = choose(1000);
    s.window = static_cast<std::uint32_t>(2 + choose(255));
    s.warm_up = static_cast<std::uint32_t>(2 + choose(60));
    s.max_delay = std::chrono::microseconds{choose(2) == 0 ? choose(200000) : choose(300)};
    s.max_ratio = uniform();
    s.min_delay = std::chrono::microseconds{choose(200)};
    s.share = uniform();
    s.deviations = 4 * uniform();
    s.budget = choose(2) == 0 ? uniform() : 0.005;
    s.block = static_cast<std::uint32_t>(2 + choose(63));
    s.settle = static_cast<std::uint32_t>(choose(63));
    s.min_pairs = static_cast<std::uint32_t>(2 + choose(10));
    s.max_pairs = static_cast<std::uint32_t>(2 + choose(30));
    s.retry = static_cast<std::uint32_t>(1 + choose(300));
    return s;
  }
  /// Mostly the iterations of an early rank, which is what makes a controller act.
  Observation next(Duration delayed) {
    step_ = choose(20) == 0 ? draws_.bits(0, drawn_++) >> choose(64) : step_ + 1;
    return {.step = step_,
            .work = any(std::chrono::milliseconds{20}),
            .sync = any(std::chrono::milliseconds{10}),
            .transfer = choose(3) == 0 ? Duration{-1} : any(std::chrono::milliseconds{0}),
            .delayed = any(delayed)};
  }

 private:
  std::uint64_t choose(std::uint64_t count) { return draws_.bits(0, drawn_++) % count; }
  double uniform() { return draws_.uniform(0, drawn_++); }
  Duration any(Duration usual) {
    switch (choose(100)) {
      case 0:
        return Duration{std::numeric_limits<std::int64_t>::max()};
      case 1:
        return Duration{std::numeric_limits<std::int64_t>::min()};
      case 2:
        return Duration::zero();
      case 3:
        return -usual;
      case 4:
        return Duration{static_cast<std::int64_t>(draws_.bits(0, drawn_++) >> choose(64))};
      default:
        return usual + std::chrono::microseconds{choose(400)};
    }
  }
  RandomStream draws_;
  std::uint64_t drawn_ = 0;
  std::uint64_t step_ = 0;
};

TEST(PaceLaws, DelayIsNeverBeyondItsBounds) {
  std::array<int, kModes.size()> delays{};
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (std::size_t m = 0; m < kModes.size(); ++m) {
      Absurd absurd(seed);
      const Settings settings = absurd.settings(kModes[m]);
      Controller controller(settings, static_cast<std::uint32_t>(seed % 4), 4);
      for (int i = 0; i < 400; ++i) {
        controller.observe(absurd.next(controller.decide().delay));
        const Duration delay = controller.decide().delay;
        delays[m] += delay > Duration::zero() ? 1 : 0;
        ASSERT_GE(delay, Duration::zero());
        ASSERT_LE(delay, settings.max_delay) << name_of(settings.mode) << ", seed " << seed << ", " << i;
        ASSERT_LE(in_seconds(delay),
                  settings.max_ratio * in_seconds(controller.evidence().period) * (1 + 1e-9) + 1e-12)
            << name_of(settings.mode) << ", seed " << seed << ", " << i;
      }
    }
  for (std::size_t m = 0; m < kModes.size(); ++m)
    EXPECT_EQ(delays[m] > 0, kModes[m] > Mode::Observe) << name_of(kModes[m]);
}

/// Blocks in which no step counts would be neither judged nor paid for.
TEST(PaceLaws, NoSettingMakesATestFree) {
  for (const char* text :
       {"auto,settle=62", "auto,block=2,settle=5", "auto,block=64,settle=62", "auto,window=2", "auto,retry=1",
        "auto,max_pairs=2,min_pairs=50", "auto,deviations=0,min_delay=0ns"}) {
    Regime harmful = straggler();
    harmful.toll = 1;
    Condition condition{.name = text, .steps = 4000, .job = std::make_unique<Job>(9, harmful)};
    Settings settings;
    ASSERT_EQ(set_all(settings, text), -1);
    const Regret regret = regret_of(condition, settings);
    EXPECT_LE(regret.worst, 1) << text << ", step " << regret.step;
  }
}

/// What a job does before its first iteration is over says nothing about the others.
TEST(PaceLaws, AnOddFirstIterationIsForgotten) {
  for (const Duration first :
       {Duration::zero(), Duration{std::chrono::milliseconds{1}}, Duration{std::chrono::minutes{3}}}) {
    Job job(3, shared_link(2));
    job.lie = [first](std::uint64_t step, std::size_t, Observation& seen) {
      if (step == 0) seen.work = seen.sync = first;
    };
    Loop loop(8, with(Mode::Auto));
    for (int i = 0; i < 1500; ++i) loop.step(job);
    EXPECT_GT(loop.off() / loop.paced() - 1, 0.08) << in_seconds(first);
  }
}

/// A typical iteration is one that the rank has: stops of seconds do not stretch the bound.
TEST(PaceLaws, AFewLongIterationsDoNotStretchTheBound) {
  Job job(5, straggler());
  job.after = [](std::uint64_t step, std::span<const Controller>, Regime&, Load& load) {
    if (step % 50 == 0) load.device[0] += 2;
  };
  Settings settings = with(Mode::Always);
  settings.paper_share = 1;
  settings.max_delay = std::chrono::seconds{10};
  Loop loop(4, settings);
  for (int i = 0; i < 500; ++i) {
    loop.step(job);
    if (i > 64) {
      ASSERT_LE(loop.longest_delay(), 0.25 * 0.0315 * 1.1) << i;
    }
  }
  EXPECT_GT(loop.longest_delay(), 0);
}

// ---- passivity ----

TEST(PaceLaws, NoImbalanceNoDelay) {
  using Law = Jitter::Law;
  for (const int ranks : {2, 4, 16})
    for (const Law law : {Law::None, Law::Lognormal, Law::Exponential, Law::Pareto})
      for (const double spread : {0.005, 0.03, 0.1})
        for (const int cores : {0, 2}) {
          Job job(static_cast<std::uint64_t>(ranks), {.jitter = {.law = law, .spread = spread},
                                                      .prepare = 0.0006,
                                                      .cores = cores,
                                                      .transfer = 0.002});
          Loop loop(ranks, with(Mode::Auto));
          for (int i = 0; i < 400; ++i) {
            loop.step(job);
            ASSERT_EQ(loop.longest_delay(), 0)
                << ranks << " ranks, law " << static_cast<int>(law) << ", " << spread << ", step " << i;
          }
        }
}

// A hold that has lasted has an unpaced block in one pair of eight: from one to the end of the next are at
// most two windows and two pairs.
TEST(PaceLaws, PassiveSoonAfterTheImbalanceEnds) {
  constexpr int kSoon = 2 * 64 + 2 * 16;
  for (const int end : {60, 200, 511, 900})
    for (const bool link : {true, false}) {
      Job job(static_cast<std::uint64_t>(end), link ? shared_link(2) : straggler());
      job.adapt = [end](std::uint64_t step, std::span<const Controller>, Regime& now, Load&) {
        if (step == static_cast<std::uint64_t>(end)) now.slow = 0;
      };
      Loop loop(8, with(Mode::Auto));
      bool paced = false;
      for (int i = 0; i < end + 1500; ++i) {
        loop.step(job);
        paced = paced || loop.longest_delay() > 0;
        if (i >= end + kSoon) {
          ASSERT_EQ(loop.longest_delay(), 0)
              << (link ? "link" : "straggler") << ", ended at " << end << ", step " << i;
        }
      }
      EXPECT_TRUE(paced);
    }
}

/// Where imbalance stays and the benefit ends, so does pacing: what is left are trials, ever rarer.
TEST(PaceLaws, LetsGoWhereTheBenefitEnds) {
  Job job(1, straggler());
  job.adapt = [](std::uint64_t step, std::span<const Controller>, Regime& now, Load&) {
    now.relief = step < 1000 ? 0.5 : 0;
  };
  Loop loop(4, with(Mode::Auto));
  int before = 0;
  int after = 0;
  for (int i = 0; i < 5000; ++i) {
    loop.step(job);
    before += i < 1000 && loop.longest_delay() > 0 ? 1 : 0;
    after += i >= 3000 && loop.longest_delay() > 0 ? 1 : 0;
  }
  EXPECT_GT(before, 600);
  EXPECT_LT(after, 500);
}

/// A straggler that shares nothing: no benefit, and at most alpha = 5 % of the jobs say otherwise.
TEST(PaceLaws, DoesNotHoldWhereNothingIsShared) {
  int held = 0;
  constexpr int kJobs = 60;
  for (std::uint64_t seed = 0; seed < kJobs; ++seed) {
    Regime regime = straggler(0.05);
    regime.skew = 2e-4;
    Job job(seed, regime);
    Loop loop(4, with(Mode::Auto));
    bool holds = false;
    for (int i = 0; i < 400; ++i) {
      loop.step(job);
      for (const Controller& c : loop.controllers()) holds = holds || c.decide().state == State::Hold;
    }
    held += holds ? 1 : 0;
  }
  EXPECT_LE(held, 6);  // 5 % of 60 + 2 standard deviations
}

// ---- determinism ----

TEST(PaceLaws, DecisionsAreAFunctionOfTheObservations) {
  for (const Mode mode : kModes) {
    std::vector<std::vector<Observation>> told(8);
    std::vector<std::vector<Decision>> decided(8);
    Job job(3, shared_link(2));
    job.lie = [&told](std::uint64_t, std::size_t rank, Observation& seen) { told[rank].push_back(seen); };
    Loop loop(8, with(mode));
    std::vector<Controller> copies;
    for (int i = 0; i < 500; ++i) {
      if (i == 250) copies = loop.controllers();
      loop.step(job);
      for (std::size_t r = 0; r < 8; ++r) decided[r].push_back(loop.controllers()[r].decide());
    }
    for (std::uint32_t r = 0; r < 8; ++r) {
      Controller again(with(mode), r, 8);
      for (std::size_t i = 0; i < told[r].size(); ++i) {
        again.observe(told[r][i]);
        if (i >= 250) copies[r].observe(told[r][i]);
        for (const Controller* c : {&again, i >= 250 ? &copies[r] : &again}) {
          ASSERT_EQ(c->decide().delay, decided[r][i].delay) << name_of(mode) << ", rank " << r << ", " << i;
          ASSERT_EQ(c->decide().reason, decided[r][i].reason);
          ASSERT_EQ(c->decide().state, decided[r][i].state);
        }
      }
    }
  }
}

// A controller owns no memory, so there is none to ask for; and it fits the guest.
static_assert(std::is_trivially_copyable_v<Controller> && std::is_trivially_destructible_v<Controller>);
static_assert(sizeof(Controller) <= 8192);

// ---- gain ----

struct Outcome {
  double gain = 0;
  double late_rank_delay = 0;  ///< longest in a hold; relieved of the early ones, it may try what it has won
};

Outcome run(Job& job, int ranks, int late_from, int steps, const Settings& settings) {
  Loop loop(ranks, settings);
  Outcome out;
  for (int i = 0; i < steps; ++i) {
    loop.step(job);
    for (auto r = static_cast<std::size_t>(late_from); r < static_cast<std::size_t>(ranks); ++r)
      if (loop.controllers()[r].decide().state == State::Hold)
        out.late_rank_delay = std::max(out.late_rank_delay, loop.delay_of(r));
  }
  out.gain = loop.off() / loop.paced() - 1;
  return out;
}

TEST(PaceLaws, GainsWhereEarlyRanksTakeTheHostFromLateOnes) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Job job(seed, shared_host(4));
    const Outcome outcome = run(job, 32, 28, 1500, with(Mode::Auto));
    EXPECT_GE(outcome.gain, 0.12) << seed;
    EXPECT_EQ(outcome.late_rank_delay, 0) << seed;
  }
}

TEST(PaceLaws, GainsWhereEarlyRanksTakeTheLinkFromLateOnes) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Job job(seed, shared_link(2));
    const Outcome outcome = run(job, 8, 6, 750, with(Mode::Auto));
    EXPECT_GE(outcome.gain, 0.08) << seed;
    EXPECT_EQ(outcome.late_rank_delay, 0) << seed;
  }
}

// ---- transfer ----

TEST(PaceLaws, TransferIsNeverTakenForSlack) {
  for (const int ranks : {2, 4, 8})
    for (const double jitter : {0.0, 0.02}) {
      Job job(
          static_cast<std::uint64_t>(ranks),
          {.device = 0.005, .jitter = {.law = Jitter::Law::Lognormal, .spread = jitter}, .transfer = 0.020});
      job.transfer_known = false;
      Loop loop(ranks, with(Mode::Auto));
      int late_delays = 0;
      for (int i = 0; i < 4000; ++i) {
        loop.step(job);
        ASSERT_LE(loop.regret(), loop.allowance()) << i;
        for (const Controller& c : loop.controllers()) ASSERT_LE(c.decide().state, State::Probe) << i;
        late_delays += i >= 2000 && loop.longest_delay() > 0 ? 1 : 0;
      }
      EXPECT_LE(late_delays, 160) << ranks << " ranks";  // of 2,000: probes become rarer
      EXPECT_LE(loop.regret() / loop.off(), 0.005) << ranks << " ranks";
    }
}

// ---- the published rule ----

/// Signs as measured on real processes: reference rows (i) and (ii).
TEST(PaceLaws, ThePublishedRuleLosesOnJitterAndIsNeutralWithAStraggler) {
  Job jitter(1, {.device = 0.02, .jitter = {.law = Jitter::Law::Lognormal, .spread = 0.1}});
  const double lost = run(jitter, 16, 16, 800, with(Mode::Paper)).gain;
  EXPECT_LT(lost, -0.02);
  EXPECT_GT(lost, -0.24);
  Job persistent(1, straggler());
  EXPECT_NEAR(run(persistent, 16, 16, 800, with(Mode::Paper)).gain, 0, 0.015);
  Job host(1, shared_host(4));
  EXPECT_GT(run(host, 32, 28, 400, with(Mode::Paper)).gain, 0.04);
}

}  // namespace
}  // namespace cox::pace::laws
