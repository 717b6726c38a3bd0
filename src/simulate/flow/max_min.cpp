// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/max_min.hpp"

#include <algorithm>
#include <limits>

#include "cox/base/assert.hpp"

namespace cox::simulate {

// Progressive filling: the link with the least to give each of its open flows fixes them; then the next.
std::vector<Bandwidth> max_min_rates(std::span<const Bandwidth> links,
                                     std::span<const std::vector<LinkIndex>> routes,
                                     std::span<const double> weights) {
  COX_ASSERT(weights.empty() || weights.size() == routes.size(), "one weight per flow");
  const auto weight = [&](std::size_t f) { return weights.empty() ? 1.0 : weights[f]; };
  std::vector<double> left;
  std::vector<double> open(links.size(), 0);
  for (const Bandwidth b : links) left.push_back(b.in_bytes_per_s());
  for (std::size_t f = 0; f < routes.size(); ++f)
    for (const LinkIndex l : routes[f]) open[l] += weight(f);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::vector<Bandwidth> rates(routes.size(), Bandwidth::bytes_per_s(kInfinite));
  std::vector<bool> fixed(routes.size(), false);
  while (true) {
    double level = kInfinite;
    std::size_t tightest = links.size();
    for (std::size_t l = 0; l < links.size(); ++l)
      if (open[l] > 0 && left[l] / open[l] < level) {
        level = left[l] / open[l];
        tightest = l;
      }
    if (tightest == links.size()) return rates;
    for (std::size_t f = 0; f < routes.size(); ++f) {
      if (fixed[f] || std::find(routes[f].begin(), routes[f].end(), tightest) == routes[f].end()) continue;
      fixed[f] = true;
      rates[f] = Bandwidth::bytes_per_s(weight(f) * level);
      for (const LinkIndex l : routes[f]) {
        left[l] = std::max(left[l] - weight(f) * level, 0.0);
        open[l] -= weight(f);
      }
    }
    // What rounding left of the weights is nobody's.
    open[tightest] = 0;
    left[tightest] = 0;
  }
}

}  // namespace cox::simulate
