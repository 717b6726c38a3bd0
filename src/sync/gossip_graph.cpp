// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/gossip_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"

namespace cox::sync {
namespace {

using Lists = std::vector<std::vector<int>>;
constexpr int kMostComplete = 2048;           ///< workers: 4 million numbers
constexpr std::int64_t kMostEdges = 4 << 20;  ///< of a drawn graph
constexpr std::uint32_t kEdges = 1;           ///< stream of what is drawn

/// Rows of a torus of so many workers: the largest divisor that is no more than the root.
int torus_rows(int workers) {
  int rows = 1;
  for (int r = 1; r <= workers / r; ++r)
    if (workers % r == 0) rows = r;
  return rows;
}

std::size_t at(int worker) {
  return static_cast<std::size_t>(worker);
}

Lists empty(int workers) {
  return Lists(at(workers));
}

Lists ring(int n) {
  Lists out = empty(n);
  for (int w = 0; w < n; ++w) out[at(w)] = {(w + n - 1) % n, (w + 1) % n};
  return out;
}

Lists torus(int n) {
  const int rows = torus_rows(n);
  const int columns = n / rows;
  Lists out = empty(n);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      out[at(r * columns + c)] = {(r + rows - 1) % rows * columns + c,
                                  r * columns + (c + columns - 1) % columns, r * columns + (c + 1) % columns,
                                  (r + 1) % rows * columns + c};
  return out;
}

Lists hypercube(int n) {
  Lists out = empty(n);
  for (int w = 0; w < n; ++w)
    for (int bit = 1; bit < n; bit *= 2) out[at(w)].push_back(w ^ bit);
  return out;
}

/// Whoever `hears(w, v)`.
template <class Hears>
Lists among(int n, Hears hears) {
  Lists out = empty(n);
  for (int w = 0; w < n; ++w)
    for (int v = 0; v < n; ++v)
      if (v != w && hears(w, v)) out[at(w)].push_back(v);
  return out;
}

bool connected(const Lists& graph) {
  std::vector<char> seen(graph.size());
  std::vector<int> open{0};
  seen[0] = 1;
  std::size_t count = 1;
  while (!open.empty()) {
    const int w = open.back();
    open.pop_back();
    for (const int v : graph[at(w)])
      if (std::exchange(seen[at(v)], 1) == 0) {
        ++count;
        open.push_back(v);
      }
  }
  return count == graph.size();
}

/// Edges of a circulant graph: d / 2 steps to both sides, and the opposite one where d is odd.
std::vector<std::pair<int, int>> circulant(int n, int degree) {
  std::vector<std::pair<int, int>> edges;
  for (int hop = 1; hop <= degree / 2; ++hop)
    for (int w = 0; w < n; ++w) edges.emplace_back(w, (w + hop) % n);
  if (degree % 2 != 0)
    for (int w = 0; w < n / 2; ++w) edges.emplace_back(w, w + n / 2);
  return edges;
}

Lists regular(int n, const GossipSpec& spec) {
  auto edges = circulant(n, spec.degree);
  Lists out = empty(n);
  for (const auto& [a, b] : edges) {
    out[at(a)].push_back(b);
    out[at(b)].push_back(a);
  }
  const RandomStream draws(spec.draw, kEdges);
  const auto count = static_cast<double>(edges.size());
  const auto hear = [&](int a, int b) { return std::ranges::count(out[at(a)], b) > 0; };
  const auto replace = [&](int of, int old, int by) { *std::ranges::find(out[at(of)], old) = by; };
  const auto pick = [&](std::uint64_t k, std::uint64_t i) {
    return std::min(static_cast<std::size_t>(draws.uniform(k, i) * count), edges.size() - 1);
  };
  const std::uint64_t least = 10 * edges.size();
  // a - b and c - d become a - c and b - d, where both are new.
  for (std::uint64_t k = 0; k < least || !connected(out); ++k) {
    auto& first = edges[pick(k, 0)];
    auto& second = edges[pick(k, 1)];
    const auto [a, b] = first;
    auto [c, d] = second;
    if (draws.uniform(k, 2) < 0.5) std::swap(c, d);
    if (a == c || a == d || b == c || b == d || hear(a, c) || hear(b, d)) continue;
    replace(a, b, c);
    replace(b, a, d);
    replace(c, d, a);
    replace(d, c, b);
    first = {a, c};
    second = {b, d};
  }
  for (auto& list : out) std::ranges::sort(list);
  return out;
}

}  // namespace

std::string graph_misfit(const GossipSpec& spec, int workers) {
  switch (spec.graph) {
    case GossipGraph::Ring:
      return workers >= 3 ? "" : "a ring of fewer than 3 workers has no two neighbours";
    case GossipGraph::Torus:
      if (torus_rows(workers) >= 3) return {};
      return fmt::format("a torus of {} workers has sides of {} and {}: both have to be 3 or more", workers,
                         torus_rows(workers), workers / torus_rows(workers));
    case GossipGraph::Hypercube:
      if (std::has_single_bit(static_cast<unsigned>(workers))) return {};
      return fmt::format("a hypercube has a power of two of workers, not {}", workers);
    case GossipGraph::Complete:
    case GossipGraph::Halves:
      if (workers <= kMostComplete) return {};
      return fmt::format("each of {} workers hears all: expected at most {}", workers, kMostComplete);
    case GossipGraph::Regular:
      if (spec.degree >= workers)
        return fmt::format("degree is {}, and a worker has {} others", spec.degree, workers - 1);
      if (spec.degree % 2 != 0 && workers % 2 != 0)
        return fmt::format("degree is {} and there are {} workers: one of the two has to be even",
                           spec.degree, workers);
      if (std::int64_t{spec.degree} * workers <= kMostEdges) return {};
      return fmt::format("degree is {} for {} workers: expected at most {} neighbours in all", spec.degree,
                         workers, kMostEdges);
    case GossipGraph::Exponential:
    case GossipGraph::Star:
      break;
  }
  return {};
}

Neighbours::Neighbours(const GossipSpec& spec, int workers) : workers_(workers) {
  COX_ASSERT(workers > 0 && graph_misfit(spec, workers).empty(), "workers that make the graph");
  const int n = workers;
  switch (spec.graph) {
    case GossipGraph::Ring:
      turns_ = {ring(n)};
      break;
    case GossipGraph::Torus:
      turns_ = {torus(n)};
      break;
    case GossipGraph::Hypercube:
      turns_ = {hypercube(n)};
      break;
    case GossipGraph::Exponential:
      for (int hop = 1; hop < n; hop *= 2) {
        turns_.push_back(empty(n));
        for (int w = 0; w < n; ++w) turns_.back()[at(w)] = {(w + n - hop) % n};
      }
      if (turns_.empty()) turns_ = {empty(n)};
      break;
    case GossipGraph::Complete:
      turns_ = {among(n, [](int, int) { return true; })};
      break;
    case GossipGraph::Star:
      turns_ = {empty(n)};
      for (int w = 1; w < n; ++w) {
        turns_[0][0].push_back(w);
        turns_[0][at(w)] = {0};
      }
      break;
    case GossipGraph::Regular:
      turns_ = {regular(n, spec)};
      break;
    case GossipGraph::Halves:
      turns_ = {among(n, [](int w, int v) { return (w + v) % 2 != 0; })};
      break;
  }
  for (int w = 1; w < n; ++w) even_ = even_ && degree(w) == degree(0);
}

std::vector<int> Neighbours::sides() const {
  COX_ASSERT(period() == 1, "a graph that stays");
  std::vector<int> side(at(workers_), -1);
  std::vector<int> open;
  for (int begin = 0; begin < workers_; ++begin) {
    if (side[at(begin)] >= 0) continue;
    side[at(begin)] = 0;
    open = {begin};
    while (!open.empty()) {
      const int w = open.back();
      open.pop_back();
      for (const int v : of(w, 0)) {
        if (side[at(v)] == side[at(w)]) return {};
        if (side[at(v)] >= 0) continue;
        side[at(v)] = 1 - side[at(w)];
        open.push_back(v);
      }
    }
  }
  return side;
}

}  // namespace cox::sync
