// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: every collective by every algorithm, with parameters that differ.
#pragma once

#include <string>
#include <vector>

#include "cox/model/schedule.hpp"

namespace cox::model {

inline std::string text_of(const CollectiveSpec& s) {
  return std::string(name_of(s.kind)) + " " + std::string(name_of(s.algorithm)) +
         " P=" + std::to_string(s.ranks) + " n=" + std::to_string(s.bytes.count()) +
         " group=" + std::to_string(s.group) + "," + std::to_string(s.group2) +
         " servers=" + std::to_string(s.servers) + " chunks=" + std::to_string(s.chunks) +
         " root=" + std::to_string(s.root) + " channels=" + std::to_string(s.channels);
}

// Every algorithm for `ranks`, with groups, servers, chunks and roots that mean something.
inline std::vector<CollectiveSpec> every_collective(int ranks, Bytes bytes) {
  std::vector<CollectiveSpec> all;
  const auto add = [&](Collective kind, Algorithm algorithm, auto... set) {
    CollectiveSpec s{.kind = kind, .algorithm = algorithm, .ranks = ranks, .bytes = bytes};
    (set(s), ...);
    all.push_back(s);
  };
  for (const Algorithm a : {Algorithm::Ring, Algorithm::BidirectionalRing, Algorithm::BinomialTree,
                            Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling})
    add(Collective::AllReduce, a);
  for (const Algorithm a : {Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::Direct})
    add(Collective::ReduceScatter, a);
  for (const Algorithm a : {Algorithm::Ring, Algorithm::RecursiveDoubling, Algorithm::Direct})
    add(Collective::AllGather, a);
  add(Collective::AllToAll, Algorithm::Direct);
  for (const Algorithm a : {Algorithm::Dissemination, Algorithm::RecursiveDoubling})
    add(Collective::Barrier, a);
  for (int g = 1; g <= ranks; ++g) {
    if (ranks % g != 0) continue;
    const auto group = [g](CollectiveSpec& s) { s.group = g; };
    add(Collective::AllToAll, Algorithm::TwoLevel, group);
    const auto striped = [g](CollectiveSpec& s) {
      s.group = g;
      s.channels = 2 + g % 4;
    };
    for (const Collective kind : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather}) {
      add(kind, Algorithm::Hierarchical2, group);
      if (g > 1) add(kind, Algorithm::Ring, striped);
      const int most = kind == Collective::AllReduce ? ranks : 2;
      for (int g2 = 1; g2 <= most && g * g2 <= ranks; ++g2)
        if (ranks % (g * g2) == 0)
          add(kind, Algorithm::Hierarchical3, group, [g2](auto& s) { s.group2 = g2; });
    }
  }
  for (const int chunks : {1, 2, 3, 5, 16}) {
    const auto cut = [chunks](CollectiveSpec& s) { s.chunks = chunks; };
    for (const Algorithm a : {Algorithm::BinaryTree, Algorithm::DoubleBinaryTree, Algorithm::InNetwork})
      add(Collective::AllReduce, a, cut);
    add(Collective::AllReduce, Algorithm::InNetwork, cut, [](auto& s) { s.group = 4; });
    add(Collective::SendRecv, Algorithm::Chain, cut);
    for (const Collective kind : {Collective::Broadcast, Collective::Reduce})
      for (const Algorithm a : {Algorithm::Chain, Algorithm::BinaryTree})
        add(kind, a, cut, [&](auto& s) { s.root = kind == Collective::Reduce ? ranks / 2 : ranks - 1; });
  }
  for (const Collective kind : {Collective::Broadcast, Collective::Reduce})
    for (int root = 0; root < ranks; root += 1 + ranks / 3)
      add(kind, Algorithm::BinomialTree, [root](auto& s) { s.root = root; });
  for (const int servers : {1, 2, 3, 8, 16})
    for (const Collective kind : {Collective::AllReduce, Collective::Broadcast, Collective::Reduce})
      add(kind, Algorithm::ParameterServer, [servers](auto& s) { s.servers = servers; });
  return all;
}

/// Calls f(lane, round, messages) for all rounds of all lanes, in order.
template <class F>
void for_each_round(const Schedule& s, const F& f) {
  std::vector<Transfer> list;
  for (int lane = 0; lane < s.lanes(); ++lane)
    for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
      s.transfers(k, list, lane);
      f(lane, k, list);
    }
}

}  // namespace cox::model
