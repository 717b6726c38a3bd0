// SPDX-License-Identifier: Apache-2.0
// How often the tests of the evaluation are wrong, by simulation: effects of starts are drawn, and go through the
// code that judges measured ones. COX_TEST_PACING_RUNS=N draws N evaluations instead of a few, and prints what
// docs/design/0023 says about power.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"

#include "evaluate/pacing/effect.hpp"
#include "evaluate/pacing/measure.hpp"

namespace cox::evaluate {
namespace {

/// What starts and pairs are drawn from. All numbers are of log ratios.
struct Truth {
  double effect = 0;      ///< of auto
  double random = 0;      ///< of the random control
  double spread = 0.004;  ///< of the effects of starts
  double between = 0;     ///< correlation of the effects of two starts of a condition
  double within = 0;      ///< share of a start's own part that all of its pairs have in common
};

/// Effects of one arm in all starts: a part that all starts share, one that the pairs of a start share, the rest.
std::vector<PacingStart> drawn_starts(const RandomStream& random, std::uint64_t evaluation,
                                      std::uint64_t& draw, double mean, int starts, int pairs,
                                      const Truth& truth) {
  const auto normal = [&] { return truth.spread * random.normal(evaluation, draw++); };
  const double common = std::sqrt(truth.between) * normal();
  const double of_own = std::sqrt((1 - truth.between) * truth.within);
  const double of_pair = std::sqrt((1 - truth.between) * (1 - truth.within) * pairs);
  std::vector<PacingStart> all;
  for (int s = 0; s < starts; ++s) {
    PacingStart& start = all.emplace_back(PacingStart{.number = s, .pair_gains = {}});
    const double own = of_own * normal();
    double sum = 0;
    for (int p = 0; p < pairs; ++p) {
      const double log = mean + common + own + of_pair * normal();
      start.pair_gains.push_back(std::expm1(log));
      sum += log / pairs;
    }
    start.total_gain = std::expm1(sum);
  }
  return all;
}

PacingStudy frozen() {
  const auto text = read_file(std::string(COX_STUDIES) + "/pacing.toml", 1'000'000);
  auto study = parse_pacing(text.value_or(""), "pacing.toml");
  EXPECT_TRUE(study) << study.error().to_string();
  return study ? *std::move(study) : PacingStudy{};
}

/// A whole evaluation as the plan has it: all conditions, its number of starts, judged and corrected.
std::vector<PacingConditionResult> evaluation(const PacingStudy& study, std::uint64_t number,
                                              const Truth& truth) {
  const RandomStream random(23, 4);
  std::uint64_t draw = 0;
  std::vector<PacingConditionResult> results;
  for (const PacingCondition& c : study.conditions) {
    PacingConditionResult& r =
        results.emplace_back(PacingConditionResult{.name = c.name, .starts = study.protocol.starts});
    const int rounds = c.bar > 0 ? 4 : 2;
    const auto add = [&](std::string_view arm, double mean, int pairs) {
      r.effects.push_back(
          {.arm = std::string(arm),
           .starts = drawn_starts(random, number, draw, mean, study.protocol.starts, pairs, truth)});
    };
    add(kArmAgain, 0, rounds);
    add(kArmAuto, truth.effect, rounds);
    add(kArmRandom, truth.random, 1);
    judge_effects(study, c, r);
  }
  correct_tests(study, results);
  return results;
}

/// Evaluations in which a family of tests has at least one that passes, of all.
struct FamilyCount {
  int no_harm = 0, superior = 0, no_worse = 0, beside_zero = 0;
};
void count_wrong(const std::vector<PacingConditionResult>& results, FamilyCount& count) {
  const auto any = [&](PacingVerdict PacingConditionResult::*family) {
    return std::any_of(results.begin(), results.end(),
                       [&](const PacingConditionResult& r) { return (r.*family).passed; })
               ? 1
               : 0;
  };
  count.no_harm += any(&PacingConditionResult::no_harm);
  count.superior += any(&PacingConditionResult::superior);
  count.no_worse += any(&PacingConditionResult::no_worse_than_random);
  count.beside_zero += any(&PacingConditionResult::floor_beside_zero);
}
FamilyCount families(const PacingStudy& study, int runs, const Truth& truth) {
  FamilyCount count;
  for (int i = 0; i < runs; ++i) count_wrong(evaluation(study, static_cast<std::uint64_t>(i), truth), count);
  return count;
}

int runs_wanted(int otherwise) {
  const char* text = std::getenv("COX_TEST_PACING_RUNS");
  const int runs = text == nullptr ? 0 : std::atoi(text);
  return runs > 0 ? runs : otherwise;
}

/// What 5 % of `runs` give at most, but for one time in a thousand.
int most_of(int runs) {
  int most = runs / 20;
  while (binomial_upper_tail(most + 1, runs, 0.05) > 0.001) ++most;
  return most;
}

/// Every condition of the family lies at the border of what may not pass.
Truth at_the_margin(const PacingStudy& study, double between, double within) {
  const double margin = std::log1p(-study.protocol.harm);
  return {.effect = margin, .random = 0, .between = between, .within = within};
}

TEST(PacingInference, AtMostOneFamilyInTwentyIsWrong) {
  const PacingStudy study = frozen();
  constexpr int kRuns = 2000;  // a true 5 % stays below 6.6 %
  const int runs = runs_wanted(kRuns);
  for (const double between : {0.0, 0.15, 0.3})
    for (const double within : {0.0, 0.3}) {
      const FamilyCount wrong = families(study, runs, at_the_margin(study, between, within));
      if (runs > kRuns)
        fmt::print("| {:.2f} | {:.2f} | {:.1f} | {:.1f} | {:.1f} |\n", between, within,
                   100.0 * wrong.no_harm / runs, 100.0 * wrong.no_worse / runs,
                   100.0 * wrong.beside_zero / runs);
      EXPECT_LE(wrong.no_harm, most_of(runs)) << between << ' ' << within;
      EXPECT_LE(wrong.no_worse, most_of(runs)) << between << ' ' << within;
      EXPECT_LE(wrong.beside_zero, most_of(runs)) << between << ' ' << within;
    }
}

TEST(PacingInference, AtMostOneBarInTwentyIsWrong) {
  PacingStudy study = frozen();
  std::erase_if(study.conditions, [](const PacingCondition& c) { return c.bar <= 0; });
  ASSERT_GE(study.conditions.size(), 2U);
  for (PacingCondition& c : study.conditions) c.bar = 0.08;
  const int runs = runs_wanted(2000);
  for (const double between : {0.0, 0.3}) {
    const FamilyCount wrong =
        families(study, runs, {.effect = std::log1p(0.08), .between = between, .within = 0.3});
    EXPECT_LE(wrong.superior, most_of(runs)) << between;
    EXPECT_GT(wrong.superior, 0) << "a test that never passes shows nothing";
  }
}

/// A machine on which an evaluation is measured: effects are drawn as above, in blocks of a host that takes time away now
/// and then and may be slower than the plan expects, so that the limit cuts starts off.
class DrawnWorld {
 public:
  DrawnWorld(std::uint64_t number, const Truth& truth) : number_(number), truth_(truth) {
    constexpr double kSlowest = 1.6;
    slower_ = 1 + (kSlowest - 1) * random_.uniform(number_, draw_++);
  }
  PacingWorld world() {
    return {.run = [this](const PacingCondition& of, const bench::PacePlan& plan,
                          Seconds limit) { return run(of.name, plan, limit); },
            .now = [this] { return passed_; },
            .tell = [](const std::string&) {},
            .keep = [](const PacingResults&) { return Status{}; }};
  }

 private:
  double normal() { return truth_.spread * random_.normal(number_, draw_++); }
  /// What the pairs of a start have in common; a part of it with the other starts of the condition.
  double of_start(const std::string& condition, const std::string& arm) {
    const auto [common, is_new] = common_.try_emplace(condition + ' ' + arm);
    if (is_new) common->second = std::sqrt(truth_.between) * normal();
    const double mean = arm == kArmAuto ? truth_.effect : arm == kArmRandom ? truth_.random : 0;
    return mean + common->second + std::sqrt((1 - truth_.between) * truth_.within) * normal();
  }
  Result<bench::PaceRows> run(const std::string& condition, const bench::PacePlan& plan, Seconds limit) {
    constexpr std::size_t kSteps = 17;  // one more than are dropped
    constexpr double kPairs = 2;
    const double of_pair = std::sqrt((1 - truth_.between) * (1 - truth_.within) * kPairs);
    std::map<std::string, double> effects;
    bench::PaceRows rows;
    double mean = 0;
    for (const bench::PaceBlock& b : plan.blocks) {
      const std::string& arm = plan.arms[b.arm].name;
      const auto [effect, is_new] = effects.try_emplace(arm);
      if (is_new) effect->second = arm == kArmOff ? 0 : of_start(condition, arm);
      // A tenth of a percent is usual; one block of twenty loses far more.
      const double usual = -0.001 * std::log(random_.uniform(number_, draw_++));
      const double stolen = usual + (random_.uniform(number_, draw_++) < 0.05 ? 0.1 : 0);
      const double period = 0.02 / std::exp(effect->second + of_pair * normal()) * (1 + stolen);
      bench::PaceBlockRows& out =
          rows.blocks.emplace_back(bench::PaceBlockRows{.block = b, .steal_ratio = stolen});
      out.steps.resize(kSteps, {.period = duration_from_seconds(period)});
      mean += period / 0.02 / static_cast<double>(plan.blocks.size());
    }
    passed_ += (limit - Seconds{60}) / 10 * mean * slower_;
    return rows;
  }

  RandomStream random_{23, 5};
  std::uint64_t number_;
  std::uint64_t draw_ = 0;
  Truth truth_;
  double slower_ = 1;
  Seconds passed_{};
  std::map<std::string, double> common_;
};

// Through the code that measures, with its limit in time and its steal-time rule.
TEST(PacingInference, WhatTheLimitAndStolenTimeLeaveOutMakesNoMoreWrong) {
  PacingStudy study = frozen();
  study.sizes.clear();
  const PacingChoice all = *choose_pacing(study, "");
  const int runs = runs_wanted(1000);
  for (const double between : {0.0, 0.3}) {
    const Truth truth = at_the_margin(study, between, 0.3);
    FamilyCount wrong;
    int cut = 0;
    int struck = 0;
    for (int i = 0; i < runs; ++i) {
      DrawnWorld world(static_cast<std::uint64_t>(i), truth);
      const auto results = measure_pacing(study, all, PacingDepth::Full, {}, world.world());
      ASSERT_TRUE(results) << results.error().to_string();
      count_wrong(results->conditions, wrong);
      for (const PacingConditionResult& r : results->conditions) {
        cut += r.starts < study.protocol.starts ? 1 : 0;
        for (const PacingEffect& e : r.effects) struck += e.struck;
      }
    }
    if (std::getenv("COX_TEST_PACING_RUNS") != nullptr)
      fmt::print("| {:.2f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", between,
                 static_cast<double>(cut) / runs, static_cast<double>(struck) / runs,
                 100.0 * wrong.no_harm / runs, 100.0 * wrong.no_worse / runs,
                 100.0 * wrong.beside_zero / runs);
    EXPECT_GT(cut, runs) << "no start was cut off";
    EXPECT_GT(struck, runs) << "no time was stolen";
    EXPECT_LE(wrong.no_harm, most_of(runs)) << between;
    EXPECT_LE(wrong.no_worse, most_of(runs)) << between;
    EXPECT_LE(wrong.beside_zero, most_of(runs)) << between;
  }
}

/// The pairs taken for the unit, or the allowance for what starts share left out: both are seen here.
TEST(PacingInference, WithoutTheAllowanceMoreAreWrong) {
  PacingStudy study = frozen();
  study.protocol.start_correlation = 0;
  const int runs = runs_wanted(300);
  const FamilyCount wrong = families(study, runs, at_the_margin(study, 0.3, 0.3));
  EXPECT_GT(wrong.no_harm, 2 * most_of(runs));
  std::vector<double> pairs;
  std::vector<double> starts;
  const RandomStream random(5, 6);
  int by_pairs = 0;
  int by_starts = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    std::uint64_t draw = 0;
    pairs.clear();
    starts.clear();
    for (const PacingStart& s : drawn_starts(random, i, draw, 0, 4, 4, {.within = 0.3})) {
      for (const double g : s.pair_gains) pairs.push_back(std::log1p(g));
      starts.push_back(std::log1p(s.total_gain));
    }
    by_pairs += estimate_starts(pairs, 0).p_at_most(0) <= 0.05 ? 1 : 0;
    by_starts += estimate_starts(starts, 0).p_at_most(0) <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(by_starts, most_of(2000));
  EXPECT_GT(by_pairs, most_of(2000));
}

/// The error is that of the mean where all starts have the assumed correlation: the closed form.
TEST(PacingInference, ErrorIsThatOfAMeanOfCorrelatedStarts) {
  const double effects[] = {0.0, 0.02, 0.04, 0.06};
  const StartsEstimate plain = estimate_starts(effects, 0);
  EXPECT_NEAR(plain.mean, 0.03, 1e-15);
  EXPECT_NEAR(plain.error, 0.0258198889747 / 2, 1e-12);
  EXPECT_NEAR(estimate_starts(effects, 0.3).error, 0.0258198889747 * std::sqrt(0.25 + 3.0 / 7), 1e-12);
  EXPECT_NEAR(plain.interval(0.95).high, 0.03 + 3.18245 * plain.error, 1e-6);
  EXPECT_NEAR(plain.p_at_most(0.03), 0.5, 1e-12);
  EXPECT_EQ(estimate_starts({effects, 1}, 0.3).p_at_most(-1), 1) << "one start shows nothing";
  const double equal[] = {0.01, 0.01};
  EXPECT_EQ(estimate_starts(equal, 0.3).p_at_most(0), 0);
  EXPECT_EQ(estimate_starts(equal, 0.3).p_at_most(0.02), 1);
}

/// How often a truth is found; printed for docs/design/0023 in the long mode.
TEST(PacingInference, PowerFallsWithTheSpreadOfStarts) {
  const PacingStudy study = frozen();
  const int runs = runs_wanted(0);
  const auto power = [&](double effect, double spread, int count) {
    std::vector<int> found(study.conditions.size());
    for (int i = 0; i < count; ++i) {
      const auto results =
          evaluation(study, static_cast<std::uint64_t>(i), {.effect = effect, .spread = spread});
      for (std::size_t c = 0; c < results.size(); ++c) found[c] += results[c].no_harm.passed ? 1 : 0;
    }
    double share = 0;
    for (const int f : found) share += static_cast<double>(f) / count / static_cast<double>(found.size());
    return share;
  };
  if (runs > 0)
    for (const double effect : {0.0, -0.003, -0.006, 0.005})
      for (const double spread : {0.001, 0.002, 0.004, 0.008})
        fmt::print("power: effect {:+.1f} %, sd of a start {:.1f} %: {:.2f}\n", 100 * effect, 100 * spread,
                   power(effect, spread, runs));
  EXPECT_GT(power(0, 0.001, 40), 0.9);
  EXPECT_LT(power(0, 0.008, 40), 0.3);
}

}  // namespace
}  // namespace cox::evaluate
