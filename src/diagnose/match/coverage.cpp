// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace cox::diagnose {
namespace {

/// A world size read from a file may be anything; the list of the missing stays readable.
constexpr std::size_t kMostMissing = 4096;

std::int64_t ranks_expected(const trace::Run& run) {
  std::int64_t expected = std::max<std::int64_t>(run.world_size, static_cast<std::int64_t>(run.ranks.size()));
  for (const trace::RankTrack& t : run.ranks)
    expected = std::max<std::int64_t>(expected, std::int64_t{t.rank.value()} + 1);
  if (run.world_size > 0) return expected;
  for (const trace::Communicator& c : run.communicators)
    if (!c.ranks.empty())
      expected = std::max<std::int64_t>(expected, std::int64_t{c.ranks.back().value()} + 1);
  return expected;
}

std::vector<Rank> missing_of(const trace::Run& run, std::int64_t expected) {
  std::vector<Rank> missing;
  auto at = run.ranks.begin();
  for (std::int64_t r = 0; r < expected && missing.size() < kMostMissing; ++r) {
    while (at != run.ranks.end() && at->rank.value() < r) ++at;
    if (at == run.ranks.end() || at->rank.value() != r) missing.emplace_back(static_cast<Rank::rep>(r));
  }
  return missing;
}

/// Calls that rings overwrote or that found no room, as the recorded ones suggest.
double lost_calls(const trace::Run& run, const std::vector<RankScan>& scans) {
  double lost = 0;
  for (std::size_t r = 0; r < scans.size(); ++r) {
    const auto records = static_cast<double>(run.ranks[r].events.size());
    if (records == 0) continue;
    const auto gone = static_cast<double>(run.ranks[r].dropped_records) +
                      static_cast<double>(run.ranks[r].recycled_records);
    lost += gone * static_cast<double>(scans[r].collectives) / records;
  }
  return lost;
}

std::int64_t to_count(double x) {
  return x >= 9.2e18 ? std::numeric_limits<std::int64_t>::max() : std::llround(x);
}

}  // namespace

Coverage cover(const trace::Run& run, const std::vector<RankScan>& scans, const Matching& m,
               const ClockView& clocks) {
  Coverage c;
  c.ranks_seen = static_cast<std::int64_t>(run.ranks.size());
  c.ranks_expected = ranks_expected(run);
  c.missing_ranks = missing_of(run, c.ranks_expected);
  c.clock_domains = clocks.domains;
  for (const trace::Node& node : run.nodes) {
    if (node.clock.source == trace::ClockSource::Shared) continue;
    // Hosts that only know each other hang on the realtime clock of one of them.
    const bool connected =
        node.clock.source == trace::ClockSource::Collectives && node.clock.against == run.nodes[0].id;
    ++(connected ? c.hosts_by_collectives : c.hosts_by_realtime);
    if (connected) c.host_residual = std::max(c.host_residual, node.clock.residual);
  }
  c.clock_residual = clocks.residual;
  c.clocks_comparable = clocks.comparable;
  c.wait_validity_ratio = clocks.validity;
  c.order_refused = !clocks.comparable && clocks.validity_of_wide > 0.5;
  c.mismatched = m.mismatched_ops;
  for (std::size_t r = 0; r < scans.size(); ++r) {
    c.dropped_records += run.ranks[r].dropped_records;
    c.recycled_records += run.ranks[r].recycled_records;
    c.overhead_per_event = std::max(c.overhead_per_event, run.ranks[r].overhead_per_event);
    c.unfinished_calls += scans[r].unfinished;
  }
  double expected = 0;
  double matched = 0;
  for (const Group& group : m.groups) {
    if (group.waits) continue;
    expected += static_cast<double>(group.expected_ops) * static_cast<double>(group.declared);
    for (std::int64_t i = 0; i < group.ops; ++i) {
      const Operation& op = m.ops[group.first_op + static_cast<std::size_t>(i)];
      if (op.seen == 0) continue;
      ++c.collectives_seen;
      if (!op.mismatch) matched += op.seen;
      if (op.seen >= group.declared && !op.mismatch) ++c.collectives_matched;
    }
  }
  std::int64_t calls = 0;
  for (const RankScan& scan : scans) calls += scan.collectives;
  c.calls_seen = m.finished_calls;
  expected = std::max(expected, static_cast<double>(calls) + lost_calls(run, scans));
  c.calls_expected = to_count(expected);
  if (expected > 0)
    c.ratio = std::clamp(matched / expected, 0.0, 1.0);
  else if (c.ranks_expected > 0)
    c.ratio = static_cast<double>(c.ranks_seen) / static_cast<double>(c.ranks_expected);
  return c;
}

std::vector<CommAccount> account_communicators(const trace::Run& run, const std::vector<RankScan>& scans) {
  std::map<std::int32_t, const CommUse*> fullest;
  for (const RankScan& scan : scans)
    for (const CommUse& use : scan.comms) {
      const CommUse*& best = fullest[use.comm];
      if (best == nullptr || use.calls > best->calls) best = &use;
    }
  std::vector<CommAccount> accounts;
  for (const auto& [comm, use] : fullest) {
    const trace::Communicator& c = run.communicators[static_cast<std::size_t>(comm)];
    accounts.push_back({c.id, c.name, c.size, use->calls, use->bytes});
  }
  return accounts;
}

}  // namespace cox::diagnose
