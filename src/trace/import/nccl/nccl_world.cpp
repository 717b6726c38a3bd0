// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/nccl_world.hpp"

#include <algorithm>
#include <map>

namespace cox::trace {

NcclWorld find_nccl_world(const std::vector<NcclMember>& members, const std::vector<int>& sizes,
                          std::size_t processes) {
  NcclWorld world;
  for (const int n : sizes) world.size = std::max(world.size, n);
  constexpr int kNone = -1;
  constexpr int kSeveral = -2;
  std::vector<int> rank(processes, kNone);
  for (const NcclMember& m : members) {
    if (sizes[m.communicator] != world.size || m.rank < 0 || m.rank >= world.size) continue;
    int& r = rank[m.process];
    r = r == kNone || r == m.rank ? m.rank : kSeveral;
  }
  std::map<int, std::size_t> claims;
  for (const int r : rank)
    if (r >= 0) ++claims[r];
  for (const int r : rank) {
    const bool alone = r >= 0 && claims[r] == 1;
    world.rank_of.emplace_back(alone ? r : -1);
    if (!alone) ++world.unknown;
    if (r >= 0 && !alone) ++world.contradicting;
  }
  return world;
}

}  // namespace cox::trace
