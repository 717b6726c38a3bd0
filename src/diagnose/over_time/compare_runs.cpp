// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cox/base/stats.hpp"

#include "diagnose/over_time/parts.hpp"
#include "diagnose/over_time/runs.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastSteps = 10;
constexpr double kStall = 1.2;
constexpr double kLeastDifference = 0.01;
constexpr double kChance = 1e-3;
constexpr double kStallChance = 5e-3;
constexpr double kLeastStallCost = 0.001;
/// Standard error of a median, over that of a mean.
constexpr double kMedianError = 1.2533;

struct Measured {
  RunFigures figures;
  double median_s = 0;
  double error_s = 0;
  double independent = 0;  ///< steps that count as such
};

Measured measure(const RunTimes& run) {
  std::vector<double> values;
  for (std::size_t i = 1; i < run.steps.size(); ++i) values.push_back(in_seconds(run.steps[i]));
  Measured m;
  m.median_s = median(values);
  m.independent = static_cast<double>(values.size()) * independent_share(values, m.median_s);
  m.error_s = kMedianError * scaled_mad(values) / std::sqrt(std::max(1.0, m.independent));
  m.figures.name = run.name;
  m.figures.steps = static_cast<std::int64_t>(values.size());
  m.figures.median = duration_from_seconds(m.median_s);
  m.figures.error_ratio = m.median_s > 0 ? m.error_s / m.median_s : 0;
  double all = 0;
  double beyond = 0;
  bool before = false;
  for (const double x : values) {
    const bool stall = x > kStall * m.median_s;
    all += x;
    if (stall) beyond += x - m.median_s;
    if (stall && !before) ++m.figures.stalls;
    before = stall;
  }
  m.figures.stall_cost_ratio = all > 0 ? beyond / all : 0;
  return m;
}

/// How far apart two medians have to be, in seconds.
double bar_between(const Measured& a, const Measured& b, std::size_t pairs) {
  const auto freedom = std::max<std::int64_t>(1, std::llround(a.independent + b.independent) - 2);
  const double quantile = student_quantile(kChance / 2 / static_cast<double>(pairs), freedom);
  return std::max(kLeastDifference * std::min(a.median_s, b.median_s),
                  quantile * std::hypot(a.error_s, b.error_s));
}

void level_by_median(std::vector<Measured>& runs, RunGroup& group) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return runs[a].median_s < runs[b].median_s; });
  const std::size_t pairs = runs.size() * (runs.size() - 1) / 2;
  int level = 0;
  std::size_t first = 0;  // of the level, by order
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Measured& here = runs[order[i]];
    const Measured& fastest = runs[order[first]];
    const double bar = bar_between(fastest, here, pairs);
    if (i > 0 && fastest.median_s > 0)
      group.least_seen_ratio = std::max(group.least_seen_ratio, bar / fastest.median_s);
    if (i > 0 && here.median_s - fastest.median_s > bar) {
      ++level;
      first = i;
    }
    runs[order[i]].figures.level = level;
  }
  group.levels = level + 1;
}

void find_stalls(std::vector<Measured>& runs) {
  std::int64_t stalls = 0;
  std::int64_t steps = 0;
  for (const Measured& m : runs) {
    stalls += m.figures.stalls;
    steps += m.figures.steps;
  }
  for (Measured& m : runs) {
    const double part = static_cast<double>(m.figures.steps) / static_cast<double>(steps);
    const double chance =
        static_cast<double>(runs.size()) * binomial_upper_tail(m.figures.stalls, stalls, part);
    m.figures.stalls_stand_out =
        m.figures.stalls > 0 && chance < kStallChance && m.figures.stall_cost_ratio > kLeastStallCost;
  }
}

std::string kind_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

}  // namespace

std::vector<RunGroup> compare_runs(std::span<const RunTimes> runs) {
  std::map<std::string, std::size_t> number_of;
  std::vector<std::vector<Measured>> kinds;
  std::vector<RunGroup> groups;
  for (const RunTimes& run : runs) {
    if (run.steps.size() <= kLeastSteps) continue;
    const auto [at, fresh] = number_of.try_emplace(kind_of(run.name), groups.size());
    if (fresh) {
      groups.push_back({.name = at->first, .runs = {}, .levels = 1, .least_seen_ratio = 0});
      kinds.emplace_back();
    }
    kinds[at->second].push_back(measure(run));
  }
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (kinds[k].size() < 2) continue;
    level_by_median(kinds[k], groups[k]);
    find_stalls(kinds[k]);
    for (Measured& m : kinds[k]) groups[k].runs.push_back(std::move(m.figures));
  }
  std::erase_if(groups, [](const RunGroup& g) { return g.runs.empty(); });
  return groups;
}

}  // namespace cox::diagnose
