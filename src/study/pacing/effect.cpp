// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/resample.hpp"
#include "cox/base/stats.hpp"
#include "cox/pace/settings.hpp"
#include "cox/study/pacing_effect.hpp"

namespace cox::study {
namespace {

constexpr std::uint32_t kBootstrapStream = 0x70616369;

/// The pairs of one arm over all groups, and the steps on either side.
struct ArmData {
  std::vector<PairSums> pairs;
  int struck = 0;
  std::vector<double> off_periods;
  std::vector<double> on_periods;
  std::vector<double> held_periods;
  Welford off_wait;
  Welford on_wait;
  Welford on_delay;
};

void add_side(const PacingBlock& block, const MeasuredBlock& measured, Seconds& sum, std::int64_t& steps,
              std::vector<double>& periods) {
  for (std::size_t i = static_cast<std::size_t>(block.dropped); i < measured.steps.size(); ++i) {
    const double period = in_seconds(measured.steps[i].period);
    sum += Seconds{period};
    ++steps;
    periods.push_back(period);
  }
}

ArmData collect(const PacingStudy& study, std::span<const MeasuredGroup> groups, std::size_t arm) {
  ArmData data;
  for (const MeasuredGroup& group : groups) {
    COX_ASSERT(group.blocks.size() == group.plan.blocks.size(), "a block that was planned was not measured");
    for (const PacingPair& pair : group.plan.pairs) {
      if (pair.arm != arm) continue;
      const MeasuredBlock& off = group.blocks[pair.off];
      const MeasuredBlock& on = group.blocks[pair.on];
      if (std::max(off.steal_ratio, on.steal_ratio) > study.protocol.steal) {
        ++data.struck;
        continue;
      }
      PairSums sums;
      add_side(group.plan.blocks[pair.off], off, sums.off, sums.off_steps, data.off_periods);
      add_side(group.plan.blocks[pair.on], on, sums.on, sums.on_steps, data.on_periods);
      const auto off_from = static_cast<std::size_t>(group.plan.blocks[pair.off].dropped);
      const auto on_from = static_cast<std::size_t>(group.plan.blocks[pair.on].dropped);
      for (std::size_t i = off_from; i < off.steps.size(); ++i)
        data.off_wait.add(in_seconds(off.steps[i].mean_wait));
      for (std::size_t i = on_from; i < on.steps.size(); ++i) {
        data.on_wait.add(in_seconds(on.steps[i].mean_wait));
        data.on_delay.add(in_seconds(on.steps[i].mean_delay));
        if (on.steps[i].is_held) data.held_periods.push_back(in_seconds(on.steps[i].period));
      }
      if (sums.off_steps > 0 && sums.on_steps > 0) data.pairs.push_back(sums);
    }
  }
  return data;
}

double cv_of(std::span<const double> periods) {
  Welford w;
  for (const double p : periods) w.add(p);
  return w.cv();
}

PacingSide side_of(std::span<const double> periods, const Welford& wait, const Welford& delay,
                   double waiting_power) {
  PacingSide s;
  s.steps = static_cast<std::int64_t>(periods.size());
  if (periods.empty()) return s;
  s.lasted = Seconds{std::accumulate(periods.begin(), periods.end(), 0.0)};
  s.mean = s.lasted / static_cast<double>(s.steps);
  s.p99 = Seconds{quantile(periods, 0.99)};
  s.cv = cv_of(periods);
  s.wait = Seconds{wait.mean()};
  s.delay = Seconds{delay.mean()};
  const double idle = pace::Settings{}.idle_power;
  const double working = std::max(0.0, (s.mean - s.wait - s.delay).count());
  s.energy = working + s.wait.count() * waiting_power + s.delay.count() * idle;
  return s;
}

/// Share of the replicates at or below the border: how often chance alone says so.
double p_at_most(std::span<const double> replicates, double border) {
  const auto below =
      std::count_if(replicates.begin(), replicates.end(), [&](double r) { return r <= border; });
  return static_cast<double>(1 + below) / static_cast<double>(1 + replicates.size());
}

/// The larger of the bootstrap's p and of Student's for the same estimate, with the spread of its replicates:
/// a bootstrap of few pairs says "never" as soon as all of them lie on one side of the border.
double p_at_most(double estimate, std::span<const double> replicates, double border, int pairs) {
  Welford spread;
  for (const double r : replicates) spread.add(r);
  const double by_bootstrap = p_at_most(replicates, border);
  if (spread.stddev() == 0) return by_bootstrap;
  return std::max(by_bootstrap, student_upper_tail((estimate - border) / spread.stddev(), pairs - 1));
}

/// The bootstrap's, widened around the estimate by Student's quantile over the normal one: without that, 95 %
/// of few pairs hold far less (60 % of two).
Interval interval_of(double estimate, const std::vector<double>& replicates, double confidence, int pairs) {
  const double tail = (1 - confidence) / 2;
  double normal = 1 - tail;
  normal_quantiles({&normal, 1});
  const double widened = pairs < 2 ? 1 : student_quantile(tail, pairs - 1) / normal;
  const auto at = [&](double q) {
    return std::expm1(estimate + widened * (quantile(replicates, q) - estimate));
  };
  return {at(tail), at(1 - tail)};
}

pace::WaitMode wait_of(const PacingArm& arm, const PacingCondition& condition) {
  return arm.wait.value_or(condition.job.wait);
}

double waiting_power(pace::WaitMode wait) {
  return wait == pace::WaitMode::Block ? pace::Settings{}.idle_power : 1;
}

void set_gains(const PacingProtocol& p, const BootstrapOfPairs& boot, PacingEffect& e) {
  e.gain = std::expm1(boot.median);
  e.total_gain = std::expm1(boot.total);
  const Interval median = interval_of(boot.median, boot.medians, p.confidence, e.pairs);
  const Interval total = interval_of(boot.total, boot.totals, p.confidence, e.pairs);
  e.low = median.low;
  e.high = median.high;
  e.total_low = total.low;
  e.total_high = total.high;
}

PacingEffect effect_of(const PacingStudy& study, const PacingCondition& condition, std::size_t arm,
                       const ArmData& data, const BootstrapOfPairs& boot) {
  const PacingProtocol& p = study.protocol;
  PacingEffect e{
      .arm = study.arms[arm].name, .pairs = static_cast<int>(data.pairs.size()), .struck = data.struck};
  e.off = side_of(data.off_periods, data.off_wait, Welford{}, waiting_power(condition.job.wait));
  e.on = side_of(data.on_periods, data.on_wait, data.on_delay,
                 waiting_power(wait_of(study.arms[arm], condition)));
  e.held_steps = static_cast<std::int64_t>(data.held_periods.size());
  if (e.held_steps >= 2 * p.window) e.held_cv = cv_of(data.held_periods);
  for (const PairSums& sums : data.pairs) e.pair_gains.push_back(std::expm1(sums.log_ratio()));
  if (data.pairs.empty()) return e;
  set_gains(p, boot, e);
  if (data.pairs.size() < 2) return e;  // no spread to test with
  const auto p_of = [&](double border) {
    const double at = std::log1p(border);
    const double by_median = p_at_most(boot.median, boot.medians, at, e.pairs);
    return e.arm == kArmAuto ? std::max(by_median, p_at_most(boot.total, boot.totals, at, e.pairs))
                             : by_median;
  };
  e.p_harm = p_of(-p.harm);
  if (condition.bar > 0) e.p_bar = p_of(condition.bar);
  return e;
}

PacingEffect* find(PacingConditionResult& result, std::string_view arm) {
  const auto at = std::find_if(result.effects.begin(), result.effects.end(),
                               [&](const PacingEffect& e) { return e.arm == arm; });
  return at == result.effects.end() ? nullptr : &*at;
}
const PacingEffect* find(const PacingConditionResult& result, std::string_view arm) {
  return find(const_cast<PacingConditionResult&>(result), arm);
}

void set_floor(const PacingStudy& study, PacingConditionResult& result) {
  const PacingEffect* again = find(result, kArmAgain);
  if (again == nullptr || again->pairs < 2) return;
  result.floor_half_width = (again->high - again->low) / 2;
  result.is_resolved = result.floor_half_width <= study.protocol.floor;
}

/// Corrects one family of tests: the same member of all results that have it.
template <class Has, class P>
void correct(std::vector<PacingConditionResult>& results, double alpha,
             PacingVerdict PacingConditionResult::*verdict, Has has, P p_of) {
  std::vector<double> p;
  std::vector<PacingConditionResult*> members;
  for (PacingConditionResult& r : results) {
    const PacingEffect* e = find(r, kArmAuto);
    if (!r.skipped.empty() || e == nullptr || !has(r)) continue;
    p.push_back(p_of(*e));
    members.push_back(&r);
  }
  const std::vector<double> adjusted = holm_adjusted(p);
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i]->*verdict = {.p = adjusted[i], .passed = adjusted[i] <= alpha};
}

}  // namespace

double PairSums::log_ratio() const {
  return std::log((off / static_cast<double>(off_steps)) / (on / static_cast<double>(on_steps)));
}

BootstrapOfPairs bootstrap_pairs(std::span<const PairSums> pairs, std::uint64_t seed, int draws) {
  COX_ASSERT(!pairs.empty(), "nothing to resample");
  const std::size_t n = pairs.size();
  std::vector<double> ratios(n);
  std::transform(pairs.begin(), pairs.end(), ratios.begin(), [](const PairSums& s) { return s.log_ratio(); });
  const auto total_of = [](const PairSums& s) { return s.log_ratio(); };
  const auto add = [](PairSums& sum, const PairSums& one) {
    sum.off += one.off;
    sum.on += one.on;
    sum.off_steps += one.off_steps;
    sum.on_steps += one.on_steps;
  };
  BootstrapOfPairs boot;
  boot.median = median(ratios);
  PairSums all;
  for (const PairSums& s : pairs) add(all, s);
  boot.total = total_of(all);
  const double stretch = n > 1 ? std::sqrt(static_cast<double>(n) / static_cast<double>(n - 1)) : 1;
  const UnitDraws draw(n, seed, kBootstrapStream);
  std::vector<double> drawn(n);
  for (int b = 0; b < draws; ++b) {
    PairSums sum;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t pick = draw.pick(static_cast<std::size_t>(b), i);
      drawn[i] = ratios[pick];
      add(sum, pairs[pick]);
    }
    boot.medians.push_back(boot.median + stretch * (median_in_place(drawn) - boot.median));
    boot.totals.push_back(boot.total + stretch * (total_of(sum) - boot.total));
  }
  return boot;
}

std::vector<double> holm_adjusted(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = most;
  }
  return adjusted;
}

PacingConditionResult judge_condition(const PacingStudy& study, const PacingCondition& condition,
                                      std::span<const MeasuredGroup> groups) {
  PacingConditionResult result{.name = condition.name, .groups = static_cast<int>(groups.size())};
  BootstrapOfPairs of_auto;
  BootstrapOfPairs of_random;
  int fewest = 0;  // pairs of either
  for (const std::size_t arm : condition.arms) {
    const ArmData data = collect(study, groups, arm);
    if (data.pairs.empty() && data.struck == 0) continue;
    // The seed differs by arm, so that two arms' replicates are independent.
    const BootstrapOfPairs boot =
        data.pairs.empty() ? BootstrapOfPairs{}
                           : bootstrap_pairs(data.pairs, study.protocol.seed + arm, study.protocol.draws);
    result.effects.push_back(effect_of(study, condition, arm, data, boot));
    if (data.pairs.size() < 2) continue;
    const std::string& name = study.arms[arm].name;
    if (name == kArmAuto || name == kArmRandom) {
      (name == kArmAuto ? of_auto : of_random) = boot;
      const int pairs = static_cast<int>(data.pairs.size());
      fewest = fewest == 0 ? pairs : std::min(fewest, pairs);
    }
  }
  if (!of_auto.medians.empty() && !of_random.medians.empty()) {
    std::vector<double> difference = std::move(of_auto.medians);
    std::transform(difference.begin(), difference.end(), of_random.medians.begin(), difference.begin(),
                   std::minus<>{});
    find(result, kArmAuto)->p_random =
        p_at_most(of_auto.median - of_random.median, difference, std::log1p(-study.protocol.harm), fewest);
  }
  set_floor(study, result);
  return result;
}

bool is_auto_open(const PacingStudy& study, const PacingCondition& condition,
                  const PacingConditionResult& result) {
  const PacingEffect* effect = find(result, kArmAuto);
  if (effect == nullptr) return false;
  if (effect->pairs < 2) return true;
  const auto is_open = [&](const PacingVerdict& verdict, double border) {
    return !verdict.passed && effect->high >= border && effect->total_high >= border;
  };
  if (is_open(result.no_harm, -study.protocol.harm)) return true;
  if (condition.bar <= 0) return false;
  return is_open(result.superior, condition.bar) ||
         (!result.no_worse_than_random.passed && find(result, kArmRandom) != nullptr);
}

bool wants_more(const PacingStudy& study, const PacingCondition& condition,
                const PacingConditionResult& result) {
  const bool has_floor = find(result, kArmAgain) != nullptr;
  return (has_floor && !result.is_resolved) || is_auto_open(study, condition, result);
}

void correct_tests(const PacingStudy& study, std::vector<PacingConditionResult>& results) {
  const auto has_bar = [&](const PacingConditionResult& r) {
    return std::any_of(study.conditions.begin(), study.conditions.end(),
                       [&](const PacingCondition& c) { return c.name == r.name && c.bar > 0; });
  };
  const double alpha = study.protocol.alpha;
  correct(
      results, alpha, &PacingConditionResult::no_harm, [](const PacingConditionResult&) { return true; },
      [](const PacingEffect& e) { return e.p_harm; });
  correct(results, alpha, &PacingConditionResult::superior, has_bar,
          [](const PacingEffect& e) { return e.p_bar; });
  correct(results, alpha, &PacingConditionResult::no_worse_than_random, has_bar,
          [](const PacingEffect& e) { return e.p_random; });
}

}  // namespace cox::study
