// SPDX-License-Identifier: Apache-2.0
#include "trace/import/graphs/chakra_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

namespace cox::trace {
namespace {

/// Largest span from a file: adding it to a begin must not look like a call that still runs.
constexpr std::int64_t kLongest = Duration::max().count() / 2;

Duration scaled(std::uint64_t value, std::uint64_t picoseconds) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(value, picoseconds, &product) || product > static_cast<std::uint64_t>(kLongest))
    return Duration(kLongest);
  return Duration(static_cast<std::int64_t>(product));
}

/// Whether every node can be reached by removing nodes without predecessors.
bool is_acyclic(const std::vector<std::uint64_t>& first, const std::vector<std::uint32_t>& before) {
  const std::size_t n = first.size() - 1;
  std::vector<std::uint32_t> waits(n);
  std::vector<std::size_t> after_first(n + 1);
  for (const std::uint32_t b : before) ++after_first[b + 1];
  std::partial_sum(after_first.begin(), after_first.end(), after_first.begin());
  std::vector<std::uint32_t> after(before.size());
  std::vector<std::size_t> fill(after_first.begin(), after_first.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    waits[i] = static_cast<std::uint32_t>(first[i + 1] - first[i]);
    for (std::size_t e = first[i]; e < first[i + 1]; ++e)
      after[fill[before[e]]++] = static_cast<std::uint32_t>(i);
  }
  std::vector<std::uint32_t> ready;
  for (std::size_t i = 0; i < n; ++i)
    if (waits[i] == 0) ready.push_back(static_cast<std::uint32_t>(i));
  for (std::size_t done = 0; done < ready.size(); ++done) {
    const std::uint32_t i = ready[done];
    for (std::size_t e = after_first[i]; e < after_first[i + 1]; ++e)
      if (--waits[after[e]] == 0) ready.push_back(after[e]);
  }
  return ready.size() == n;
}

/// Drops every edge that leads back into the path of a depth-first walk along predecessors, which starts at
/// the lowest node: each of them lies on a cycle, and without them there is none. Returns how many.
std::int64_t break_cycles(std::vector<std::uint64_t>& first, std::vector<std::uint32_t>& before) {
  enum class State : std::uint8_t { New, Open, Done };
  const std::size_t n = first.size() - 1;
  std::vector<State> state(n, State::New);
  std::vector<bool> dropped(before.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> path;  // node, next edge to look at
  std::int64_t count = 0;
  for (std::size_t start = 0; start < n; ++start) {
    if (state[start] != State::New) continue;
    path.emplace_back(static_cast<std::uint32_t>(start), first[start]);
    state[start] = State::Open;
    while (!path.empty()) {
      auto& [node, edge] = path.back();
      if (edge == first[node + 1]) {
        state[node] = State::Done;
        path.pop_back();
        continue;
      }
      const std::uint32_t b = before[edge++];
      if (state[b] == State::Open) {
        dropped[edge - 1] = true;
        ++count;
      } else if (state[b] == State::New) {
        state[b] = State::Open;
        path.emplace_back(b, first[b]);
      }
    }
  }
  std::size_t kept = 0;
  std::size_t edge = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (; edge < first[i + 1]; ++edge)
      if (!dropped[edge]) before[kept++] = before[edge];
    first[i + 1] = kept;
  }
  before.resize(kept);
  return count;
}

}  // namespace

Duration duration_from_micros(std::uint64_t us) {
  return scaled(us, 1'000'000);
}

Duration duration_from_nanos(std::uint64_t ns) {
  return scaled(ns, 1'000);
}

void GraphBuilder::add(const GraphNode& node, std::span<const std::uint64_t> data,
                       std::span<const std::uint64_t> control) {
  nodes_.push_back(node);
  data_.insert(data_.end(), data.begin(), data.end());
  control_.insert(control_.end(), control.begin(), control.end());
  data_end_.push_back(data_.size());
  control_end_.push_back(control_.size());
}

std::vector<std::uint32_t> GraphBuilder::order_by_id() {
  std::vector<std::uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto by_id = [&](std::uint32_t a, std::uint32_t b) { return nodes_[a].id < nodes_[b].id; };
  if (!std::is_sorted(order.begin(), order.end(), by_id)) std::stable_sort(order.begin(), order.end(), by_id);
  const auto end = std::unique(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes_[a].id == nodes_[b].id;
  });
  part_.note_count(order.end() - end, "node has the id of an earlier one and is not used",
                   "nodes have the id of an earlier one and are not used");
  order.erase(end, order.end());
  return order;
}

GraphBuilder::Edges GraphBuilder::resolve(const std::vector<std::uint32_t>& order, bool data, bool control,
                                          Lost& lost) const {
  Edges edges;
  edges.first.reserve(order.size() + 1);
  const auto take = [&](std::uint32_t place, std::uint32_t node, const std::vector<std::uint64_t>& ids,
                        const std::vector<std::size_t>& end) {
    for (std::size_t e = node == 0 ? 0 : end[node - 1]; e < end[node]; ++e) {
      const auto at = std::lower_bound(order.begin(), order.end(), ids[e],
                                       [&](std::uint32_t n, std::uint64_t id) { return nodes_[n].id < id; });
      if (at == order.end() || nodes_[*at].id != ids[e]) {
        ++lost.unknown;
      } else if (const auto b = static_cast<std::uint32_t>(at - order.begin()); b == place) {
        ++lost.self;
      } else {
        edges.before.push_back(b);
      }
    }
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto place = static_cast<std::uint32_t>(i);
    if (data) take(place, order[i], data_, data_end_);
    if (control) take(place, order[i], control_, control_end_);
    const auto from = edges.before.begin() + static_cast<std::ptrdiff_t>(edges.first.back());
    std::sort(from, edges.before.end());
    edges.before.erase(std::unique(from, edges.before.end()), edges.before.end());
    edges.first.push_back(edges.before.size());
  }
  return edges;
}

GraphBuilder::Edges GraphBuilder::choose_edges(const std::vector<std::uint32_t>& order) {
  Lost lost;
  Edges edges = resolve(order, true, true, lost);
  if (!is_acyclic(edges.first, edges.before)) {
    Lost lost_data;
    Edges data = resolve(order, true, false, lost_data);
    if (!control_.empty() && !data.before.empty() && is_acyclic(data.first, data.before)) {
      part_.note_count(static_cast<std::int64_t>(control_.size()),
                       "control dependency not used: it contradicts the data dependencies (it says",
                       "control dependencies not used: they contradict the data dependencies (they say",
                       " who called, not who waits)");
      edges = std::move(data);
      lost = lost_data;
    }
  }
  part_.note_count(lost.unknown, "dependency on a node that is not in the file",
                   "dependencies on nodes that are not in the file");
  part_.note_count(lost.self, "node that depends on itself: dependency dropped",
                   "nodes that depend on themselves: dependencies dropped");
  part_.note_count(break_cycles(edges.first, edges.before), "dependency dropped that closed a cycle",
                   "dependencies dropped that closed a cycle");
  return edges;
}

void GraphBuilder::write_operations(const std::vector<std::uint32_t>& order, Edges edges,
                                    const GraphRules& rules) {
  model::Program& o = part_.program();
  std::array<bool, model::kOperationKinds> timed{};
  for (const std::uint32_t n : order)
    if (nodes_[n].duration != kNoDuration) timed[static_cast<std::size_t>(nodes_[n].kind)] = true;
  std::map<std::tuple<std::uint32_t, OperationKind, CommId>, std::int32_t> sequence;
  for (const std::uint32_t n : order) {
    GraphNode& node = nodes_[n];
    if (node.duration == kNoDuration && rules.absent_is_zero && timed[static_cast<std::size_t>(node.kind)])
      node.duration = Duration::zero();
    o.rank.push_back(node.rank);
    o.kind.push_back(node.kind);
    o.name.push_back(node.name);
    o.duration.push_back(node.duration);
    o.bytes.push_back(node.bytes);
    o.sequence.push_back(sequence[{node.rank, node.kind, node.comm}]++);
    o.comm.push_back(node.comm);
    o.collective.push_back(node.op);
  }
  o.needs = model::Dependencies(std::move(edges.first), std::move(edges.before));
}

void GraphBuilder::write_times(const std::vector<std::uint32_t>& order) {
  Run& run = part_.run();
  model::Program& program = part_.program();
  run.times = TimesKind::None;
  Nanoseconds origin = Nanoseconds::max();
  for (const std::uint32_t n : order)
    if (nodes_[n].begin != kNoBegin) origin = std::min(origin, nodes_[n].begin);
  program.begin.assign(order.size(), kNoDuration);
  if (origin == Nanoseconds::max()) return;
  run.times = TimesKind::Clocked;
  // A clock that stands later than 2001-09-09 counts from 1970; one that counts from the boot is far below.
  constexpr Nanoseconds kTimeOfDay{1'000'000'000'000'000'000};
  if (origin >= kTimeOfDay) run.origin_realtime_ns = origin.count();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Nanoseconds begin = nodes_[order[i]].begin;
    if (begin == kNoBegin) continue;
    program.begin[i] = duration_from_nanos(static_cast<std::uint64_t>(begin.count()) -
                                           static_cast<std::uint64_t>(origin.count()));
  }
}

void GraphBuilder::write_events(const std::vector<std::uint32_t>& order) {
  const model::Program& o = part_.program();
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Calls on the host that only start a collective carry no communicator, and are no event.
    if (o.kind[i] != OperationKind::Collective || o.comm[i] == kNoComm) continue;
    if (o.begin[i] == kNoDuration || o.duration[i] == kNoDuration) continue;
    part_.add_event(o.rank[i], {.kind = EventKind::Collective,
                                .op = static_cast<std::uint8_t>(nodes_[order[i]].op),
                                .begin = o.begin[i],
                                .end = o.begin[i] + o.duration[i],
                                .bytes = o.bytes[i],
                                .comm = o.comm[i],
                                .seq = static_cast<std::uint32_t>(o.sequence[i])});
  }
}

void GraphBuilder::finish(const GraphRules& rules) {
  const std::vector<std::uint32_t> order = order_by_id();
  const auto implied =
      std::count_if(nodes_.begin(), nodes_.end(), [](const GraphNode& n) { return n.implied; });
  part_.count(static_cast<std::int64_t>(nodes_.size()) - implied,
              static_cast<std::int64_t>(order.size()) - implied);
  write_operations(order, choose_edges(order), rules);
  write_times(order);
  write_events(order);
}

}  // namespace cox::trace
