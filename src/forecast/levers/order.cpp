// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/forecast/levers.hpp"

namespace cox::forecast {
namespace {

/// P(at most `spare` of n + spare exceed a value that one exceeds with probability p).
double at_most(std::int64_t n, std::int64_t spare, double p) {
  if (p <= 0) return 1;
  if (p >= 1) return 0;
  const auto all = static_cast<double>(n + spare);
  double log_term = all * std::log1p(-p);  // none of them
  double sum = 0;
  for (std::int64_t k = 0; k <= spare; ++k) {
    sum += std::exp(log_term);
    log_term +=
        std::log((all - static_cast<double>(k)) / static_cast<double>(k + 1)) + std::log(p) - std::log1p(-p);
  }
  return std::min(sum, 1.0);
}

/// Masses in equal cells from `least` on, whose ends are at P(X > x).
std::vector<double> cells_of(const Exceedance& law, int cells) {
  std::vector<double> out(static_cast<std::size_t>(cells));
  const Seconds width = (law.most - law.least) / cells;
  double before = 1;
  for (int i = 0; i < cells; ++i) {
    const double after = i + 1 == cells ? 0 : law.above(law.least + width * (i + 1));
    out[static_cast<std::size_t>(i)] = before - after;
    before = after;
  }
  return out;
}

std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size() && a[i] > 0; ++j) out[i + j] += a[i] * b[j];
  return out;
}

}  // namespace

Seconds mean_without_slowest(const Exceedance& law, std::int64_t n, std::int64_t spare) {
  COX_ASSERT(n >= 1 && spare >= 0 && law.most > law.least, "draws and bounds");
  constexpr int kPoints = 4000;
  const Seconds width = (law.most - law.least) / kPoints;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) sum += 1 - at_most(n, spare, law.above(law.least + width * (i + 0.5)));
  return law.least + width * sum;
}

Seconds mean_of_local_steps(const Exceedance& law, std::int64_t n, int steps) {
  COX_ASSERT(n >= 1 && steps >= 1 && steps <= 64 && law.most > law.least, "draws and bounds");
  constexpr int kCells = 2048;
  const std::vector<double> one = cells_of(law, kCells);
  std::vector<double> sum = one;
  for (int i = 1; i < steps; ++i) sum = convolved(sum, one);
  const Seconds width = (law.most - law.least) / kCells;
  double below = 0, mean = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    below = std::min(below + sum[i], 1.0);
    mean += 1 - std::pow(below, static_cast<double>(n));
  }
  // Cell i of a sum of k lies about (i + k / 2) widths above k times the least.
  return (law.least * steps + width * (mean + steps / 2.0)) / steps;
}

}  // namespace cox::forecast
