// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "cox/base/assert.hpp"

#include "learn/stability/delay.hpp"
#include "learn/stability/unit_circle.hpp"

namespace cox::learn {
namespace {

using Complex = std::complex<double>;

/// sum p_k z^-k
Complex at_point(const DelayLaw& law, Complex z) {
  const Complex back = std::conj(z);
  Complex p = 0;
  for (std::size_t k = law.size(); k-- > 0;)
    p = Complex{p.real() * back.real() - p.imag() * back.imag() + law[k],
                p.real() * back.imag() + p.imag() * back.real()};
  return p;
}

/// a for which z would be a root: -(z - 1) / P(z). Real at an edge.
Complex needed(const DelayLaw& law, double t) {
  const Complex z = unit(t);
  const Complex p = at_point(law, z);
  const Complex top = Complex{1 - z.real(), -z.imag()};
  const double s = p.real() * p.real() + p.imag() * p.imag();
  return {(top.real() * p.real() + top.imag() * p.imag()) / s,
          (top.imag() * p.real() - top.real() * p.imag()) / s};
}

/// The least a in (0, high] at which `grows` is true; it must be at `high`.
template <class Grows>
double first_growing(double high, Grows grows) {
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (grows(middle) ? high : low) = middle;
  }
  return high;
}

/// Characteristic polynomial by Faddeev and Le Verrier.
std::vector<double> polynomial_of(const std::array<std::array<double, 4>, 4>& m) {
  std::array<std::array<double, 4>, 4> power{};
  std::vector<double> c(5);
  c[0] = 1;
  for (std::size_t k = 1; k <= 4; ++k) {
    for (std::size_t i = 0; i < 4; ++i) power[i][i] += c[k - 1];
    std::array<std::array<double, 4>, 4> next{};
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j)
        for (std::size_t l = 0; l < 4; ++l) next[i][j] += m[i][l] * power[l][j];
    power = next;
    double trace = 0;
    for (std::size_t i = 0; i < 4; ++i) trace += power[i][i];
    c[k] = -trace / static_cast<double>(k);
  }
  return c;
}

}  // namespace

double mean_edge(const DelayLaw& law) {
  const std::size_t points = 256 * (law.size() + 4);
  double least = needed(law, kPi).real();
  if (least <= 0) least = 1e300;
  double before = 0;
  for (std::size_t k = 1; k <= points; ++k) {
    double low = before;
    double high = kPi * static_cast<double>(k) / static_cast<double>(points);
    before = high;
    const bool sign = low > 0 && needed(law, low).imag() > 0;
    if (low == 0 || sign == (needed(law, high).imag() > 0)) continue;
    for (int i = 0; i < 50; ++i) {
      const double middle = (low + high) / 2;
      ((needed(law, middle).imag() > 0) == sign ? low : high) = middle;
    }
    const double a = needed(law, high).real();
    if (a > 0 && a < least) least = a;
  }
  return least;
}

double mean_square_edge(const DelayLaw& law) {
  constexpr std::size_t kPoints = 1 << 13;
  COX_ASSERT(!law.empty() && law.size() < kPoints / 4, "a law of delays");
  const std::vector<Complex> z = units(kPoints);
  std::vector<Complex> p(kPoints / 2 + 1);
  for (std::size_t k = 0; k < p.size(); ++k) p[k] = at_point(law, z[k]);
  return first_growing(mean_edge(law), [&](double a) {
    double sum = 0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      const Complex d = z[k] - 1.0 + a * p[k];
      const double made = 1 - p[k].real() * p[k].real() - p[k].imag() * p[k].imag();
      const double weight = k == 0 || k + 1 == p.size() ? 1 : 2;
      sum += weight * made / (d.real() * d.real() + d.imag() * d.imag());
    }
    return a * a * sum / kPoints > 1;
  });
}

double exponential_workers_edge(std::int64_t workers) {
  COX_ASSERT(workers >= 1, "workers");
  if (workers == 1) return 2;  // no two to have moments
  const double k = 1 / static_cast<double>(workers);
  return first_growing(2.5, [&](double a) {
    // Moments xx, xy, yy, yy' of x, and of what one or two workers hold (probe `random`, X).
    const std::array<std::array<double, 4>, 4> m = {{{1, -2 * a, a * a, 0},
                                                     {k, -2 * a * k + (1 - k), a * a * k, -(1 - k) * a},
                                                     {k, -2 * a * k, a * a * k + (1 - k), 0},
                                                     {0, 2 * k, 0, -2 * k * a + (1 - 2 * k)}}};
    return largest_root(polynomial_of(m)) > 1 + 1e-9;
  });
}

StalenessAlarm staleness_alarm(std::span<const std::int64_t> ages, double rate, double curvature,
                               double momentum) {
  double count = 0;
  double sum = 0;
  for (std::size_t age = 0; age < ages.size(); ++age) {
    count += static_cast<double>(ages[age]);
    sum += static_cast<double>(ages[age]) * static_cast<double>(age);
  }
  if (count == 0) return {};
  StalenessAlarm out;
  if (momentum > 0) {
    out.limit =
        stable_edge({.delay = static_cast<std::int64_t>(std::ceil(sum / count)), .momentum = momentum});
  } else {
    DelayLaw law(ages.size());
    for (std::size_t age = 0; age < ages.size(); ++age) law[age] = static_cast<double>(ages[age]) / count;
    out.limit = mean_square_edge(law);
  }
  out.ratio = rate * curvature / out.limit;
  out.raised = out.ratio > 0.5;
  return out;
}

}  // namespace cox::learn
