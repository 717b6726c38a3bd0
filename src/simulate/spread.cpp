// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/spread.hpp"

#include <array>
#include <cmath>

#include "cox/base/stats.hpp"

namespace cox::simulate {

double student_t_95(int degrees) {
  if (degrees < 1) return 0;
  constexpr std::array<double, 30> kExact = {
      12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
      2.200985,  2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
      2.079614,  2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272};
  if (degrees <= static_cast<int>(kExact.size())) return kExact[static_cast<std::size_t>(degrees - 1)];
  constexpr double z = 1.959963984540054, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const auto n = static_cast<double>(degrees);
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
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
