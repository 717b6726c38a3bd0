// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/table_moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "cox/base/elementary.hpp"

namespace cox::forecast {
namespace {

double one_minus_exp(double t) {
  return t < 1e-5 ? t - t * t / 2 : 1 - exponential(-t);
}

/// Places with weights that integrate over a table (Simpson's rule on every interval), with -ln G and G there.
struct Nodes {
  std::vector<double> x;
  std::vector<double> weight;
  std::vector<double> t;
  std::vector<double> g;
  explicit Nodes(const ScoreTable& table) {
    const std::span<const double> at = table.x();
    for (std::size_t i = 0; i + 1 < at.size(); ++i) {
      const double h = at[i + 1] - at[i];
      if (h <= 0) continue;
      x.insert(x.end(), {at[i], at[i] + h / 2, at[i + 1]});
      weight.insert(weight.end(), {h / 6, 4 * h / 6, h / 6});
      t.insert(t.end(), {table.y()[i], table.middle(i), table.y()[i + 1]});
    }
    exponentials(t);
    for (const double value : t) g.push_back(-value);
    exponentials(g);
  }
  [[nodiscard]] double above(std::size_t i) const { return t[i] < 1e-5 ? t[i] - t[i] * t[i] / 2 : 1 - g[i]; }
};

}  // namespace

TableMoments moments_of(const ScoreTable& table) {
  TableMoments out;
  const double first = table.x().front();
  const double last = table.x().back();
  const double length = last - first;
  const double left = one_minus_exp(exponential(table.y().back()));
  const double before = last - 1e-3 * length;
  const double beta =
      length > 0 ? (table.score(before) - table.y().back()) * 1e3 : std::numeric_limits<double>::infinity();
  const Nodes nodes(table);
  out.mean = first;
  for (std::size_t i = 0; i < nodes.x.size(); ++i) out.mean += nodes.weight[i] * nodes.above(i);
  if (beta > 1 && std::isfinite(beta)) out.mean += left * length / (beta - 1);
  double square = 0;
  for (std::size_t i = 0; i < nodes.x.size(); ++i) {
    const double away = nodes.x[i] - out.mean;
    square += 2 * nodes.weight[i] * (away > 0 ? away * nodes.above(i) : -away * nodes.g[i]);
  }
  if (beta > 2 && std::isfinite(beta)) square += 2 * left * length * length / (beta - 2);
  out.deviation = std::sqrt(std::max(square, 0.0));
  return out;
}

double growth_of(const ScoreTable& table) {
  const Nodes nodes(table);
  double growth = 0;
  for (std::size_t i = 0; i < nodes.x.size(); ++i) growth += nodes.weight[i] * nodes.t[i] * nodes.g[i];
  return growth;
}

double growth_of(const ScoreTable& table, const ScoreTable& growing) {
  const Nodes nodes(table);
  double growth = 0;
  for (std::size_t i = 0; i < nodes.x.size(); ++i)
    if (nodes.g[i] > 0)
      growth += nodes.weight[i] * nodes.g[i] * std::min(exponential(growing.score(nodes.x[i])), nodes.t[i]);
  return growth;
}

}  // namespace cox::forecast
