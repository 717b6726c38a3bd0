// SPDX-License-Identifier: Apache-2.0
// Where two configurations differ over message sizes, and whether inside a node or between nodes.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cox/base/stats.hpp"

#include "diagnose/figures/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr double kLeastDifference = 0.05;
constexpr double kLeastScatter = 0.005;
/// By how much a difference has to lower twice the negative logarithm of the likelihood, beside its parameters.
constexpr double kEvidence = 12;
/// How much more than the bar a factor has to be, in its standard errors, to be told in nine of ten tables.
constexpr double kSurely = 1.8;
/// By how much another table may scatter more than this one shows, times the root of how many told it; half of it where
/// repetitions tell it as well.
constexpr double kScatterError = 1.6;
/// Of a time over the longer of both: nothing is told of more.
constexpr double kMostSeen = 0.9;
/// A difference that is so much above what would have been told elsewhere is not there.
constexpr double kClearly = 1.2;
/// A band holds as many sizes; fewer are dips.
constexpr std::size_t kLeastBand = 3;
/// By how much scatter is raised that is told by one neighbour only.
constexpr double kFewBends = 3;
/// A size that stands out takes so many times as long, or that part of the time.
constexpr double kLeastOutlying = 1.2;
/// They bound the work: sizes compared, and places between them.
constexpr std::size_t kMostSizes = 256;
constexpr std::size_t kMostBorders = 48;
/// Their ratio of rates is rounded.
constexpr double kSameBusRatio = 0.02;

/// Sizes of both, as after over before.
struct Pairs {
  std::vector<double> size, before, after, error;  ///< `error` of the difference, in seconds
  double scatter = 0;
  double scatter_error = 0;  ///< part of it
  std::size_t family = 1;    ///< comparisons that are made at once
  double evidence = kEvidence;
  double least_scatter = kLeastScatter;  ///< of a ratio, as repetitions tell
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
  double by_bends = bends.empty() ? 0 : 1.4826 * median_in_place(bends) / std::sqrt(6.0);
  const double by_repeats = told.empty() ? 0 : median_in_place(told);
  // A median of few is often too low, and no repetition says so.
  if (told.empty()) by_bends *= 1 + kFewBends / static_cast<double>(std::max<std::size_t>(1, bends.size()));
  p.least_scatter = std::max(kLeastScatter, by_repeats);
  p.scatter = std::max(p.least_scatter, by_bends);
  p.scatter_error = kScatterError * (told.empty() ? 1 : 0.5) /
                    std::sqrt(static_cast<double>(std::max<std::size_t>(1, bends.size())));
  return p;
}

void set_errors(Pairs& p) {
  for (std::size_t i = 0; i < p.size.size(); ++i)
    p.error.push_back(p.scatter * std::max(p.before[i], p.after[i]));
}

/// A way in which two configurations may differ: `shape` times one number, fitted.
struct Candidate {
  SizeDifference difference = SizeDifference::None;
  double cost = 0;    ///< deviations over their errors, squared and bounded, plus the price of its parameters
  double amount = 0;  ///< of `shape`
  std::size_t border = 0;
  std::size_t end = 0;  ///< Band: the largest that differs
  double beyond = 0;    ///< Crossing: the amount from `border` on
  std::int64_t parameters = 0;
  std::vector<double> fitted{};  ///< the difference at each size
};

/// Bounded, so that one dip in one of the two is not a difference between them.
double bounded(double z) {
  return std::min(z * z, 16.0);
}

/// Fills in the deviations from what was fitted.
void add_deviations(const Pairs& p, Candidate& c) {
  for (std::size_t i = 0; i < p.size.size(); ++i)
    c.cost += bounded((p.after[i] - p.before[i] - c.fitted[i]) / p.error[i]);
}

double price_of(const Pairs& p, std::int64_t parameters) {
  return static_cast<double>(parameters) * std::log(static_cast<double>(p.size.size()));
}

template <class Shape>
Candidate fit(const Pairs& p, SizeDifference difference, std::size_t border, std::int64_t parameters,
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
              .cost = price_of(p, parameters),
              .amount = amount,
              .border = border,
              .parameters = parameters};
  for (std::size_t i = 0; i < p.size.size(); ++i) c.fitted.push_back(amount * shape(i));
  add_deviations(p, c);
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
  c.parameters = 3;
  c.cost = price_of(p, c.parameters);
  for (std::size_t i = k; i < p.size.size(); ++i) c.fitted[i] = c.beyond * p.before[i];
  add_deviations(p, c);
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
  Candidate c{.difference = SizeDifference::Crossing, .cost = price_of(p, 2), .parameters = 2};
  c.fitted.resize(p.size.size());
  if (!(det > 0)) return c;
  const double offset = (wd * bb - bd * wb) / det;
  const double factor = (ww * bd - wb * wd) / det;
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    const double d = offset + factor * p.before[i];
    c.fitted[i] = d;
    if (c.border == 0 && i > 0 && (d > 0) != (offset + factor * p.before[0] > 0)) c.border = i;
  }
  add_deviations(p, c);
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
  const double start = *std::min_element(p.before.begin(), p.before.end());
  std::vector<Candidate> all{
      fit(p, SizeDifference::Factor, 0, 1, [&](std::size_t i) { return p.before[i]; }),
      fit(p, SizeDifference::Offset, 0, 1, [](std::size_t) { return 1.0; }),
      fit(p, SizeDifference::Bandwidth, 0, 1, [&](std::size_t i) { return p.before[i] - start; })};
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
  none.fitted.resize(p.size.size());
  add_deviations(p, none);
  const std::vector<Candidate> all = candidates(p);
  Candidate best = *std::min_element(all.begin(), all.end(),
                                     [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  return none.cost - best.cost >= p.evidence ? best : none;
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

/// Sizes that leave what was fitted. A border is not known to the size: what lies beside one is none.
std::vector<std::size_t> outlying_of(const Pairs& p, const Candidate& c) {
  std::vector<double> off;
  for (std::size_t i = 0; i < p.size.size(); ++i) {
    const double expected = p.before[i] + c.fitted[i];
    off.push_back(expected > 0 ? std::log(p.after[i] / expected) : 0);
  }
  std::vector<std::size_t> found = outlying(off, {.least_spread = p.least_scatter,
                                                  .least = std::log(kLeastOutlying),
                                                  .parameters = c.parameters,
                                                  .family = p.family});
  const auto beside = [&](std::size_t border, std::size_t i) {
    return border > 0 && i + 1 >= border && i <= border + 1;
  };
  std::erase_if(found, [&](std::size_t i) { return beside(c.border, i) || beside(c.end, i); });
  return found;
}

void erase_sizes(Pairs& p, const std::vector<std::size_t>& places) {
  for (auto* list : {&p.size, &p.before, &p.after, &p.error})
    for (auto at = places.rbegin(); at != places.rend(); ++at)
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(*at));
}

/// What the sizes that do not stand out have in common.
Candidate best_without_outlying(Pairs& p, SizeComparison& c) {
  Candidate best = best_of(p);
  const std::vector<std::size_t> found = outlying_of(p, best);
  if (found.empty() || p.size.size() - found.size() < kLeastSizes) return best;
  for (const std::size_t i : found)
    c.outlying.push_back({Bytes(std::llround(p.size[i])), p.after[i] / p.before[i]});
  erase_sizes(p, found);
  return best_of(p);
}

/// The smallest size at which the part that grows with it makes a difference worth saying.
Bytes first_that_differs(const Pairs& p, const Candidate& best) {
  std::size_t i = 0;
  while (i + 1 < p.size.size() && std::abs(best.fitted[i]) < kLeastDifference * p.before[i]) ++i;
  return Bytes(std::llround(p.size[i]));
}

void describe(const Pairs& p, const Candidate& best, SizeComparison& c) {
  const double change =
      best.difference == SizeDifference::Offset ? best.amount / p.before.front() : best.amount;
  c.difference = std::abs(change) < kLeastDifference ? SizeDifference::None : best.difference;
  switch (c.difference) {
    case SizeDifference::None:
    case SizeDifference::Unclear:
      return;
    case SizeDifference::Factor:
      break;
    case SizeDifference::Offset:
      c.offset = Seconds(best.amount);
      break;
    case SizeDifference::Bandwidth:
      c.border = first_that_differs(p, best);
      break;
    case SizeDifference::Band:
      c.border_end = Bytes(std::llround(p.size[best.end]));
      [[fallthrough]];
    case SizeDifference::SmallOnly:
    case SizeDifference::LargeOnly:
    case SizeDifference::Crossing:
      c.border = Bytes(std::llround(p.size[best.border]));
      break;
  }
  c.ratio = 1 + change;
  if (c.difference == SizeDifference::Crossing) c.ratio_beyond = 1 + best.beyond;
}

/// A factor at all sizes that nine of ten tables would tell, also others of the same noise; nothing where none would be.
std::optional<double> least_seen(const Pairs& p) {
  const auto n = static_cast<double>(p.size.size());
  const double error = p.scatter * (1 + p.scatter_error) / std::sqrt(n);
  // Errors are parts of the longer time.
  const double part = error * (std::sqrt(p.evidence + std::log(n)) + kSurely);
  if (part > kMostSeen) return std::nullopt;
  return std::max(kLeastDifference + kSurely * error, part / (1 - part));
}

/// What a single size counts in the strength of a comparison.
constexpr double kOfSingle = 1e-6;

/// Of one list in which nothing stands out.
constexpr double kOutlyingChance = 0.002;
/// As noise that has heavy tails gives more of what normal noise does not.
constexpr double kOutlyingSpreads = 5.5;
constexpr std::size_t kLeastValues = 6;
/// More of them are no exceptions: so many of the values at most.
constexpr std::size_t kOneOf = 5;

/// Whether `value` leaves the `others` (those nearer to the middle): Student's t of one value against the rest of them.
bool leaves(double value, const std::vector<double>& others, const OutlyingBar& bar, std::size_t tests) {
  Welford moments;
  for (const double x : others) moments.add(x);
  const auto n = static_cast<double>(others.size());
  const std::int64_t freedom = std::max<std::int64_t>(1, std::llround(n) - 1 - bar.parameters);
  const double spread = std::max(moments.stddev() * std::sqrt(1 + 1 / n), bar.least_spread);
  const double t = student_quantile(kOutlyingChance / 2 / static_cast<double>(tests * bar.family), freedom);
  const double off = std::abs(value - moments.mean());
  return off > t * spread && off > kOutlyingSpreads * scaled_mad(others) && off > bar.least;
}

}  // namespace

std::vector<std::size_t> outlying(const std::vector<double>& values, const OutlyingBar& bar) {
  if (values.size() < kLeastValues) return {};
  std::vector<double> copy = values;
  const double middle = median_in_place(copy);
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(values[a] - middle) < std::abs(values[b] - middle);
  });
  // From the many to the one: the nearest of several that stand out hides behind the others of them otherwise.
  for (std::size_t count = values.size() / kOneOf; count > 0; --count) {
    const std::size_t first = order.size() - count;
    std::vector<double> others;
    for (std::size_t i = 0; i < first; ++i) others.push_back(values[order[i]]);
    if (!leaves(values[order[first]], others, bar, first + 1)) continue;
    std::vector<std::size_t> found(order.begin() + static_cast<std::ptrdiff_t>(first), order.end());
    std::sort(found.begin(), found.end());
    return found;
  }
  return {};
}

double scatter_between(const std::vector<SizePoint>& before, const std::vector<SizePoint>& after) {
  return pairs_of(before, after).scatter;
}

NamedPoints named_points_of(const trace::SizeSeries& s) {
  return {.name = s.name, .nodes = s.nodes, .points = points_of(s)};
}

Compared compare_points(const NamedPoints& before, const NamedPoints& after, const Family& family) {
  SizeComparison c{.before = before.name, .after = after.name, .nodes = after.nodes};
  Pairs p = pairs_of(before.points, after.points);
  p.scatter = std::max(p.scatter, family.scatter);
  set_errors(p);
  p.family = family.count;
  p.evidence += 2 * std::log(static_cast<double>(family.count));
  c.sizes = static_cast<std::int64_t>(p.size.size());
  c.scatter_ratio = p.scatter;
  c.difference = SizeDifference::Unclear;
  if (p.size.size() < kLeastSizes) return {c};
  thin(p);
  c.least_seen_ratio = least_seen(p);
  const Candidate best = best_without_outlying(p, c);
  describe(p, best, c);
  // What explains little of it is bounded, and so equal, where noise is small; single sizes say little of a file.
  double strength = 0;
  for (const OutlyingSize& o : c.outlying) strength += kOfSingle * std::pow(std::log(o.ratio), 2);
  if (differs(c))
    for (std::size_t i = 0; i < p.size.size(); ++i)
      strength += std::pow(best.fitted[i] / std::max(p.before[i], p.after[i]), 2);
  return {std::move(c), strength};
}

SizeComparison compare_two(const trace::SizeSeries& before, const trace::SizeSeries& after) {
  return compare_points(named_points_of(before), named_points_of(after), {}).comparison;
}

std::vector<PlaceAnswer> find_places(const std::vector<SizeComparison>& comparisons) {
  struct Side {
    bool any_differs = false, all_differ = true, is_known = false;
    // Logarithms: twice as fast is as far as twice as slow.
    double least_change = std::numeric_limits<double>::infinity();  ///< of those that differ
    double least_seen = 0;                                          ///< of those that do not
    void add(const SizeComparison& c) {
      is_known = true;
      const double change =
          std::max(std::abs(std::log(c.ratio)), std::abs(std::log(c.ratio_beyond.value_or(1))));
      (differs(c) ? any_differs : all_differ) = differs(c);
      if (differs(c))
        least_change = std::min(least_change, change);
      else
        least_seen = std::max(least_seen, c.least_seen_ratio ? std::log1p(*c.least_seen_ratio)
                                                             : std::numeric_limits<double>::infinity());
    }
    /// Whether this side differs, and so much that it would have been seen on the other, which does not.
    [[nodiscard]] bool alone(const Side& other) const {
      return all_differ && !other.any_differs && least_change >= kClearly * other.least_seen;
    }
  };
  std::map<std::pair<std::string, std::string>, std::pair<Side, Side>> pairs;  // inside, between
  for (const SizeComparison& c : comparisons) {
    if (c.nodes <= 0 || c.of_places || c.difference == SizeDifference::Unclear) continue;
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

bool is_alike(const trace::SizeSeries& other, const trace::SizeSeries& s) {
  // Of another collective, or of another number of ranks.
  const bool other_bus =
      other.bus_ratio > 0 && s.bus_ratio > 0 && std::abs(other.bus_ratio / s.bus_ratio - 1) > kSameBusRatio;
  return other.nodes == s.nodes && other.measures == s.measures && !other_bus &&
         (other.in_place == s.in_place || is_other_place(other, s));
}

std::vector<SizeComparison> compare_series(const trace::SizeTable& table, const trace::SizeTable* before) {
  if (before == nullptr && !table.series.empty() && !table.series.front().file.empty())
    return compare_files(table);
  std::vector<SizeComparison> out;
  for (std::size_t i = 0; i < table.series.size(); ++i) {
    const trace::SizeSeries& s = table.series[i];
    const auto& others = before != nullptr ? before->series : table.series;
    const std::size_t end = before != nullptr ? others.size() : i;
    for (std::size_t k = 0; k < end; ++k) {
      const bool wanted =
          before != nullptr ? others[k].nodes == s.nodes && others[k].name == s.name : is_alike(others[k], s);
      if (!wanted) continue;
      out.push_back(compare_two(others[k], s));
      out.back().of_places = before == nullptr && others[k].in_place != s.in_place;
      break;
    }
  }
  return out;
}

}  // namespace cox::diagnose
