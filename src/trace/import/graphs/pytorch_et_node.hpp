// SPDX-License-Identifier: Apache-2.0
/// \file
/// One node of a PyTorch execution trace, in any of the shapes that PyTorch has written.
///
/// Source: pytorch/pytorch, torch/csrc/profiler/standalone/execution_trace_observer.cpp and
///         torch/csrc/distributed/c10d/ParamCommsUtils.hpp (schemas 1.0.1 to 1.1.x).
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/model/collective.hpp"
#include "cox/trace/run.hpp"

#include "trace/import/graphs/chakra_graph.hpp"

namespace cox::trace {

/// What a `record_param_comms` node says of one call.
struct CommunicationCall {
  std::string name;                    ///< `allreduce`, `all_to_allv`, `wait`, ...
  std::string group;                   ///< pg_name, or the number that stands for it in older schemas
  std::optional<std::int64_t> rank{};  ///< own rank in the group, or root or peer: depends on the call
  std::optional<std::int64_t> group_size{};
  std::optional<std::int64_t> first_rank{};  ///< members are first + i * stride
  std::optional<std::int64_t> stride{};
};

/// A process group as `## process_group:init ##` describes it.
struct ProcessGroup {
  std::string name;
  std::string description;
  std::optional<std::uint64_t> backend{};  ///< number that stands for it in calls of schema 1.0.2
  std::vector<Rank> ranks;
  std::int64_t size = 0;
};

struct ExecutionNode {
  std::uint64_t id = 0;
  std::string_view name;
  std::optional<std::uint64_t> parent{};
  bool is_operator = false;  ///< it has a schema
  Bytes bytes{};             ///< larger of what goes in and what comes out, of a communication call
  // Only where a tool has linked the trace with a profile:
  Nanoseconds begin = kNoBegin;
  Duration duration = kNoDuration;
  std::optional<CommunicationCall> call{};
};

inline constexpr std::string_view kCommunicationCall = "record_param_comms";
inline constexpr std::string_view kGroupsNode = "## process_group:init ##";

/// Nothing where it is no node (no id). Views live as long as the parsed text.
[[nodiscard]] std::optional<ExecutionNode> parse_execution_node(const simdjson::dom::object& json);
/// Groups in the JSON text that the node at `kGroupsNode` holds; unusable entries are left out.
[[nodiscard]] std::vector<ProcessGroup> parse_process_groups(const simdjson::dom::object& json);

/// What a call of this name is; nothing for `wait`, `init` and the like.
struct CallKind {
  OperationKind kind = OperationKind::Other;
  model::Collective op = model::Collective::Other;
  bool names_own_rank = false;  ///< the call's `rank` is the caller's, not a root or a peer
};
[[nodiscard]] std::optional<CallKind> kind_of_call(std::string_view name);

}  // namespace cox::trace
