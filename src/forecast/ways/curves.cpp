// SPDX-License-Identifier: Apache-2.0
#include "forecast/ways/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

/// of standard errors, so that bands of known laws other than those it was chosen on hold nine of ten
constexpr double kWider = 1.3;
constexpr double kWidest = 2;  ///< of a band, upper over lower end
constexpr double kFar = 3;     ///< times the best held-out error: such a model does not count
/// least error where fewer than two curves were held against the largest size and count
constexpr double kAlone = 0.02;
constexpr double kAlways = 0.05;  ///< held-out error up to which a model counts in any case

/// z at one size: mean of the repetitions.
struct Point {
  double n = 0;
  double z = 0;
  double squares = 0;  ///< of the repetitions about it, relative
  double repetitions = 1;
};
using Points = std::span<const Point>;

using Term = std::function<double(double)>;

/// A fitted curve: sum of coefficients times terms; or a power.
struct Fit {
  std::array<double, 3> c{};
  std::function<double(double n)> at;
  std::string formula;
  std::vector<Term> terms{};  ///< of z, or of its logarithm
  bool of_logarithm = false;
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
  return Fit{.c = {a}, .at = [a](double) { return a; }, .formula = fmt::format("{:.4g}", a), .terms = {one}};
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
             .formula = fmt::format("{:.4g} + {:.4g} {}", a, b, name),
             .terms = {one, f}};
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
             .formula = fmt::format("{:.4g} N^{:.3g}", a, b),
             .terms = {one, [](double n) { return std::log(n); }},
             .of_logarithm = true};
}

double queue(double n) {
  return n - 1;
}
double talk(double n) {
  return n * (n - 1);
}

/// a (1 + sigma (N - 1) + kappa N (N - 1)), of any sign: what noise leaves open.
std::optional<Fit> free_usl(Points points) {
  if (points.size() < 4) return std::nullopt;
  const auto c = solve<3>(points, {one, queue, talk});
  if (!c) return std::nullopt;
  const std::array<double, 3> v = *c;
  return Fit{.c = v,
             .at = [=](double n) { return v[0] + v[1] * queue(n) + v[2] * talk(n); },
             .formula = {},
             .terms = {one, queue, talk}};
}

/// The same with nothing below zero.
std::optional<Fit> usl(Points points) {
  if (points.size() < 3) return std::nullopt;
  const auto c = solve<3>(points, {one, queue, talk});
  if (!c || (*c)[0] <= 0 || (*c)[1] < 0 || (*c)[2] < 0) return std::nullopt;
  const std::array<double, 3> v = *c;
  return Fit{.c = v,
             .at = [=](double n) { return v[0] + v[1] * queue(n) + v[2] * talk(n); },
             .formula = fmt::format("{:.4g} (1 + {:.3g} (N - 1) + {:.3g} N (N - 1))", v[0], v[1] / v[0],
                                    v[2] / v[0]),
             .terms = {one, queue, talk}};
}

/// Relative standard error of a fit at n, in units of the points' relative noise: of least squares of relative errors.
double leverage(const Fit& fit, Points points, double n) {
  const std::size_t k = fit.terms.size();
  std::vector<std::vector<double>> m(k, std::vector<double>(k + 1, 0.0));
  std::vector<double> here(k);
  for (std::size_t i = 0; i < k; ++i) m[i][k] = here[i] = fit.terms[i](n);
  for (const Point& p : points)
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < k; ++j)
        m[i][j] += fit.terms[i](p.n) * fit.terms[j](p.n) / (fit.of_logarithm ? 1 : p.z * p.z);
  for (std::size_t i = 0; i < k; ++i) {
    const double scale = m[i][i];
    if (!(std::abs(scale) > 1e-300)) return std::numeric_limits<double>::infinity();
    for (double& x : m[i]) x /= scale;
    for (std::size_t r = 0; r < k; ++r) {
      const double factor = m[r][i];
      if (r == i) continue;
      for (std::size_t j = 0; j <= k; ++j) m[r][j] -= factor * m[i][j];
    }
  }
  double square = 0;
  for (std::size_t i = 0; i < k; ++i) square += here[i] * m[i][k];
  return std::sqrt(std::max(square, 0.0)) / (fit.of_logarithm ? 1 : std::abs(fit.at(n)));
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
  std::map<std::int64_t, Welford> values;
  for (const CurvePoint& p : curve.points) values[p.size].add(p.value);
  std::vector<Point> out;
  for (const auto& [size, all] : values) {
    const auto n = static_cast<double>(size);
    const auto count = static_cast<double>(all.count());
    const double z = curve.value == CurveValue::Throughput ? n / all.mean()
                                                           : all.mean() * share_of(scaling, curve.value, n);
    const double squares = all.count() > 1 ? (count - 1) * all.variance() / (all.mean() * all.mean()) : 0;
    out.push_back({.n = n, .z = z, .squares = squares, .repetitions = count});
  }
  return out;
}

/// Of a point, relative, and how well it is known.
struct PointNoise {
  double relative = 0;
  double freedom = 0;
};

/// By repetitions and by how far the best curve misses the points, each by its degrees of freedom.
PointNoise noise_of(Points points, const std::vector<Fit>& fits) {
  double squares = 0;
  double freedom = 0;
  for (const Point& p : points) {
    squares += p.squares / p.repetitions;
    freedom += p.repetitions - 1;
  }
  const auto n = static_cast<double>(points.size());
  double least = std::numeric_limits<double>::infinity();
  double left = 0;
  for (const Fit& fit : fits) {
    const double free = n - static_cast<double>(fit.terms.size());
    if (free < 1) continue;
    const double misfit = misfit_of(fit, points);
    if (misfit * misfit * n / free >= least) continue;
    least = misfit * misfit * n / free;
    left = free;
  }
  if (left > 0) {
    squares += least * left;
    freedom += left;
  }
  return {.relative = freedom > 0 ? std::sqrt(squares / freedom) : 0, .freedom = freedom};
}

/// The models that could be fitted, in their order.
struct Fitted {
  std::vector<CurveModel> models;
  std::vector<Fit> fits;
  std::optional<Fit> free{};  ///< USL of any sign
  std::size_t best = 0;
  double error = 0;  ///< held-out, of the best
  PointNoise noise{};
  double ends = 0;  ///< standard errors to the end of a band
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
  out.free = free_usl(points);
  out.noise = noise_of(points, out.fits);
  // One degree alone tells no noise: held-out errors are all there is.
  if (out.noise.freedom >= 2)
    out.ends = kWider * student_quantile(0.05, static_cast<std::int64_t>(out.noise.freedom));
  for (std::size_t i = 0; i < out.models.size(); ++i) {
    CurveModel& m = out.models[i];
    if (!m.has_held_out) continue;
    // What noise alone lets it miss by: such a model is not told from the best one.
    const double chance = out.ends * out.noise.relative *
                          std::hypot(1, leverage(out.fits[i], points.first(points.size() - 1), last.n));
    m.counts = std::abs(m.held_out) <= std::max({kAlways, kFar * out.error, chance});
  }
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

/// `as_fitted`: a size that was measured is one like others.
CurvePrediction predict(const Fitted& fitted, Points points, double n,
                        const std::function<double(double)>& value, bool as_fitted) {
  CurvePrediction out{.size = static_cast<std::int64_t>(n)};
  out.elasticity_low = std::numeric_limits<double>::infinity();
  out.elasticity_high = -out.elasticity_low;
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (std::size_t i = 0; i < fitted.fits.size(); ++i) {
    const double z = fitted.fits[i].at(n);
    out.by_model.push_back(value(z));
    if (!fitted.models[i].counts) continue;
    const double error = fitted.ends * fitted.noise.relative * leverage(fitted.fits[i], points, n);
    low = std::min(low, std::isfinite(error) ? z / (1 + error) : z);
    high = std::max(high, std::isfinite(error) ? z * (1 + error) : z);
    const double elasticity = elasticity_of(fitted.fits[i], n);
    out.elasticity_low = std::min(out.elasticity_low, elasticity);
    out.elasticity_high = std::max(out.elasticity_high, elasticity);
  }
  if (fitted.free) {
    const auto most = [&](double size) {
      return fitted.free->at(size) + fitted.ends * fitted.noise.relative * std::abs(fitted.free->at(size)) *
                                         leverage(*fitted.free, points, size);
    };
    high = std::max(high, most(n));
    const Fit end{.c = {}, .at = most, .formula = {}};
    if (most(n) >= high) out.elasticity_low = std::min(out.elasticity_low, elasticity_of(end, n));
  }
  const Point& last = points.back();
  const double before = points.size() > 1 ? points[points.size() - 2].n : last.n / 2;
  const double further = std::max(1.0, std::log(n / last.n) / std::log(last.n / before));
  const double error = fitted.error * further;
  low /= 1 + error;
  high *= 1 + error;
  double z = fitted.fits[fitted.best].at(n);
  // Of two sizes no curve that grows can be held out: it goes on level, from the larger one where that is no better.
  if (points.size() == 2 && n > last.n) z = std::max(z, last.z);
  high = std::max(high, z);
  const auto same = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.n == n; });
  if (same != points.end() && !as_fitted) {
    out.measured = true;
    low = high = z = same->z;
  }
  out.value = value(z);
  out.low = std::min(value(low), value(high));
  out.high = std::max(value(low), value(high));
  out.throughput_ratio = n / z / (last.n / last.z);
  out.elasticity = elasticity_of(fitted.fits[fitted.best], n);
  out.elasticity_low = std::min(out.elasticity_low, out.elasticity);
  out.elasticity_high = std::max(out.elasticity_high, out.elasticity);
  if (out.measured) return out;
  if (points.size() < 2)
    out.refused = "one size says nothing of another";
  else if (high > kWidest * low)
    out.refused = fmt::format("curves that fit {} sizes up to {} are {:.1f} times apart here", points.size(),
                              last.n, high / low);
  return out;
}

/// From the smallest size given to the largest that has a number, evenly in ln size.
std::vector<double> drawn_sizes(const CurveForecast& c) {
  constexpr int kDrawn = 64;
  const auto from = static_cast<double>(c.given.front().size);
  double to = static_cast<double>(c.largest);
  for (const CurvePrediction& p : c.points)
    if (p.refused.empty()) to = std::max(to, static_cast<double>(p.size));
  std::vector<double> out;
  if (c.given.size() < 2) return out;
  for (int i = 0; i <= kDrawn; ++i) {
    const double n = std::round(from * std::pow(to / from, i / static_cast<double>(kDrawn)));
    if (out.empty() || n > out.back()) out.push_back(n);
  }
  return out;
}

}  // namespace

CurveForecast project_curve(const Curve& curve, const std::vector<std::int64_t>& sizes, Scaling scaling) {
  const std::vector<Point> points = points_of(curve, scaling);
  Fitted fitted = fit_all(points);
  CurveForecast out{.value = curve.value,
                    .largest = curve.points.back().size,
                    .sizes = static_cast<std::int64_t>(points.size())};
  const auto at = [&](double n, bool as_fitted = false) {
    return predict(
        fitted, points, n, [&](double z) { return value_of(scaling, curve.value, n, z); }, as_fitted);
  };
  for (const std::int64_t size : sizes) out.points.push_back(at(static_cast<double>(size)));
  for (const Point& p : points) out.given.push_back(at(p.n));
  for (const double n : drawn_sizes(out)) out.drawn.push_back(at(n, true));
  out.models = std::move(fitted.models);
  return out;
}

}  // namespace cox::forecast
