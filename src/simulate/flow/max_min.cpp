// SPDX-License-Identifier: Apache-2.0
// Max-min rates from scratch, and what reports take from the flow engine.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cox/base/assert.hpp"
#include "cox/simulate/flow.hpp"

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

std::vector<LinkLoad> link_loads(const Network& network, std::span<const double> link_bytes,
                                 Seconds makespan) {
  COX_ASSERT(link_bytes.size() == network.links().size(), "bytes of another network");
  std::vector<LinkLoad> loads;
  for (std::size_t l = 0; l < link_bytes.size(); ++l) {
    if (link_bytes[l] == 0) continue;
    const NetworkLink& link = network.links()[l];
    const double capacity = link.bandwidth.in_bytes_per_s() * makespan.count();
    loads.push_back({.name = link.name,
                     .bytes = Bytes{std::llround(link_bytes[l])},
                     .utilisation_ratio = capacity > 0 ? link_bytes[l] / capacity : 0});
  }
  std::sort(loads.begin(), loads.end(), [](const LinkLoad& a, const LinkLoad& b) { return a.name < b.name; });
  return loads;
}

void NodeUsage::add(const FlowMessage& message, int from_node, int to_node) {
  const double width = bin_.count();
  const double begin = message.begin.count();
  const double end = message.end.count();
  const auto bytes = static_cast<double>(message.bytes.count());
  const auto first = static_cast<std::size_t>(std::max(begin / width, 0.0));
  const auto last = static_cast<std::size_t>(std::max(end / width, 0.0));
  if (bytes_.size() < (last + 1) * static_cast<std::size_t>(nodes_))
    bytes_.resize((last + 1) * static_cast<std::size_t>(nodes_), 0);
  for (std::size_t bin = first; bin <= last; ++bin) {
    const double from = std::max(begin, static_cast<double>(bin) * width);
    const double until = std::min(end, static_cast<double>(bin + 1) * width);
    const double part = end > begin ? (until - from) / (end - begin) : 1.0;
    for (const int node : {from_node, to_node})
      bytes_[bin * static_cast<std::size_t>(nodes_) + static_cast<std::size_t>(node)] += bytes * part;
  }
}

Bandwidth NodeUsage::rate(int node, std::size_t index) const {
  const double bytes = bytes_[index * static_cast<std::size_t>(nodes_) + static_cast<std::size_t>(node)];
  return Bandwidth::bytes_per_s(bytes / bin_.count());
}

}  // namespace cox::simulate
