// SPDX-License-Identifier: Apache-2.0
#include "diagnose/over_time/time_structure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "cox/base/stats.hpp"

#include "diagnose/match/span_math.hpp"
#include "diagnose/over_time/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr double kLongStep = 0.04;
constexpr double kLongFirst = 0.02;
/// Of the usual step. Where a clock tells steps of no length nothing is over or under that.
constexpr double kLeastLevel = 1e-3;
constexpr double kLongSpreads = 6;
constexpr double kLeastDrift = 0.05;
constexpr double kDriftChance = 1e-3;
/// A line explains what levels explain unless it is so much worse.
constexpr double kAsGood = 1.05;
constexpr std::size_t kToldSteps = 1000;
/// Of a long step's excess, what a rank or all ranks must account for to be what it was.
constexpr double kExplains = 0.5;
/// A change is in the work of all, or of one, by this part of it.
constexpr double kOfChange = 0.75;
constexpr double kMostOfThem = 0.75;
constexpr double kReturnChance = 1e-3;
constexpr double kTwoTimesChance = 1e-2;
/// Neighbours in severity belong to two tiers where they are so far apart.
constexpr double kTierApart = 1.2;
constexpr std::size_t kMostCuts = 8;
/// Two periods are one within this part.
constexpr double kAlike = 0.1;
constexpr double kAlikeShare = 0.35;
/// So many changes are told as two times, where there are two.
constexpr std::size_t kOften = 3;
/// Two times that change places so often do so all the while.
constexpr std::size_t kRestless = 8;
/// More often than noise crosses from one of two levels to the other.
constexpr double kRestlessPart = 0.15;

/// A series over its median, its first step aside where that is a warm-up.
class Series {
 public:
  Series(std::span<const Duration> times, std::span<const StepId> steps) : times_(times), steps_(steps) {
    std::vector<Duration> copy(times.begin(), times.end());
    out_.count = static_cast<std::int64_t>(times.size());
    if (copy.empty()) return;
    out_.median = lower_median_in_place(copy);
  }

  TimeStructure understand() {
    if (out_.count < TimeStructure::kLeastCount || steps_.size() != times_.size() ||
        out_.median <= Duration::zero())
      return out_;
    for (const Duration t : times_) values_.push_back(ratio(t, out_.median));
    const auto rest = std::span(values_).subspan(1);
    out_.first_is_long =
        values_[0] > median(rest) * (1 + std::max(kLongFirst, kLongSpreads * scaled_mad(rest)));
    skip_ = out_.first_is_long ? 1 : 0;
    const auto used = std::span<const double>(values_).subspan(skip_);
    Welford moments;
    for (const double x : used) moments.add(x);
    out_.cv = moments.cv();
    find_levels_or_trend(used);
    find_two_times(used);
    find_long_steps();
    find_recurrence();
    find_tiers();
    find_bursts();
    find_phase_beside_long_steps();
    find_tail();
    if (!out_.evident()) out_.least_shift_ratio = least_shift(used, {});
    return out_;
  }

  [[nodiscard]] bool has_long() const { return !long_.empty(); }

  /// Whose work the first change is in, by medians over the steps up to it and from it to the next one.
  void tell_change(std::span<const std::vector<Duration>> work, TimeStructure& t) const {
    if (t.changes.empty() || !fits(work)) return;
    const auto place = [&](StepId step) {
      return static_cast<std::size_t>(std::lower_bound(steps_.begin(), steps_.end(), step) - steps_.begin());
    };
    const std::size_t at = place(t.changes[0].first_step);
    const std::size_t end = t.changes.size() > 1 ? place(t.changes[1].first_step) : times_.size();
    if (at <= skip_ || at >= end) return;
    const auto [usual, ahead] = of_ranks(work);
    const auto shift = [&](const std::vector<double>& x) {
      const std::span<const double> all(x);
      return median(all.subspan(at, end - at)) - median(all.subspan(skip_, at - skip_));
    };
    const double whole = in_seconds(t.changes[0].after) - in_seconds(t.changes[0].before);
    const double by_all = shift(usual) / whole;
    const double by_one = shift(ahead) / whole;
    if (by_all >= kOfChange)
      t.change_kind = LongStepKind::Everybody;
    else if (by_one >= kOfChange)
      t.change_kind = LongStepKind::SomeRank;
    else if (by_all + by_one <= 1 - kOfChange)
      t.change_kind = LongStepKind::Communication;
    if (t.change_kind == LongStepKind::SomeRank)
      t.change_rows = rows_of_change(work, {skip_, at}, {at, end}, whole < 0);
  }

  /// Whom the long steps concern, by the own work of all ranks.
  void tell_kinds(std::span<const std::vector<Duration>> work, TimeStructure& t) const {
    if (long_.empty() || !fits(work)) return;
    const auto [usual, ahead] = of_ranks(work);
    const double usual_usual = median(usual);
    const double usual_ahead = median(ahead);
    std::array<std::int64_t, 4> counts{};
    for (std::size_t i = 0; i < long_.size(); ++i) {
      const std::size_t s = long_[i];
      const double excess = (values_[s] - level_[s]) * in_seconds(out_.median);
      LongStepKind kind = LongStepKind::Communication;
      if (usual[s] - usual_usual >= kExplains * excess)
        kind = LongStepKind::Everybody;
      else if (ahead[s] - usual_ahead >= kExplains * excess)
        kind = LongStepKind::SomeRank;
      ++counts[static_cast<std::size_t>(kind)];
      if (i < t.long_steps.size()) t.long_steps[i].kind = kind;
    }
    for (std::size_t k = 1; k < counts.size(); ++k)
      if (static_cast<double>(counts[k]) >= kMostOfThem * static_cast<double>(long_.size()))
        t.long_kind = static_cast<LongStepKind>(k);
  }

 private:
  using Range = std::pair<std::size_t, std::size_t>;
  [[nodiscard]] static std::vector<std::size_t> rows_of_change(std::span<const std::vector<Duration>> work,
                                                               Range before, Range after, bool shorter) {
    constexpr double kAsMuch = 0.5;
    constexpr double kNothing = 0.25;
    std::vector<double> shift;
    for (const std::vector<Duration>& row : work) {
      const auto middle = [&](Range steps) {
        std::vector<double> part;
        for (std::size_t s = steps.first; s < steps.second; ++s) part.push_back(in_seconds(row[s]));
        return median_in_place(part);
      };
      shift.push_back((middle(after) - middle(before)) * (shorter ? -1 : 1));
    }
    const double most = *std::max_element(shift.begin(), shift.end());
    std::vector<std::size_t> rows;
    for (std::size_t r = 0; r < shift.size(); ++r) {
      if (shift[r] >= kAsMuch * most)
        rows.push_back(r);
      else if (shift[r] >= kNothing * most)
        return {};
    }
    return rows;
  }

  [[nodiscard]] bool fits(std::span<const std::vector<Duration>> work) const {
    return !work.empty() && std::all_of(work.begin(), work.end(),
                                        [&](const auto& row) { return row.size() == times_.size(); });
  }

  struct OfRanks {
    std::vector<double> usual;  ///< per step, own work of the usual rank
    std::vector<double> ahead;  ///< and by how much the longest exceeds it
  };
  [[nodiscard]] OfRanks of_ranks(std::span<const std::vector<Duration>> work) const {
    OfRanks out;
    std::vector<Duration> column(work.size());
    for (std::size_t s = 0; s < times_.size(); ++s) {
      for (std::size_t r = 0; r < work.size(); ++r) column[r] = work[r][s];
      const Duration most = *std::max_element(column.begin(), column.end());
      const Duration usual = lower_median_in_place(column);
      out.usual.push_back(in_seconds(usual));
      out.ahead.push_back(in_seconds(minus_clamped(most, usual)));
    }
    return out;
  }

  void find_levels_or_trend(std::span<const double> used) {
    std::vector<LevelChange> changes = find_levels(used, {});
    const std::optional<Trend> trend = find_trend(used);
    const bool steady = trend && trend->chance < kDriftChance && trend->begin > 0 &&
                        std::abs(trend->end / trend->begin - 1) >= kLeastDrift;
    if (steady && !changes.empty() && cost_of_trend(used, *trend) <= kAsGood * cost_of_levels(used, changes))
      changes.clear();
    level_.assign(values_.size(), 1);
    if (steady && changes.empty()) {
      out_.drift = Drift{trend->end / trend->begin - 1, trend->chance};
      for (std::size_t i = 0; i < used.size(); ++i)
        level_[skip_ + i] = std::max(kLeastLevel, trend->at(i, used.size()));
    } else {
      take_levels(used, changes);
    }
    if (skip_ > 0) level_[0] = level_[1];
  }

  void take_levels(std::span<const double> used, const std::vector<LevelChange>& changes) {
    std::size_t from = 0;
    double before = 0;
    for (std::size_t i = 0; i <= changes.size(); ++i) {
      const std::size_t to = i < changes.size() ? changes[i].at : used.size();
      const double level = std::max(kLeastLevel, median(used.subspan(from, to - from)));
      for (std::size_t k = from; k < to; ++k) level_[skip_ + k] = level;
      if (i > 0) {
        const LevelChange& c = changes[i - 1];
        const auto step = [&](std::size_t at) { return steps_[std::min(skip_ + at, steps_.size() - 1)]; };
        out_.changes.push_back({step(c.at), step(c.earliest), step(c.latest), time_of(before), time_of(level),
                                level / before - 1, c.posterior});
      }
      before = level;
      from = to;
    }
  }

  [[nodiscard]] Duration time_of(double value) const {
    return duration_from_seconds(value * in_seconds(out_.median));
  }

  void find_long_steps() {
    std::vector<double> off;
    for (std::size_t i = skip_; i < values_.size(); ++i) off.push_back(values_[i] / level_[i] - 1);
    const double bar = long_bar_ = std::max(kLongStep, kLongSpreads * scaled_mad(off));
    double all = 0;
    double beyond = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      all += values_[i];
      const double over = values_[i] / level_[i] - 1;
      if (over <= bar) continue;
      beyond += values_[i] - level_[i];
      long_.push_back(i);
      if (out_.long_steps.size() < kToldSteps)
        out_.long_steps.push_back({steps_[i], times_[i], over, LongStepKind::Unknown});
    }
    out_.long_count = static_cast<std::int64_t>(long_.size());
    out_.long_share_ratio = all > 0 ? beyond / all : 0;
  }

  [[nodiscard]] double over(std::size_t i) const { return values_[i] / level_[i] - 1; }

  /// The first steps of episodes, in the program's numbers, of long steps that `take` keeps.
  template <class Take>
  [[nodiscard]] std::vector<double> episodes_of(const Take& take) const {
    std::vector<double> episodes;
    std::optional<std::size_t> before;
    for (const std::size_t i : long_) {
      if (!take(i)) continue;
      if (!before || i > *before + 1) episodes.push_back(static_cast<double>(steps_[i].value()));
      before = i;
    }
    return episodes;
  }

  [[nodiscard]] std::optional<Recurrence> recurrence_of(const std::vector<double>& episodes,
                                                        double tries) const {
    // Where a third of all steps is long, long is not the exception that could come back.
    if (3 * episodes.size() > values_.size() || episodes.empty()) return std::nullopt;
    // What comes back does so over the series, not within one burst.
    const double all = static_cast<double>(steps_.back().value()) - static_cast<double>(steps_[0].value());
    if (episodes.back() - episodes.front() < all / 3) return std::nullopt;
    const auto found = find_return(episodes);
    if (!found || found->chance * tries > kReturnChance) return std::nullopt;
    return Recurrence{found->length,  found->shortest,
                      found->longest, static_cast<std::int64_t>(episodes.size()),
                      found->fits,    found->chance * tries};
  }

  void find_recurrence() {
    out_.recurrence = recurrence_of(episodes_of([](std::size_t) { return true; }), 1);
  }

  /// Where the long steps may be cut in two by how long they are: at the widest steps between neighbours.
  [[nodiscard]] std::vector<double> cuts() const {
    std::vector<double> sorted;
    sorted.reserve(long_.size());
    for (const std::size_t i : long_) sorted.push_back(over(i));
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::pair<double, double>> wide;  // ratio of neighbours, upper one
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i] > sorted[i - 1] * kTierApart) wide.emplace_back(sorted[i] / sorted[i - 1], sorted[i]);
    std::sort(wide.begin(), wide.end(), std::greater<>());
    wide.resize(std::min(wide.size(), kMostCuts));
    std::vector<double> out;
    out.reserve(wide.size());
    for (const auto& [apart, at] : wide) out.push_back(at);
    return out;
  }

  void add_tier(double from, double to, const std::optional<Recurrence>& found) {
    if (!found) return;
    RecurrenceTier tier{.least_over_ratio = to, .most_over_ratio = 0, .cost_ratio = 0, .recurrence = *found};
    double all = 0;
    for (const double x : values_) all += x;
    for (const std::size_t i : long_) {
      if (over(i) < from || over(i) >= to) continue;
      tier.least_over_ratio = std::min(tier.least_over_ratio, over(i));
      tier.most_over_ratio = std::max(tier.most_over_ratio, over(i));
      tier.cost_ratio += (values_[i] - level_[i]) / all;
    }
    out_.tiers.push_back(tier);
  }

  /// The cut above which long steps come back most surely, and what comes back below it.
  void find_tiers() {
    const std::vector<double> tried = cuts();
    const auto tries = static_cast<double>(2 * tried.size());
    std::optional<Recurrence> best;
    double best_cut = 0;
    for (const double cut : tried) {
      const auto found = recurrence_of(episodes_of([&](std::size_t i) { return over(i) >= cut; }), tries);
      if (!found || (best && best->chance <= found->chance)) continue;
      best = found;
      best_cut = cut;
    }
    const auto below = best ? recurrence_of(episodes_of([&](std::size_t i) { return over(i) < best_cut; }), 2)
                            : std::nullopt;
    if (!best || (out_.recurrence && !below && is_alike(*best, *out_.recurrence))) return;
    if (below && is_alike(*best, *below)) return;
    add_tier(best_cut, std::numeric_limits<double>::infinity(), best);
    add_tier(0, best_cut, below);
  }

  static bool is_alike(const Recurrence& a, const Recurrence& b) {
    return std::abs(a.period_steps - b.period_steps) <= kAlike * b.period_steps;
  }

  void find_bursts() {
    if (out_.recurrence || !out_.tiers.empty()) return;
    std::vector<double> off;
    for (std::size_t i = skip_; i < values_.size(); ++i) off.push_back(over(i));
    // Where a series wanders, a long step is long after its neighbour: it counts for what the neighbour leaves open.
    const double share = independent_share(off, 0);
    const double memory = (1 - share) / (1 + share);
    std::vector<std::size_t> at;
    for (std::size_t k = 0; k < long_.size(); ++k) {
      const std::size_t i = long_[k];
      const bool follows = k > 0 && i == long_[k - 1] + 1;
      if (!follows || over(i) - memory * over(i - 1) > long_bar_) at.push_back(i);
    }
    for (const Crowd& c : find_crowds(at, values_.size()))
      out_.bursts.push_back({steps_[c.first], steps_[c.last], c.count, c.chance});
  }

  /// Whether a long step is among those that were found to come back.
  [[nodiscard]] bool is_told(std::size_t i) const {
    if (!std::binary_search(long_.begin(), long_.end(), i)) return false;
    if (out_.tiers.empty()) return out_.recurrence.has_value();
    return std::any_of(out_.tiers.begin(), out_.tiers.end(), [&](const RecurrenceTier& t) {
      return over(i) >= t.least_over_ratio && over(i) <= t.most_over_ratio;
    });
  }

  /// Every n-th step, relative to the usual time there, of what has not been told as long steps.
  void find_phase_beside_long_steps() {
    std::vector<double> ratios;
    std::vector<std::int64_t> numbers;
    for (std::size_t i = skip_; i < values_.size(); ++i) {
      ratios.push_back(is_told(i) ? 1 : 1 + over(i));
      numbers.push_back(steps_[i].value());
    }
    if (const auto p = find_phase(ratios, numbers)) take_phase(*p, numbers);
  }

  /// Two times that change places all the while are neither levels nor long steps: each step is then held
  /// against its own. Two that hold for long are levels and stay so.
  void find_two_times(std::span<const double> used) {
    const auto m = find_modes(used);
    if (!m) return;
    // Where levels explain them, they are levels.
    const std::size_t switches = count_switches(used, *m);
    const bool restless = switches >= kRestless &&
                          ((out_.changes.empty() && !out_.drift) || find_modes(over_levels()) ||
                           static_cast<double>(switches) > kRestlessPart * static_cast<double>(used.size()));
    const bool sure = m->chance <= kTwoTimesChance;
    if (!restless) {
      if (sure && out_.changes.size() >= kOften) take_modes(*m);
      return;
    }
    out_.changes.clear();
    out_.drift.reset();
    level_.assign(values_.size(), std::max(kLeastLevel, median(used)));
    find_phase_beside_long_steps();
    const bool periodic = out_.phase && is_told_by_phase(*m, used);
    out_.phase.reset();
    if (periodic || !sure) return;
    take_modes(*m);
    for (std::size_t i = 0; i < values_.size(); ++i)
      level_[i] = std::max(kLeastLevel, m->places[m->of(values_[i])]);
  }

  /// Values over what is usual there.
  [[nodiscard]] std::vector<double> over_levels() const {
    std::vector<double> out;
    for (std::size_t i = skip_; i < values_.size(); ++i) out.push_back(1 + over(i));
    return out;
  }

  static std::size_t count_switches(std::span<const double> values, const Modes& m) {
    std::size_t switches = 0;
    for (std::size_t i = 1; i < values.size(); ++i) switches += m.of(values[i]) != m.of(values[i - 1]);
    return switches;
  }

  /// Whether one time is that of every n-th step, as found: by its share, or as the others have one time only.
  [[nodiscard]] bool is_told_by_phase(const Modes& m, std::span<const double> used) const {
    if (m.places.size() == 2 && is_share_of_period(m.shares.back())) return true;
    std::vector<double> others;
    const auto period = static_cast<std::int64_t>(out_.phase->period_steps);
    for (std::size_t i = 0; i < used.size(); ++i)
      if ((steps_[skip_ + i].value() - out_.phase->first_step.value()) % period != 0)
        others.push_back(used[i]);
    const auto left = find_modes(others);
    return !left || left->chance > kTwoTimesChance;
  }

  /// Whether one of every n steps, as found, is this part of them.
  [[nodiscard]] bool is_share_of_period(double share) const {
    const double step = static_cast<double>(steps_.back().value() - steps_[0].value()) /
                        static_cast<double>(steps_.size() - 1);
    return std::abs(std::max(1.0, step) / out_.phase->period_steps - share) < kAlikeShare * share;
  }

  void take_phase(const FixedPhase& p, std::span<const std::int64_t> numbers) {
    const auto comes_back = [&](const Recurrence& r) {
      return std::abs(r.period_steps - static_cast<double>(p.period)) < 0.5;
    };
    // As long steps it has been told.
    if (out_.recurrence && comes_back(*out_.recurrence)) return;
    for (const RecurrenceTier& t : out_.tiers)
      if (comes_back(t.recurrence)) return;
    std::int64_t first = numbers[0] - numbers[0] % p.period + p.phase;
    while (first < numbers[0]) first += p.period;
    out_.phase = PhaseShift{static_cast<double>(p.period), StepId(first), p.over, p.count, p.chance};
  }

  void take_modes(const Modes& m) {
    TwoTimes two{.low = time_of(m.places.front()),
                 .high = time_of(m.places.back()),
                 .high_share_ratio = m.shares.back(),
                 .first_high = steps_[0],
                 .last_high = steps_[0],
                 .stretches = 0,
                 .stretch_steps = 0,
                 .scattered_steps = 1 / (1 - m.shares.back()),
                 .chance = m.chance,
                 .places = {}};
    for (std::size_t k = 0; k < m.places.size(); ++k)
      two.places.push_back({time_of(m.places[k]), m.shares[k]});
    std::int64_t high = 0;
    bool before = false;
    for (std::size_t i = skip_; i < values_.size(); ++i) {
      const bool now = values_[i] > m.borders.back();
      if (now && high == 0) two.first_high = steps_[i];
      if (now) two.last_high = steps_[i];
      if (now && !before) ++two.stretches;
      high += now;
      before = now;
    }
    two.stretch_steps =
        static_cast<double>(high) / static_cast<double>(std::max<std::int64_t>(1, two.stretches));
    out_.two_times = two;
  }

  void find_tail() {
    std::vector<double> used(values_.begin() + static_cast<std::ptrdiff_t>(skip_), values_.end());
    const double middle = median(used);
    double all = 0;
    double above = 0;
    double below = 0;
    for (const double x : used) {
      all += x;
      (x > middle ? above : below) += std::abs(x - middle);
    }
    if (all <= 0 || middle <= 0) return;
    out_.tail.above_median_ratio = above / all;
    out_.tail.below_median_ratio = below / all;
    out_.tail.longest_ratio = *std::max_element(used.begin(), used.end()) / middle;
    out_.tail.p95_ratio = quantile_in_place(used, 0.95) / middle;
    out_.tail.p99_ratio = quantile_in_place(used, 0.99) / middle;
  }

  std::span<const Duration> times_;
  std::span<const StepId> steps_;
  TimeStructure out_;
  std::size_t skip_ = 0;
  std::vector<double> values_;  ///< over the median
  std::vector<double> level_;   ///< what is usual there
  std::vector<std::size_t> long_;
  double long_bar_ = 0;  ///< over the usual time, less one
};

}  // namespace

const char* name_of(LongStepKind k) {
  switch (k) {
    case LongStepKind::Unknown:
      return "unknown";
    case LongStepKind::Everybody:
      return "everybody";
    case LongStepKind::SomeRank:
      return "some_rank";
    case LongStepKind::Communication:
      return "communication";
  }
  return "unknown";
}

TimeStructure understand_times(std::span<const Duration> times, std::span<const StepId> steps) {
  return Series(times, steps).understand();
}

TimeStructure understand_times(std::span<const Duration> times, std::span<const StepId> steps,
                               std::span<const std::vector<Duration>> work_by_rank) {
  Series series(times, steps);
  TimeStructure t = series.understand();
  series.tell_kinds(work_by_rank, t);
  series.tell_change(work_by_rank, t);
  return t;
}

TimeStructure understand_times(std::span<const Duration> times, std::span<const StepId> steps,
                               const std::function<std::vector<std::vector<Duration>>()>& work_by_rank) {
  Series series(times, steps);
  TimeStructure t = series.understand();
  if (!series.has_long() && t.changes.empty()) return t;
  const std::vector<std::vector<Duration>> work = work_by_rank();
  series.tell_kinds(work, t);
  series.tell_change(work, t);
  return t;
}

std::vector<ChangePoint> change_points(std::span<const Duration> times, std::span<const StepId> steps) {
  return understand_times(times, steps).changes;
}

}  // namespace cox::diagnose
