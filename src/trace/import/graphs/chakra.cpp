// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>

#include <utility>

#include "trace/import/graphs/chakra_json_stream.hpp"
#include "trace/import/graphs/chakra_messages.hpp"
#include "trace/import/graphs/chakra_nodes.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

Error without_nodes(const std::filesystem::path& path, const std::string& why) {
  return Error{.code = Errc::InvalidInput,
               .id = "import-005",
               .message = fmt::format("no Chakra node that can be used, expected at least one{}{}",
                                      why.empty() ? "" : ": ", why),
               .hint = "write the trace again, or copy the file again if it was cut",
               .where = Where{.file = path.string()}};
}

Result<ImportedJob> finish(ChakraGraph&& graph, const std::filesystem::path& path, const std::string& stopped,
                           std::int64_t unusable) {
  if (graph.size() == 0) return fail(without_nodes(path, stopped));
  if (!stopped.empty()) graph.note(stopped);
  graph.skip(unusable);
  return std::move(graph).finish();
}

// --- protobuf ---

/// The metadata is the first message, where there is one; everything else is a node.
bool recognise_protobuf(const Head& head) {
  std::string_view rest = head.bytes;
  for (int i = 0; i < 2; ++i) {
    const auto length = parse_length(rest);
    if (!length || length->value > kMostMessageBytes) return false;
    rest.remove_prefix(length->bytes);
    const bool whole = length->value <= rest.size();
    const std::string_view message = rest.substr(0, length->value);
    if (whole && parse_node(message)) return true;
    // A first node longer than the head is rare; metadata in front of it says enough.
    if (i == 1) return !whole;
    if (!whole || message.empty() || !parse_metadata(message)) return false;
    rest.remove_prefix(message.size());
  }
  return false;
}

Result<ImportedJob> read_protobuf(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  ChakraMessages messages(std::move(source));
  ChakraGraph graph(path, kChakraProtobufReader.format);
  std::int64_t unusable = 0;
  bool first = true;
  while (true) {
    COX_TRY(const auto message, messages.next());
    if (!message) break;
    if (const auto node = parse_node(*message)) {
      graph.add(*node);
    } else if (const auto metadata = first ? parse_metadata(*message) : std::nullopt) {
      if (metadata->rank) graph.set_rank(*metadata->rank);
      if (metadata->world_size) graph.set_world_size(*metadata->world_size);
      if (!metadata->schema.empty()) graph.set_schema(metadata->schema);
    } else {
      ++unusable;
    }
    first = false;
  }
  return finish(std::move(graph), path, messages.stopped(), unusable);
}

// --- JSON ---

constexpr std::string_view kNodesKey = "workload_graph";

std::optional<std::int64_t> number_at(const object& node, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    element value;
    if (node[key].get(value) != simdjson::SUCCESS) continue;
    std::int64_t number = 0;
    if (value.get(number) == simdjson::SUCCESS) return number;
    std::uint64_t big = 0;
    if (value.get(big) == simdjson::SUCCESS) return static_cast<std::int64_t>(big);
    double real = 0;
    if (value.get(real) == simdjson::SUCCESS && real > -9e18 && real < 9e18)
      return static_cast<std::int64_t>(real);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> span_at(const object& node, std::initializer_list<const char*> keys) {
  const auto number = number_at(node, keys);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::string_view text_at(const object& node, std::initializer_list<const char*> keys) {
  std::string_view text;
  for (const char* key : keys)
    if (node[key].get(text) == simdjson::SUCCESS) return text;
  return {};
}

void ids_at(const object& node, std::initializer_list<const char*> keys, std::vector<std::uint64_t>& ids) {
  for (const char* key : keys) {
    simdjson::dom::array list;
    if (node[key].get(list) != simdjson::SUCCESS) continue;
    for (const element item : list) {
      std::uint64_t id = 0;
      if (item.get(id) == simdjson::SUCCESS) ids.push_back(id);
    }
    return;
  }
}

bool some_not_all(const object& node, const char* key) {
  simdjson::dom::array list;
  if (node[key].get(list) != simdjson::SUCCESS) return false;
  bool some = false;
  bool all = true;
  for (const element item : list) {
    bool value = false;
    if (item.get(value) != simdjson::SUCCESS) continue;
    some = some || value;
    all = all && value;
  }
  return some && !all;
}

/// Keys: as the feeder of mlcommons/chakra reads them (src/feeder/json_node.cpp), and as in the schema.
std::optional<ChakraNode> node_of(const object& json) {
  const auto id = number_at(json, {"Id", "id"});
  const auto type = number_at(json, {"NodeType", "type"});
  if (!id || !type) return std::nullopt;
  ChakraNode node;
  node.id = static_cast<std::uint64_t>(*id);
  node.type = static_cast<std::uint64_t>(*type);
  node.name = text_at(json, {"Name", "name"});
  ids_at(json, {"ctrlDeps", "ctrl_deps"}, node.control);
  ids_at(json, {"data_deps", "dataDeps"}, node.data);
  node.start_us = span_at(json, {"start_time_micros", "startTimeMicros"});
  node.duration_us = span_at(json, {"runtime", "duration_micros", "durationMicros"});
  node.comm_type = number_at(json, {"comm_type"});
  node.comm_size = number_at(json, {"comm_size"});
  node.source = number_at(json, {"comm_src"});
  node.destination = number_at(json, {"comm_dst"});
  node.tag = number_at(json, {"comm_tag"});
  node.tensor_size = number_at(json, {"tensor_size"});
  node.group = text_at(json, {"pg_name"});
  node.part_of_dimensions = some_not_all(json, "involved_dim");
  return node;
}

void take_member(const std::string& key, const element& value, ChakraGraph& graph) {
  std::int64_t number = 0;
  std::string_view text;
  if (key == "rank" && value.get(number) == simdjson::SUCCESS) graph.set_rank(number);
  if (key == "ngpus" && value.get(number) == simdjson::SUCCESS) graph.set_world_size(number);
  if (key == "schema" && value.get(text) == simdjson::SUCCESS) graph.set_schema(text);
}

bool recognise_json(const Head& head) {
  const auto first = head.bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head.bytes[first] == '{' &&
         head.bytes.find("\"workload_graph\"") != std::string_view::npos;
}

Result<ImportedJob> read_json(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  JsonStream stream(std::move(source), kNodesKey);
  ChakraGraph graph(path, kChakraJsonReader.format);
  simdjson::dom::parser parser;
  std::int64_t unusable = 0;
  while (true) {
    COX_TRY(const auto piece, stream.next());
    if (!piece) break;
    element value;
    const bool valid = parser.parse(piece->value.data(), piece->value.size()).get(value) == simdjson::SUCCESS;
    if (!piece->element) {
      if (valid) take_member(piece->key, value, graph);
      continue;
    }
    object json;
    const auto node = valid && value.get(json) == simdjson::SUCCESS ? node_of(json) : std::nullopt;
    if (node) {
      graph.add(*node);
    } else {
      ++unusable;
    }
  }
  return finish(std::move(graph), path, stream.stopped(), unusable);
}

}  // namespace

const Reader kChakraProtobufReader{.format = "chakra",
                                   .title = "Chakra execution trace (protobuf)",
                                   .recognises = recognise_protobuf,
                                   .read = read_protobuf};
const Reader kChakraJsonReader{.format = "chakra-json",
                               .title = "Chakra execution trace (JSON)",
                               .recognises = recognise_json,
                               .read = read_json};

}  // namespace cox::trace
