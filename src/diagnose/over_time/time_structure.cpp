// SPDX-License-Identifier: Apache-2.0
#include "diagnose/over_time/time_structure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cox/base/stats.hpp"

#include "diagnose/match/span_math.hpp"
#include "diagnose/over_time/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr double kLongStep = 0.04;
constexpr double kLongFirst = 0.02;
constexpr double kLongSpreads = 6;
constexpr double kLeastDrift = 0.05;
constexpr double kDriftChance = 1e-3;
/// A line explains what levels explain unless it is so much worse.
constexpr double kAsGood = 1.05;
constexpr std::size_t kToldSteps = 1000;
/// Of a long step's excess, what a rank or all ranks must account for to be what it was.
constexpr double kExplains = 0.5;
constexpr double kMostOfThem = 0.75;

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
    find_long_steps();
    find_recurrence();
    return out_;
  }

  /// Whom the long steps concern, by the own work of all ranks.
  void tell_kinds(std::span<const std::vector<Duration>> work, TimeStructure& t) const {
    if (work.empty() || long_.empty()) return;
    for (const auto& row : work)
      if (row.size() != times_.size()) return;
    const std::vector<double> usual = of_ranks(work, false);
    const std::vector<double> ahead = of_ranks(work, true);
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
  /// Per step, own work of the usual rank, or by how much the longest exceeds it.
  [[nodiscard]] std::vector<double> of_ranks(std::span<const std::vector<Duration>> work, bool ahead) const {
    std::vector<double> out;
    std::vector<Duration> column(work.size());
    for (std::size_t s = 0; s < times_.size(); ++s) {
      for (std::size_t r = 0; r < work.size(); ++r) column[r] = work[r][s];
      const Duration most = *std::max_element(column.begin(), column.end());
      const Duration usual = lower_median_in_place(column);
      out.push_back(in_seconds(ahead ? minus_clamped(most, usual) : usual));
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
      for (std::size_t i = 0; i < used.size(); ++i) level_[skip_ + i] = trend->at(i, used.size());
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
      const double level = median(used.subspan(from, to - from));
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
    const double bar = std::max(kLongStep, kLongSpreads * scaled_mad(off));
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

  void find_recurrence() {
    std::vector<double> episodes;
    for (std::size_t i = 0; i < long_.size(); ++i)
      if (i == 0 || long_[i] > long_[i - 1] + 1)
        episodes.push_back(static_cast<double>(steps_[long_[i]].value()));
    // Where a third of all steps is long, long is not the exception that could come back.
    if (3 * episodes.size() > values_.size()) return;
    const auto found = find_return(episodes);
    if (!found) return;
    out_.recurrence =
        Recurrence{found->length, found->shortest, found->longest, static_cast<std::int64_t>(episodes.size()),
                   found->fits,   found->chance};
  }

  std::span<const Duration> times_;
  std::span<const StepId> steps_;
  TimeStructure out_;
  std::size_t skip_ = 0;
  std::vector<double> values_;  ///< over the median
  std::vector<double> level_;   ///< what is usual there
  std::vector<std::size_t> long_;
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
  return t;
}

TimeStructure understand_delays(std::span<const Duration> delays, std::span<const StepId> steps,
                                Duration typical_step) {
  std::vector<Duration> times;
  for (const Duration d : delays) times.push_back(plus_clamped(typical_step, d));
  return understand_times(times, steps);
}

}  // namespace cox::diagnose
