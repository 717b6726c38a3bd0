// SPDX-License-Identifier: Apache-2.0
/// \file
/// How fast gossip on a graph agrees, and whether its weights keep the mean.
#pragma once

#include <optional>

#include "cox/sync/gossip_graph.hpp"

#include "learn/stability/mixing.hpp"

namespace cox::learn {

/// The weights of one round.
[[nodiscard]] Mixing graph_weights(const sync::Neighbours& neighbours, std::int64_t round);

struct GraphMixing {
  SumErrors sums{};   ///< the largest of any round
  double factor = 0;  ///< what remains of the copies' distance from their mean after a round, at most
  int period = 1;     ///< rounds that the factor is the mean of
  [[nodiscard]] double gap() const { return 1 - factor; }
};

/// Formula: of weights that stay and are symmetric max(|l_2|, |l_n|); of those that take turns the root, by their number, of the second
/// singular value of their product. 0 where a period makes the exact mean.
/// Empty above 128 workers: the eigenvalues of larger matrices take too long. Cost: O(n^3), 0.1 s there.
/// Held by: src/learn/stability/graph_mixing_test.cpp
[[nodiscard]] std::optional<GraphMixing> graph_mixing(const sync::Neighbours& neighbours);

}  // namespace cox::learn
