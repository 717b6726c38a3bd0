// SPDX-License-Identifier: Apache-2.0
// One value per rank: who differs from the others by more than the values' own spread.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "cox/base/stats.hpp"

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

/// Time in these is waiting as well as work: who came last has the least of it.
bool is_communication(std::string_view name) {
  std::string small;
  for (const char c : name) small += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const std::string_view word :
       {"allreduce",     "all_reduce",     "all-reduce",     "allgather", "all_gather", "all-gather",
        "reducescatter", "reduce_scatter", "reduce-scatter", "alltoall",  "all_to_all", "all-to-all",
        "broadcast",     "bcast",          "barrier",        "nccl",      "rccl",       "mpi_",
        "comm",          "sync",           "wait",           "sendrecv",  "send",       "recv"})
    if (small.find(word) != std::string::npos) return true;
  return false;
}

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

}  // namespace

std::vector<QuantityAnswer> answer_ranks(const trace::RankTable& table) {
  double tests = 1;
  for (const trace::RankQuantity& q : table.quantities) tests += static_cast<double>(q.figures.size());
  std::vector<QuantityAnswer> answers;
  for (const trace::RankQuantity& q : table.quantities) {
    QuantityAnswer a;
    a.name = q.name;
    a.is_time = q.is_time;
    a.is_communication = is_communication(q.name);
    a.ranks = static_cast<std::int64_t>(q.figures.size());
    std::vector<double> values;
    std::size_t at = 0;
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

}  // namespace cox::diagnose
