// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/base/assert.hpp"

#include "forecast/levers/levers.hpp"

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

}  // namespace

Seconds mean_without_slowest(const Exceedance& law, std::int64_t n, std::int64_t spare) {
  COX_ASSERT(n >= 1 && spare >= 0 && law.most > law.least, "draws and bounds");
  constexpr int kPoints = 4000;
  const Seconds width = (law.most - law.least) / kPoints;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) sum += 1 - at_most(n, spare, law.above(law.least + width * (i + 0.5)));
  return law.least + width * sum;
}

}  // namespace cox::forecast
