// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>

namespace cox::forecast {
namespace {

constexpr double kWidest = 2;  ///< of a band, upper over lower end
constexpr double kFar = 3;     ///< times the best held-out error: such a model does not count
/// least error where fewer than two curves were held against the largest size and count
constexpr double kAlone = 0.02;
constexpr double kAlways = 0.05;  ///< held-out error up to which a model counts in any case

/// z at one size: mean of the repetitions.
struct Point {
  double n = 0;
  double z = 0;
};
using Points = std::span<const Point>;

/// A fitted curve: sum of coefficients times terms; or a power.
struct Fit {
  std::array<double, 3> c{};
  std::function<double(double n)> at;
  std::string formula;
};
using Fitter = std::optional<Fit> (*)(Points);

double misfit_of(const Fit& fit, Points points) {
  double sum = 0;
  for (const Point& p : points) sum += std::pow(fit.at(p.n) / p.z - 1, 2);
  return std::sqrt(sum / static_cast<double>(points.size()));
}

/// z = sum c_i f_i(n), least squares of relative errors, by Gauss' elimination. Nothing where the terms cannot be told apart.
template <std::size_t K>
std::optional<std::array<double, K>> solve(Points points,
                                           const std::array<std::function<double(double)>, K>& terms) {
  std::array<std::array<double, K + 1>, K> m{};
  for (const Point& p : points)
    for (std::size_t i = 0; i < K; ++i) {
      const double f = terms[i](p.n) / p.z;
      for (std::size_t j = 0; j < K; ++j) m[i][j] += f * terms[j](p.n) / p.z;
      m[i][K] += f;
    }
  for (std::size_t i = 0; i < K; ++i) {
    const double scale = m[i][i];
    if (!(std::abs(scale) > 1e-12)) return std::nullopt;
    for (std::size_t j = i; j <= K; ++j) m[i][j] /= scale;
    for (std::size_t k = 0; k < K; ++k) {
      const double factor = m[k][i];
      if (k == i || factor == 0) continue;
      for (std::size_t j = i; j <= K; ++j) m[k][j] -= factor * m[i][j];
    }
  }
  std::array<double, K> out{};
  for (std::size_t i = 0; i < K; ++i) out[i] = m[i][K];
  return out;
}

double one(double) {
  return 1;
}

std::optional<Fit> constant(Points points) {
  const auto c = solve<1>(points, {one});
  if (!c) return std::nullopt;
  const double a = (*c)[0];
  return Fit{.c = {a}, .at = [a](double) { return a; }, .formula = fmt::format("{:.4g}", a)};
}

/// a + b f(n) with b not below zero.
std::optional<Fit> straight(Points points, double (*f)(double), const char* name) {
  if (points.size() < 2) return std::nullopt;
  const auto c = solve<2>(points, {one, f});
  if (!c) return std::nullopt;
  if ((*c)[1] < 0 || (*c)[0] < 0) return std::nullopt;
  const double a = (*c)[0];
  const double b = (*c)[1];
  return Fit{.c = {a, b},
             .at = [a, b, f](double n) { return a + b * f(n); },
             .formula = fmt::format("{:.4g} + {:.4g} {}", a, b, name)};
}
std::optional<Fit> logarithm(Points points) {
  return straight(
      points, [](double n) { return std::log(n); }, "ln N");
}
std::optional<Fit> linear(Points points) {
  return straight(
      points, [](double n) { return n; }, "N");
}

/// a N^b, a straight line in logarithms.
std::optional<Fit> power(Points points) {
  if (points.size() < 2) return std::nullopt;
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const Point& p : points) {
    const double u = std::log(p.n);
    const double v = std::log(p.z);
    x += u;
    y += v;
    xx += u * u;
    xy += u * v;
  }
  const auto k = static_cast<double>(points.size());
  const double b = (k * xy - x * y) / (k * xx - x * x);
  const double a = std::exp((y - b * x) / k);
  return Fit{.c = {a, b},
             .at = [a, b](double n) { return a * std::pow(n, b); },
             .formula = fmt::format("{:.4g} N^{:.3g}", a, b)};
}

/// a (1 + sigma (N - 1) + kappa N (N - 1)).
std::optional<Fit> usl(Points points) {
  if (points.size() < 3) return std::nullopt;
  const auto queue = [](double n) { return n - 1; };
  const auto talk = [](double n) { return n * (n - 1); };
  const auto c = solve<3>(points, {one, queue, talk});
  if (!c || (*c)[0] <= 0 || (*c)[1] < 0 || (*c)[2] < 0) return std::nullopt;
  const std::array<double, 3> v = *c;
  return Fit{.c = v,
             .at = [=](double n) { return v[0] + v[1] * queue(n) + v[2] * talk(n); },
             .formula = fmt::format("{:.4g} (1 + {:.3g} (N - 1) + {:.3g} N (N - 1))", v[0], v[1] / v[0],
                                    v[2] / v[0])};
}

struct Named {
  const char* name;
  Fitter fit;
};
constexpr std::array<Named, 5> kModels{{{"constant", constant},
                                        {"logarithm", logarithm},
                                        {"power", power},
                                        {"linear (Amdahl)", linear},
                                        {"USL", usl}}};

double share_of(Scaling scaling, CurveValue value, double n) {
  return value == CurveValue::Throughput || scaling == Scaling::Strong ? n : 1;
}

/// The value at size n from z, and back.
double value_of(Scaling scaling, CurveValue kind, double n, double z) {
  return kind == CurveValue::Throughput ? n / z : z / share_of(scaling, kind, n);
}

std::vector<Point> points_of(const Curve& curve, Scaling scaling) {
  std::map<std::int64_t, std::pair<double, double>> sums;
  for (const CurvePoint& p : curve.points) {
    sums[p.size].first += p.value;
    sums[p.size].second += 1;
  }
  std::vector<Point> out;
  for (const auto& [size, sum] : sums) {
    const auto n = static_cast<double>(size);
    const double mean = sum.first / sum.second;
    out.push_back(
        {n, curve.value == CurveValue::Throughput ? n / mean : mean * share_of(scaling, curve.value, n)});
  }
  return out;
}

/// The models that could be fitted, in their order.
struct Fitted {
  std::vector<CurveModel> models;
  std::vector<Fit> fits;
  std::size_t best = 0;
  double error = 0;  ///< held-out, of the best
};

Fitted fit_all(Points points) {
  Fitted out;
  const Point& last = points.back();
  for (const Named& m : kModels) {
    std::optional<Fit> fit = m.fit(points);
    if (!fit) continue;
    CurveModel model{.name = m.name, .formula = fit->formula, .misfit = misfit_of(*fit, points)};
    const std::optional<Fit> without =
        points.size() < 2 ? std::nullopt : m.fit(points.first(points.size() - 1));
    model.has_held_out = without.has_value();
    if (without) model.held_out = without->at(last.n) / last.z - 1;
    out.models.push_back(model);
    out.fits.push_back(*std::move(fit));
  }
  out.error = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < out.models.size(); ++i) {
    const CurveModel& m = out.models[i];
    // A hundredth better is not better: the simpler one comes first.
    if (m.has_held_out && std::abs(m.held_out) < 0.99 * out.error) {
      out.error = std::abs(m.held_out);
      out.best = i;
    }
  }
  if (!std::isfinite(out.error)) out.error = 0;
  for (CurveModel& m : out.models)
    m.counts = !m.has_held_out || std::abs(m.held_out) <= std::max(kAlways, kFar * out.error);
  const auto tried = std::count_if(out.models.begin(), out.models.end(),
                                   [](const CurveModel& m) { return m.counts && m.has_held_out; });
  if (tried < 2) out.error = std::max(out.error, kAlone);
  return out;
}

double elasticity_of(const Fit& fit, double n) {
  constexpr double kStep = 1e-4;
  return 1 -
         std::log(fit.at(n * (1 + kStep)) / fit.at(n * (1 - kStep))) / std::log((1 + kStep) / (1 - kStep));
}

CurvePrediction predict(const Fitted& fitted, Points points, double n,
                        const std::function<double(double)>& value) {
  CurvePrediction out{.size = static_cast<std::int64_t>(n)};
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (std::size_t i = 0; i < fitted.fits.size(); ++i) {
    const double z = fitted.fits[i].at(n);
    out.by_model.push_back(value(z));
    if (!fitted.models[i].counts) continue;
    low = std::min(low, z);
    high = std::max(high, z);
  }
  const Point& last = points.back();
  const double before = points.size() > 1 ? points[points.size() - 2].n : last.n / 2;
  const double further = std::max(1.0, std::log(n / last.n) / std::log(last.n / before));
  const double error = fitted.error * further;
  low /= 1 + error;
  high *= 1 + error;
  double z = fitted.fits[fitted.best].at(n);
  const auto same = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.n == n; });
  if (same != points.end()) {
    out.measured = true;
    low = high = z = same->z;
  }
  out.value = value(z);
  out.low = std::min(value(low), value(high));
  out.high = std::max(value(low), value(high));
  out.throughput_ratio = n / z / (last.n / last.z);
  out.elasticity = elasticity_of(fitted.fits[fitted.best], n);
  if (out.measured) return out;
  if (points.size() < 2)
    out.refused = "one size says nothing of another";
  else if (high > kWidest * low)
    out.refused = fmt::format("curves that fit {} sizes up to {} are {:.1f} times apart here", points.size(),
                              last.n, high / low);
  return out;
}

}  // namespace

CurveForecast project_curve(const Curve& curve, const std::vector<std::int64_t>& sizes, Scaling scaling) {
  const std::vector<Point> points = points_of(curve, scaling);
  Fitted fitted = fit_all(points);
  CurveForecast out{.value = curve.value,
                    .largest = curve.points.back().size,
                    .sizes = static_cast<std::int64_t>(points.size())};
  const auto at = [&](double n) {
    return predict(fitted, points, n, [&](double z) { return value_of(scaling, curve.value, n, z); });
  };
  for (const std::int64_t size : sizes) out.points.push_back(at(static_cast<double>(size)));
  for (const Point& p : points) out.given.push_back(at(p.n));
  out.models = std::move(fitted.models);
  return out;
}

}  // namespace cox::forecast
