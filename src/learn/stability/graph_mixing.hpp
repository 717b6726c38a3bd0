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

/// In pairs: E[W] of one exchange, all who ask alike fast: I - sum over edges p_ij (e_i - e_j)(e_i - e_j)' / 2, p_ij the part of exchanges
/// that an edge has.
[[nodiscard]] Mixing pair_weights(const sync::Neighbours& neighbours);
/// What remains when each of those who ask has asked once. Formula: W'W = W for each exchange, so the expected square of the
/// distance falls to l_2(E[W]) of itself in one, at most; `factor` is its root over `period` exchanges. `sums` are those of E[W].
/// Empty above 128 workers, and for one. Held by: src/learn/stability/graph_mixing_test.cpp, src/learn/stability/gossip_copies_test.cpp
[[nodiscard]] std::optional<GraphMixing> pair_mixing(const sync::Neighbours& neighbours);

}  // namespace cox::learn
