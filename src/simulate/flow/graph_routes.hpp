// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shortest paths of a fabric that a file describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {

/// A cable of the file: both directions.
struct GraphCable {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  Seconds latency{};
  Bandwidth bandwidth{};
};

/// Vertices 0 .. nodes - 1 are the nodes; switches follow in the order of their first line.
struct GraphText {
  std::vector<std::string> names;
  std::vector<GraphCable> cables;
};

/// Reads lines `a b latency bandwidth`; `#` begins a comment. `n0` .. are the nodes, all else switches.
/// Errors: simulate-005 with `name` and the line.
[[nodiscard]] Result<GraphText> parse_graph(std::string_view text, const std::string& name, int nodes);

/// All shortest paths (fewest cables) to every node. Link 2 i of the graph is cable i from a to b, link
/// 2 i + 1 from b to a.
struct GraphRoutes {
  struct Edge {
    std::uint32_t to;
    std::uint32_t link;
  };
  int nodes = 0;
  std::size_t vertices = 0;
  std::vector<std::uint32_t> first;  ///< vertices + 1
  std::vector<Edge> edges;
  std::vector<std::uint16_t> hops;   ///< [node * vertices + vertex]: cables from vertex to node
  std::vector<std::uint16_t> count;  ///< number of shortest paths; stops at 65,535

  /// Errors: simulate-005 (too large; nodes that are not connected).
  [[nodiscard]] static Result<GraphRoutes> make(const GraphText& graph, const std::string& name, int nodes);
  [[nodiscard]] int paths(int from, int to) const { return count[index(to, static_cast<std::size_t>(from))]; }
  /// Appends the links of path `choice` < paths, counted from `base`.
  void route(int from, int to, int choice, LinkIndex base, std::vector<LinkIndex>& out) const;

 private:
  [[nodiscard]] std::size_t index(int node, std::size_t vertex) const {
    return static_cast<std::size_t>(node) * vertices + vertex;
  }
  void fill_from(int node, std::vector<std::uint32_t>& queue);
};

}  // namespace cox::simulate
