// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pacing/effect.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/assert.hpp"
#include "cox/base/resample.hpp"
#include "cox/base/stats.hpp"
#include "cox/pace/settings.hpp"

namespace cox::evaluate {
namespace {

/// The starts of one arm, and the steps on either side.
struct ArmData {
  std::vector<PacingStart> starts;
  int struck = 0;
  std::vector<double> off_periods;
  std::vector<double> on_periods;
  std::vector<double> held_periods;
  Welford off_wait;
  Welford on_wait;
  Welford on_delay;
  Welford holding;
};

/// Counted steps of one side.
struct Sums {
  double time_s = 0;
  double steps = 0;
  void operator+=(const Sums& other) {
    time_s += other.time_s;
    steps += other.steps;
  }
};
double gain_of(const Sums& off, const Sums& on) {
  return off.time_s / off.steps / (on.time_s / on.steps) - 1;
}

/// Steps of a block that count: after the dropped ones, and no more than the other block has draws for.
std::span<const PacedMeasurement> counted(const PacingBlock& block, const MeasuredBlock& measured,
                                          const PacingBlock& other) {
  const std::span<const PacedMeasurement> steps = measured.steps;
  // Chunks of auto are charged as they are, and all of the off beside them is what they are charged against.
  const bool is_matched = block.dropped > 0 && other.dropped > 0;
  const std::size_t end =
      is_matched ? std::min(steps.size(), static_cast<std::size_t>(other.steps)) : steps.size();
  const auto from = static_cast<std::size_t>(block.dropped);
  return from < end ? steps.subspan(from, end - from) : std::span<const PacedMeasurement>{};
}

Sums add_side(std::span<const PacedMeasurement> steps, std::vector<double>& periods) {
  Sums sums;
  for (const PacedMeasurement& s : steps) {
    periods.push_back(in_seconds(s.period));
    sums += {periods.back(), 1};
  }
  return sums;
}

/// The pairs of one arm in one start.
void collect_start(const PacingStudy& study, const MeasuredStart& measured, std::size_t arm, int number,
                   ArmData& data) {
  COX_ASSERT(measured.blocks.size() == measured.plan.blocks.size(), "a planned block was not measured");
  PacingStart start{.number = number};
  Sums all_off;
  Sums all_on;
  for (const PacingPair& pair : measured.plan.pairs) {
    if (pair.arm != arm) continue;
    const MeasuredBlock& off = measured.blocks[pair.off];
    const MeasuredBlock& on = measured.blocks[pair.on];
    if (std::max(off.steal_ratio, on.steal_ratio) > study.protocol.steal) {
      ++data.struck;
      continue;
    }
    const PacingBlock& off_block = measured.plan.blocks[pair.off];
    const PacingBlock& on_block = measured.plan.blocks[pair.on];
    const auto off_steps = counted(off_block, off, on_block);
    const auto on_steps = counted(on_block, on, off_block);
    if (off_steps.empty() || on_steps.empty()) continue;
    const Sums of_off = add_side(off_steps, data.off_periods);
    const Sums of_on = add_side(on_steps, data.on_periods);
    for (const PacedMeasurement& s : off_steps) data.off_wait.add(in_seconds(s.mean_wait));
    for (const PacedMeasurement& s : on_steps) {
      data.on_wait.add(in_seconds(s.mean_wait));
      data.on_delay.add(in_seconds(s.mean_delay));
      data.holding.add(s.holding);
      if (s.holding > 0.5 && s.mean_delay > Duration{}) data.held_periods.push_back(in_seconds(s.period));
    }
    start.pair_gains.push_back(gain_of(of_off, of_on));
    all_off += of_off;
    all_on += of_on;
  }
  if (start.pair_gains.empty()) return;
  start.total_gain = gain_of(all_off, all_on);
  data.starts.push_back(std::move(start));
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

pace::WaitMode wait_of(const PacingArm& arm, const PacingCondition& condition) {
  return arm.wait.value_or(condition.job.wait);
}

double waiting_power(pace::WaitMode wait) {
  return wait == pace::WaitMode::Block ? pace::Settings{}.idle_power : 1;
}

PacingEffect effect_of(const PacingStudy& study, const PacingCondition& condition, std::size_t arm,
                       ArmData data) {
  PacingEffect e{.arm = study.arms[arm].name, .starts = std::move(data.starts), .struck = data.struck};
  e.off = side_of(data.off_periods, data.off_wait, Welford{}, waiting_power(condition.job.wait));
  e.on = side_of(data.on_periods, data.on_wait, data.on_delay,
                 waiting_power(wait_of(study.arms[arm], condition)));
  if (e.arm != kArmAuto) return e;  // the others hold by rule
  e.held_steps = static_cast<std::int64_t>(data.held_periods.size());
  e.holding = data.holding.mean();
  if (e.held_steps >= 2 * study.protocol.window) e.held_cv = cv_of(data.held_periods);
  return e;
}

/// A start's log ratio by its pairs: their mean, of auto their median.
double log_of_pairs(const PacingEffect& e, const PacingStart& start) {
  std::vector<double> logs;
  logs.reserve(start.pair_gains.size());
  for (const double gain : start.pair_gains) logs.push_back(std::log1p(gain));
  if (e.arm == kArmAuto) return median(logs);
  return std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
}

void set_gain(const StartsEstimate& estimate, double confidence, double& gain, double& low, double& high) {
  gain = low = high = std::expm1(estimate.mean);
  if (estimate.starts < 2) return;
  const Interval within = estimate.interval(confidence);
  low = std::expm1(within.low);
  high = std::expm1(within.high);
}

void judge_effect(const PacingProtocol& p, double bar, PacingEffect& e) {
  std::vector<double> logs;
  std::vector<double> totals;
  for (const PacingStart& start : e.starts) {
    logs.push_back(log_of_pairs(e, start));
    totals.push_back(std::log1p(start.total_gain));
  }
  const StartsEstimate by_pairs = estimate_starts(logs, p.start_correlation);
  const StartsEstimate by_total = estimate_starts(totals, p.start_correlation);
  set_gain(by_pairs, p.confidence, e.gain, e.low, e.high);
  set_gain(by_total, p.confidence, e.total_gain, e.total_low, e.total_high);
  const StartsEstimate& charged = e.arm == kArmAuto ? by_total : by_pairs;
  e.p_harm = charged.p_at_most(std::log1p(-p.harm));
  e.p_bar = bar > 0 ? charged.p_at_most(std::log1p(bar)) : 1;
  const double above = charged.p_at_most(0);
  e.p_zero = e.starts.size() < 2 ? 1 : 2 * std::min(above, 1 - above);
}

/// Of the starts that have both: how much better the first arm does than the second.
StartsEstimate difference(const PacingProtocol& p, const PacingEffect& one, const PacingEffect& other) {
  std::vector<double> logs;
  for (const PacingStart& a : one.starts)
    for (const PacingStart& b : other.starts)
      if (a.number == b.number) logs.push_back(log_of_pairs(one, a) - log_of_pairs(other, b));
  return estimate_starts(logs, p.start_correlation);
}

PacingEffect* find(PacingConditionResult& result, std::string_view arm) {
  const auto at = std::find_if(result.effects.begin(), result.effects.end(),
                               [&](const PacingEffect& e) { return e.arm == arm; });
  return at == result.effects.end() ? nullptr : &*at;
}
void set_floor(const PacingStudy& study, PacingConditionResult& result) {
  const PacingEffect* again = find(result, kArmAgain);
  result.floor_half_width = -1;
  result.is_resolved = false;
  if (again == nullptr || again->starts.size() < 2) return;
  result.floor_half_width = (again->high - again->low) / 2;
  result.is_resolved = result.floor_half_width <= study.protocol.floor;
}

/// Corrects one family of tests: the same member of all results that have it.
template <class Has, class P>
void correct(std::vector<PacingConditionResult>& results, double alpha, std::string_view arm,
             PacingVerdict PacingConditionResult::*verdict, Has has, P p_of) {
  std::vector<double> p;
  std::vector<PacingConditionResult*> members;
  for (PacingConditionResult& r : results) {
    const PacingEffect* e = find(r, arm);
    r.*verdict = {};
    if (!r.skipped.empty() || e == nullptr || !has(r)) continue;
    p.push_back(p_of(*e));
    members.push_back(&r);
  }
  const std::vector<double> adjusted = holm_adjusted(p);
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i]->*verdict = {.p = adjusted[i], .passed = adjusted[i] <= alpha};
}

}  // namespace

std::size_t PacingEffect::pairs() const {
  std::size_t count = 0;
  for (const PacingStart& start : starts) count += start.pair_gains.size();
  return count;
}

Interval StartsEstimate::interval(double confidence) const {
  COX_ASSERT(starts >= 2, "no spread to make an interval of");
  const double half = error > 0 ? student_quantile((1 - confidence) / 2, starts - 1) * error : 0;
  return {mean - half, mean + half};
}

double StartsEstimate::p_at_most(double border) const {
  if (starts < 2) return 1;
  if (error > 0) return student_upper_tail((mean - border) / error, starts - 1);
  return mean > border ? 0 : 1;
}

StartsEstimate estimate_starts(std::span<const double> effects, double correlation) {
  COX_ASSERT(correlation >= 0 && correlation < 1, "no correlation that leaves a spread");
  Welford spread;
  for (const double e : effects) spread.add(e);
  StartsEstimate estimate{.starts = static_cast<int>(effects.size()), .mean = spread.mean()};
  if (estimate.starts >= 2)
    estimate.error = spread.stddev() *
                     std::sqrt(1 / static_cast<double>(estimate.starts) + correlation / (1 - correlation));
  return estimate;
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
                                      std::span<const MeasuredStart> starts) {
  PacingConditionResult result{.name = condition.name, .starts = static_cast<int>(starts.size())};
  for (const std::size_t arm : condition.arms) {
    ArmData data;
    for (std::size_t i = 0; i < starts.size(); ++i)
      collect_start(study, starts[i], arm, static_cast<int>(i), data);
    if (data.starts.empty() && data.struck == 0) continue;
    result.effects.push_back(effect_of(study, condition, arm, std::move(data)));
  }
  judge_effects(study, condition, result);
  return result;
}

void judge_effects(const PacingStudy& study, const PacingCondition& condition,
                   PacingConditionResult& result) {
  const PacingProtocol& p = study.protocol;
  for (PacingEffect& e : result.effects) judge_effect(p, condition.bar, e);
  PacingEffect* of_auto = find(result, kArmAuto);
  const PacingEffect* of_random = find(result, kArmRandom);
  if (of_auto != nullptr && of_random != nullptr)
    of_auto->p_random = difference(p, *of_auto, *of_random).p_at_most(std::log1p(-p.harm));
  set_floor(study, result);
}

void correct_tests(const PacingStudy& study, std::vector<PacingConditionResult>& results) {
  const auto has_bar = [&](const PacingConditionResult& r) {
    return std::any_of(study.conditions.begin(), study.conditions.end(),
                       [&](const PacingCondition& c) { return c.name == r.name && c.bar > 0; });
  };
  const auto all = [](const PacingConditionResult&) { return true; };
  const double alpha = study.protocol.alpha;
  correct(results, alpha, kArmAuto, &PacingConditionResult::no_harm, all,
          [](const PacingEffect& e) { return e.p_harm; });
  correct(results, alpha, kArmAuto, &PacingConditionResult::superior, has_bar,
          [](const PacingEffect& e) { return e.p_bar; });
  correct(results, alpha, kArmAuto, &PacingConditionResult::no_worse_than_random, has_bar,
          [](const PacingEffect& e) { return e.p_random; });
  correct(results, alpha, kArmAgain, &PacingConditionResult::floor_beside_zero, all,
          [](const PacingEffect& e) { return e.p_zero; });
}

void judge_all(const PacingStudy& study, PacingResults& results) {
  const auto judge = [&](const std::vector<PacingCondition>& conditions,
                         std::vector<PacingConditionResult>& of) {
    for (PacingConditionResult& r : of)
      for (const PacingCondition& c : conditions)
        if (c.name == r.name) judge_effects(study, c, r);
  };
  judge(study.conditions, results.conditions);
  judge(study.sizes, results.sizes);
  correct_tests(study, results.conditions);
}

}  // namespace cox::evaluate
