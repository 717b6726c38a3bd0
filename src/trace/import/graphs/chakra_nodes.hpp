// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a Chakra node means, whatever bytes it was read from.
///
/// Source: mlcommons/chakra, schema/protobuf/et_def.proto (schemas 0.0.4 and 1.x), src/feeder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/import/graphs/chakra_graph.hpp"

namespace cox::trace {

/// Values of the schema's NodeType.
enum class ChakraType : std::uint8_t {
  Invalid = 0,
  Metadata = 1,
  MemoryLoad = 2,
  MemoryStore = 3,
  Compute = 4,
  Send = 5,
  Receive = 6,
  Collective = 7,
  Storage = 8,
  Batch = 9,
  Checkpoint = 10,
};

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;
  std::vector<std::uint64_t> control;
  std::vector<std::uint64_t> data;
  std::optional<std::uint64_t> start_us{};
  std::optional<std::uint64_t> duration_us{};
  // Attributes of communication and memory:
  std::optional<std::int64_t> comm_type{};  ///< CollectiveCommType
  std::optional<std::int64_t> comm_size{};  ///< bytes
  std::optional<std::int64_t> source{};
  std::optional<std::int64_t> destination{};
  std::optional<std::int64_t> tag{};
  std::optional<std::int64_t> tensor_size{};  ///< bytes
  std::string group;                          ///< pg_name
  bool part_of_dimensions = false;            ///< involved_dim names some dimensions and not others
};

/// Nodes of one file, which is one rank.
class ChakraGraph {
 public:
  ChakraGraph(const std::filesystem::path& path, const char* format);
  ChakraGraph(const ChakraGraph&) = delete;  ///< its parts refer to one another
  ChakraGraph& operator=(const ChakraGraph&) = delete;
  ~ChakraGraph() = default;

  void set_rank(std::int64_t rank);
  void set_world_size(std::int64_t size);
  void set_schema(std::string_view schema);
  void add(const ChakraNode& node);
  /// Counts messages or elements that are no node.
  void skip(std::int64_t count);
  void note(std::string text) { part_.note(std::move(text)); }
  [[nodiscard]] std::size_t size() const { return graph_.size(); }
  [[nodiscard]] ImportedJob finish() &&;

 private:
  [[nodiscard]] CommId communicator_of(const ChakraNode& node, OperationKind kind);

  PartBuilder part_;
  GraphBuilder graph_;
  std::optional<Rank> rank_;   ///< as the file says
  std::optional<Rank> named_;  ///< as its name says
  std::int64_t without_group_ = 0;
  std::int64_t unknown_types_ = 0;
};

/// Rank in a name of the form `prefix.RANK.et` or `prefix.RANK.json`, packed or not: simulators that read
/// Chakra find a rank's graph by this form only.
[[nodiscard]] std::optional<Rank> rank_in_file_name(const std::filesystem::path& path);

}  // namespace cox::trace
