// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/graph_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "cox/replay/replay.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using model::kNoComm;
using model::kNoDuration;
using model::OperationKind;
using model::Program;

constexpr std::size_t kKinds = model::kOperationKinds;

/// Operations and, behind them, the points where ranks begin a collective together; what each waits for.
struct Tied {
  std::vector<std::size_t> first{0};
  std::vector<std::uint32_t> before;
  std::vector<Duration> duration;

  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
};

/// How ranks depend on one another.
struct Ties {
  std::vector<std::uint32_t> send_of;  ///< per operation: the send that a receive waits for; else itself
  std::vector<std::uint32_t> join_of;  ///< per operation: number of its collective; else kNone
  std::vector<std::vector<std::uint32_t>> joins;  ///< members
  std::int64_t messages = 0;
  std::int64_t unmatched = 0;

  static constexpr std::uint32_t kNone = 0xffffffff;
};

/// The k-th send of a channel goes to its k-th receive.
void tie_messages(const Program& o, Ties& ties) {
  struct Channel {
    std::vector<std::uint32_t> sent;
    std::vector<std::uint32_t> received;
  };
  std::map<CommId, Channel> channels;
  for (std::uint32_t i = 0; i < o.size(); ++i) {
    if (o.comm[i] == kNoComm) continue;
    if (o.kind[i] == OperationKind::Send) channels[o.comm[i]].sent.push_back(i);
    if (o.kind[i] == OperationKind::Receive) channels[o.comm[i]].received.push_back(i);
  }
  for (const auto& [comm, channel] : channels) {
    const std::size_t n = std::min(channel.sent.size(), channel.received.size());
    for (std::size_t k = 0; k < n; ++k) ties.send_of[channel.received[k]] = channel.sent[k];
    ties.messages += static_cast<std::int64_t>(n);
    ties.unmatched += static_cast<std::int64_t>(channel.sent.size() + channel.received.size() - 2 * n);
  }
}

/// The k-th collective of a communicator is one operation on all ranks that have a k-th one.
void tie_collectives(const Program& o, Ties& ties) {
  std::map<std::pair<CommId, std::uint32_t>, std::uint32_t> count;                 // by communicator and rank
  std::map<std::pair<CommId, std::uint32_t>, std::vector<std::uint32_t>> members;  // and position
  for (std::uint32_t i = 0; i < o.size(); ++i) {
    if (o.kind[i] != OperationKind::Collective || o.comm[i] == kNoComm) continue;
    members[{o.comm[i], count[{o.comm[i], o.rank[i]}]++}].push_back(i);
  }
  for (auto& [key, list] : members) {
    if (list.size() < 2) continue;
    for (const std::uint32_t i : list) ties.join_of[i] = static_cast<std::uint32_t>(ties.joins.size());
    ties.joins.push_back(std::move(list));
  }
}

Ties find_ties(const Program& o) {
  Ties ties;
  ties.send_of.resize(o.size());
  for (std::uint32_t i = 0; i < o.size(); ++i) ties.send_of[i] = i;
  ties.join_of.assign(o.size(), Ties::kNone);
  tie_messages(o, ties);
  tie_collectives(o, ties);
  return ties;
}

Duration duration_or_zero(const Program& o, std::uint32_t i) {
  return o.duration[i] == kNoDuration ? Duration::zero() : positive_part(o.duration[i]);
}

/// The shortest known duration of those given; zero where none is known.
Duration shortest(const Program& o, std::span<const std::uint32_t> list) {
  Duration least = Duration::max();
  for (const std::uint32_t i : list)
    if (o.duration[i] != kNoDuration) least = std::min(least, positive_part(o.duration[i]));
  return least == Duration::max() ? Duration::zero() : least;
}

void append_before(const Program& o, std::uint32_t i, std::vector<std::uint32_t>& before) {
  const auto mine = o.needs.before(i);
  before.insert(before.end(), mine.begin(), mine.end());
}

Tied tie(const Program& o, const Ties& ties) {
  Tied t;
  const auto n = static_cast<std::uint32_t>(o.size());
  t.first.reserve(o.size() + ties.joins.size() + 1);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (ties.join_of[i] != Ties::kNone) {
      t.before.push_back(n + ties.join_of[i]);
      t.duration.push_back(shortest(o, ties.joins[ties.join_of[i]]));
    } else {
      append_before(o, i, t.before);
      const std::uint32_t sent = ties.send_of[i];
      if (sent != i) t.before.push_back(sent);
      const std::array<std::uint32_t, 2> both{i, sent};
      t.duration.push_back(sent != i && o.duration[i] != kNoDuration ? shortest(o, both)
                                                                     : duration_or_zero(o, i));
    }
    t.first.push_back(t.before.size());
  }
  for (const auto& members : ties.joins) {
    for (const std::uint32_t i : members) append_before(o, i, t.before);
    t.duration.push_back(Duration::zero());
    t.first.push_back(t.before.size());
  }
  return t;
}

/// Nodes in an order in which predecessors come first, the lowest of those that can come next; shorter than
/// the graph where some wait for each other in a circle (Kahn 1962).
std::vector<std::uint32_t> order_of(const Tied& t) {
  std::vector<std::size_t> after_first(t.size() + 1);
  std::vector<std::uint32_t> after(t.before.size());
  std::vector<std::uint32_t> waits(t.size());
  for (const std::uint32_t b : t.before) ++after_first[b + 1];
  for (std::size_t i = 0; i < t.size(); ++i) after_first[i + 1] += after_first[i];
  std::vector<std::size_t> fill(after_first.begin(), after_first.end() - 1);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < t.size(); ++i) {
    waits[i] = static_cast<std::uint32_t>(t.first[i + 1] - t.first[i]);
    if (waits[i] == 0) ready.push(i);
    for (std::size_t e = t.first[i]; e < t.first[i + 1]; ++e) after[fill[t.before[e]]++] = i;
  }
  std::vector<std::uint32_t> order;
  order.reserve(t.size());
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (std::size_t e = after_first[i]; e < after_first[i + 1]; ++e)
      if (--waits[after[e]] == 0) ready.push(after[e]);
  }
  return order;
}

/// Operations on the critical path, and when it ends.
struct Longest {
  Duration makespan{};
  std::vector<std::pair<std::uint32_t, Duration>> path;  ///< operation, its time in the replay
};

Longest evaluate(const Tied& t, const std::vector<std::uint32_t>& order, std::size_t operations) {
  model::Dependencies graph;
  graph.reserve(t.size(), t.before.size());
  std::vector<model::OperationIndex> node_of(t.size());
  std::vector<Duration> durations;
  durations.reserve(t.size());
  std::vector<model::OperationIndex> before;
  for (const std::uint32_t i : order) {
    before.clear();
    for (std::size_t e = t.first[i]; e < t.first[i + 1]; ++e) before.push_back(node_of[t.before[e]]);
    node_of[i] = graph.add(before);
    durations.push_back(t.duration[i]);
  }
  const replay::OperationTimes timeline = replay::replay(graph, durations);
  Longest longest{.makespan = timeline.makespan, .path = {}};
  for (const model::OperationIndex n : replay::critical_path(graph, durations, timeline))
    if (order[n] < operations) longest.path.emplace_back(order[n], durations[n]);
  return longest;
}

std::vector<GraphName> names_on(const Program& program, const Longest& longest) {
  std::map<std::uint32_t, GraphName> by_name;
  for (const auto& [i, time] : longest.path) {
    GraphName& name = by_name[program.name[i]];
    ++name.operations;
    add_to(name.on_path, time);
  }
  std::vector<GraphName> names;
  for (auto& [index, name] : by_name) {
    name.name = program.names[index];
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end(), [](const GraphName& a, const GraphName& b) {
    return a.on_path != b.on_path ? a.on_path > b.on_path : a.name < b.name;
  });
  if (names.size() > kGraphNames) names.resize(kGraphNames);
  return names;
}

std::optional<Duration> recorded_span(const Program& o) {
  std::optional<Duration> first;
  Duration last{};
  for (std::size_t i = 0; i < o.size(); ++i) {
    if (o.duration[i] == kNoDuration) continue;
    if (o.begin[i] == kNoDuration) return std::nullopt;
    first = std::min(first.value_or(o.begin[i]), o.begin[i]);
    last = std::max(last, plus_clamped(o.begin[i], o.duration[i]));
  }
  if (!first) return std::nullopt;
  return minus_clamped(last, *first);
}

/// Counts and sums that need no order.
std::array<GraphKind, kKinds> count(const Program& o, GraphPath& out) {
  std::array<GraphKind, kKinds> kinds;
  for (std::size_t k = 0; k < kKinds; ++k) kinds[k].kind = static_cast<OperationKind>(k);
  for (const model::ProgramRank& r : o.ranks) out.ranks.push_back({.rank = r.rank});
  for (std::size_t i = 0; i < o.size(); ++i) {
    GraphKind& kind = kinds[static_cast<std::size_t>(o.kind[i])];
    ++kind.operations;
    ++out.ranks[o.rank[i]].operations;
    if (o.duration[i] == kNoDuration) continue;
    ++kind.timed;
    add_to(kind.work, positive_part(o.duration[i]));
    add_to(out.ranks[o.rank[i]].work, positive_part(o.duration[i]));
  }
  return kinds;
}

void state_limits(const Program& program, const std::array<GraphKind, kKinds>& kinds, GraphPath& out) {
  const auto present = static_cast<std::size_t>(
      std::count_if(out.ranks.begin(), out.ranks.end(), [](const GraphRank& r) { return r.operations > 0; }));
  if (present == 1) {
    out.limits.emplace_back("one rank only: for whom it waits, and who waits for it, is not in the graph");
  } else if (program.world_size > 0 && present < static_cast<std::size_t>(program.world_size)) {
    out.limits.push_back(fmt::format("{} of {} ranks are in the graph: waits for the others are not", present,
                                     program.world_size));
  }
  static constexpr std::array<const char*, kKinds> kNames{
      "computations", "collectives", "sends", "receives", "memory operations", "other operations"};
  for (std::size_t k = 0; k < kKinds; ++k) {
    const std::int64_t without = kinds[k].operations - kinds[k].timed;
    if (without > 0 && out.times)
      out.limits.push_back(
          fmt::format("{} of {} {} have no duration and count as zero: the makespan is a lower bound",
                      without, kinds[k].operations, kNames[k]));
  }
  if (out.unmatched > 0)
    out.limits.push_back(
        fmt::format("{} sends and receives have no counterpart in the graph", out.unmatched));
  if (out.times)
    out.limits.emplace_back(
        "operations that no dependency orders are taken to run at the same time: "
        "cores and streams are not in the graph");
}

/// An order of the tied graph, or of the ranks apart where tying them closes a circle.
std::vector<std::uint32_t> order_or_untie(const Program& o, Ties& ties, Tied& tied, GraphPath& out) {
  std::vector<std::uint32_t> order = order_of(tied);
  const bool any_ties = ties.messages > 0 || !ties.joins.empty();
  if (order.size() == tied.size() || !any_ties) return order;
  out.limits.emplace_back(
      "ranks disagree on the order of their messages or collectives: each is evaluated without the others");
  Ties none;
  none.send_of.resize(o.size());
  for (std::uint32_t i = 0; i < o.size(); ++i) none.send_of[i] = i;
  none.join_of.assign(o.size(), Ties::kNone);
  none.unmatched = ties.unmatched;
  ties = std::move(none);
  tied = tie(o, ties);
  return order_of(tied);
}

void evaluate(const Program& o, std::array<GraphKind, kKinds>& kinds, GraphPath& out) {
  Ties ties = find_ties(o);
  Tied tied = tie(o, ties);
  const std::vector<std::uint32_t> order = order_or_untie(o, ties, tied, out);
  out.messages = ties.messages;
  out.unmatched = ties.unmatched;
  out.joined_collectives = static_cast<std::int64_t>(ties.joins.size());
  if (order.size() < tied.size()) {
    out.limits.push_back(
        fmt::format("{} operations wait for each other in a circle: no path", tied.size() - order.size()));
    return;
  }
  const Longest longest = evaluate(tied, order, o.size());
  GraphTimes times;
  times.makespan = longest.makespan;
  times.recorded = recorded_span(o);
  for (const GraphKind& kind : kinds) add_to(times.work, kind.work);
  if (times.makespan > Duration::zero()) times.parallelism_ratio = ratio(times.work, times.makespan);
  times.path_operations = static_cast<std::int64_t>(longest.path.size());
  times.names = names_on(o, longest);
  for (const auto& [i, time] : longest.path) {
    add_to(kinds[static_cast<std::size_t>(o.kind[i])].on_path, time);
    add_to(out.ranks[o.rank[i]].on_path, time);
  }
  out.times = std::move(times);
}

}  // namespace

std::optional<GraphPath> find_graph_path(const Program& program) {
  if (!program.is_graph()) return std::nullopt;
  GraphPath out;
  out.operations = static_cast<std::int64_t>(program.size());
  out.edges = static_cast<std::int64_t>(program.needs.edges());
  std::array<GraphKind, kKinds> kinds = count(program, out);
  const bool timed = std::any_of(kinds.begin(), kinds.end(), [](const GraphKind& k) { return k.timed > 0; });
  if (!timed) {
    out.limits.emplace_back("no operation has a duration: counts only");
  } else if (program.is_calls) {
    out.limits.emplace_back("edges say who called whom, not who waits for whom: no path");
  } else {
    evaluate(program, kinds, out);
  }
  state_limits(program, kinds, out);
  for (const GraphKind& kind : kinds)
    if (kind.operations > 0) out.kinds.push_back(kind);
  return out;
}

}  // namespace cox::diagnose
