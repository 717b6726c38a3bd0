// SPDX-License-Identifier: Apache-2.0
#include "forecast/sample/overlapped.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cox/trace/time_unit.hpp"

namespace cox::forecast {
namespace {

using trace::EventKind;

constexpr std::size_t kMostSteps = 64;
constexpr std::size_t kMostOperations = 2'048;
constexpr double kUsable = 0.9;  ///< of the steps looked at: fewer are no job of such steps
constexpr Duration kRounding{1'000};

/// One collective of a step, as far as its members were seen.
struct Seen {
  std::size_t members = 0;
  bool alike = true;
  model::Collective kind = model::Collective::Other;
  Bytes bytes{};
  Duration arrival = Duration::min();
  Duration departure = Duration::min();
};

/// One step, as its ranks saw it.
struct SeenStep {
  Duration begin = Duration::min();
  Duration work = Duration::min();    ///< the last rank begins to wait
  Duration waited = Duration::min();  ///< the last rank has waited for one operation
  Duration end = Duration::min();     ///< and for all
  std::size_t ranks = 0;              ///< that waited
  std::map<std::pair<std::int32_t, std::uint32_t>, Seen> operations{};
};

bool is_beside(const trace::EventColumns& e, std::size_t i) {
  return e.kind[i] == EventKind::Collective && e.end[i] != trace::kStillRunning &&
         e.comm[i] != trace::kNoComm && (e.flags[i] & trace::kOffThread) != 0;
}

bool is_wait(const trace::EventColumns& e, std::size_t i) {
  return e.kind[i] == EventKind::Wait && e.end[i] != trace::kStillRunning &&
         static_cast<trace::WaitKind>(e.op[i]) != trace::WaitKind::Peer;
}

/// Communicators of the most ranks that operations beside work go over, numbered; together they hold every rank, or there is none.
std::map<CommId, std::int32_t> chains_of(const trace::Run& run) {
  std::set<CommId> used;
  for (const trace::RankTrack& t : run.ranks)
    for (std::size_t i = 0; i < t.events.size(); ++i)
      if (is_beside(t.events, i)) used.insert(t.events.comm[i]);
  std::size_t most = 2;
  for (const CommId id : used)
    if (const auto* c = run.find(id)) most = std::max(most, c->ranks.size());
  std::map<CommId, std::int32_t> out;
  std::set<Rank> held;
  for (const CommId id : used) {
    const trace::Communicator* c = run.find(id);
    if (c == nullptr || c->ranks.size() < most) continue;
    out.emplace(id, static_cast<std::int32_t>(out.size()));
    held.insert(c->ranks.begin(), c->ranks.end());
  }
  return held.size() < run.ranks.size() ? std::map<CommId, std::int32_t>{} : out;
}

/// What one rank had in the steps that are looked at.
void take_rank(const trace::EventColumns& e, std::span<const Duration> begins, Duration offset,
               const std::map<CommId, std::int32_t>& chains, std::map<std::size_t, SeenStep>& steps) {
  std::map<std::size_t, std::pair<Duration, Duration>> waits;  // first begin and end
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool beside = is_beside(e, i);
    if (!beside && !is_wait(e, i)) continue;
    const auto after = std::ranges::upper_bound(begins, e.begin[i]);
    if (after == begins.begin()) continue;
    const auto k = static_cast<std::size_t>(after - begins.begin()) - 1;
    const auto at = steps.find(k);
    if (at == steps.end()) continue;
    SeenStep& step = at->second;
    if (!beside) {
      step.end = std::max(step.end, e.end[i] - offset);
      const auto [first, is_first] = waits.try_emplace(k, e.begin[i] - offset, e.end[i] - offset);
      if (!is_first && e.begin[i] - offset < first->second.first)
        first->second = {e.begin[i] - offset, e.end[i] - offset};
      continue;
    }
    const auto chain = chains.find(e.comm[i]);
    if (chain == chains.end()) continue;
    Seen& one = step.operations[{chain->second, e.seq[i]}];
    if (one.members++ == 0) {
      one.kind = e.collective(i);
      one.bytes = e.bytes[i];
    }
    one.alike = one.alike && one.kind == e.collective(i) && one.bytes == e.bytes[i];
    one.arrival = std::max(one.arrival, e.begin[i] - offset);
    one.departure = std::max(one.departure, e.end[i] - offset);
  }
  for (auto& [k, step] : steps) {
    if (k < begins.size()) step.begin = std::max(step.begin, begins[k] - offset);
    const auto first = waits.find(k);
    if (first == waits.end()) continue;
    ++step.ranks;
    step.work = std::max(step.work, first->second.first);
    step.waited = std::max(step.waited, first->second.second);
  }
}

std::optional<OverlappedStep> as_played(const SeenStep& step, std::size_t ranks, std::size_t members) {
  if (step.ranks != ranks || step.operations.empty()) return std::nullopt;
  OverlappedStep out{.work = Seconds{in_seconds(step.work - step.begin)}};
  for (const auto& [key, one] : step.operations) {
    const bool whole = one.alike && one.members == members && model::synchronizes_all(one.kind);
    if (!whole || one.arrival > step.waited + kRounding || one.departure > step.end + kRounding ||
        one.departure < one.arrival)
      return std::nullopt;
    out.operations.push_back({.chain = key.first,
                              .kind = one.kind,
                              .bytes = one.bytes,
                              .arrival = Seconds{in_seconds(one.arrival - step.begin)},
                              .departure = Seconds{in_seconds(one.departure - step.begin)}});
  }
  std::ranges::stable_sort(out.operations, [](const BesideOperation& a, const BesideOperation& b) {
    return a.chain != b.chain ? a.chain < b.chain : a.arrival < b.arrival;
  });
  return out;
}

}  // namespace

bool on_one_node(const trace::Run& run, const trace::Communicator& comm) {
  std::optional<NodeId> node;
  for (const trace::RankTrack& t : run.ranks) {
    if (!std::ranges::binary_search(comm.ranks, t.rank)) continue;
    if (node && *node != t.node) return false;
    node = t.node;
  }
  return node && std::ranges::any_of(run.nodes,
                                     [&](const trace::Node& n) { return n.id == *node && !n.host.empty(); });
}

void add_overlapped(const trace::Run& run, const diagnose::Timeline& timeline, RunRecord& out) {
  if (run.times != trace::TimesKind::Clocked || run.ranks.empty()) return;
  const std::map<CommId, std::int32_t> chains = chains_of(run);
  if (chains.empty()) return;
  std::size_t count = timeline.step_begins(0).size();
  for (std::size_t r = 0; r < run.ranks.size(); ++r) count = std::min(count, timeline.step_begins(r).size());
  if (count < 3) return;
  std::map<std::size_t, SeenStep> steps;  // neither the first one nor the last
  const std::size_t looked_at = std::min(kMostSteps, count - 2);
  for (std::size_t i = 0; i < looked_at; ++i) steps[1 + i * (count - 2) / looked_at];
  for (std::size_t r = 0; r < run.ranks.size(); ++r)
    take_rank(run.ranks[r].events, timeline.step_begins(r), timeline.offset(r), chains, steps);
  const trace::Communicator& widest = *run.find(chains.begin()->first);
  std::vector<OverlappedStep> played;
  for (const auto& [k, step] : steps)
    if (auto one = as_played(step, run.ranks.size(), widest.ranks.size())) played.push_back(*std::move(one));
  if (static_cast<double>(played.size()) < kUsable * static_cast<double>(looked_at)) return;
  const std::size_t operations = played.front().operations.size();
  const std::size_t most = std::max<std::size_t>(kMostOperations / operations, 1);
  if (played.size() > most) {
    std::vector<OverlappedStep> fewer;
    for (std::size_t i = 0; i < most; ++i) fewer.push_back(std::move(played[i * played.size() / most]));
    played = std::move(fewer);
  }
  out.overlapped = std::move(played);
  out.overlapped_among = static_cast<std::int64_t>(widest.ranks.size());
  out.overlapped_in_node = on_one_node(run, widest);
}

}  // namespace cox::forecast
