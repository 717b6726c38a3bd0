// SPDX-License-Identifier: Apache-2.0
// The Baseline columns and four parameters.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "cox/base/elementary.hpp"
#include "cox/study/quantity.hpp"

#include "study/pacing_table/check.hpp"
#include "study/pacing_table/pacing_table.hpp"
#include "study/pacing_table/simplex.hpp"

namespace cox::study {
namespace {

constexpr double kRateScale = 0.01;  // relative
constexpr double kCvScale = 0.01;    // two of the last printed digit

constexpr std::array<TableParameter, 4> kLink = {
    {{"compute", "compute of the slowest nodes"},
     {"per node", "mean time that one node's bytes take on the whole shared link"},
     {"alone", "nodes that the link serves at their own line rate; further ones share"},
     {"spread",
      "coefficient of variation of the link's time per byte: load of others, alike for all nodes"}}};
constexpr std::array<TableParameter, 4> kRing = {
    {{"compute", "compute of the slowest nodes"},
     {"per node", "what a further node adds to the ring: two latencies"},
     {"chance", "of a message to time out"},
     {"timeout", "how long it then takes"}}};

/// Logarithms of the parameters: none may become negative.
Point point_of(Mechanism m, const TableParameters& p) {
  const bool is_ring = m == Mechanism::Timeouts;
  return {logarithm(p.compute.count()), logarithm(p.per_node.count()),
          logarithm(is_ring ? p.chance : p.alone), logarithm(is_ring ? p.timeout.count() : p.spread)};
}

TableParameters parameters_at(Mechanism m, const Point& x) {
  TableParameters p;
  p.compute = Seconds{exponential(x[0])};
  p.per_node = Seconds{exponential(x[1])};
  if (m == Mechanism::Timeouts) {
    p.chance = std::min(exponential(x[2]), 0.5);
    p.timeout = Seconds{exponential(x[3])};
  } else {
    p.alone = exponential(x[2]);
    p.spread = exponential(x[3]);
  }
  return p;
}

/// Where the simplex searches: for Timeouts by chance x timeout^2, which the deviations hold, instead of by
/// the chance, so that its axes lie along the valley of good fits.
Point search_from(Mechanism m, Point x) {
  if (m == Mechanism::Timeouts) x[2] += 2 * x[3];
  return x;
}
Point search_to(Mechanism m, Point x) {
  if (m == Mechanism::Timeouts) x[2] -= 2 * x[3];
  return x;
}

FittedRow row_of(Mechanism m, const TableParameters& p, int nodes, const TableAssumptions& assumed) {
  const IterationLaw law = baseline_law(m, p, nodes);
  const double samples = static_cast<double>(nodes) * assumed.samples_per_node;
  return {.nodes = nodes, .rate = samples / law.mean.count(), .cv = law.cv()};
}

/// Residuals in units of their scales: rates, then CVs.
std::vector<double> residuals(Mechanism m, const TableParameters& p, std::span<const TableRow> rows,
                              const TableAssumptions& assumed) {
  std::vector<double> out(2 * rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FittedRow row = row_of(m, p, rows[i].nodes, assumed);
    out[i] = (row.rate / rows[i].baseline_rate - 1) / kRateScale;
    out[rows.size() + i] = (row.cv - rows[i].baseline_cv) / kCvScale;
  }
  return out;
}

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return sum;
}

/// From where the search starts: a compute time of nine tenths of the smallest job's iteration; the rest from
/// the growth to the largest job.
std::vector<TableParameters> starts(Mechanism m, std::span<const TableRow> rows,
                                    const TableAssumptions& assumed) {
  const auto iteration = [&](const TableRow& r) {
    return Seconds{static_cast<double>(r.nodes) * assumed.samples_per_node / r.baseline_rate};
  };
  const Seconds least = iteration(rows.front());
  const Seconds more = std::max(iteration(rows.back()) - least, least * 0.01);
  const Seconds per_node = more / rows.back().nodes;
  std::vector<TableParameters> out;
  if (m == Mechanism::Timeouts) {
    const double messages = 2.0 * rows.back().nodes * rows.back().nodes;
    for (const double often : {0.5, 2.0, 8.0})
      out.push_back({.compute = least * 0.9,
                     .per_node = per_node,
                     .chance = often / messages,
                     .timeout = iteration(rows.back()) * rows.back().baseline_cv / std::sqrt(often)});
  } else {
    for (const double alone : {2.0, 4.0, 8.0, 16.0})
      out.push_back({.compute = least * 0.9, .per_node = per_node, .alone = alone, .spread = 0.3});
  }
  return out;
}

/// (J'J)^-1 by central differences on the logarithms.
std::array<double, 4> relative_errors(Mechanism m, const TableParameters& p, std::span<const TableRow> rows,
                                      const TableAssumptions& assumed) {
  // Draws make steps: wide enough to see beyond them.
  const double step = m == Mechanism::Timeouts ? 0.1 : 1e-4;
  std::array<std::vector<double>, 4> slope;
  for (std::size_t k = 0; k < slope.size(); ++k) {
    Point up = point_of(m, p);
    Point down = up;
    up[k] += step;
    down[k] -= step;
    slope[k] = residuals(m, parameters_at(m, up), rows, assumed);
    const std::vector<double> low = residuals(m, parameters_at(m, down), rows, assumed);
    for (std::size_t i = 0; i < low.size(); ++i) slope[k][i] = (slope[k][i] - low[i]) / (2 * step);
  }
  std::array<Point, 4> normal{};
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b)
      for (std::size_t i = 0; i < slope[a].size(); ++i) normal[a][b] += slope[a][i] * slope[b][i];
  Point diagonal{};
  std::array<double, 4> out{};
  out.fill(std::numeric_limits<double>::infinity());
  if (!invert_diagonal(normal, diagonal)) return out;
  for (std::size_t k = 0; k < 4; ++k) out[k] = std::sqrt(std::max(0.0, diagonal[k]));
  return out;
}

}  // namespace

std::span<const TableParameter> parameters_of(Mechanism m) {
  return m == Mechanism::Timeouts ? std::span<const TableParameter>(kRing) : kLink;
}

std::string text_of_parameter(Mechanism m, const TableParameters& p, std::size_t index) {
  const bool is_ring = m == Mechanism::Timeouts;
  if (index == 0) return to_string(Quantity::of(p.compute));
  if (index == 1) return to_string(Quantity::of(p.per_node));
  if (index == 2) return is_ring ? fmt::format("{:.3g}", p.chance) : fmt::format("{:.3g} nodes", p.alone);
  return is_ring ? to_string(Quantity::of(p.timeout)) : fmt::format("{:.3g}", p.spread);
}

Result<TableFit> fit_table(Mechanism m, std::span<const TableRow> rows, const TableAssumptions& assumed) {
  COX_CHECK(check_rows(rows));
  COX_CHECK(check_assumptions(assumed));
  const auto misfit = [&](const Point& x) {
    return sum_of_squares(residuals(m, parameters_at(m, search_to(m, x)), rows, assumed));
  };
  Minimum best{.at = {}, .value = std::numeric_limits<double>::infinity()};
  const int rounds = m == Mechanism::Timeouts ? 60 : 120;  // draws cost more than closed forms
  for (const TableParameters& start : starts(m, rows, assumed)) {
    const Minimum found = find_minimum(misfit, search_from(m, point_of(m, start)), 0.2, rounds);
    if (found.value < best.value) best = found;
  }
  constexpr int kPolish = 120;  // a simplex can collapse: once more from there
  best = find_minimum(misfit, best.at, 0.1, kPolish);
  TableFit fit;
  fit.mechanism = m;
  fit.parameters = parameters_at(m, search_to(m, best.at));
  fit.misfit = best.value;
  fit.relative_error = relative_errors(m, fit.parameters, rows, assumed);
  for (const TableRow& r : rows) fit.rows.push_back(row_of(m, fit.parameters, r.nodes, assumed));
  return fit;
}

}  // namespace cox::study
