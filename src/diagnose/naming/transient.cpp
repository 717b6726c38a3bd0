// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/stats.hpp"

#include "diagnose/naming/naming.hpp"
#include "diagnose/naming/scatter.hpp"

namespace cox::diagnose {
namespace {

constexpr std::int64_t kLeastWindow = 5;
/// A window must be so long a part of the Run (up to kLongWindow steps): shorter bursts are what machines do.
constexpr double kLeastWindowShare = 0.04;
constexpr std::int64_t kLongWindow = 20;
/// Beyond this part of the Run it is not limited in time, and the rules for all along apply.
constexpr double kMostWindowShare = 0.8;
/// Part of a window's steps that a late rank is expected to be late in.
constexpr double kLateInWindow = 0.75;
/// Nobody is so punctual that the next late step would be a surprise of more than one in so many.
constexpr double kLeastLateRate = 0.01;
constexpr double kMostLateRate = 0.5;
constexpr double kMostAgainRate = 0.95;
/// Weight of "one late step says nothing about the next" against what the others' steps say.
constexpr double kPriorSteps = 10;
/// Stretches that overlap count as so many.
constexpr double kStarts = 2;
/// How far a window must stand above the 95th percentile of equally long stretches of all other ranks.
constexpr double kAboveOthersBest = 2;

/// Candidates looked at closely, and stretches of others they are held against:
/// bounds of the cost, not of the method.
constexpr std::size_t kMostChecked = 16;
constexpr std::size_t kMostStretches = 8192;

struct Window {
  std::int64_t first = 0;
  std::int64_t last = -1;
  double score = 0;
  [[nodiscard]] std::int64_t length() const { return last - first + 1; }
};

/// How often a rank is late by chance: after a punctual step, and after a late one (machines
/// have bad moments that last).
struct ByChance {
  double fresh = 0;
  double again = 0;
};

/// Stretch with the largest log likelihood ratio of "late in 3 of 4 steps" against "late as everybody is".
///
/// Source: maximal scoring segment, Karlin, Altschul 1990; Kadane's scan.
/// By Ville's inequality a score of x from any of S starts has a probability of at most S exp(-x) where
/// lateness depends on the step before at most.
Window best_window(const std::vector<bool>& late, ByChance chance) {
  // Where lateness sticks by itself, only what sticks more closely is news.
  const double expected = std::max(kLateInWindow, (1 + chance.again) / 2);
  const auto gain = [&](bool now, double rate) {
    return std::log(now ? expected / rate : (1 - expected) / (1 - rate));
  };
  const double gains[2][2] = {{gain(false, chance.fresh), gain(true, chance.fresh)},
                              {gain(false, chance.again), gain(true, chance.again)}};
  Window best;
  double score = 0;
  std::int64_t first = 0;
  for (std::size_t s = 0; s < late.size(); ++s) {
    if (score <= 0) {
      score = 0;
      first = static_cast<std::int64_t>(s);
    }
    score += gains[s > 0 && late[s - 1] ? 1 : 0][late[s] ? 1 : 0];
    if (score > best.score) best = {first, static_cast<std::int64_t>(s), score};
  }
  return best;
}

/// Steps counted by whether they were late, and whether the one before was.
struct Habit {
  std::int64_t counts[2][2] = {};
  void add(const Habit& other) {
    for (int before : {0, 1})
      for (int now : {0, 1}) counts[before][now] += other.counts[before][now];
  }
  void add(const std::vector<bool>& late) {
    for (std::size_t s = 0; s < late.size(); ++s) ++counts[s > 0 && late[s - 1] ? 1 : 0][late[s] ? 1 : 0];
  }
};

struct Burst {
  std::size_t rank = 0;
  Window window;
  double chance = 1;  ///< upper bound, over all places, ranks and starts
};

/// Who was late when, for one meaning of late.
class Lateness {
 public:
  Lateness(const Place& x, const std::vector<bool>& known, double bar)
      : late_(x.rows()),
        habits_(x.rows()),
        starts_(static_cast<double>(x.rows()) * static_cast<double>(x.steps()) * x.searched) {
    for (std::size_t r = 0; r < x.rows(); ++r) {
      if (known[static_cast<std::size_t>(x.rank(r))]) continue;
      late_[r].resize(x.steps());
      for (std::size_t s = 0; s < late_[r].size(); ++s) late_[r][s] = x.delay(r, s) > bar;
      habits_[r].add(late_[r]);
      everybody_.add(habits_[r]);
    }
  }

  [[nodiscard]] Burst burst_of(std::size_t r, double needed) const {
    const Habit& own = habits_[r];
    const auto most = static_cast<double>(own.counts[0][1] + own.counts[1][1]) * std::log(1 / kLeastLateRate);
    if (starts_ * std::exp(-most) > needed) return {r, {}, 1};  // too few late steps for any window
    // How often the others are late is what chance would give this one.
    const auto others = [&](int before, int now) {
      return static_cast<double>(everybody_.counts[before][now] - own.counts[before][now]);
    };
    ByChance chance;
    chance.fresh =
        std::clamp((others(0, 1) + 1) / (others(0, 0) + others(0, 1) + 1), kLeastLateRate, kMostLateRate);
    chance.again =
        std::clamp((others(1, 1) + kPriorSteps * chance.fresh) / (others(1, 0) + others(1, 1) + kPriorSteps),
                   kLeastLateRate, kMostAgainRate);
    Burst burst{r, best_window(late_[r], chance), 1};
    burst.chance = std::min(1.0, starts_ * std::exp(-burst.window.score));
    return burst;
  }

 private:
  std::vector<std::vector<bool>> late_;
  std::vector<Habit> habits_;
  Habit everybody_;
  double starts_;
};

/// What comes before a window or after it.
struct Side {
  std::span<const double> values;
  double level = 0;  ///< median
};

/// The sides that have a level; where both are too short for one, the longer.
std::vector<Side> sides_of(std::span<const double> before, std::span<const double> after) {
  std::vector<Side> sides;
  for (const auto side : {before, after})
    if (side.size() >= static_cast<std::size_t>(kLeastWindow)) sides.push_back({side, median(side)});
  if (!sides.empty()) return sides;
  const auto longer = before.size() >= after.size() ? before : after;
  return {{longer, longer.empty() ? 0 : median(longer)}};
}

/// Medians of equally long stretches of the other ranks.
struct Others {
  std::vector<double> stretches;
  std::int64_t ranks = 0;
};

class TransientSearch {
 public:
  TransientSearch(const Place& x, const DelayFigures& f, const std::vector<bool>& known)
      : x_(x), known_(known) {
    for (const double bar : f.late_bars)
      lateness_.emplace_back(x, known_, std::max(x.rules().least_delay, bar));
  }

  std::vector<Named> find() const {
    std::vector<Burst> bursts;
    for (std::size_t r = 0; r < x_.rows(); ++r) {
      if (is_known(r)) continue;
      const Burst burst = best_burst(r);
      if (burst.chance <= x_.rules().burst_test && long_enough(burst.window)) bursts.push_back(burst);
    }
    // Where a quarter of the ranks has its bad stretch, bad stretches are what this machine does.
    if (bursts.size() > std::max<std::size_t>(2, x_.rows() / 4)) return {};
    std::stable_sort(bursts.begin(), bursts.end(),
                     [](const Burst& a, const Burst& b) { return a.chance < b.chance; });
    if (bursts.size() > kMostChecked) bursts.resize(kMostChecked);
    std::vector<Named> found;
    for (const Burst& burst : bursts)
      if (auto named = check(burst)) found.push_back(*std::move(named));
    return found;
  }

 private:
  [[nodiscard]] bool is_known(std::size_t row) const {
    return known_[static_cast<std::size_t>(x_.rank(row))];
  }

  [[nodiscard]] Burst best_burst(std::size_t r) const {
    Burst best{r, {}, 1};
    const auto meanings = static_cast<double>(lateness_.size());
    for (const Lateness& lateness : lateness_)
      if (const Burst burst = lateness.burst_of(r, x_.rules().burst_test / meanings);
          burst.chance < best.chance)
        best = burst;
    best.chance = std::min(1.0, best.chance * meanings);
    return best;
  }

  /// Neither one of a machine's short bad moments nor nearly the whole Run.
  [[nodiscard]] bool long_enough(const Window& w) const {
    const auto steps = static_cast<double>(x_.steps());
    const auto least =
        std::max(kLeastWindow, std::min(kLongWindow, static_cast<std::int64_t>(kLeastWindowShare * steps)));
    return w.length() >= least && static_cast<double>(w.length()) <= kMostWindowShare * steps;
  }

  [[nodiscard]] std::optional<Named> check(const Burst& burst) const {
    const std::size_t r = burst.rank;
    const Window& w = burst.window;
    const double inside = median_of(r, w.first, w.last + 1);
    const double outside = median_outside(r, w);
    const Others others = others_of(r, w.length());
    const double spread = spread_of(others.stretches);
    if (inside < std::max(x_.rules().least_burst_delay, x_.rules().spreads * spread) || outside > inside / 2)
      return std::nullopt;
    const double searched = kStarts * static_cast<double>(x_.steps()) / static_cast<double>(w.length()) *
                            static_cast<double>(x_.rows()) * x_.searched;
    if (chance_of_scatter(r, w, others, inside) * searched > x_.rules().scatter_test) return std::nullopt;

    Named n{.kind = FindingKind::TransientStraggler,
            .suspect = {{x_.rank(r)}, w.first, w.last, {}, x_.limits()}};
    n.saving = x_.without(n.suspect);
    Duration window_time{};
    for (std::int64_t s = w.first; s <= w.last; ++s)
      window_time += x_.x.step_times[static_cast<std::size_t>(s)];
    if (window_time <= Duration::zero()) return std::nullopt;
    if (ratio(n.saving.share, window_time) < x_.rules().least_window_gain) return std::nullopt;
    if (ratio(n.saving.share, x_.x.stepped) < x_.rules().least_burst_gain) return std::nullopt;
    n.typical_delay = inside;
    n.others_spread = spread;
    for (auto step = w.first; step <= w.last; ++step)
      n.late_steps += x_.is_late(r, static_cast<std::size_t>(step));
    n.agreement = static_cast<double>(n.late_steps) / static_cast<double>(w.length());
    if (n.agreement < x_.rules().blocks_agree) return std::nullopt;
    n.chance = burst.chance;
    return n;
  }

  [[nodiscard]] double median_of(std::size_t r, std::int64_t from, std::int64_t to) const {
    std::vector<double> part;
    for (auto s = from; s < to; ++s) part.push_back(x_.delay(r, static_cast<std::size_t>(s)));
    return median_in_place(part);
  }

  [[nodiscard]] double median_outside(std::size_t r, const Window& w) const {
    std::vector<double> part;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(x_.steps()); ++s)
      if (s < w.first || s > w.last) part.push_back(x_.delay(r, static_cast<std::size_t>(s)));
    return median_in_place(part);
  }

  /// How likely a stretch of that length is so high by what lasts for many steps on its own, as it does
  /// outside of it. What comes before and what comes after have a level each: a rank may be faster or slower for good
  /// once its burst is over. The stretch is held against the higher of both, and scatter is what is about each; or
  /// against stretches of the other ranks, which say how levels differ, with its own scatter.
  [[nodiscard]] double chance_of_scatter(std::size_t r, const Window& w, const Others& others,
                                         double inside) const {
    const std::vector<double> all = beyond_others(x_.delays, x_.x.typical_step, r);
    const std::span<const double> row(all);
    const auto first = static_cast<std::size_t>(w.first);
    const auto end = static_cast<std::size_t>(w.last) + 1;
    const std::vector<Side> sides = sides_of(row.first(first), row.subspan(end));
    const Side& higher = *std::max_element(sides.begin(), sides.end(),
                                           [](const Side& a, const Side& b) { return a.level < b.level; });
    std::vector<double> about;
    for (const Side& side : sides)
      for (const double x : side.values) about.push_back(x - side.level);
    const Scatter scatter = scatter_of(about, sides.size(), x_.x.least_told());
    const auto outside = static_cast<double>(about.size());
    const double error = std::hypot(scatter.error(static_cast<double>(end - first) / outside),
                                    scatter.error(static_cast<double>(higher.values.size()) / outside));
    const double height = median(row.subspan(first, end - first)) - higher.level;
    const double by_own = chance_of_height(height, error, scatter.freedom());
    if (others.ranks < 3) return by_own;
    Welford levels;
    for (const double stretch : others.stretches) levels.add(stretch);
    const double among = std::hypot(levels.stddev() * std::sqrt(1 + 1 / static_cast<double>(others.ranks)),
                                    scatter.error(static_cast<double>(end - first) / outside));
    return std::min(by_own, chance_of_height(inside - levels.mean(), among,
                                             std::min(others.ranks - 1, scatter.freedom())));
  }

  [[nodiscard]] Others others_of(std::size_t r, std::int64_t length) const {
    Others others;
    const auto per_rank = x_.steps() / static_cast<std::size_t>(length);
    const std::size_t stride = 1 + x_.rows() * per_rank / kMostStretches;
    for (std::size_t q = 0; q < x_.rows(); q += stride) {
      if (q == r || is_known(q)) continue;
      ++others.ranks;
      for (std::int64_t s = 0; s + length <= static_cast<std::int64_t>(x_.steps()); s += length)
        others.stretches.push_back(median_of(q, s, s + length));
    }
    return others;
  }

  /// Their spread, or what their highest would ask for.
  [[nodiscard]] double spread_of(std::vector<double> stretches) const {
    return std::max(scaled_mad(stretches), kAboveOthersBest * quantile(stretches, 0.95) / x_.rules().spreads);
  }

  const Place& x_;
  const std::vector<bool>& known_;
  std::vector<Lateness> lateness_;
};

}  // namespace

std::vector<Named> find_transient(const Place& place, const DelayFigures& f, const std::vector<bool>& known) {
  return TransientSearch(place, f, known).find();
}

}  // namespace cox::diagnose
