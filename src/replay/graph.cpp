// SPDX-License-Identifier: Apache-2.0
#include "cox/replay/graph.hpp"

#include "cox/base/assert.hpp"

namespace cox::replay {

Node Graph::add(std::span<const Node> before) {
  const auto node = static_cast<Node>(size());
  COX_ASSERT(node != kNoNode, "a graph holds fewer than 2^32 - 1 operations");
  for (const Node p : before) COX_ASSERT(p < node, "a predecessor must be added first");
  before_.insert(before_.end(), before.begin(), before.end());
  if (!lags_.empty()) lags_.resize(before_.size(), Duration::zero());
  first_.push_back(before_.size());
  return node;
}

Node Graph::add(Node before) {
  return before == kNoNode ? add(std::span<const Node>()) : add(std::span(&before, 1));
}

Node Graph::add(std::span<const Node> before, std::span<const Duration> lags) {
  COX_ASSERT(before.size() == lags.size(), "one lag per predecessor");
  const std::size_t had = before_.size();
  const Node node = add(before);
  lags_.resize(had, Duration::zero());
  lags_.insert(lags_.end(), lags.begin(), lags.end());
  return node;
}

void Graph::reserve(std::size_t nodes, std::size_t edges) {
  first_.reserve(nodes + 1);
  before_.reserve(edges);
}

}  // namespace cox::replay
