// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/least_effect.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cox/base/stats.hpp"

#include "diagnose/naming/scatter.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kAsked = 64;
constexpr std::size_t kFewRanks = 16;  // of more, one does not move the median
constexpr std::size_t kMostBlocks = 20;
constexpr std::size_t kStepsPerBlock = 5;
constexpr double kMost = 2;  // steps: nobody is that late without being seen

/// The latest of each step, and the second: whoever is asked is held against the others.
struct Latest {
  std::vector<double> first;
  std::vector<double> second;
  std::vector<std::size_t> who;
};

Latest latest_of(const Evidenced& x, std::size_t steps) {
  constexpr double kNone = std::numeric_limits<double>::lowest();
  Latest l{std::vector(steps, kNone), std::vector(steps, kNone), std::vector<std::size_t>(steps, 0)};
  for (std::size_t r = 0; r < x.ranks(); ++r)
    for (std::size_t s = 0; s < steps; ++s) {
      const double delay = x.delay(r, s);
      if (delay > l.first[s]) {
        l.second[s] = l.first[s];
        l.first[s] = delay;
        l.who[s] = r;
      } else {
        l.second[s] = std::max(l.second[s], delay);
      }
    }
  return l;
}

constexpr double kNoBar = std::numeric_limits<double>::infinity();

/// One rank as it is, against a median that it is not part of.
struct Asked {
  std::size_t rank = 0;
  std::vector<double> row;
  std::vector<double> blocks;  ///< medians
  double typical = 0;
  double center = 0;          ///< beyond the others, see `beyond_others`
  double scatter_bar = 0;     ///< from which on that is no scatter
  double among_bar = kNoBar;  ///< from which on `typical` is none of the other ranks'
};

/// By how much the median of each step is another one once `late` is behind it; nothing where there are so many ranks
/// that it stays where it is.
std::vector<double> shifts_without(const Evidenced& x, std::size_t late, std::size_t steps) {
  std::vector<double> shifts(steps, 0.0);
  if (x.ranks() > kFewRanks) return shifts;
  std::vector<double> others(x.ranks());
  for (std::size_t s = 0; s < steps; ++s) {
    for (std::size_t r = 0; r < x.ranks(); ++r)
      others[r] = r == late ? std::numeric_limits<double>::max() : x.delay(r, s);
    const auto middle = others.begin() + static_cast<std::ptrdiff_t>((others.size() - 1) / 2);
    std::nth_element(others.begin(), middle, others.end());
    shifts[s] = *middle;
  }
  return shifts;
}

Asked ask(const Evidenced& x, std::size_t rank, const std::vector<double>& shifts) {
  const std::size_t steps = shifts.size();
  Asked a{.rank = rank, .row = std::vector<double>(steps), .blocks = {}};
  for (std::size_t s = 0; s < steps; ++s) a.row[s] = x.delay(rank, s) - shifts[s];
  const std::size_t blocks = std::clamp<std::size_t>(steps / kStepsPerBlock, 1, kMostBlocks);
  std::vector<double> room = a.row;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t from = b * steps / blocks;
    a.blocks.push_back(median_in_place(std::span(room).subspan(from, (b + 1) * steps / blocks - from)));
  }
  a.typical = median(a.row);
  return a;
}

/// The height from which on `find_late` takes a median for none of these.
double bar_among(const Welford& others, double chance, double resolution) {
  if (others.count() < 3) return kNoBar;
  return others.mean() + student_quantile(chance, others.count() - 1) * error_of_one_more(others, resolution);
}

/// Late steps from which the sign test of `find_late` no longer calls it chance.
std::int64_t least_late_steps(const Evidenced& x, std::int64_t steps) {
  std::int64_t low = 0;
  std::int64_t high = steps + 1;  // none would do
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    const double chance = binomial_upper_tail(middle, steps, 0.5) * static_cast<double>(x.ranks());
    (chance < x.rules.sign_test ? high : low) = middle;
  }
  return high;
}

/// The bars of `find_late` for that rank with so much more to do in every step that is measured. Bars are parts of a
/// step, which then is longer.
bool is_named(const Evidenced& x, const Asked& a, const std::vector<double>& latest, std::size_t first,
              std::int64_t least_late, double spread, double extra) {
  const NamingRules& rules = x.rules;
  const double least_delay = rules.least_delay * (1 + extra);
  if (a.typical + extra < std::max(least_delay, rules.spreads * spread)) return false;
  if (a.center + extra < a.scatter_bar && a.typical + extra < a.among_bar) return false;
  const double block_bar = std::max(least_delay, rules.spreads * spread) / 2;
  const auto agreeing =
      std::count_if(a.blocks.begin(), a.blocks.end(), [&](double b) { return b + extra >= block_bar; });
  if (static_cast<double>(agreeing) < rules.blocks_agree * static_cast<double>(a.blocks.size())) return false;
  std::int64_t late = 0;
  double saved = 0;
  for (std::size_t s = first; s < a.row.size(); ++s) {
    const double delay = a.row[s] + extra;
    late += delay > least_delay / 2;
    saved += std::max(0.0, delay - latest[s]);
  }
  return late >= least_late && saved >= rules.least_gain * static_cast<double>(a.row.size()) * (1 + extra);
}

struct Bar {
  double least = 0;  ///< extra work with which the rank is named
  double lead = 0;   ///< by which it is faster than the median rank
};

/// The largest bar of the ranks, without those of few that are so much faster that this is most of it: they have that to do before
/// they are late at all. A rank that scatters has a high bar, too, and stays.
double largest_but_of_the_fast(std::vector<Bar> bars) {
  constexpr double kFar = 2;  // times the usual bar
  constexpr double kMostly = 0.5;
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.least < b.least; });
  const double usual = bars[(bars.size() - 1) / 2].least;
  const auto is_fast = [&](const Bar& b) { return b.least > kFar * usual && b.lead >= kMostly * b.least; };
  for (std::size_t few = bars.size() / 4; few > 0 && is_fast(bars.back()); --few) bars.pop_back();
  return bars.back().least;
}

}  // namespace

double least_named_delay(const Evidenced& x) {
  constexpr int kHalvings = 12;
  const auto steps = static_cast<std::size_t>(x.steps().count);
  if (steps == 0 || x.ranks() < 2 || x.typical_step <= Duration::zero()) return kMost;
  const Latest latest = latest_of(x, steps);
  const std::int64_t first = first_measured_step(x);
  const std::int64_t least_late = least_late_steps(x, x.steps().count - first);
  std::vector<std::size_t> ranks;
  for (std::size_t r = 0; r < x.ranks(); r += 1 + x.ranks() / kAsked) ranks.push_back(r);
  std::vector<Asked> asked;  // for all at once, where the median stays
  asked.reserve(ranks.size());
  for (const std::size_t r : ranks) asked.push_back(ask(x, r, std::vector<double>(steps, 0.0)));
  std::vector<Bar> bars;
  for (const std::size_t rank : ranks) {
    const std::vector<double> shifts = shifts_without(x, rank, steps);
    const bool moves = x.ranks() <= kFewRanks;
    Asked a = ask(x, rank, shifts);
    const Scatter scatter = scatter_of(beyond_others(x.delays, x.typical_step, rank), 1, x.least_told());
    a.center = scatter.center;
    const double chance = x.rules.scatter_test / static_cast<double>(x.ranks());
    a.scatter_bar = level_by_chance(chance, scatter);
    std::vector<double> others;
    Welford typical_of_others;
    for (const Asked& b : asked) {
      if (b.rank == rank) continue;
      const Asked moved = moves ? ask(x, b.rank, shifts) : Asked{};
      const Asked& other = moves ? moved : b;
      others.insert(others.end(), other.blocks.begin(), other.blocks.end());
      typical_of_others.add(other.typical);
    }
    a.among_bar = bar_among(typical_of_others, chance, x.least_told());
    std::vector<double> latest_other(steps);
    for (std::size_t s = 0; s < steps; ++s)
      latest_other[s] = (latest.who[s] == rank ? latest.second[s] : latest.first[s]) - shifts[s];
    const double spread = others.empty() ? 0 : scaled_mad(others);
    double low = 0;
    double high = kMost;
    if (!is_named(x, a, latest_other, static_cast<std::size_t>(first), least_late, spread, high))
      high = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kHalvings && std::isfinite(high); ++i) {
      const double middle = (low + high) / 2;
      (is_named(x, a, latest_other, static_cast<std::size_t>(first), least_late, spread, middle) ? high
                                                                                                 : low) =
          middle;
    }
    bars.push_back({high, -ratio(x.accounts[rank].self_delay_median, x.typical_step)});
  }
  const double least = largest_but_of_the_fast(std::move(bars));
  // Whoever has that much more to do is not late by exactly that in every step.
  constexpr double kMargin = 1.15;
  return std::min(kMost, kMargin * least);
}

}  // namespace cox::diagnose
