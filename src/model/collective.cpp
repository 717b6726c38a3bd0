// SPDX-License-Identifier: Apache-2.0
#include "cox/model/collective.hpp"

namespace cox::model {
namespace {
constexpr std::array<std::string_view, kCollectiveCount> kNames = {
    "Other",   "AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Reduce",  "Gather",
    "Scatter", "Scan",      "AllToAll",      "Barrier",   "Neighbor",  "SendRecv"};
}

std::string_view name_of(Collective c) {
  const auto i = static_cast<std::size_t>(c);
  return i < kNames.size() ? kNames[i] : kNames[0];
}

std::optional<Collective> collective_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Collective>(i);
  return std::nullopt;
}

bool synchronizes_all(Collective c) {
  switch (c) {
    case Collective::AllReduce:
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
    case Collective::Barrier:
      return true;
    default:
      return false;
  }
}

double busbw_factor(Collective c, int ranks) {
  const double n = ranks;
  if (ranks < 2) return 1;
  switch (c) {
    case Collective::AllReduce:
      return 2 * (n - 1) / n;
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace cox::model
