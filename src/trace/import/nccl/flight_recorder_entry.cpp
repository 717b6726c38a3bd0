// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/flight_recorder_entry.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace cox::trace {
namespace {

using Index = PlainTree::Index;

std::string plain_letters(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 80))
    if (c != '_') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

/// Bytes of one element by the name of c10's scalar type; 0 = unknown.
std::int64_t element_bytes_of(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, int>, 22> kSizes{{
      {"Byte", 1},
      {"Char", 1},
      {"Bool", 1},
      {"Short", 2},
      {"Half", 2},
      {"BFloat16", 2},
      {"Int", 4},
      {"Float", 4},
      {"Long", 8},
      {"Double", 8},
      {"UInt16", 2},
      {"UInt32", 4},
      {"UInt64", 8},
      {"ComplexHalf", 4},
      {"ComplexFloat", 8},
      {"ComplexDouble", 16},
      {"Float8_e5m2", 1},
      {"Float8_e4m3fn", 1},
      {"Float8_e5m2fnuz", 1},
      {"Float8_e4m3fnuz", 1},
      {"Float8_e8m0fnu", 1},
      {"QInt8", 1},
  }};
  for (const auto& [name, bytes] : kSizes)
    if (name == type) return bytes;
  return 0;
}

/// Sum over the tensors; nothing where a size or type is not known.
std::optional<std::int64_t> tensor_bytes(const PlainTree& tree, Index sizes, Index types, WorkBudget& budget,
                                         std::uint32_t& element) {
  const auto& tensors = tree.items(sizes);
  const auto& names = tree.items(types);
  if (tree.kind(sizes) != PlainKind::List || names.size() < tensors.size()) return std::nullopt;
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto& dims = tree.items(tensors[t]);
    if (!budget.take(1 + dims.size())) return std::nullopt;
    std::int64_t bytes = element_bytes_of(tree.as_text(names[t]).value_or(""));
    if (bytes == 0) return std::nullopt;
    element = t == 0 || element == static_cast<std::uint32_t>(bytes) ? static_cast<std::uint32_t>(bytes) : 0;
    for (const Index d : dims) {
      const auto n = tree.as_integer(d);
      if (!n || *n < 0 || __builtin_mul_overflow(bytes, *n, &bytes)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, bytes, &sum)) return std::nullopt;
  }
  return sum;
}

void read_sizes(const PlainTree& tree, Index at, WorkBudget& budget, RingEntry& entry) {
  std::uint32_t in_element = 0;
  std::uint32_t out_element = 0;
  const auto in =
      tensor_bytes(tree, tree.find(at, "input_sizes"), tree.find(at, "input_dtypes"), budget, in_element);
  const auto out =
      tensor_bytes(tree, tree.find(at, "output_sizes"), tree.find(at, "output_dtypes"), budget, out_element);
  entry.sized = in.has_value() || out.has_value();
  // nccl-tests counts what is gathered or what is to be scattered: the larger side.
  entry.bytes = Bytes(std::max(in.value_or(0), out.value_or(0)));
  entry.element_bytes = in_element != 0 ? in_element : out_element;
}

/// Place before and after the arrow of `send 0->1` or `recv 1<-0`: own place first in both.
void read_peers(std::string_view name, RingEntry& entry) {
  const std::size_t space = name.find(' ');
  if (space == std::string_view::npos) return;
  std::string_view rest = name.substr(space + 1);
  const std::size_t arrow = std::min(rest.find("->"), rest.find("<-"));
  if (arrow == std::string_view::npos) return;
  const auto number = [](std::string_view text) {
    std::int32_t n = -1;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    return ec == std::errc() && end == text.data() + text.size() ? n : -1;
  };
  entry.own = number(rest.substr(0, arrow));
  entry.peer = number(rest.substr(arrow + 2));
}

void read_name(std::string_view full, RingEntry& entry) {
  const std::size_t colon = full.find(':');
  if (colon != std::string_view::npos) entry.backend = full.substr(0, colon);
  const std::string_view name = colon == std::string_view::npos ? full : full.substr(colon + 1);
  const std::string_view word = name.substr(0, name.find(' '));
  if (word == "send" || word == "recv") {
    entry.message = true;
    entry.direction = word == "send" ? PeerKind::Send : PeerKind::Receive;
    read_peers(name, entry);
    return;
  }
  entry.coalesced = word == "coalesced";
  entry.op = collective_of_c10d(word);
  const std::string letters = plain_letters(word);
  entry.variable = letters.ends_with("v") || letters.ends_with("vsingle");
}

/// A moment; JSON dumps write 0 where there was none.
std::optional<std::int64_t> moment(const PlainTree& tree, Index at, std::string_view key) {
  const auto ns = tree.as_integer(tree.find(at, key));
  return ns && *ns > 0 ? ns : std::nullopt;
}

}  // namespace

model::Collective collective_of_c10d(std::string_view name) {
  using model::Collective;
  // Longer words first: an all-reduce that is a barrier says both.
  static constexpr std::array<std::pair<std::string_view, Collective>, 9> kWords{{
      {"barrier", Collective::Barrier},
      {"allreduce", Collective::AllReduce},
      {"reducescatter", Collective::ReduceScatter},
      {"allgather", Collective::AllGather},
      {"alltoall", Collective::AllToAll},
      {"broadcast", Collective::Broadcast},
      {"reduce", Collective::Reduce},
      {"gather", Collective::Gather},
      {"scatter", Collective::Scatter},
  }};
  const std::string letters = plain_letters(name);
  for (const auto& [word, op] : kWords)
    if (letters.find(word) != std::string::npos) return op;
  return Collective::Other;
}

std::optional<RingEntry> read_ring_entry(const PlainTree& tree, Index at, WorkBudget& budget) {
  const auto name = tree.as_text(tree.find(at, "profiling_name"));
  if (!name) return std::nullopt;
  RingEntry entry;
  read_name(name->substr(0, kRingNameBytes), entry);
  const auto& group = tree.items(tree.find(at, "process_group"));
  const auto group_name = group.empty() ? std::nullopt : tree.as_text(group.front());
  if (group_name)
    entry.group = group_name->substr(0, kRingNameBytes);
  else if (const auto id = tree.as_integer(tree.find(at, "pg_id")))
    entry.group = std::to_string(*id);
  entry.record = tree.as_integer(tree.find(at, "record_id")).value_or(-1);
  entry.message = tree.as_bool(tree.find(at, "is_p2p")).value_or(entry.message);
  const auto old_sequence = tree.as_integer(tree.find(at, "seq_id"));  // version 1
  entry.sequence = tree.as_integer(tree.find(at, entry.message ? "p2p_seq_id" : "collective_seq_id"))
                       .value_or(old_sequence.value_or(-1));
  entry.created_ns = moment(tree, at, "time_created_ns");
  entry.started_ns = moment(tree, at, "time_discovered_started_ns");
  entry.completed_ns = moment(tree, at, "time_discovered_completed_ns");
  if (const auto ms = tree.as_real(tree.find(at, "duration_ms")); ms && *ms >= 0)
    entry.device_time = duration_from_seconds(*ms * 1e-3);
  entry.retired = tree.as_bool(tree.find(at, "retired")).value_or(false);
  read_sizes(tree, at, budget, entry);
  return entry;
}

std::vector<Rank> read_rank_list(const PlainTree& tree, Index at, WorkBudget& budget) {
  std::vector<Rank> ranks;
  if (tree.kind(at) == PlainKind::List) {
    if (!budget.take(tree.items(at).size())) return {};
    for (const Index i : tree.items(at)) {
      const auto n = tree.as_integer(i);
      if (!n || *n < 0 || *n > std::numeric_limits<std::int32_t>::max()) return {};
      ranks.emplace_back(static_cast<std::int32_t>(*n));
    }
    return ranks;
  }
  const std::string_view text = tree.as_text(at).value_or("");
  if (!budget.take(text.size())) return {};
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '[' || text[i] == ']' || text[i] == ',' || text[i] == ' ') {
      ++i;
      continue;
    }
    std::int32_t n = -1;
    const auto [end, ec] = std::from_chars(text.data() + i, text.data() + text.size(), n);
    if (ec != std::errc() || n < 0) return {};
    ranks.emplace_back(n);
    i = static_cast<std::size_t>(end - text.data());
  }
  return ranks;
}

}  // namespace cox::trace
