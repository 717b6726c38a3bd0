// SPDX-License-Identifier: Apache-2.0
#include "trace/import/graphs/chakra_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

constexpr std::int64_t kMostRanks = std::numeric_limits<std::int32_t>::max();

OperationKind kind_of(std::uint64_t type) {
  switch (static_cast<ChakraType>(type)) {
    case ChakraType::Compute:
      return OperationKind::Compute;
    case ChakraType::Collective:
      return OperationKind::Collective;
    case ChakraType::Send:
      return OperationKind::Send;
    case ChakraType::Receive:
      return OperationKind::Receive;
    case ChakraType::MemoryLoad:
    case ChakraType::MemoryStore:
      return OperationKind::Memory;
    default:
      return OperationKind::Other;
  }
}

model::Collective collective_of(std::int64_t comm_type) {
  using model::Collective;
  // By value of CollectiveCommType; REDUCE_SCATTER_BLOCK (8) differs only in how counts are given.
  static constexpr std::array<Collective, 10> kByValue{
      Collective::AllReduce,     Collective::Reduce,    Collective::AllGather, Collective::Gather,
      Collective::Scatter,       Collective::Broadcast, Collective::AllToAll,  Collective::ReduceScatter,
      Collective::ReduceScatter, Collective::Barrier};
  if (comm_type < 0 || comm_type >= static_cast<std::int64_t>(kByValue.size())) return Collective::Other;
  return kByValue[static_cast<std::size_t>(comm_type)];
}

}  // namespace

std::optional<Rank> rank_in_file_name(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  if (name.extension() != ".et" && name.extension() != ".json") return std::nullopt;
  const std::string digits = name.stem().extension().string();
  std::int32_t rank = 0;
  const char* end = digits.data() + digits.size();
  if (digits.size() < 2) return std::nullopt;
  const auto [stop, error] = std::from_chars(digits.data() + 1, end, rank);
  if (error != std::errc() || stop != end || rank < 0) return std::nullopt;
  return Rank(rank);
}

ChakraGraph::ChakraGraph(const std::filesystem::path& path, const char* format)
    : part_(path.string(), format), graph_(part_), named_(rank_in_file_name(path)) {
  part_.add_rank(Rank(-1));
}

void ChakraGraph::set_rank(std::int64_t rank) {
  if (rank >= 0 && rank <= kMostRanks) rank_ = Rank(static_cast<std::int32_t>(rank));
}

void ChakraGraph::set_world_size(std::int64_t size) {
  if (size > 0 && size <= kMostRanks) part_.run().world_size = static_cast<int>(size);
}

void ChakraGraph::set_schema(std::string_view schema) {
  part_.run().info.tool = clean_text(fmt::format("Chakra schema {}", schema.substr(0, 64)));
}

CommId ChakraGraph::communicator_of(const ChakraNode& node, OperationKind kind) {
  if (kind == OperationKind::Collective) {
    // Without a type it is the call on the host that starts one.
    if (!node.comm_type) return kNoComm;
    if (!node.group.empty()) return part_.communicator(clean_text(node.group), {}, 0);
    if (!node.part_of_dimensions) return part_.communicator("world", {}, part_.run().world_size);
    ++without_group_;
    return kNoComm;
  }
  if (kind != OperationKind::Send && kind != OperationKind::Receive) return kNoComm;
  // Operations have no column for the peer: a channel of its own says the same, equal in both ranks' files.
  const std::optional<Rank> self = rank_ ? rank_ : named_;
  const auto own = self ? std::optional<std::int64_t>(self->value()) : std::nullopt;
  const auto from = node.source ? node.source : (kind == OperationKind::Send ? own : std::nullopt);
  const auto to = node.destination ? node.destination : (kind == OperationKind::Receive ? own : std::nullopt);
  if (!from || !to) return kNoComm;
  return part_.communicator(fmt::format("{} to {}, tag {}", *from, *to, node.tag.value_or(0)), {}, 2);
}

void ChakraGraph::add(const ChakraNode& node) {
  const OperationKind kind = kind_of(node.type);
  if (node.type == 0 || node.type > static_cast<std::uint64_t>(ChakraType::Checkpoint)) ++unknown_types_;
  GraphNode g{.id = node.id, .kind = kind, .name = part_.operation_name(clean_text(node.name))};
  if (node.start_us && *node.start_us > 0)
    g.begin = Nanoseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(
                              *node.start_us, Nanoseconds::max().count() / 1000 - 1)) *
                          1000);
  if (node.duration_us) g.duration = duration_from_micros(*node.duration_us);
  const std::int64_t bytes = node.comm_size ? *node.comm_size : node.tensor_size.value_or(0);
  g.bytes = Bytes(std::max<std::int64_t>(bytes, 0));
  if (kind == OperationKind::Collective) g.op = collective_of(node.comm_type.value_or(-1));
  g.comm = communicator_of(node, kind);
  graph_.add(g, node.data, node.control);
}

void ChakraGraph::skip(std::int64_t count) {
  part_.count(count, 0);
  part_.note_count(count, "record is", "records are", " no node of the schema: not used");
}

ImportedJob ChakraGraph::finish() && {
  if (!rank_ && named_)
    part_.note(
        fmt::format("rank {} is taken from the file's name: the file itself holds none", named_->value()));
  part_.rank(0).rank = rank_ ? *rank_ : named_.value_or(Rank(-1));
  part_.note_count(without_group_, "collective", "collectives",
                   " along some dimensions of the job: who takes part is not in the file");
  part_.note_count(unknown_types_, "node", "nodes", " of a type that is not known");
  graph_.finish({.absent_is_zero = true});
  return std::move(part_).finish_job();
}

}  // namespace cox::trace
