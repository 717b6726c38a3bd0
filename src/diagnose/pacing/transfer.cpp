// SPDX-License-Identifier: Apache-2.0
// How long synchronisations take once the last rank has come: what no rank can tell by itself.
#include <algorithm>
#include <vector>

#include "diagnose/pacing/iterations.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kFewest = 32;  // iterations
constexpr double kQuantile = 0.9;    // too much is taken for transfer rather than too little

}  // namespace

std::optional<Duration> find_transfer(const GroupIterations& g) {
  if (g.members.size() < 2 || g.members.size() < g.size) return std::nullopt;
  std::vector<Duration> shortest;
  for (std::size_t k = 0; k < g.count; ++k) {
    Duration least = Duration::max();
    const bool all = std::all_of(g.members.begin(), g.members.end(), [&](const GroupMember& m) {
      const SeenIteration* i = g.at(m, k);
      if (i == nullptr || i->transfer >= Duration::zero()) return false;
      least = std::min(least, i->sync);
      return true;
    });
    if (all) shortest.push_back(least);
  }
  if (shortest.size() < kFewest) return std::nullopt;
  const auto at =
      shortest.begin() + static_cast<std::ptrdiff_t>(kQuantile * static_cast<double>(shortest.size()));
  std::nth_element(shortest.begin(), at, shortest.end());
  return *at;
}

}  // namespace cox::diagnose
