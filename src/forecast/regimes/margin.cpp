// SPDX-License-Identifier: Apache-2.0
#include "forecast/regimes/margin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::forecast {
namespace {

constexpr int kSteps = 24;
constexpr int kHalvings = 30;
constexpr int kFewSteps = 4;  // of a draw, which is not looked at beyond another one
constexpr int kFewHalvings = 10;
constexpr int kIterations = 30;

using Point = std::vector<double>;  ///< ln of each factor

/// How far beyond the boundary a job with these parameters is: above 0 once it has crossed.
class Surface {
 public:
  Surface(const ElasticityWith& elasticity, double level, std::size_t parameters)
      : elasticity_(elasticity), level_(level), factors_(parameters, 1.0) {
    if (at(Point(parameters, 0.0)) > 0) sign_ = -1;
  }
  [[nodiscard]] bool began_crossed() const { return sign_ < 0; }
  double at(const Point& x) {
    for (std::size_t i = 0; i < x.size(); ++i) factors_[i] = std::exp(x[i]);
    return sign_ * (level_ - elasticity_(factors_));
  }
  /// The first crossing on the way from 0 to `limit` along `direction`; NaN ends the search.
  std::optional<double> first_along(const Point& direction, double limit, int steps = kSteps,
                                    int halvings = kHalvings) {
    Point x(direction.size());
    const auto value = [&](double length) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = length * direction[i];
      return at(x);
    };
    double before = 0;
    for (int step = 1; step <= steps; ++step) {
      const double part = static_cast<double>(step) / steps;
      double length = limit * part * part;
      const double here = value(length);
      if (std::isnan(here)) return std::nullopt;
      if (here > 0) {
        for (int i = 0; i < halvings; ++i) {
          const double middle = (before + length) / 2;
          (value(middle) > 0 ? length : before) = middle;
        }
        return length;
      }
      before = length;
    }
    return std::nullopt;
  }

 private:
  const ElasticityWith& elasticity_;
  double level_;
  double sign_ = 1;
  std::vector<double> factors_;
};

Point axis(std::size_t of, std::size_t which, double sign) {
  Point x(of, 0.0);
  x[which] = sign;
  return x;
}

/// ln of the factor nearest to 1 by which this parameter alone crosses.
std::optional<double> nearest_alone(Surface& surface, std::span<const MarginParameter> all,
                                    std::size_t which) {
  const double limit = std::log(all[which].most);
  const auto back = [&](double most) -> std::optional<double> {
    const auto down = surface.first_along(axis(all.size(), which, -1), most);
    return down ? std::optional(-*down) : std::nullopt;
  };
  if (all[which].one_way && surface.began_crossed()) return back(limit);
  const auto up = surface.first_along(axis(all.size(), which, 1), limit);
  if (all[which].one_way) return up;
  const auto down = back(up.value_or(limit));
  if (down && (!up || -*down < *up)) return down;
  return up;
}

double length_of(const Point& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

Point gradient(Surface& surface, const Point& x, std::span<const MarginParameter> all) {
  constexpr double kWidth = 1e-3;
  Point g(x.size(), 0.0);
  Point moved = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!all[i].worst) continue;
    moved[i] = x[i] + kWidth;
    const double above = surface.at(moved);
    moved[i] = x[i] - kWidth;
    g[i] = (above - surface.at(moved)) / (2 * kWidth);
    moved[i] = x[i];
  }
  return g;
}

/// From x to where its tangent plane is nearest to the origin, again and again; what it ends at is then put on the
/// surface along the ray from the origin.
std::optional<Point> nearest_from(Surface& surface, Point x, std::span<const MarginParameter> all) {
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const Point g = gradient(surface, x, all);
    double squared = 0;
    double along = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      squared += g[i] * g[i];
      along += g[i] * x[i];
    }
    if (!(squared > 1e-18)) return std::nullopt;
    const double scale = (along - surface.at(x)) / squared;
    double moved = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double limit = std::log(all[i].most);
      // Half of the way after a few steps: two points that send each other back and forth end between them.
      const double wanted = std::clamp(scale * g[i], -limit, limit);
      const double next = iteration < 5 ? wanted : (x[i] + wanted) / 2;
      moved = std::max(moved, std::abs(next - x[i]));
      x[i] = next;
    }
    if (moved < 1e-5) break;
  }
  const double length = length_of(x);
  if (!(length > 0)) return std::nullopt;
  Point direction = x;
  for (double& v : direction) v /= length;
  const auto on = surface.first_along(direction, 1.5 * length);
  if (!on) return std::nullopt;
  for (double& v : direction) v *= *on;
  return direction;
}

std::optional<WorstMargin> worst_of(Surface& surface, std::span<const MarginParameter> all,
                                    const std::vector<Margin>& alone) {
  std::vector<Point> found;
  const auto from = [&](const Point& start) {
    if (auto at = nearest_from(surface, start, all)) found.push_back(*std::move(at));
  };
  from(Point(all.size(), 0.0));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].worst || !alone[i].factor) continue;
    const Point start = axis(all.size(), i, std::log(*alone[i].factor));
    found.push_back(start);
    from(start);
  }
  const auto best = std::ranges::min_element(found, {}, length_of);
  if (best == found.end()) return std::nullopt;
  WorstMargin out{.factors = {}, .distance = length_of(*best)};
  for (const double x : *best) out.factors.push_back(std::exp(x));
  return out;
}

/// `of_replicates`: ln of the factor of each, empty where none crosses.
void add_band(Margin& margin, const MarginParameter& parameter,
              std::vector<std::optional<double>> of_replicates) {
  if (margin.factor) margin.within_error = std::abs(std::log(*margin.factor)) < parameter.error;
  margin.banded = !of_replicates.empty();
  if (!margin.banded) return;
  // One that does not cross lies beyond all that do, on the side on which most cross.
  double side = 0;
  for (const auto& x : of_replicates) side += x.value_or(0) > 0 ? 1 : x.value_or(0) < 0 ? -1 : 0;
  const auto place = [&](const std::optional<double>& x) { return x ? *x : (side < 0 ? -1e9 : 1e9); };
  std::ranges::sort(of_replicates, {}, place);
  const auto last = static_cast<double>(of_replicates.size() - 1);
  const auto factor = [](std::optional<double> x) { return x ? std::optional{std::exp(*x)} : std::nullopt; };
  margin.low = factor(of_replicates[static_cast<std::size_t>(std::floor(0.05 * last))]);
  margin.high = factor(of_replicates[static_cast<std::size_t>(std::ceil(0.95 * last))]);
  // Value and draws rest on different places of a price's range: the band holds both.
  if (margin.factor && margin.low) margin.low = std::min(*margin.low, *margin.factor);
  if (margin.factor && margin.high) margin.high = std::max(*margin.high, *margin.factor);
  margin.beyond =
      static_cast<double>(std::ranges::count_if(of_replicates, [](const auto& x) { return !x; })) /
      (last + 1);
}

}  // namespace

Margins margins_of(std::span<const MarginParameter> parameters, const ElasticityWith& elasticity,
                   double level, std::span<const ElasticityWith> replicates) {
  const std::size_t n = parameters.size();
  COX_ASSERT(n >= 1 && n <= 12, "1 to 12 parameters");
  Surface surface(elasticity, level, n);
  Margins out{.elasticity = elasticity(Point(n, 1.0)), .level = level, .crossed = surface.began_crossed()};
  for (std::size_t i = 0; i < n; ++i) {
    Margin margin{.name = parameters[i].name};
    if (const auto x = nearest_alone(surface, parameters, i)) margin.factor = std::exp(*x);
    std::vector<std::optional<double>> drawn;
    for (const ElasticityWith& replicate : replicates) {
      if (!margin.factor) break;
      Surface other(replicate, level, n);
      // A replicate that lies on the other side has no margin left.
      drawn.push_back(other.began_crossed() == out.crossed ? nearest_alone(other, parameters, i) : 0.0);
    }
    add_band(margin, parameters[i], std::move(drawn));
    out.alone.push_back(std::move(margin));
  }
  out.worst = worst_of(surface, parameters, out.alone);
  return out;
}

double nearest_like(const Margins& found, std::span<const MarginParameter> parameters,
                    const ElasticityWith& elasticity) {
  const std::size_t n = parameters.size();
  COX_ASSERT(n >= 1 && found.alone.size() == n, "the margins of these parameters");
  Surface surface(elasticity, found.level, n);
  if (surface.began_crossed()) return 1;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto far = [&](std::size_t i) {
    const auto& factor = found.alone[i].factor;
    return factor ? std::abs(std::log(*factor)) : std::numeric_limits<double>::infinity();
  };
  std::ranges::stable_sort(order, {}, far);
  double nearest = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    if (!std::isfinite(far(i)) && !std::isfinite(nearest)) break;
    const double limit = std::min(nearest, std::log(parameters[i].most));
    // Of the first one the estimate says on which side, and how far; beyond twice that it is looked for as closely as there.
    const double near = std::isfinite(nearest) ? limit : std::min(limit, 2 * far(i) + 0.1);
    const double first = std::isfinite(far(i)) && *found.alone[i].factor < 1 ? -1 : 1;
    for (const double side : {first, -first}) {
      if (side < 0 && parameters[i].one_way) continue;
      const Point direction = axis(n, i, side);
      auto at = surface.first_along(direction, std::min(near, nearest), kFewSteps, kFewHalvings);
      if (!at && !std::isfinite(nearest) && near < limit)
        at = surface.first_along(direction, limit, kSteps, kFewHalvings);
      if (at) nearest = std::min(nearest, *at);
    }
  }
  return std::exp(nearest);
}

}  // namespace cox::forecast
