// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/tail.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "cox/base/elementary.hpp"

#include "forecast/law/special.hpp"

namespace cox::forecast {
namespace {

constexpr double kLeastShape = -0.5;
constexpr double kMostShape = 2;
constexpr double kFewest = 50;    // independent exceedances for a shape
constexpr double kSurely = 0.05;  // of all: up to there a tail is fitted in any case
// Anderson, Darling's A² that a sample of the law itself exceeds in about 5 of 100
constexpr double kMisfit = 0.8;
constexpr double kNoFit = 2.5;  // and in less than one of 1,000
constexpr int kBody = 201;

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

/// Shape that belongs to tau. Excesses are in units of their mean.
double shape_of(std::span<const double> excesses, double tau, std::vector<double>& work) {
  work.resize(excesses.size());
  for (std::size_t i = 0; i < excesses.size(); ++i) work[i] = std::max(1 + tau * excesses[i], 1e-300);
  logarithms(work);
  return mean_of(work);
}

double likelihood(std::span<const double> excesses, double tau, std::vector<double>& work) {
  if (std::abs(tau) < 1e-7) return -1;  // exponential with scale 1: -ln 1 - 0 - 1
  const double shape = shape_of(excesses, tau, work);
  if (shape < kLeastShape || shape > kMostShape || shape / tau <= 0) return -1e300;
  return -logarithm(shape / tau) - shape - 1;
}

double excess(const Tail& tail, double above) {
  const double log_p = logarithm(above / tail.probability);
  const double z =
      std::abs(tail.shape) < 1e-12 ? -log_p : exponential_less_one(-tail.shape * log_p) / tail.shape;
  return tail.threshold.count() + tail.scale.count() * z;
}

double at(std::span<const double> ascending, double p) {
  const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(ascending.size() - 1);
  const std::size_t left = std::min(static_cast<std::size_t>(place), ascending.size() - 1);
  const std::size_t right = std::min(left + 1, ascending.size() - 1);
  return ascending[left] + (ascending[right] - ascending[left]) * (place - static_cast<double>(left));
}

/// Without the bias that likelihood has of so many exceedances: shapes are too small, scales too large. Below a shape of 0 the
/// bias is that of 0: the formula has a pole at -1/3, and shapes of few exceedances come near it by chance.
/// Formula: of shape -(1 + xi)(3 + xi) / (n (1 + 3 xi)), of ln scale (3 + 5 xi + 4 xi²) / (n (1 + 3 xi)).
/// Source: Giles, Feng, Godwin 2016, "Bias-corrected maximum likelihood estimation of the parameters of the generalized Pareto
/// distribution". Held by: Tail.ManySmallSamplesAreRightOnAverage
Tail without_bias(Tail tail, double exceedances) {
  const double xi = std::max(tail.shape, 0.0);
  const double unit = 1 / (exceedances * (1 + 3 * xi));
  tail.shape = std::min(tail.shape + (1 + xi) * (3 + xi) * unit, kMostShape);
  tail.scale *= 1 - (3 + 5 * xi + 4 * xi * xi) * unit;
  return tail;
}

/// Anderson, Darling's distance of the excesses from the law, per value.
double distance(std::span<const double> ascending, const Tail& tail) {
  const std::size_t n = ascending.size();
  std::vector<double> above(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double z = ascending[i] / tail.scale.count();
    const double log_above =
        std::abs(tail.shape) < 1e-12 ? -z : -logarithm(std::max(1 + tail.shape * z, 1e-12)) / tail.shape;
    above[i] = std::clamp(exponential(log_above), 1e-12, 1 - 1e-12);
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += (2 * static_cast<double>(i) + 1) * (logarithm(1 - above[i]) + logarithm(above[n - 1 - i]));
  }
  return (-static_cast<double>(n) - sum / static_cast<double>(n)) / static_cast<double>(n);
}

/// Through two points above the threshold: shape by bisection of the ratio of their excesses.
Tail through(const Tail& from, double p1, double x1, double p2, double x2) {
  Tail tail = from;
  const double wanted = (x2 - tail.threshold.count()) / std::max(x1 - tail.threshold.count(), 1e-300);
  const auto ratio = [&](double shape) {
    tail.shape = shape;
    tail.scale = Seconds{1};
    return (excess(tail, p2) - tail.threshold.count()) / (excess(tail, p1) - tail.threshold.count());
  };
  double low = kLeastShape;
  double high = kMostShape;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (ratio(middle) < wanted ? low : high) = middle;
  }
  ratio((low + high) / 2);
  tail.scale = Seconds{(x1 - tail.threshold.count()) / (excess(tail, p1) - tail.threshold.count())};
  return tail;
}

/// The middle of what different values are apart by, five on either side of the step to place `at`.
double usual_spacing(std::span<const double> ascending, std::size_t at) {
  constexpr std::size_t kBeside = 5;
  std::vector<double> apart;
  const auto add = [&](std::size_t i) {
    if (ascending[i] > ascending[i - 1]) apart.push_back(ascending[i] - ascending[i - 1]);
  };
  for (std::size_t i = at + 1; i < ascending.size() && apart.size() < kBeside; ++i) add(i);
  for (std::size_t i = at - 1; i > 0 && apart.size() < 2 * kBeside; --i) add(i);
  if (apart.empty()) return 0;
  const auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
  std::nth_element(apart.begin(), middle, apart.end());
  return *middle;
}

}  // namespace

std::optional<std::size_t> gap_in(std::span<const double> ascending) {
  constexpr double kMostAbove = 0.3;
  constexpr std::size_t kLeastAbove = 5;
  constexpr double kChance = 10;  // -ln of the chance, of one k, beside ln k
  constexpr double kTimes = 3;
  const std::size_t n = ascending.size();
  std::optional<std::size_t> found;
  double clearest = 1;
  double above = 0;  // sum of the k largest
  for (std::size_t k = 1; k < n && static_cast<double>(k) <= kMostAbove * static_cast<double>(n); ++k) {
    const std::size_t first = n - k;
    above += ascending[first];
    if (k < kLeastAbove) continue;
    const auto count = static_cast<double>(k);
    const double width = ascending[first] - ascending[first - 1];
    const double mean_excess = std::max(above / count - ascending[first], 0.0);
    if (!(width > 0)) continue;
    const double times = width / std::max(mean_excess, 1e-9 * width);
    const double clear = (count - 1) * logarithm_of_one_plus(times) / (kChance + logarithm(count));
    if (clear <= clearest || width <= kTimes * usual_spacing(ascending, first)) continue;
    found = first;
    clearest = clear;
  }
  return found;
}

TailedLaw tailed_law(std::span<const double> ascending, double independent) {
  TailedLaw out{.seen = independent * static_cast<double>(ascending.size())};
  if (const std::optional<LongerMode> modes = modes_of(ascending, independent)) {
    const double share = share_of_longer(*modes);
    out.law = law_of(*modes, share);
    out.tails = modes->longer.tails;
    for (TailFit& fit : out.tails) fit.tail.probability *= share;
    out.probability = share;
    out.shape = modes->longer.shape;
    return out;
  }
  out.tails = fit_tails(ascending, independent);
  out.law = body_and_tail(ascending, out.tails);
  if (ascending.front() == ascending.back()) return out;
  out.probability = probability_of(out.tails);
  out.shape = shape_of(out.tails);
  return out;
}

std::optional<LongerMode> modes_of(std::span<const double> ascending, double independent) {
  const std::optional<std::size_t> gap = gap_in(ascending);
  if (!gap) return std::nullopt;
  return LongerMode{.usual = tailed_law(ascending.first(*gap), independent),
                    .longer = tailed_law(ascending.subspan(*gap), independent)};
}

double share_of_longer(const LongerMode& modes) {
  return modes.longer.seen / (modes.usual.seen + modes.longer.seen);
}

Law law_of(const LongerMode& modes, double share) {
  return Law::modes(modes.usual.law, modes.longer.law, share);
}

RatioEstimate shape_of(const std::vector<TailFit>& tails) {
  if (tails.empty()) return {.value = 0, .low = -0.2, .high = 0.5, .origin = Origin::Range, .units = 0};
  const TailFit& middle = tails[tails.size() > 2 ? 1 : 0];
  const double shape = middle.tail.shape;
  const double error = 1.645 * (1 + shape) / std::sqrt(middle.exceedances);
  return {.value = shape,
          .low = shape - error,
          .high = shape + error,
          .origin = Origin::Measured,
          .units = static_cast<std::int64_t>(middle.exceedances)};
}

double probability_of(const std::vector<TailFit>& tails) {
  return tails.empty() ? 0.1 : tails[tails.size() > 2 ? 1 : 0].tail.probability;
}

ParetoFit fit_pareto(std::span<const double> excesses) {
  const double unit = mean_of(excesses);
  if (unit <= 0) return {};
  std::vector<double> scaled(excesses.begin(), excesses.end());
  for (double& x : scaled) x /= unit;
  const double most = *std::max_element(scaled.begin(), scaled.end());
  // A grid that is fine about 0 and reaches the bound 1 / most below, then golden section about its best.
  std::vector<double> work;
  const double least = -(1 - 1e-9) / most;
  std::vector<double> grid;
  for (int i = 0; i <= 12; ++i) grid.push_back(least * (1 - i / 12.0));
  for (int i = 1; i <= 24; ++i) grid.push_back(0.02 * (power(1.35, i) - 1));
  std::size_t best = 0;
  std::vector<double> value;
  value.reserve(grid.size());
  for (const double tau : grid) value.push_back(likelihood(scaled, tau, work));
  for (std::size_t i = 0; i < grid.size(); ++i)
    if (value[i] > value[best]) best = i;
  double low = grid[best > 0 ? best - 1 : 0];
  double high = grid[std::min(best + 1, grid.size() - 1)];
  constexpr double kGolden = 0.6180339887498949;
  double a = high - kGolden * (high - low);
  double b = low + kGolden * (high - low);
  double at_a = likelihood(scaled, a, work);
  double at_b = likelihood(scaled, b, work);
  for (int i = 0; i < 30; ++i) {
    if (at_a > at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - kGolden * (high - low);
      at_a = likelihood(scaled, a, work);
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + kGolden * (high - low);
      at_b = likelihood(scaled, b, work);
    }
  }
  const double tau = (low + high) / 2;
  if (std::abs(tau) < 1e-6) return {.shape = 0, .scale = unit};
  const double shape = shape_of(scaled, tau, work);
  return {.shape = shape, .scale = unit * shape / tau};
}

namespace {

/// Of the longest `p` of all; nothing where these are too few.
std::optional<TailFit> fit_above(std::span<const double> ascending, double p, double independent) {
  const double n = static_cast<double>(ascending.size());
  const auto count = static_cast<std::size_t>(p * n);
  if (static_cast<double>(count) * independent < kFewest) return std::nullopt;
  const double threshold = ascending[ascending.size() - count - 1];
  std::vector<double> excesses;
  for (std::size_t i = ascending.size() - count; i < ascending.size(); ++i)
    excesses.push_back(ascending[i] - threshold);
  const ParetoFit fit = fit_pareto(excesses);
  if (!(fit.scale > 0)) return std::nullopt;
  TailFit found;
  found.tail = {.threshold = Seconds{threshold},
                .scale = Seconds{fit.scale},
                .shape = fit.shape,
                .probability = static_cast<double>(count) / n};
  found.exceedances = static_cast<double>(count) * independent;
  found.distance = distance(excesses, found.tail);
  return found;
}

bool misfits(const TailFit& fit, double most = kMisfit) {
  return fit.distance * fit.exceedances > most;
}

/// Not by chance: a law that is none.
bool is_no_fit(const TailFit& fit) {
  return misfits(fit, kNoFit);
}

}  // namespace

std::vector<TailFit> fit_tails(std::span<const double> ascending, double independent) {
  std::vector<TailFit> fits;
  for (const double p : {0.003, 0.01, 0.03, 0.1}) {
    std::optional<TailFit> found = fit_above(ascending, p, independent);
    if (found && !(p > kSurely && misfits(*found))) fits.push_back(*found);
  }
  // A threshold in the body of detours that are rarer: the law of both has a heavier tail than either.
  if (!fits.empty() && std::ranges::all_of(fits, is_no_fit))
    for (const double p : {0.02, 0.015, 0.012, 0.0105}) {
      const std::optional<TailFit> found = fit_above(ascending, p, independent);
      if (!found || misfits(*found)) continue;
      fits = {*found};
      break;
    }
  for (TailFit& fit : fits) fit.tail = without_bias(fit.tail, fit.exceedances);
  return fits;
}

Law body_and_tail(std::span<const double> ascending, const Tail& tail) {
  std::vector<Seconds> body;
  for (int i = 0; i < kBody; ++i) {
    const double p = (1 - tail.probability) * i / (kBody - 1);
    body.push_back(
        std::min(Seconds{at(ascending, p)}, tail.probability > 0 ? tail.threshold : Seconds{1e300}));
  }
  return Law::quantiles(body, tail);
}

Law body_and_tail(std::span<const double> ascending, std::span<const TailFit> fits) {
  if (ascending.front() == ascending.back()) return Law::constant(Seconds{ascending.front()});
  if (fits.empty()) {
    const double threshold = at(ascending, 0.9);
    const auto first = std::upper_bound(ascending.begin(), ascending.end(), threshold);
    double sum = 0;
    for (auto it = first; it != ascending.end(); ++it) sum += *it - threshold;
    const auto count = static_cast<double>(ascending.end() - first);
    if (sum <= 0) return body_and_tail(ascending, Tail{});
    return body_and_tail(ascending, {.threshold = Seconds{threshold},
                                     .scale = Seconds{sum / count},
                                     .shape = 0,
                                     .probability = count / static_cast<double>(ascending.size())});
  }
  Tail tail = fits[fits.size() > 2 ? 1 : 0].tail;
  constexpr double kNear = 1e-4;
  constexpr double kFar = 1e-7;
  double near = 0;
  double far = 0;
  for (const TailFit& fit : fits) {
    near += excess(fit.tail, kNear) / static_cast<double>(fits.size());
    far += excess(fit.tail, kFar) / static_cast<double>(fits.size());
  }
  if (fits.size() > 1 && near > tail.threshold.count()) tail = through(tail, kNear, near, kFar, far);
  return body_and_tail(ascending, tail);
}

}  // namespace cox::forecast
