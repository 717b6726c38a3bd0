// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/spread.hpp"

#include <cmath>

#include "cox/base/stats.hpp"

namespace cox::simulate {

double student_t_95(int degrees) {
  if (degrees < 1) return 0;
  if (degrees == 1) return 12.706204736174694;
  if (degrees == 2) return 4.302652729749462;
  constexpr double z = 1.959963984540054;
  constexpr double z2 = z * z;
  const double n = degrees;
  // Horner in z^2, one line per power of 1 / n.
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

Spread spread_of(std::span<const Seconds> values) {
  Spread out;
  out.replicas = static_cast<int>(values.size());
  if (values.empty()) return out;
  Welford sum;
  std::vector<double> plain;
  plain.reserve(values.size());
  for (const Seconds v : values) {
    sum.add(v.count());
    plain.push_back(v.count());
  }
  out.mean = Seconds{sum.mean()};
  if (values.size() > 1)
    out.half_width_95 = Seconds{student_t_95(static_cast<int>(values.size()) - 1) * sum.stddev() /
                                std::sqrt(static_cast<double>(values.size()))};
  out.p50 = Seconds{quantile_in_place(plain, 0.5)};
  out.p99 = Seconds{quantile_in_place(plain, 0.99)};
  return out;
}

}  // namespace cox::simulate
