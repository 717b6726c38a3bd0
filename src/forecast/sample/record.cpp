// SPDX-License-Identifier: Apache-2.0
#include "forecast/sample/record.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "forecast/sample/overlapped.hpp"

namespace cox::forecast {
namespace {

using trace::EventKind;

constexpr double kTicksPerSecond = 100;  ///< of a process's start: Linux has USER_HZ = 100 wherever it runs
constexpr Seconds kLongestStart{86'400};

/// One collective, as far as its members were seen.
struct Operation {
  std::size_t members = 0;
  bool alike = true;
  model::Collective kind = model::Collective::Other;
  Bytes bytes{};
  Duration arrival = Duration::min();
  Duration departure = Duration::min();
  Duration shortest = Duration::max();
};

/// Where a rank's second step begins; nothing before it counts.
Duration settled(const diagnose::Timeline& timeline, std::size_t r) {
  const auto begins = timeline.step_begins(r);
  return begins.size() > 1 ? begins[1] : Duration::max();
}

bool is_timed(const trace::EventColumns& e, std::size_t i) {
  return e.kind[i] == EventKind::Collective && e.end[i] != trace::kStillRunning &&
         e.comm[i] != trace::kNoComm && (e.flags[i] & (trace::kNonBlocking | trace::kVariable)) == 0 &&
         model::synchronizes_all(e.collective(i));
}

/// Operations of one communicator, in the order of their numbers.
using Operations = std::map<std::uint32_t, Operation>;

std::map<CommId, Operations> operations_of(const trace::Run& run, const diagnose::Timeline& timeline) {
  std::map<CommId, Operations> out;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const trace::EventColumns& e = run.ranks[r].events;
    const Duration from = settled(timeline, r);
    const Duration offset = timeline.offset(r);
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (!is_timed(e, i)) continue;
      Operation& op = out[e.comm[i]][e.seq[i]];
      if (op.members++ == 0) {
        op.kind = e.collective(i);
        op.bytes = e.bytes[i];
      }
      op.alike = op.alike && op.kind == e.collective(i) && op.bytes == e.bytes[i] && e.begin[i] >= from;
      op.arrival = std::max(op.arrival, e.begin[i] - offset);
      op.departure = std::max(op.departure, e.end[i] - offset);
      op.shortest = std::min(op.shortest, e.end[i] - e.begin[i]);
    }
  }
  return out;
}

std::vector<MessageTimes> messages_of(const trace::Run& run, const diagnose::Timeline& timeline) {
  const bool clocked = run.times == trace::TimesKind::Clocked;
  if (!clocked && run.times != trace::TimesKind::Durations) return {};
  std::map<std::tuple<model::Collective, std::size_t, bool, Bytes>, std::vector<Seconds>> found;
  for (const auto& [id, operations] : operations_of(run, timeline)) {
    const trace::Communicator* comm = run.find(id);
    if (comm == nullptr || comm->ranks.size() < 2) continue;
    const bool one_node = on_one_node(run, *comm);
    for (const auto& [number, op] : operations) {
      if (!op.alike || op.members != comm->ranks.size()) continue;
      const Duration took = clocked ? op.departure - op.arrival : op.shortest;
      if (took <= Duration::zero()) continue;
      found[{op.kind, op.members, one_node, op.bytes}].push_back(Seconds{in_seconds(took)});
    }
  }
  std::vector<MessageTimes> out;
  out.reserve(found.size());
  for (auto& [key, times] : found)
    out.push_back({.kind = std::get<0>(key),
                   .ranks = static_cast<std::int64_t>(std::get<1>(key)),
                   .one_node = std::get<2>(key),
                   .bytes = std::get<3>(key),
                   .times = std::move(times)});
  return out;
}

using Spans = std::vector<std::pair<Duration, Duration>>;

/// Ascending, none overlapping.
Spans united(Spans spans) {
  std::sort(spans.begin(), spans.end());
  Spans out;
  for (const auto& s : spans) {
    if (!out.empty() && s.first <= out.back().second)
      out.back().second = std::max(out.back().second, s.second);
    else
      out.push_back(s);
  }
  return out;
}

Duration length(const Spans& united_spans) {
  Duration out{};
  for (const auto& [begin, end] : united_spans) out += end - begin;
  return out;
}

/// Of two lists of united spans, the time that lies in both.
Duration in_both(const Spans& a, const Spans& b) {
  Duration out{};
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Duration begin = std::max(a[i].first, b[j].first);
    const Duration end = std::min(a[i].second, b[j].second);
    out += std::max(Duration::zero(), end - begin);
    (a[i].second < b[j].second ? i : j)++;
  }
  return out;
}

/// What a rank had under way, and where it stood in communication.
struct RankSpans {
  std::int64_t operations = 0;
  Spans in_flight;
  Spans stood;
  bool waits = false;
  bool until_waits = false;
};

RankSpans spans_of(const trace::EventColumns& e, Duration from) {
  RankSpans out;
  std::unordered_map<std::uint64_t, Duration> started;  // by communicator and number
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool wait = e.kind[i] == EventKind::Wait;
    if ((!wait && e.kind[i] != EventKind::Collective) || e.end[i] == trace::kStillRunning ||
        e.begin[i] < from)
      continue;
    const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(e.comm[i].value())} << 32 | e.seq[i];
    if (!wait && (e.flags[i] & trace::kOffThread) != 0) {
      out.in_flight.emplace_back(e.begin[i], e.end[i]);
      ++out.operations;
      continue;
    }
    out.stood.emplace_back(e.begin[i], e.end[i]);
    if (!wait && (e.flags[i] & trace::kNonBlocking) != 0) {
      started[key] = e.begin[i];
    } else if (wait && static_cast<trace::WaitKind>(e.op[i]) != trace::WaitKind::Peer) {
      out.waits = true;
      const auto at = started.find(key);
      if (at == started.end() || e.comm[i] == trace::kNoComm) continue;
      out.in_flight.emplace_back(at->second, e.end[i]);
      out.until_waits = true;
      ++out.operations;
      started.erase(at);
    }
  }
  return out;
}

void add_background(const trace::Run& run, const diagnose::Timeline& timeline, RunRecord& out) {
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    RankSpans spans = spans_of(run.ranks[r].events, settled(timeline, r));
    if (!spans.waits || spans.operations == 0) continue;
    const Spans in_flight = united(std::move(spans.in_flight));
    const Duration all = length(in_flight);
    const Duration stood = in_both(in_flight, united(std::move(spans.stood)));
    out.background.push_back({.operations = spans.operations,
                              .in_flight = Seconds{in_seconds(all)},
                              .hidden = Seconds{in_seconds(all - stood)}});
    out.until_waits = out.until_waits || spans.until_waits;
  }
}

/// Nothing where it is not known when the processes began.
std::optional<Seconds> startup_of(const trace::Run& run, const diagnose::Timeline& timeline) {
  std::optional<Seconds> first;
  std::optional<Seconds> step;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const trace::RankTrack& t = run.ranks[r];
    const auto node = std::ranges::find_if(run.nodes, [&](const trace::Node& n) { return n.id == t.node; });
    const auto begins = timeline.step_begins(r);
    if (t.start_time == 0 || node == run.nodes.end() || !node->monotonic_origin_ns || begins.empty())
      return {};
    const Seconds began{static_cast<double>(t.start_time) / kTicksPerSecond -
                        static_cast<double>(*node->monotonic_origin_ns) * 1e-9};
    const Seconds steps{in_seconds(begins.front() - timeline.offset(r))};
    first = first ? std::min(*first, began) : began;
    step = step ? std::max(*step, steps) : steps;
  }
  if (!first || *step <= *first || *step - *first > kLongestStart) return {};
  return *step - *first;
}

}  // namespace

RunRecord record_of(const trace::Run& run, const diagnose::Timeline& timeline) {
  RunRecord out;
  out.messages = messages_of(run, timeline);
  add_background(run, timeline, out);
  if (!out.background.empty() && !out.until_waits) add_overlapped(run, timeline, out);
  if (run.info.provenance == trace::Provenance::Observed) {
    out.startup = startup_of(run, timeline);
    out.observed = Seconds{in_seconds(timeline.last() - timeline.first())};
  }
  out.ended = static_cast<std::int64_t>(run.info.ends.size());
  if (out.ended == 0 && run.info.exit_status > 0) out.ended = 1;
  for (const trace::RankTrack& t : run.ranks)
    out.attempts = std::max(out.attempts, static_cast<std::int64_t>(t.attempt));
  return out;
}

}  // namespace cox::forecast
