// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace cox::diagnose {
namespace {

/// A world size read from a file may be anything; the list of the missing stays readable.
constexpr std::size_t kMostMissing = 4096;

/// Ranks 1 to n of a table that holds n of them: its ranks are counted from 1, and none is missing.
bool counts_from_one(const Matched& matched) {
  const auto tracks = matched.tracks();
  const auto count = static_cast<std::int64_t>(tracks.size());
  return matched.provenance() == trace::Provenance::Imported && count > 0 && matched.world_size() == count &&
         tracks.front().rank.value() == 1 && tracks.back().rank.value() == count;
}

std::int64_t ranks_expected(const Matched& matched) {
  if (counts_from_one(matched)) return matched.world_size();
  std::int64_t expected =
      std::max<std::int64_t>(matched.world_size(), static_cast<std::int64_t>(matched.ranks()));
  for (const trace::RankTrack& t : matched.tracks())
    expected = std::max<std::int64_t>(expected, std::int64_t{t.rank.value()} + 1);
  if (matched.world_size() > 0) return expected;
  for (const trace::Communicator& c : matched.communicators())
    if (!c.ranks.empty())
      expected = std::max<std::int64_t>(expected, std::int64_t{c.ranks.back().value()} + 1);
  return expected;
}

std::vector<Rank> missing_of(const Matched& matched, std::int64_t expected) {
  std::vector<Rank> missing;
  const auto tracks = matched.tracks();
  auto at = tracks.begin();
  for (std::int64_t r = 0; r < expected && missing.size() < kMostMissing; ++r) {
    while (at != tracks.end() && at->rank.value() < r) ++at;
    if (at == tracks.end() || at->rank.value() != r) missing.emplace_back(static_cast<Rank::rep>(r));
  }
  return missing;
}

/// Calls that rings overwrote or that found no room, as the recorded ones suggest.
double lost_calls(const Matched& matched) {
  double lost = 0;
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    const auto records = static_cast<double>(matched.track(r).events.size());
    if (records == 0) continue;
    const auto gone = static_cast<double>(matched.track(r).dropped_records) +
                      static_cast<double>(matched.track(r).recycled_records);
    lost += gone * static_cast<double>(matched.scan(r).collectives) / records;
  }
  return lost;
}

/// Ranks whose record holds too few of the calls that the numbers of their communicators' calls ask of them.
std::vector<Rank> short_of_calls(const Matched& matched) {
  std::vector<double> asked(matched.ranks());
  for (const Group& group : matched.operations().groups)
    if (!group.waits)
      for (const std::int32_t member : group.members)
        asked[static_cast<std::size_t>(member)] += static_cast<double>(group.expected_ops);
  std::vector<Rank> found;
  for (std::size_t r = 0; r < asked.size() && found.size() < kMostMissing; ++r)
    if (static_cast<double>(matched.scan(r).collectives) < kEnoughCalls * asked[r])
      found.push_back(matched.track(r).rank);
  return found;
}

/// The part of all records that is there.
double kept_records(const Matched& matched, const Coverage& c) {
  double kept = 0;
  for (std::size_t r = 0; r < matched.ranks(); ++r)
    kept += static_cast<double>(matched.track(r).events.size());
  const double gone = static_cast<double>(c.dropped_records) + static_cast<double>(c.recycled_records);
  return gone > 0 ? kept / (kept + gone) : 1;
}

std::int64_t to_count(double x) {
  return x >= 9.2e18 ? std::numeric_limits<std::int64_t>::max() : std::llround(x);
}

}  // namespace

trace::UnobservedCalls count_unobserved(const Matched& matched) {
  trace::UnobservedCalls sum{};
  for (const trace::RankTrack& track : matched.tracks())
    for (std::size_t kind = 0; kind < sum.size(); ++kind) sum[kind] += track.unobserved_calls[kind];
  return sum;
}

std::uint64_t Coverage::calls_only_counted() const {
  return std::accumulate(unobserved_calls.begin(), unobserved_calls.end(), std::uint64_t{0});
}

Coverage cover(const Matched& matched) {
  Coverage c;
  const Matching& m = matched.operations();
  const ClockView& clocks = matched.clocks();
  c.ranks_seen = static_cast<std::int64_t>(matched.ranks());
  c.ranks_expected = ranks_expected(matched);
  if (!counts_from_one(matched)) c.missing_ranks = missing_of(matched, c.ranks_expected);
  c.short_ranks = short_of_calls(matched);
  c.clock_domains = clocks.domains;
  for (const trace::Node& node : matched.nodes()) {
    if (node.clock.source == trace::ClockSource::Shared) continue;
    // Hosts that only know each other hang on the realtime clock of one of them.
    const bool connected =
        node.clock.source == trace::ClockSource::Collectives && node.clock.against == matched.nodes()[0].id;
    ++(connected ? c.hosts_by_collectives : c.hosts_by_realtime);
    if (connected) c.host_residual = std::max(c.host_residual, node.clock.residual);
  }
  c.clock_residual = clocks.residual;
  c.clocks_comparable = clocks.comparable;
  c.wait_validity_ratio = clocks.validity;
  c.order_refused = !clocks.comparable && clocks.validity_of_wide > 0.5;
  c.mismatched = m.mismatched_ops;
  c.unobserved_calls = count_unobserved(matched);
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    c.dropped_records += matched.track(r).dropped_records;
    c.recycled_records += matched.track(r).recycled_records;
    c.stopped_ranks += matched.track(r).state == trace::WriterState::Disabled ? 1 : 0;
    c.overhead_per_event = std::max(c.overhead_per_event, matched.track(r).overhead_per_event);
    c.unfinished_calls += matched.scan(r).unfinished;
  }
  double expected = 0;
  double agreed = 0;
  for (const Group& group : m.groups) {
    if (group.waits) continue;
    expected += static_cast<double>(group.expected_ops) * static_cast<double>(group.declared);
    for (std::int64_t i = 0; i < group.ops; ++i) {
      const Operation& op = m.ops[group.first_op + static_cast<std::size_t>(i)];
      if (op.seen == 0) continue;
      ++c.collectives_seen;
      if (!op.mismatch) agreed += op.seen;
      if (op.seen >= group.declared && !op.mismatch) ++c.collectives_matched;
    }
  }
  std::int64_t calls = 0;
  for (const RankScan& scan : matched.scans()) calls += scan.collectives;
  c.calls_seen = m.finished_calls;
  expected = std::max(expected, static_cast<double>(calls) + lost_calls(matched));
  c.calls_expected = to_count(expected);
  if (expected > 0)
    c.ratio = std::clamp(agreed / expected, 0.0, 1.0);
  else if (c.ranks_expected > 0)
    c.ratio =
        kept_records(matched, c) * static_cast<double>(c.ranks_seen) / static_cast<double>(c.ranks_expected);
  return c;
}

std::vector<CommAccount> account_communicators(const Matched& matched) {
  std::map<std::int32_t, const CommUse*> fullest;
  for (const RankScan& scan : matched.scans())
    for (const CommUse& use : scan.comms) {
      const CommUse*& best = fullest[use.comm];
      if (best == nullptr || use.calls > best->calls) best = &use;
    }
  std::vector<CommAccount> accounts;
  for (const auto& [comm, use] : fullest) {
    const trace::Communicator& c = matched.communicator(comm);
    accounts.push_back({c.id, c.name, c.size, use->calls, use->bytes});
  }
  return accounts;
}

UnobservedName name_of(trace::Unobserved kind) {
  switch (kind) {
    case trace::Unobserved::Sessions:
      return {"sessions", "sessions"};
    case trace::Unobserved::OneSided:
      return {"one_sided", "one-sided communication"};
    case trace::Unobserved::Files:
      return {"files", "files"};
    case trace::Unobserved::LargeCounts:
      return {"large_counts", "large counts (_c)"};
    case trace::Unobserved::FaultTolerance:
      return {"fault_tolerance", "fault tolerance"};
    case trace::Unobserved::Messages:
      return {"messages", "matched, combined or partitioned messages"};
    case trace::Unobserved::Processes:
      return {"processes", "other jobs' processes"};
  }
  return {"other", "other"};
}

const char* name_of(WaitMethod m) {
  switch (m) {
    case WaitMethod::Clock:
      return "clock";
    case WaitMethod::Duration:
      return "duration";
  }
  return "duration";
}

}  // namespace cox::diagnose
