// SPDX-License-Identifier: Apache-2.0
/// \file
/// World ranks for files that know only ranks within communicators.
///
/// Rule: the largest communicators are taken for the world, and a process has the rank that it has in all of
/// them. Where it has none, or several, or another process has the same one, its rank is not known (-1): then
/// the largest communicators are several groups, or the file holds several jobs. One process that drives
/// several GPUs counts as one for each; the caller tells them apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cox/base/ids.hpp"

namespace cox::trace {

/// That a process has this rank in that communicator.
struct NcclMember {
  std::uint32_t process = 0;
  std::uint32_t communicator = 0;
  int rank = 0;
};

struct NcclWorld {
  int size = 0;                   ///< members of the largest communicators; 0 where there is none
  std::vector<Rank> rank_of;      ///< by process
  std::size_t unknown = 0;        ///< processes without a rank
  std::size_t contradicting = 0;  ///< of these, those that would share a rank with another one
};

/// `sizes`: declared members by communicator. Held by: src/trace/import/nccl/nccl_inspector_test.cpp
[[nodiscard]] NcclWorld find_nccl_world(const std::vector<NcclMember>& members, const std::vector<int>& sizes,
                                        std::size_t processes);

}  // namespace cox::trace
