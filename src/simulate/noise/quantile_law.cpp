// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise/quantile_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

#include "simulate/noise/lines.hpp"

namespace cox::simulate {

QuantileLaw::QuantileLaw(std::vector<double> quantiles, Tail tail)
    : quantiles_(std::move(quantiles)), tail_(tail) {
  COX_ASSERT(quantiles_.size() >= 2, "a law has at least a least and a largest value");
}

double QuantileLaw::mean() const {
  double sum = (quantiles_.front() + quantiles_.back()) / 2;
  for (std::size_t i = 1; i + 1 < quantiles_.size(); ++i) sum += quantiles_[i];
  const double body = sum / static_cast<double>(quantiles_.size() - 1);
  const double tail = quantiles_.back() + tail_.scale / (1 - tail_.shape);
  return (1 - tail_.probability) * body + tail_.probability * tail;
}

double QuantileLaw::value(double u) const {
  const double below = 1 - tail_.probability;
  if (u < below) {
    const double at = u / below * static_cast<double>(quantiles_.size() - 1);
    const std::size_t i = std::min(static_cast<std::size_t>(at), quantiles_.size() - 2);
    return quantiles_[i] + (at - static_cast<double>(i)) * (quantiles_[i + 1] - quantiles_[i]);
  }
  const double v = std::max(1 - u, 0x1p-54) / tail_.probability;  // a probability may have been rounded to 1
  const double log_v = v < 1 ? logarithm(v) : 0;
  const double excess = tail_.shape == 0 ? -log_v : (exponential(-tail_.shape * log_v) - 1) / tail_.shape;
  return quantiles_.back() + tail_.scale * excess;
}

void QuantileLaw::values(std::span<double> u) const {
  for (double& x : u) x = value(x);
}

Result<std::vector<double>> parse_quantiles(std::string_view text, const std::string& name) {
  constexpr std::size_t kMost = 1'000'000;
  Lines lines(text, name);
  std::vector<double> all;
  while (const auto line = lines.next()) {
    const auto value = number<double>(*line);
    if (!value || !std::isfinite(*value) || std::abs(*value) > 1e12)
      return fail(lines.error(fmt::format("got '{}', expected a number", shown(*line)),
                              "Write one quantile a line, the least first."));
    if (!all.empty() && *value < all.back())
      return fail(lines.error(fmt::format("got {} after {}", *value, all.back()),
                              "Write quantiles ascending: the least first."));
    if (all.size() == kMost)
      return fail(lines.error(fmt::format("more than {} quantiles", kMost), "Leave some out, evenly."));
    all.push_back(*value);
  }
  if (all.size() < 2)
    return fail(lines.error(fmt::format("{} quantiles, expected 2 or more", all.size()),
                            "Write one quantile a line, the least first."));
  return all;
}

}  // namespace cox::simulate
