// SPDX-License-Identifier: Apache-2.0
#include "cox/model/collective.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

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

std::optional<Collective> synchronization_from_spelling(std::string_view name) {
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) {
    static constexpr std::array<std::string_view, 8> kLibraries{"nccl", "rccl", "gloo", "mpi",
                                                                "ucc",  "hccl", "c10d", "xccl"};
    if (std::find(kLibraries.begin(), kLibraries.end(), name.substr(0, colon)) == kLibraries.end())
      return std::nullopt;
    name.remove_prefix(colon + 1);
  }
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c != '_' && c != '-' && c != ' ')
      return std::nullopt;
  struct Spelling {
    std::string_view word;
    Collective kind;
  };
  static constexpr std::array<Spelling, 6> kSpellings{{{"allreduce", Collective::AllReduce},
                                                       {"reducescatter", Collective::ReduceScatter},
                                                       {"allgather", Collective::AllGather},
                                                       {"alltoall", Collective::AllToAll},
                                                       {"all2all", Collective::AllToAll},
                                                       {"barrier", Collective::Barrier}}};
  static constexpr std::array<std::string_view, 8> kForms{"",     "tensor", "intotensor", "coalesced",
                                                          "base", "single", "v",          "tensorcoalesced"};
  for (const Spelling& s : kSpellings)
    if (plain.starts_with(s.word) && std::find(kForms.begin(), kForms.end(),
                                               std::string_view(plain).substr(s.word.size())) != kForms.end())
      return s.kind;
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
