// SPDX-License-Identifier: Apache-2.0
// Where two configurations differ over message sizes, and whether inside a node or between nodes.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "cox/base/stats.hpp"

#include "diagnose/figures/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr double kLeastDifference = 0.05;
constexpr double kLeastScatter = 0.005;
/// By how much a difference has to lower twice the negative logarithm of the likelihood, beside its parameters.
constexpr double kEvidence = 12;
/// A difference that is so much above what would have been seen elsewhere is not there.
constexpr double kClearly = 1.6;
/// A band holds as many sizes; fewer are dips.
constexpr std::size_t kLeastBand = 3;
/// They bound the work: sizes compared, and places between them.
constexpr std::size_t kMostSizes = 256;
constexpr std::size_t kMostBorders = 48;

/// Sizes of both, as after over before.
struct Pairs {
  std::vector<double> size, before, after, error;  ///< `error` of the difference, in seconds
  double scatter = 0;
};

Pairs pairs_of(const std::vector<SizePoint>& before, const std::vector<SizePoint>& after) {
  Pairs p;
  std::vector<double> logs;
  std::vector<double> told;
  for (std::size_t i = 0, k = 0; i < before.size() && k < after.size();) {
    if (before[i].size < after[k].size) {
      ++i;
    } else if (after[k].size < before[i].size) {
      ++k;
    } else {
      p.size.push_back(before[i].size);
      p.before.push_back(before[i].time);
      p.after.push_back(after[k].time);
      logs.push_back(std::log(after[k].time / before[i].time));
      if (before[i].scatter > 0 && after[k].scatter > 0)
        told.push_back(std::hypot(before[i].scatter, after[k].scatter));
      ++i;
      ++k;
    }
  }
  // Neighbours differ by noise, and by little else: the second difference of noise has six times its variance.
  std::vector<double> bends;
  for (std::size_t i = 1; i + 1 < logs.size(); ++i)
    bends.push_back(std::abs(logs[i - 1] - 2 * logs[i] + logs[i + 1]));
  const double by_bends = bends.empty() ? 0 : 1.4826 * median_in_place(bends) / std::sqrt(6.0);
  const double by_repeats = told.empty() ? 0 : median_in_place(told);
  p.scatter = std::max({kLeastScatter, by_bends, by_repeats});
  for (std::size_t i = 0; i < p.size.size(); ++i)
    p.error.push_back(p.scatter * std::max(p.before[i], p.after[i]));
  return p;
}

/// A way in which two configurations may differ: `shape` times one number, fitted.
struct Candidate {
  SizeDifference difference = SizeDifference::None;
  double cost = 0;    ///< deviations over their errors, squared and bounded, plus the price of its parameters
  double amount = 0;  ///< of `shape`
  std::size_t border = 0;
  std::size_t end = 0;  ///< Band: the largest that differs
  double beyond = 0;    ///< Crossing: the amount from `border` on
};

/// Bounded, so that one dip in one of the two is not a difference between them.
double bounded(double z) {
  return std::min(z * z, 16.0);
}

template <class Shape>
Candidate fit(const Pairs& p, SizeDifference difference, std::size_t border, double parameters,
              const Shape& shape) {
  std::vector<double> amounts;
  for (std::size_t i = 0; i < p.size.size(); ++i)
    if (shape(i) > 0) amounts.push_back((p.after[i] - p.before[i]) / shape(i));
  // An offset is told by the small sizes: large ones drown it.
  double top = 0;
  double bottom = 0;
  double amount = amounts.empty() ? 0 : median_in_place(amounts);
  for (int round = 0; round < 10; ++round) {
    top = 0;
    bottom = 0;
    for (std::size_t i = 0; i < p.size.size(); ++i) {
      const double z = (p.after[i] - p.before[i] - amount * shape(i)) / p.error[i];
      const double w = 1 / (p.error[i] * p.error[i]) / std::max(1.0, std::abs(z) / 2);
      top += w * shape(i) * (p.after[i] - p.before[i]);
      bottom += w * shape(i) * shape(i);
    }
    if (bottom > 0) amount = top / bottom;
  }
  Candidate c{.difference = difference,
              .cost = parameters * std::log(static_cast<double>(p.size.size())),
              .amount = amount,
              .border = border};
  for (std::size_t i = 0; i < p.size.size(); ++i)
    c.cost += bounded((p.after[i] - p.before[i] - amount * shape(i)) / p.error[i]);
  return c;
}

/// One factor below a border, one of the other sign from it on. Their costs add up.
Candidate fit_crossing(const Pairs& p, std::size_t k) {
  const auto below =
      fit(p, SizeDifference::Crossing, k, 0, [&](std::size_t i) { return i < k ? p.before[i] : 0; });
  const auto beyond =
      fit(p, SizeDifference::Crossing, k, 0, [&](std::size_t i) { return i >= k ? p.before[i] : 0; });
  Candidate c = below;
  c.beyond = beyond.amount;
  c.cost = 3 * std::log(static_cast<double>(p.size.size()));
  for (std::size_t i = 0; i < p.size.size(); ++i)
    c.cost += bounded((p.after[i] - p.before[i] * (1 + (i < k ? c.amount : c.beyond))) / p.error[i]);
  return c;
}

/// Costs per message and per byte that differ the opposite way: the ratio goes from one to the other by and by.
Candidate fit_slow_crossing(const Pairs& p) {
  double ww = 0, wb = 0, bb = 0, wd = 0, bd = 0;
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    const double w = 1 / (p.error[i] * p.error[i]);
    const double d = p.after[i] - p.before[i];
    ww += w;
    wb += w * p.before[i];
    bb += w * p.before[i] * p.before[i];
    wd += w * d;
    bd += w * d * p.before[i];
  }
  const double det = ww * bb - wb * wb;
  Candidate c{.difference = SizeDifference::Crossing,
              .cost = 2 * std::log(static_cast<double>(p.size.size()))};
  if (!(det > 0)) return c;
  const double offset = (wd * bb - bd * wb) / det;
  const double factor = (ww * bd - wb * wd) / det;
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    const double d = offset + factor * p.before[i];
    c.cost += bounded((p.after[i] - p.before[i] - d) / p.error[i]);
    if (c.border == 0 && i > 0 && (d > 0) != (offset + factor * p.before[0] > 0)) c.border = i;
  }
  c.amount = offset / p.before.front() + factor;
  c.beyond = offset / p.before.back() + factor;
  return c;
}

/// Whether the two sides of a crossing are both worth saying, and opposite.
bool crosses(const Candidate& c) {
  return c.border > 0 && c.amount * c.beyond < 0 &&
         std::min(std::abs(c.amount), std::abs(c.beyond)) >= kLeastDifference;
}

std::vector<Candidate> candidates(const Pairs& p) {
  const std::size_t n = p.size.size();
  std::vector<Candidate> all{fit(p, SizeDifference::Factor, 0, 1, [&](std::size_t i) { return p.before[i]; }),
                             fit(p, SizeDifference::Offset, 0, 1, [](std::size_t) { return 1.0; })};
  std::vector<Candidate> crossings{fit_slow_crossing(p)};
  // A border lies between two sizes on either side; of many, between some of them.
  const std::size_t stride = 1 + n / kMostBorders;
  for (std::size_t k = 2; k + 2 <= n; k += stride) {
    all.push_back(
        fit(p, SizeDifference::SmallOnly, k - 1, 2, [&](std::size_t i) { return i < k ? p.before[i] : 0; }));
    all.push_back(
        fit(p, SizeDifference::LargeOnly, k, 2, [&](std::size_t i) { return i >= k ? p.before[i] : 0; }));
    crossings.push_back(fit_crossing(p, k));
    for (std::size_t end = k + kLeastBand; end + 2 <= n; end += stride) {
      Candidate band = fit(p, SizeDifference::Band, k, 3,
                           [&](std::size_t i) { return i >= k && i < end ? p.before[i] : 0; });
      band.end = end - 1;
      all.push_back(band);
    }
  }
  std::copy_if(crossings.begin(), crossings.end(), std::back_inserter(all), crosses);
  return all;
}

Candidate best_of(const Pairs& p) {
  Candidate none;
  for (std::size_t i = 0; i < p.size.size(); ++i)
    none.cost += bounded((p.after[i] - p.before[i]) / p.error[i]);
  const std::vector<Candidate> all = candidates(p);
  const Candidate best = *std::min_element(
      all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  return none.cost - best.cost >= kEvidence ? best : none;
}

/// Of very many sizes in common, some: what differs does so at neighbours alike.
void thin(Pairs& p) {
  const std::size_t stride = 1 + (p.size.size() - 1) / kMostSizes;
  if (stride == 1) return;
  for (auto* list : {&p.size, &p.before, &p.after, &p.error}) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < list->size(); i += stride) kept.push_back((*list)[i]);
    *list = std::move(kept);
  }
}

SizeComparison compare_two(const trace::SizeSeries& before, const trace::SizeSeries& after) {
  SizeComparison c{.before = before.name, .after = after.name, .nodes = after.nodes};
  Pairs p = pairs_of(points_of(before), points_of(after));
  c.sizes = static_cast<std::int64_t>(p.size.size());
  c.scatter_ratio = p.scatter;
  c.difference = SizeDifference::Unclear;
  if (p.size.size() < kLeastSizes) return c;
  thin(p);
  c.least_seen_ratio = std::max(
      kLeastDifference,
      p.scatter * std::sqrt((kEvidence + std::log(p.size.size())) / static_cast<double>(p.size.size())));
  const Candidate best = best_of(p);
  const double smallest = p.before.front();
  const double change = best.difference == SizeDifference::Offset ? best.amount / smallest : best.amount;
  c.difference = std::abs(change) < kLeastDifference ? SizeDifference::None : best.difference;
  if (c.difference == SizeDifference::None) return c;
  c.ratio = 1 + change;
  if (c.difference == SizeDifference::Offset) c.offset = Seconds(best.amount);
  if (c.difference != SizeDifference::Factor && c.difference != SizeDifference::Offset)
    c.border = Bytes(std::llround(p.size[best.border]));
  if (c.difference == SizeDifference::Band) c.border_end = Bytes(std::llround(p.size[best.end]));
  if (c.difference == SizeDifference::Crossing) c.ratio_beyond = 1 + best.beyond;
  return c;
}

bool differs(const SizeComparison& c) {
  return c.difference != SizeDifference::None && c.difference != SizeDifference::Unclear;
}

}  // namespace

std::vector<PlaceAnswer> find_places(const std::vector<SizeComparison>& comparisons) {
  struct Side {
    bool any_differs = false, all_differ = true, is_known = false;
    double least_change = std::numeric_limits<double>::infinity();  ///< of those that differ
    double least_seen = 0;                                          ///< of those that do not
    void add(const SizeComparison& c) {
      is_known = true;
      const double change = std::max(std::abs(c.ratio - 1), std::abs(c.ratio_beyond.value_or(1) - 1));
      (differs(c) ? any_differs : all_differ) = differs(c);
      if (differs(c))
        least_change = std::min(least_change, change);
      else
        least_seen = std::max(least_seen, c.least_seen_ratio);
    }
    /// Whether this side differs, and so much that it would have been seen on the other, which does not.
    [[nodiscard]] bool alone(const Side& other) const {
      return all_differ && !other.any_differs && least_change >= kClearly * other.least_seen;
    }
  };
  std::map<std::pair<std::string, std::string>, std::pair<Side, Side>> pairs;  // inside, between
  for (const SizeComparison& c : comparisons) {
    if (c.nodes <= 0 || c.difference == SizeDifference::Unclear) continue;
    auto& [inside, between] = pairs[{c.before, c.after}];
    (c.nodes == 1 ? inside : between).add(c);
  }
  std::vector<PlaceAnswer> places;
  for (const auto& [pair, sides] : pairs) {
    const auto& [inside, between] = sides;
    if (!inside.is_known || !between.is_known) continue;
    if (between.alone(inside)) places.push_back({pair.first, pair.second, DifferencePlace::BetweenNodes});
    if (inside.alone(between)) places.push_back({pair.first, pair.second, DifferencePlace::InsideNode});
    if (inside.all_differ && between.all_differ)
      places.push_back({pair.first, pair.second, DifferencePlace::Both});
  }
  return places;
}

std::vector<SizeComparison> compare_series(const trace::SizeTable& table, const trace::SizeTable* before) {
  std::vector<SizeComparison> out;
  for (std::size_t i = 0; i < table.series.size(); ++i) {
    const trace::SizeSeries& s = table.series[i];
    const auto& others = before != nullptr ? before->series : table.series;
    const std::size_t end = before != nullptr ? others.size() : i;
    for (std::size_t k = 0; k < end; ++k) {
      if (others[k].nodes != s.nodes || (before != nullptr && others[k].name != s.name)) continue;
      out.push_back(compare_two(others[k], s));
      break;
    }
  }
  return out;
}

}  // namespace cox::diagnose
