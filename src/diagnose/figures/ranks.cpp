// SPDX-License-Identifier: Apache-2.0
// One value per rank: who differs from the others, or from before, by more than the values' own spread.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "cox/base/stats.hpp"
#include "cox/trace/communication_names.hpp"

#include "diagnose/figures/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr double kChance = 0.01;
constexpr double kLeastDifference = 0.05;
constexpr double kSpreads = 4;
/// Values that follow each other resemble each other: so many count as one independent value, as many as a correlation
/// of 0.9 from one to the next asks for, (1 + 0.9) / (1 - 0.9).
constexpr double kPerIndependent = 19;
constexpr std::size_t kLeastRanks = 3;
/// Standard error of a median, over that of a mean.
constexpr double kMedianError = 1.2533;

/// What noise may put between one rank and the median of the others.
struct Bar {
  double value = 0;
  double middle = 0;  ///< median of the others
};

double independent_of(const trace::RankFigure& f) {
  return std::max(1.0, static_cast<double>(f.count) / kPerIndependent);
}

double error_of(const trace::RankFigure& f) {
  return *f.spread / std::sqrt(independent_of(f));
}

Bar bar_for(const std::vector<trace::RankFigure>& figures, std::size_t i, double tests) {
  std::vector<double> others;
  std::vector<double> errors;
  std::vector<double> counts;
  for (std::size_t k = 0; k < figures.size(); ++k) {
    if (k == i) continue;
    others.push_back(figures[k].value);
    errors.push_back(error_of(figures[k]));
    counts.push_back(independent_of(figures[k]));
  }
  const double middle = median(others);
  const double own = error_of(figures[i]);
  const double rest = kMedianError * median_in_place(errors) / std::sqrt(static_cast<double>(others.size()));
  const double variance = own * own + rest * rest;
  // Welch and Satterthwaite, the others being as many values as one of them has and more.
  const double own_freedom = std::max(1.0, independent_of(figures[i]) - 1);
  const double rest_freedom = std::max(1.0, median_in_place(counts) * static_cast<double>(others.size()) - 1);
  const double bottom = std::pow(own, 4) / own_freedom + std::pow(rest, 4) / rest_freedom;
  const double freedom = bottom > 0 ? variance * variance / bottom : 1e6;
  const double t = student_quantile(kChance / 2 / tests, std::llround(std::clamp(freedom, 1.0, 1e6)));
  return {
      std::max({t * std::sqrt(variance), kLeastDifference * std::abs(middle), kSpreads * scaled_mad(others)}),
      middle};
}

struct Outside {
  Rank rank;
  double part = 0;
};

void name_ranks(const trace::RankQuantity& q, double tests, QuantityAnswer& a) {
  std::vector<Outside> above;
  std::vector<Outside> below;
  for (std::size_t i = 0; i < q.figures.size(); ++i) {
    const Bar bar = bar_for(q.figures, i, tests);
    if (bar.middle > 0) a.least_seen_ratio = std::max(a.least_seen_ratio, bar.value / bar.middle);
    const double off = q.figures[i].value - bar.middle;
    if (std::abs(off) <= bar.value || bar.middle <= 0) continue;
    (off > 0 ? above : below).push_back({q.figures[i].rank, std::abs(off) / bar.middle});
  }
  for (auto* side : {&above, &below}) {
    std::stable_sort(side->begin(), side->end(),
                     [](const Outside& x, const Outside& y) { return x.part > y.part; });
    for (const Outside& o : *side) (side == &above ? a.above : a.below).push_back(o.rank);
  }
  if (!above.empty()) a.above_ratio = above.front().part;
  if (!below.empty()) a.below_ratio = below.front().part;
}

using Pair = std::pair<const trace::RankFigure*, const trace::RankFigure*>;

/// Figures of ranks that both have, with a mean above 0 before.
std::vector<Pair> pairs_of(const trace::RankQuantity& before, const trace::RankQuantity& after) {
  std::vector<Pair> pairs;
  auto b = before.figures.begin();
  for (const trace::RankFigure& a : after.figures) {
    while (b != before.figures.end() && b->rank < a.rank) ++b;
    if (b != before.figures.end() && b->rank == a.rank && b->value > 0) pairs.emplace_back(&*b, &a);
  }
  return pairs;
}

/// What noise may put between the two means of one rank. Welch and Satterthwaite.
double bar_of(const Pair& p, double tests) {
  const double b = error_of(*p.first);
  const double a = error_of(*p.second);
  const double variance = a * a + b * b;
  const double bottom = std::pow(a, 4) / std::max(1.0, independent_of(*p.second) - 1) +
                        std::pow(b, 4) / std::max(1.0, independent_of(*p.first) - 1);
  const double freedom = bottom > 0 ? variance * variance / bottom : 1e6;
  const double t = student_quantile(kChance / 2 / tests, std::llround(std::clamp(freedom, 1.0, 1e6)));
  return std::max(t * std::sqrt(variance), kLeastDifference * p.first->value);
}

void name_changed(const std::vector<Pair>& pairs, double tests, RankComparison& c) {
  std::vector<std::pair<double, Rank>> more;
  std::vector<std::pair<double, Rank>> less;
  for (const Pair& p : pairs) {
    const double bar = bar_of(p, tests);
    const double off = p.second->value - p.first->value;
    c.least_seen_ratio = std::max(c.least_seen_ratio, bar / p.first->value);
    if (std::abs(off) > bar)
      (off > 0 ? more : less).emplace_back(std::abs(off) / p.first->value, p.first->rank);
  }
  for (auto* side : {&more, &less}) {
    std::stable_sort(side->begin(), side->end(),
                     [](const auto& x, const auto& y) { return x.first > y.first; });
    for (const auto& [part, rank] : *side) (side == &more ? c.more : c.less).push_back(rank);
  }
  if (!more.empty()) c.more_ratio = more.front().first;
  if (!less.empty()) c.less_ratio = less.front().first;
}

}  // namespace

std::vector<QuantityAnswer> answer_ranks(const trace::RankTable& table) {
  double tests = 1;
  for (const trace::RankQuantity& q : table.quantities) tests += static_cast<double>(q.figures.size());
  std::vector<QuantityAnswer> answers;
  for (const trace::RankQuantity& q : table.quantities) {
    QuantityAnswer a;
    a.name = q.name;
    a.is_time = q.is_time;
    a.is_communication = trace::is_communication(q.name);
    a.ranks = static_cast<std::int64_t>(q.figures.size());
    std::vector<double> values;
    std::size_t at = 0;
    values.reserve(q.figures.size());
    for (const trace::RankFigure& f : q.figures) values.push_back(f.value);
    for (const Rank r : table.ranks) {
      while (at < q.figures.size() && q.figures[at].rank < r) ++at;
      if (at == q.figures.size() || q.figures[at].rank != r) a.missing.push_back(r);
    }
    const auto [low, high] = std::minmax_element(
        q.figures.begin(), q.figures.end(),
        [](const trace::RankFigure& x, const trace::RankFigure& y) { return x.value < y.value; });
    a.lowest = low->rank;
    a.lowest_value = low->value;
    a.highest = high->rank;
    a.highest_value = high->value;
    a.median = median(values);
    a.has_spread =
        a.median > 0 && std::all_of(q.figures.begin(), q.figures.end(),
                                    [](const trace::RankFigure& f) { return f.spread && f.count >= 2; });
    if (a.has_spread && a.missing.empty() && q.figures.size() >= kLeastRanks) name_ranks(q, tests, a);
    answers.push_back(std::move(a));
  }
  return answers;
}

std::vector<RankComparison> compare_ranks(const trace::RankTable& before, const trace::RankTable& after) {
  double tests = 1;
  for (const trace::RankQuantity& q : after.quantities) tests += static_cast<double>(q.figures.size());
  std::vector<RankComparison> out;
  for (const trace::RankQuantity& a : after.quantities) {
    const auto b = std::find_if(before.quantities.begin(), before.quantities.end(),
                                [&](const trace::RankQuantity& q) { return q.name == a.name; });
    if (b == before.quantities.end() || b->is_time != a.is_time) continue;
    const std::vector<Pair> pairs = pairs_of(*b, a);
    if (pairs.empty()) continue;
    RankComparison c{.name = a.name, .is_time = a.is_time, .ranks = static_cast<std::int64_t>(pairs.size())};
    std::vector<double> ratios;
    ratios.reserve(pairs.size());
    for (const Pair& p : pairs) ratios.push_back(p.second->value / p.first->value);
    c.ratio = median_in_place(ratios);
    const auto told = [](const trace::RankFigure& f) { return f.spread && f.count >= 2; };
    c.tested = std::all_of(pairs.begin(), pairs.end(),
                           [&](const Pair& p) { return told(*p.first) && told(*p.second); });
    if (c.tested) name_changed(pairs, tests, c);
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace cox::diagnose
