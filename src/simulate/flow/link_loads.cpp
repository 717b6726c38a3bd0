// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/link_loads.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::simulate {

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

}  // namespace cox::simulate
