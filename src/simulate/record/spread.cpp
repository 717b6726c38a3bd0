// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/spread.hpp"

#include <vector>

#include "cox/base/stats.hpp"

namespace cox::simulate {

ReplicaSpread spread_of(std::span<const Seconds> values) {
  ReplicaSpread out;
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
  if (values.size() > 1) out.half_width_95 = Seconds{student_half_width(sum, 0.025)};
  out.p50 = Seconds{quantile_in_place(plain, 0.5)};
  out.p99 = Seconds{quantile_in_place(plain, 0.99)};
  return out;
}

}  // namespace cox::simulate
