// SPDX-License-Identifier: Apache-2.0
/// \file
/// Nodes of an operation graph in any order, with dependencies by id, as a program.
///
/// Shared by the readers of graphs (Chakra, PyTorch execution traces, GOAL),
/// which differ only in their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

#include "trace/import/part/part_builder.hpp"

namespace cox::trace {

/// Spans of files: whole numbers of a coarser unit, any size. Saturate below `kStillRunning`.
[[nodiscard]] Duration duration_from_micros(std::uint64_t us);
[[nodiscard]] Duration duration_from_nanos(std::uint64_t ns);

/// Begin of a node that has none.
inline constexpr Nanoseconds kNoBegin = Nanoseconds::min();

struct GraphNode {
  std::uint64_t id = 0;
  std::uint32_t rank = 0;  ///< index from PartBuilder::add_rank
  OperationKind kind = OperationKind::Other;
  model::Collective op = model::Collective::Other;  ///< of a collective
  std::uint32_t name = 0;                           ///< from PartBuilder::operation_name
  Nanoseconds begin = kNoBegin;                     ///< on the file's clock, whatever its zero
  Duration duration = kNoDuration;
  Bytes bytes{};
  CommId comm = kNoComm;
  bool implied = false;  ///< not in the file, made by the reader: not counted
};

/// What a format's dependencies and absent numbers mean.
struct GraphRules {
  /// The format leaves out zeros: a node without a duration lasted zero where others of its kind have one.
  bool absent_is_zero = false;
};

/// Collects nodes, then writes the part's program: by id, edges to known nodes only, without a cycle.
///
/// The result does not depend on the order of the nodes in the file (as long as ids are unique). Control
/// dependencies are edges unless they contradict the data dependencies: PyTorch's name the caller, which ends
/// after what it waits for; then none of them is used. What else closes a cycle is dropped, edge by edge, in
/// the order of ids. All of it is said in notes.
/// Cost:    O((nodes + edges) log nodes), no recursion.
/// Held by: src/trace/import/graphs/chakra_graph_test.cpp
class GraphBuilder {
 public:
  /// `part` must live as long.
  explicit GraphBuilder(PartBuilder& part) : part_(part) {}

  void add(const GraphNode& node, std::span<const std::uint64_t> data,
           std::span<const std::uint64_t> control = {});
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Fills the part's program, its collective events where begin and duration are known, and `times`.
  void finish(const GraphRules& rules = {});

 private:
  struct Edges {
    std::vector<std::uint64_t> first{0};
    std::vector<std::uint32_t> before;
  };
  struct Lost {
    std::int64_t unknown = 0;
    std::int64_t self = 0;
  };

  [[nodiscard]] std::vector<std::uint32_t> order_by_id();
  [[nodiscard]] Edges resolve(const std::vector<std::uint32_t>& order, bool data, bool control,
                              Lost& lost) const;
  [[nodiscard]] Edges choose_edges(const std::vector<std::uint32_t>& order);
  void write_operations(const std::vector<std::uint32_t>& order, Edges edges, const GraphRules& rules);
  void write_times(const std::vector<std::uint32_t>& order);
  void write_events(const std::vector<std::uint32_t>& order);

  PartBuilder& part_;
  std::vector<GraphNode> nodes_;
  std::vector<std::uint64_t> data_;  ///< ids, node after node
  std::vector<std::uint64_t> control_;
  std::vector<std::size_t> data_end_;  ///< per node
  std::vector<std::size_t> control_end_;
};

}  // namespace cox::trace
