// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "trace/import/graphs/chakra_graph.hpp"
#include "trace/import/graphs/chakra_json_stream.hpp"
#include "trace/import/graphs/pytorch_et_node.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

/// Most members of groups that a file may imply by "first, stride, size" instead of listing them.
constexpr std::int64_t kMostImpliedMembers = 1 << 20;

/// One file: calls, groups, and what they say about the rank.
class ExecutionTrace {
 public:
  explicit ExecutionTrace(const std::filesystem::path& path)
      : part_(path.string(), kPytorchEtReader.format), graph_(part_) {
    part_.add_rank(Rank(-1));
  }
  ExecutionTrace(const ExecutionTrace&) = delete;
  ExecutionTrace& operator=(const ExecutionTrace&) = delete;
  ~ExecutionTrace() = default;

  void set_pid(std::int64_t pid) {
    if (pid > 0 && pid <= INT32_MAX) part_.rank(0).pid = static_cast<int>(pid);
  }
  void set_rank(std::int64_t rank) { say_rank(rank); }
  void set_schema(std::string_view schema) {
    part_.run().info.tool = clean_text(fmt::format("PyTorch execution trace {}", schema.substr(0, 64)));
  }
  void set_groups(std::vector<ProcessGroup> groups);
  void add(const ExecutionNode& node);
  void skip(std::int64_t count);
  void note(std::string text) { part_.note(std::move(text)); }
  [[nodiscard]] bool empty() const { return graph_.size() == 0 && calls_.empty(); }
  [[nodiscard]] ImportedJob finish() &&;

 private:
  void say_rank(std::int64_t rank);
  [[nodiscard]] const ProcessGroup* find_group(const std::string& name) const;
  void index_groups();
  [[nodiscard]] std::vector<Rank> members_of(const CommunicationCall& call, const ProcessGroup* group);
  [[nodiscard]] CommId communicator_of(const CommunicationCall& call);
  /// Calls wait for the groups, which may stand anywhere in the file.
  void place_calls();

  struct Call {
    GraphNode node;
    std::optional<std::uint64_t> parent;
    CommunicationCall call;
  };

  PartBuilder part_;
  GraphBuilder graph_;
  std::vector<Call> calls_;
  std::vector<ProcessGroup> groups_;
  std::map<std::string, std::size_t> group_of_;  ///< by name and by backend number
  std::int64_t largest_group_ = 0;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>, CommId> comms_;
  std::int64_t implied_left_ = kMostImpliedMembers;
  std::set<std::int64_t> ranks_said_;  ///< at most two are kept
};

void ExecutionTrace::say_rank(std::int64_t rank) {
  if (rank >= 0 && rank <= INT32_MAX && ranks_said_.size() < 2) ranks_said_.insert(rank);
}

void ExecutionTrace::set_groups(std::vector<ProcessGroup> groups) {
  for (ProcessGroup& g : groups) groups_.push_back(std::move(g));
}

const ProcessGroup* ExecutionTrace::find_group(const std::string& name) const {
  const auto found = group_of_.find(name);
  return found == group_of_.end() ? nullptr : &groups_[found->second];
}

void ExecutionTrace::index_groups() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    group_of_.emplace(groups_[i].name, i);
    if (groups_[i].backend) group_of_.emplace(fmt::format("{}", *groups_[i].backend), i);
    largest_group_ = std::max(largest_group_, groups_[i].size);
  }
  part_.run().world_size = static_cast<int>(std::min<std::int64_t>(largest_group_, INT32_MAX));
}

std::vector<Rank> ExecutionTrace::members_of(const CommunicationCall& call, const ProcessGroup* group) {
  std::vector<Rank> members;
  if (group != nullptr && !group->ranks.empty()) return group->ranks;
  std::int64_t first = call.first_rank.value_or(-1);
  std::int64_t stride = call.stride.value_or(-1);
  std::int64_t size = call.group_size.value_or(0);
  if (first < 0 || stride <= 0) {
    // A group without a list that no other exceeds is the job's own.
    if (group == nullptr || group->size < largest_group_) return members;
    first = 0;
    stride = 1;
    size = group->size;
  }
  if (size <= 0 || size > implied_left_ || first > INT32_MAX || stride > INT32_MAX ||
      first + (size - 1) * stride > INT32_MAX)
    return members;
  implied_left_ -= size;
  for (std::int64_t i = 0; i < size; ++i) members.emplace_back(static_cast<std::int32_t>(first + i * stride));
  return members;
}

CommId ExecutionTrace::communicator_of(const CommunicationCall& call) {
  if (call.group.empty()) return kNoComm;
  const ProcessGroup* group = find_group(call.group);
  const bool listed = group != nullptr && !group->ranks.empty();
  const auto key = listed ? std::tuple(call.group, std::int64_t{-1}, std::int64_t{-1}, std::int64_t{-1})
                          : std::tuple(call.group, call.first_rank.value_or(-1), call.stride.value_or(-1),
                                       call.group_size.value_or(0));
  if (const auto known = comms_.find(key); known != comms_.end()) return known->second;
  std::int64_t size = call.group_size.value_or(0);
  if (group != nullptr && group->size > 0) size = group->size;
  const CommId comm =
      part_.communicator(clean_text(group != nullptr ? group->name : call.group), members_of(call, group),
                         static_cast<int>(std::clamp<std::int64_t>(size, 0, INT32_MAX)));
  comms_.emplace(key, comm);
  return comm;
}

void ExecutionTrace::add(const ExecutionNode& node) {
  GraphNode g{.id = node.id, .name = part_.operation_name(clean_text(node.name))};
  if (node.is_operator) g.kind = OperationKind::Compute;
  g.begin = node.begin;
  g.duration = node.duration;
  g.bytes = node.bytes;
  if (node.call) {
    calls_.push_back({.node = g, .parent = node.parent, .call = *node.call});
    return;
  }
  std::vector<std::uint64_t> parent;
  if (node.parent && *node.parent != node.id) parent.push_back(*node.parent);
  graph_.add(g, parent);
}

void ExecutionTrace::place_calls() {
  std::set<std::string> groups;
  for (const Call& c : calls_)
    if (!c.call.group.empty()) groups.insert(c.call.group);
  for (Call& c : calls_) {
    if (const auto kind = kind_of_call(c.call.name)) {
      c.node.kind = kind->kind;
      c.node.op = kind->op;
      c.node.comm = communicator_of(c.call);
      const Communicator* comm =
          c.node.comm == kNoComm ? nullptr
                                 : &part_.run().communicators[static_cast<std::size_t>(c.node.comm.value())];
      if (kind->names_own_rank && c.call.rank && comm != nullptr) {
        const std::int64_t own = *c.call.rank;
        if (own >= 0 && own < static_cast<std::int64_t>(comm->ranks.size()))
          say_rank(comm->ranks[static_cast<std::size_t>(own)].value());
        else if (comm->ranks.empty() && groups.size() == 1)
          say_rank(own);
      }
    }
    std::vector<std::uint64_t> parent;
    if (c.parent && *c.parent != c.node.id) parent.push_back(*c.parent);
    graph_.add(c.node, parent);
  }
}

void ExecutionTrace::skip(std::int64_t count) {
  part_.count(count, 0);
  part_.note_count(count, "element is", "elements are", " no node: not used");
}

ImportedJob ExecutionTrace::finish() && {
  index_groups();
  place_calls();
  if (ranks_said_.size() == 1) part_.rank(0).rank = Rank(static_cast<std::int32_t>(*ranks_said_.begin()));
  if (ranks_said_.size() > 1) part_.note("calls name different ranks as their own: the rank is not known");
  graph_.finish();
  part_.program().is_calls = true;
  return std::move(part_).finish_job();
}

bool recognise(const Head& head) {
  const auto first = head.bytes.find_first_not_of(" \t\r\n");
  const auto has = [&](const char* key) { return head.bytes.find(key) != std::string_view::npos; };
  return first != std::string_view::npos && head.bytes[first] == '{' && has("\"schema\"") &&
         has("\"nodes\"") &&
         (has("[pytorch|profiler|execution_") || has("\"op_schema\"") || has("chakra.") || has("\"rf_id\""));
}

void take_member(const std::string& key, const simdjson::dom::element& value, ExecutionTrace& trace) {
  std::int64_t number = 0;
  std::string_view text;
  if (key == "schema" && value.get(text) == simdjson::SUCCESS) trace.set_schema(text);
  if (key == "pid" && value.get(number) == simdjson::SUCCESS) trace.set_pid(number);
  if (key == "rank" && value.get(number) == simdjson::SUCCESS) trace.set_rank(number);
}

/// Whether the element was a node.
bool take_node(const simdjson::dom::element& value, ExecutionTrace& trace) {
  simdjson::dom::object json;
  if (value.get(json) != simdjson::SUCCESS) return false;
  const auto node = parse_execution_node(json);
  if (!node) return false;
  if (node->name == kGroupsNode) trace.set_groups(parse_process_groups(json));
  trace.add(*node);
  return true;
}

Result<ImportedJob> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  JsonStream stream(std::move(source), "nodes");
  ExecutionTrace trace(path);
  simdjson::dom::parser parser;
  std::int64_t unusable = 0;
  while (true) {
    COX_TRY(const auto piece, stream.next());
    if (!piece) break;
    simdjson::dom::element value;
    const bool valid = parser.parse(piece->value.data(), piece->value.size()).get(value) == simdjson::SUCCESS;
    if (piece->element && !(valid && take_node(value, trace))) ++unusable;
    if (!piece->element && valid) take_member(piece->key, value, trace);
  }
  if (trace.empty())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-005",
                      .message = fmt::format("no node of an execution trace, expected at least one{}{}",
                                             stream.stopped().empty() ? "" : ": ", stream.stopped()),
                      .hint = "write the trace again, or copy the file again if it was cut",
                      .where = Where{.file = path.string()}});
  if (!stream.stopped().empty()) trace.note(stream.stopped());
  trace.skip(unusable);
  return std::move(trace).finish();
}

}  // namespace

const Reader kPytorchEtReader{
    .format = "pytorch-et", .title = "PyTorch execution trace", .recognises = recognise, .read = read};

}  // namespace cox::trace
