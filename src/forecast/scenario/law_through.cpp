// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/law_through.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cox::forecast {

ThroughQuantiles law_through(const UpperQuantile& upper, int body, double tail_from) {
  std::vector<Seconds> values;
  for (int i = 0; i <= body; ++i)
    values.push_back(upper(std::max(tail_from, 1 - (1 - tail_from) * i / body)));
  const Seconds q1 = values.back();
  const Seconds q2 = upper(tail_from / 1e2);
  const Seconds q3 = upper(tail_from / 1e4);
  if (!(q2 > q1) || !(q3 > q2)) return {.law = Law::quantiles(values)};
  const double shape = std::clamp(std::log((q3 - q2) / (q2 - q1)) / std::log(100.0), -0.9, 0.9);
  const double unit = std::abs(shape) < 1e-6 ? std::log(100.0) : (std::pow(100.0, shape) - 1) / shape;
  const Tail tail{.threshold = q1, .scale = (q2 - q1) / unit, .shape = shape, .probability = tail_from};
  return {.law = Law::quantiles(values, tail), .tail = tail};
}

}  // namespace cox::forecast
