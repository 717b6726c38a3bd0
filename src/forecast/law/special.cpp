// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/special.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace cox::forecast {
namespace {

constexpr double kTiny = 1e-300;
constexpr double kClose = 1e-15;
constexpr int kMostTerms = 20'000;

/// x^a e^-x / Gamma(a + 1), by logarithms.
double gamma_front(double a, double x) {
  return x <= 0 ? 0 : exponential(a * logarithm(x) - x - log_gamma(a + 1));
}

/// P by the series, good for x below a + 1.
double gamma_series(double a, double x) {
  double term = 1;
  double sum = 1;
  for (int n = 1; n < kMostTerms && term > kClose * sum; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return gamma_front(a, x) * sum;
}

/// Q by Lentz's evaluation of the continued fraction, good for x above a + 1.
double gamma_fraction(double a, double x) {
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / b;
  double h = d;
  for (int i = 1; i < kMostTerms; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double factor = d * c;
    h *= factor;
    if (std::abs(factor - 1) < kClose) break;
  }
  return gamma_front(a, x) * a * h;
}

/// One factor of Lentz's evaluation.
void lentz(double numerator, double& c, double& d, double& h) {
  d = 1 + numerator * d;
  if (std::abs(d) < kTiny) d = kTiny;
  c = 1 + numerator / c;
  if (std::abs(c) < kTiny) c = kTiny;
  d = 1 / d;
  h *= d * c;
}

double beta_fraction(double a, double b, double x) {
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  if (std::abs(d) < kTiny) d = kTiny;
  d = 1 / d;
  double h = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double before = h;
    lentz(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), c, d, h);
    lentz(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), c, d, h);
    if (std::abs(h - before) < kClose * std::abs(h)) break;
  }
  return h;
}

}  // namespace

double exponential_less_one(double x) {
  if (std::abs(x) < 1e-5) return x * (1 + x / 2 * (1 + x / 3));
  const double u = exponential(x);
  if (std::abs(x) > 1) return u - 1;
  return (u - 1) * x / logarithm(u);
}

double logarithm_of_one_plus(double x) {
  if (std::abs(x) < 1e-5) return x * (1 - x * (0.5 - x * (1.0 / 3 - x / 4)));
  const double u = 1 + x;
  return u == 1 ? x : logarithm(u) * x / (u - 1);
}

double log_gamma(double x) {
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  double product = 1;
  for (; x < 16; x += 1) product *= x;
  const double r = 1 / (x * x);
  const double series = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / x;
  return (x - 0.5) * logarithm(x) - x + kHalfLogTwoPi + series - logarithm(product);
}

double gamma_above(double shape, double x) {
  if (x <= 0) return 1;
  return x < shape + 1 ? 1 - gamma_series(shape, x) : gamma_fraction(shape, x);
}

double gamma_below(double shape, double x) {
  if (x <= 0) return 0;
  return x < shape + 1 ? gamma_series(shape, x) : 1 - gamma_fraction(shape, x);
}

double gamma_upper_quantile(double shape, double above) {
  std::array<double, 1> z = {std::min(above, 0.5)};
  if (above > 0.5) z[0] = 1 - above;
  if (z[0] <= 0) return 0;
  normal_quantiles(z);
  const double score = above > 0.5 ? z[0] : -z[0];
  // Wilson, Hilferty 1931 to begin with, then Newton on the logarithm of the probability that is small.
  const double cube = 1 - 1 / (9 * shape) + score / (3 * std::sqrt(shape));
  double x = std::max(shape * cube * cube * cube, 0.0);
  if (x < 1e-2 * shape) {
    x = exponential((logarithm(std::max(1 - above, kTiny)) + log_gamma(shape + 1)) / shape);
  }
  const bool upper = above < 0.5;
  const double wanted = logarithm(upper ? above : 1 - above);
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 60; ++i) {
    const double p = std::max(upper ? gamma_above(shape, x) : gamma_below(shape, x), kTiny);
    const double gap = logarithm(p) - wanted;
    if ((upper ? gap : -gap) > 0) {
      low = x;
    } else {
      high = x;
    }
    const double density = gamma_front(shape, x) * shape / x;
    double next = x + (upper ? gap : -gap) * p / std::max(density, kTiny);
    if (!(next > low && next < high)) next = std::isinf(high) ? 2 * x + 1 : (low + high) / 2;
    const bool done = std::abs(next - x) <= 1e-13 * x;
    x = next;
    if (done) break;
  }
  return x;
}

double chi_square_upper_quantile(double freedom, double above) {
  return 2 * gamma_upper_quantile(freedom / 2, above);
}

double beta_below(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = exponential(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * logarithm(x) +
                                   b * logarithm_of_one_plus(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double beta_quantile(double a, double b, double below) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (beta_below(a, b, middle) < below ? low : high) = middle;
  }
  return (low + high) / 2;
}

double student_above(double freedom, double t) {
  const double half = beta_below(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  return t >= 0 ? half : 1 - half;
}

}  // namespace cox::forecast
