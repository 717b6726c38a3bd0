// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who hears whom in gossip, and how much of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cox::sync {

enum class GossipGraph : std::uint8_t {
  Ring,         ///< both neighbours
  Torus,        ///< four neighbours on a grid without edges, as square as the number of workers lets it be
  Hypercube,    ///< whose number differs in one bit
  Exponential,  ///< one peer, 1, 2, 4, ... workers before, by turns (Assran et al. 2019)
  Complete,     ///< all others
  Star,         ///< worker 0 hears all, the others hear worker 0
  Regular,      ///< `degree` neighbours each, drawn
  Halves,       ///< the even ones hear all the odd ones, and the other way round
};

struct GossipSpec {
  GossipGraph graph = GossipGraph::Ring;
  int degree = 3;          ///< Regular
  std::uint64_t draw = 1;  ///< Regular: which of the drawn graphs; the same for every run
};

/// Why so many workers do not make the graph, as "a torus of 8 workers ...": one line. Empty where they do.
[[nodiscard]] std::string graph_misfit(const GossipSpec& spec, int workers);

/// Neighbours of each worker, and the weights W with which x_i <- sum_j W_ij x_j.
/// Formula: W_ij = 1 / (1 + max(d_i, d_j)) for those whom i hears, d the number heard (Metropolis; Xiao, Boyd 2004), the rest
/// is its own. Where all hear as many, all that a worker takes in weighs the same. Rows and columns sum to 1: the mean of all stays.
/// Regular: a circulant graph whose edges are exchanged in pairs at random, ten times as often as there are edges, and on until it is connected.
/// Memory: a number for each edge and direction; Exponential: for each of log2 n turns. Threads: read by any number.
/// Held by: src/sync/gossip_graph_test.cpp, src/learn/stability/graph_mixing_test.cpp
class Neighbours {
 public:
  /// Pre: no misfit (asserted).
  Neighbours(const GossipSpec& spec, int workers);
  [[nodiscard]] int workers() const { return workers_; }
  /// Rounds after which the same are heard again.
  [[nodiscard]] int period() const { return static_cast<int>(turns_.size()); }
  /// Whom `worker` hears in `round`, beside itself.
  [[nodiscard]] std::span<const int> of(int worker, std::int64_t round) const {
    return turns_[static_cast<std::size_t>(round % period())][static_cast<std::size_t>(worker)];
  }
  /// How many it hears in every round, and is heard by.
  [[nodiscard]] int degree(int worker) const { return static_cast<int>(of(worker, 0).size()); }
  /// All hear as many.
  [[nodiscard]] bool even() const { return even_; }
  /// W_ij of one whom the other hears.
  [[nodiscard]] double weight(int i, int j) const {
    return 1.0 / (1 + (degree(i) > degree(j) ? degree(i) : degree(j)));
  }
  /// 0 or 1 for each worker, so that nobody hears its own side; empty where there is no such parting. Pre: period 1.
  [[nodiscard]] std::vector<int> sides() const;

 private:
  using Lists = std::vector<std::vector<int>>;  ///< by worker
  int workers_;
  std::vector<Lists> turns_;
  bool even_ = true;
};

}  // namespace cox::sync
