// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "cox/base/elementary.hpp"
#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One size of the table: time per part of the work.
struct Place {
  double size = 0;
  double y = 0;
};
using Row = std::array<double, 3>;

/// One way to go on: y is a sum of features with coefficients, those after the first not below zero; or a power.
struct Family {
  std::string name;
  int features = 1;
  Row (*row)(double n);
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {{"constant", 1,
                                           [](double) {
                                             return Row{1, 0, 0};
                                           }},
                                          {"a + b ln N", 2,
                                           [](double n) {
                                             return Row{1, logarithm(n), 0};
                                           }},
                                          {"a N^b", 2, nullptr},
                                          {"a + b N (Amdahl)", 2,
                                           [](double n) {
                                             return Row{1, n, 0};
                                           }},
                                          {"a + b N + c N^2 (USL)", 3, [](double n) {
                                             return Row{1, n, n * n};
                                           }}};
  return all;
}

/// Least squares of relative errors with these features alone; nothing where they do not determine it.
std::optional<Row> solve(const std::vector<Place>& places, const Family& family,
                         const std::vector<int>& used) {
  std::array<std::array<double, 4>, 3> m{};
  const std::size_t n = used.size();
  for (const Place& place : places) {
    const Row row = family.row(place.size);
    for (std::size_t i = 0; i < n; ++i) {
      const double a = row[static_cast<std::size_t>(used[i])] / place.y;
      for (std::size_t j = 0; j < n; ++j) m[i][j] += a * row[static_cast<std::size_t>(used[j])] / place.y;
      m[i][n] += a;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j)
      if (std::abs(m[j][i]) > std::abs(m[i][i])) std::swap(m[i], m[j]);
    if (std::abs(m[i][i]) < 1e-300) return std::nullopt;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const double f = m[j][i] / m[i][i];
      for (std::size_t k = i; k <= n; ++k) m[j][k] -= f * m[i][k];
    }
  }
  Row out{};
  for (std::size_t i = 0; i < n; ++i) out[static_cast<std::size_t>(used[i])] = m[i][n] / m[i][i];
  return out;
}

double squares(const std::vector<Place>& places, const Family& family, const Row& c) {
  double sum = 0;
  for (const Place& place : places) {
    const Row row = family.row(place.size);
    const double miss = (c[0] * row[0] + c[1] * row[1] + c[2] * row[2]) / place.y - 1;
    sum += miss * miss;
  }
  return sum;
}

using CurveLine = std::function<double(double)>;

/// y = a N^b, b not below zero, by least squares of logarithms.
CurveLine fit_power(const std::vector<Place>& places) {
  double x_mean = 0;
  double y_mean = 0;
  const auto n = static_cast<double>(places.size());
  for (const Place& p : places) {
    x_mean += logarithm(p.size) / n;
    y_mean += logarithm(p.y) / n;
  }
  double xx = 0;
  double xy = 0;
  for (const Place& p : places) {
    xx += (logarithm(p.size) - x_mean) * (logarithm(p.size) - x_mean);
    xy += (logarithm(p.size) - x_mean) * (logarithm(p.y) - y_mean);
  }
  const double b = xx > 0 ? std::max(xy / xx, 0.0) : 0;
  return [=](double size) { return exponential(y_mean + b * (logarithm(size) - x_mean)); };
}

/// The best of all subsets of features whose coefficients are not below zero.
CurveLine fit(const std::vector<Place>& places, const Family& family) {
  if (family.row == nullptr) return fit_power(places);
  Row best{};
  double least = kInfinity;
  for (int mask = 0; mask < 1 << (family.features - 1); ++mask) {
    std::vector<int> used = {0};
    for (int f = 1; f < family.features; ++f)
      if ((mask >> (f - 1)) & 1) used.push_back(f);
    const std::optional<Row> c = solve(places, family, used);
    if (!c || std::any_of(c->begin(), c->end(), [](double v) { return v < 0; })) continue;
    const double sum = squares(places, family, *c);
    if (sum < least) {
      least = sum;
      best = *c;
    }
  }
  return [row = family.row, best](double size) {
    const Row r = row(size);
    return best[0] * r[0] + best[1] * r[1] + best[2] * r[2];
  };
}

Error refuse(const Curve& curve, std::string message) {
  return Error{.code = Errc::InvalidInput,
               .id = "forecast-012",
               .message = curve.name + ": " + std::move(message),
               .hint = "measure another size, or give a Run: own work of ranks says more than step times",
               .where = {}};
}

/// Between what the curves are fitted to and the table's unit; its own inverse for what a table holds.
double turned(const Curve& curve, Scaling scaling, double size, double value) {
  if (curve.value == CurveValue::Throughput) return size / value;
  return scaling == Scaling::Strong ? value * size : value;
}
double turned_back(const Curve& curve, Scaling scaling, double size, double y) {
  if (curve.value == CurveValue::Throughput) return size / y;
  return scaling == Scaling::Strong ? y / size : y;
}

/// Means of the repetitions of each size, and by how much these differ: standard error, as a part, of the worst.
struct Means {
  std::vector<Place> places;
  double noise = 0;
};
Means means_of(const Curve& curve, Scaling scaling) {
  std::map<std::int64_t, Welford> sizes;
  for (const CurvePoint& p : curve.points)
    sizes[p.size].add(turned(curve, scaling, static_cast<double>(p.size), p.value));
  Means table;
  for (const auto& [size, w] : sizes) {
    table.places.push_back({.size = static_cast<double>(size), .y = w.mean()});
    table.noise = std::max(table.noise, w.cv() / std::sqrt(static_cast<double>(w.count())));
  }
  return table;
}

}  // namespace

Result<CurveForecast> project(const Curve& curve, const std::vector<std::int64_t>& sizes, Scaling scaling) {
  for (const CurvePoint& p : curve.points) {
    if (p.size < 1 || !(p.value > 0) || !std::isfinite(p.value)) {
      return fail(
          refuse(curve, fmt::format("size {} has the value {}, expected both above 0", p.size, p.value)));
    }
  }
  const Means table = means_of(curve, scaling);
  if (table.places.size() < 3) {
    return fail(refuse(curve, fmt::format("{} sizes, expected at least 3: every curve goes through two",
                                          table.places.size())));
  }
  const Place largest = table.places.back();
  const std::vector<Place> smaller(table.places.begin(), table.places.end() - 1);
  CurveForecast out;
  std::vector<std::pair<CurveModel, CurveLine>> found;
  for (const Family& family : families()) {
    CurveModel model{.name = family.name, .held_out = kInfinity, .values = {}};
    if (static_cast<int>(smaller.size()) >= family.features) {
      model.held_out = std::abs(fit(smaller, family)(largest.size) / largest.y - 1);
    }
    found.emplace_back(model, fit(table.places, family));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first.held_out < b.first.held_out; });
  const double best = found.front().first.held_out;
  for (auto& [model, line] : found)
    model.possible = model.held_out <= std::max({2 * best, 0.02, 2 * table.noise});
  const double error = 2 * std::max(best, table.noise);
  const double known = logarithm(largest.size / smaller.back().size);
  for (const std::int64_t size : sizes) {
    CurveBand band{.size = size, .refused = {}};
    if (size < 1) {
      band.refused = fmt::format("size {}, expected 1 or more", size);
      for (auto& [model, line] : found) model.values.push_back(0);
      out.points.push_back(band);
      continue;
    }
    const auto n = static_cast<double>(size);
    band.low = kInfinity;
    for (auto& [model, line] : found) {
      const double value = turned_back(curve, scaling, n, line(n));
      model.values.push_back(value);
      if (!model.possible) continue;
      band.low = std::min(band.low, value);
      band.high = std::max(band.high, value);
    }
    band.value = found.front().first.values.back();
    const double apart = error * std::max(logarithm(n / smaller.back().size) / known, 1.0);
    band.low /= 1 + apart;
    band.high *= 1 + apart;
    if (band.high > 4 * band.low) {
      band.refused = fmt::format(
          "the curves that fit are between {:.3g} and {:.3g}: a table of sizes and values does not tell",
          band.low, band.high);
    }
    out.points.push_back(std::move(band));
  }
  for (auto& [model, line] : found) out.models.push_back(std::move(model));
  return out;
}

}  // namespace cox::forecast
