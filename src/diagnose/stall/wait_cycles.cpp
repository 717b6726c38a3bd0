// SPDX-License-Identifier: Apache-2.0
// Tarjan 1972, strongly connected components, without recursion: a job may have any number of ranks.
#include <algorithm>
#include <limits>

#include "diagnose/stall/hang.hpp"

namespace cox::diagnose {
namespace {

/// Nodes: ranks, then operations. A rank leads to the operations that it is inside of, an operation to the
/// ranks that are missing in it.
class Components {
 public:
  explicit Components(const OpenCalls& open)
      : open_(open),
        ranks_(open.ranks.size()),
        order_(ranks_ + open.operations.size(), kUnseen),
        low_(order_.size(), 0),
        on_stack_(order_.size(), false) {}

  std::vector<std::vector<std::int32_t>> find() {
    for (std::size_t o = ranks_; o < order_.size(); ++o)
      if (order_[o] == kUnseen) walk(o);
    std::sort(cycles_.begin(), cycles_.end());
    return std::move(cycles_);
  }

 private:
  static constexpr std::size_t kUnseen = std::numeric_limits<std::size_t>::max();
  struct Visit {
    std::size_t node;
    std::size_t next;  // edge to look at
  };

  [[nodiscard]] std::size_t degree(std::size_t node) const {
    if (node >= ranks_) return open_.operations[node - ranks_].missing.size();
    return open_.ranks[node].still ? open_.ranks[node].operations.size() : 0;
  }
  [[nodiscard]] std::size_t target(std::size_t node, std::size_t edge) const {
    if (node >= ranks_) return static_cast<std::size_t>(open_.operations[node - ranks_].missing[edge]);
    return ranks_ + static_cast<std::size_t>(open_.ranks[node].operations[edge]);
  }

  void enter(std::size_t node) {
    order_[node] = low_[node] = count_++;
    on_stack_[node] = true;
    stack_.push_back(node);
    path_.push_back({node, 0});
  }

  void walk(std::size_t root) {
    enter(root);
    while (!path_.empty()) {
      const std::size_t node = path_.back().node;
      if (path_.back().next < degree(node)) {
        const std::size_t to = target(node, path_.back().next++);
        if (order_[to] == kUnseen)
          enter(to);
        else if (on_stack_[to])
          low_[node] = std::min(low_[node], order_[to]);
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) low_[path_.back().node] = std::min(low_[path_.back().node], low_[node]);
      if (low_[node] == order_[node]) close(node);
    }
  }

  void close(std::size_t root) {
    std::vector<std::int32_t> operations;
    std::size_t ranks = 0;
    std::size_t node = kUnseen;
    do {
      node = stack_.back();
      stack_.pop_back();
      on_stack_[node] = false;
      if (node >= ranks_)
        operations.push_back(static_cast<std::int32_t>(node - ranks_));
      else
        ++ranks;
    } while (node != root);
    if (ranks < 2 || operations.size() < 2) return;
    std::sort(operations.begin(), operations.end());
    cycles_.push_back(std::move(operations));
  }

  const OpenCalls& open_;
  std::size_t ranks_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> low_;
  std::vector<bool> on_stack_;
  std::vector<std::size_t> stack_;
  std::vector<Visit> path_;
  std::vector<std::vector<std::int32_t>> cycles_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<std::vector<std::int32_t>> find_cycles(const OpenCalls& open) {
  return Components(open).find();
}

}  // namespace cox::diagnose
