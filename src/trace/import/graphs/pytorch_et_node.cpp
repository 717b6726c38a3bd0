// SPDX-License-Identifier: Apache-2.0
#include "trace/import/graphs/pytorch_et_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace cox::trace {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

/// Most tensors of one call that are added up.
constexpr int kMostTensors = 1 << 16;

template <class T>
std::optional<T> at(const object& json, const char* key) {
  T value{};
  if (json[key].get(value) == simdjson::SUCCESS) return value;
  return std::nullopt;
}

/// A number of microseconds, which may have a fraction.
std::optional<std::int64_t> nanoseconds_at(const object& json, const char* key) {
  const auto us = at<double>(json, key);
  if (!us || !(*us >= 0 && *us < 9e15)) return std::nullopt;
  return std::llround(*us * 1000);
}

/// `inputs` or `outputs`: an array before schema 1.0.2, then an object with the array in `values`.
std::optional<array> values_of(const object& json, const char* key) {
  if (const auto direct = at<array>(json, key)) return direct;
  if (const auto wrapped = at<object>(json, key)) return at<array>(*wrapped, "values");
  return std::nullopt;
}

/// A tensor: [id, storage, offset, elements, bytes per element, device].
std::optional<std::int64_t> tensor_bytes(const array& value) {
  std::array<std::int64_t, 5> number{};
  std::size_t i = 0;
  for (const element item : value) {
    if (i == number.size()) {
      if (!item.is_string()) return std::nullopt;
    } else if (i > number.size() || item.get(number[i]) != simdjson::SUCCESS) {
      return std::nullopt;
    }
    ++i;
  }
  std::int64_t bytes = 0;
  if (i != number.size() + 1 || number[3] < 0 || number[4] < 0 ||
      __builtin_mul_overflow(number[3], number[4], &bytes))
    return std::nullopt;
  return bytes;
}

/// Tensors among `values`, which are such, lists of such, and lists of lists: no deeper.
std::int64_t sum_of_tensors(const std::optional<array>& values) {
  std::int64_t sum = 0;
  int left = kMostTensors;
  const auto add = [&](const array& value) {
    const auto bytes = tensor_bytes(value);
    if (bytes && (--left < 0 || __builtin_add_overflow(sum, *bytes, &sum))) {
      sum = 0;
      left = 0;
    }
    return bytes.has_value();
  };
  if (!values) return 0;
  for (const element item : *values) {
    array list;
    if (item.get(list) != simdjson::SUCCESS || add(list)) continue;
    for (const element inner : list) {
      array inner_list;
      if (inner.get(inner_list) != simdjson::SUCCESS || add(inner_list)) continue;
      for (const element innermost : inner_list) {
        array tensor;
        if (innermost.get(tensor) == simdjson::SUCCESS) add(tensor);
      }
    }
  }
  return std::max<std::int64_t>(sum, 0);
}

/// The group in front of the rank: a number, or since schema 1.1.0 [name, description].
std::string group_text(const element& value) {
  std::int64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number == 0 ? "" : fmt::format("{}", number);
  array tuple;
  std::string_view name;
  if (value.get(tuple) == simdjson::SUCCESS && tuple.at(0).get(name) == simdjson::SUCCESS)
    return std::string(name);
  return {};
}

/// Values of a call: [tensors,] sequence, group, rank, name, input splits, output splits, ...
void take_values(const array& values, CommunicationCall& call) {
  std::optional<element> before;         // the name: the rank
  std::optional<element> before_before;  // the rank: the group
  for (const element value : values) {
    std::string_view name;
    if (value.get(name) == simdjson::SUCCESS) {
      call.name = name;
      std::int64_t rank = 0;
      if (before && before->get(rank) == simdjson::SUCCESS) call.rank = rank;
      if (before_before) call.group = group_text(*before_before);
      break;
    }
    before_before = std::exchange(before, value);
  }
}

/// An all-to-all with counts names one per member.
void take_splits(const array& values, CommunicationCall& call) {
  for (const element value : values) {
    array list;
    std::int64_t count = 0;
    if (value.get(list) != simdjson::SUCCESS || list.size() < 2) continue;
    if (std::all_of(list.begin(), list.end(),
                    [&](const element e) { return e.get(count) == simdjson::SUCCESS; }))
      call.group_size = static_cast<std::int64_t>(list.size());
  }
}

void take_attributes(const object& json, ExecutionNode& node) {
  const auto attributes = at<array>(json, "attrs");
  if (!attributes) return;
  for (const element item : *attributes) {
    object attribute;
    if (item.get(attribute) != simdjson::SUCCESS) continue;
    const auto name = at<std::string_view>(attribute, "name").value_or(std::string_view());
    const auto text = at<std::string_view>(attribute, "value");
    const auto number = at<std::int64_t>(attribute, "value");
    if (name == "op_schema" && text) node.is_operator = !text->empty();
    if (!node.call) continue;
    if (name == "collective_name" && text && !text->empty()) node.call->name = *text;
    if (name == "pg_name" && text && !text->empty()) node.call->group = *text;
    if (name == "pg_size" && number) node.call->group_size = number;
    if (name == "global_rank_start" && number) node.call->first_rank = number;
    if (name == "global_rank_stride" && number) node.call->stride = number;
  }
}

}  // namespace

std::optional<ExecutionNode> parse_execution_node(const object& json) {
  const auto id = at<std::uint64_t>(json, "id");
  if (!id) return std::nullopt;
  ExecutionNode node;
  node.id = *id;
  node.name = at<std::string_view>(json, "name").value_or(std::string_view());
  node.parent = at<std::uint64_t>(json, "ctrl_deps");
  if (!node.parent) node.parent = at<std::uint64_t>(json, "parent");
  node.is_operator = !at<std::string_view>(json, "op_schema").value_or(std::string_view()).empty();
  if (const auto begin = nanoseconds_at(json, "ts")) node.begin = Nanoseconds(*begin);
  auto duration = nanoseconds_at(json, "inclusive_dur");
  if (!duration) duration = nanoseconds_at(json, "dur");
  if (duration) node.duration = duration_from_nanos(static_cast<std::uint64_t>(*duration));
  if (node.name == kCommunicationCall) {
    node.call.emplace();
    if (const auto values = values_of(json, "inputs")) {
      take_values(*values, *node.call);
      if (node.call->name.starts_with("all_to_all")) take_splits(*values, *node.call);
    }
    node.bytes = Bytes(
        std::max(sum_of_tensors(values_of(json, "inputs")), sum_of_tensors(values_of(json, "outputs"))));
  }
  take_attributes(json, node);
  return node;
}

std::vector<ProcessGroup> parse_process_groups(const object& json) {
  std::vector<ProcessGroup> groups;
  const auto values = values_of(json, "inputs");
  std::string_view text;
  if (!values || values->at(0).get(text) != simdjson::SUCCESS) return groups;
  simdjson::dom::parser parser;
  array list;
  if (parser.parse(text.data(), text.size()).get(list) != simdjson::SUCCESS) return groups;
  for (const element item : list) {
    object entry;
    if (item.get(entry) != simdjson::SUCCESS) continue;
    ProcessGroup group;
    group.name = at<std::string_view>(entry, "pg_name").value_or(std::string_view());
    group.description = at<std::string_view>(entry, "pg_desc").value_or(std::string_view());
    group.backend = at<std::uint64_t>(entry, "backend_id");
    group.size = at<std::int64_t>(entry, "group_size").value_or(0);
    if (const auto ranks = at<array>(entry, "ranks")) {
      for (const element r : *ranks) {
        std::int64_t rank = 0;
        if (r.get(rank) == simdjson::SUCCESS && rank >= 0 && rank <= INT32_MAX)
          group.ranks.emplace_back(static_cast<std::int32_t>(rank));
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<CallKind> kind_of_call(std::string_view name) {
  using model::Collective;
  // Names vary by version in underscores and in endings: `allreduce`, `_allgather_base_`, `all_to_allv`.
  std::string plain;
  for (const char c : name)
    if (c != '_') plain += c;
  static constexpr std::array<std::pair<std::string_view, CallKind>, 11> kByStart{{
      {"allreduce", {OperationKind::Collective, Collective::AllReduce, true}},
      {"allgather", {OperationKind::Collective, Collective::AllGather, true}},
      {"reducescatter", {OperationKind::Collective, Collective::ReduceScatter, true}},
      {"alltoall", {OperationKind::Collective, Collective::AllToAll, true}},
      {"barrier", {OperationKind::Collective, Collective::Barrier, true}},
      {"broadcast", {OperationKind::Collective, Collective::Broadcast, false}},
      {"reduce", {OperationKind::Collective, Collective::Reduce, false}},
      {"gather", {OperationKind::Collective, Collective::Gather, false}},
      {"scatter", {OperationKind::Collective, Collective::Scatter, false}},
      {"send", {OperationKind::Send, Collective::Other, false}},
      {"recv", {OperationKind::Receive, Collective::Other, false}},
  }};
  for (const auto& [start, kind] : kByStart)
    if (plain.starts_with(start)) return kind;
  return std::nullopt;
}

}  // namespace cox::trace
