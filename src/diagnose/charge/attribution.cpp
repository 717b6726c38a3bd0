// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/attribution.hpp"

#include <algorithm>
#include <utility>

#include "diagnose/charge/charge.hpp"
#include "diagnose/charge/timeline.hpp"
#include "diagnose/charge/validity.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Of a Run with more ranks only the costliest pairs are kept.
constexpr std::size_t kAllPairsRanks = 64;
constexpr std::size_t kKeptPairs = 256;

std::vector<PairCharge> pairs_of(const Matched& matched, const Charges& c, bool& complete) {
  const std::size_t ranks = matched.ranks();
  std::vector<PairCharge> pairs;
  for (std::size_t q = 0; q < ranks; ++q) {
    if (c.row_of_rank[q] < 0) continue;
    const Charges::OfPair* row = &c.pairs[static_cast<std::size_t>(c.row_of_rank[q]) * ranks];
    for (std::size_t p = 0; p < ranks; ++p)
      if (row[p].direct > Duration::zero() || row[p].passed > Duration::zero())
        pairs.push_back({matched.rank(q), matched.rank(p), row[p].direct, row[p].passed});
  }
  const auto cost = [](const PairCharge& p) {
    WideSum sum;
    sum.add(p.direct);
    sum.add(p.passed);
    return sum.clamped();
  };
  const auto costlier = [&](const PairCharge& a, const PairCharge& b) {
    const Duration x = cost(a);
    const Duration y = cost(b);
    if (x != y) return x > y;
    return std::pair{a.culprit, a.waiting} < std::pair{b.culprit, b.waiting};
  };
  complete = ranks <= kAllPairsRanks || (ranks * ranks == c.pairs.size() && pairs.size() <= kKeptPairs);
  if (!complete && pairs.size() > kKeptPairs) {
    std::nth_element(pairs.begin(), pairs.begin() + kKeptPairs, pairs.end(), costlier);
    pairs.resize(kKeptPairs);
  }
  std::sort(pairs.begin(), pairs.end(), costlier);
  return pairs;
}

std::vector<ActivityCost> activities_of(const ActivityScheme& scheme, const Charges& c,
                                        const WaitTimeline& t) {
  const std::size_t classes = scheme.size();
  std::vector<ActivityCost> costs;
  for (std::size_t x = 0; x < classes; ++x) {
    WideSum charged;
    WideSum injected;
    for (std::size_t r = 0; r < t.ranks.size(); ++r) {
      charged.add(c.by_activity[r * classes + x]);
      if (classes == 1) injected.add(t.self_delay[r]);
    }
    if (classes > 1) injected.add(t.activity_delay[x]);
    if (charged == WideSum{} && injected == WideSum{}) continue;
    costs.push_back({scheme.names()[x], injected.clamped(), charged.clamped(), charged.over(injected)});
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const ActivityCost& a, const ActivityCost& b) { return a.charged > b.charged; });
  return costs;
}

void fill(const Matched& matched, const ActivityScheme& scheme, const WaitTimeline& t, const Charges& c,
          Attribution& a) {
  const std::size_t classes = scheme.size();
  WideSum charged;
  WideSum communication;
  WideSum self_delay;
  for (std::size_t r = 0; r < t.ranks.size(); ++r) {
    RankCharge& rank = a.ranks[r];
    const Charges::OfRank& sums = c.ranks[r];
    rank.waited = t.ranks[r].waited.back();
    rank.short_term = sums.short_term.clamped();
    rank.long_term = sums.long_term.clamped();
    rank.communication = sums.communication.clamped();
    rank.self_delay = t.self_delay[r];
    for (std::size_t x = 0; x < classes; ++x)
      rank.by_activity.push_back(c.by_activity[r * classes + x].clamped());
    charged.add(sums.short_term);
    charged.add(sums.long_term);
    communication.add(sums.communication);
    self_delay.add(rank.self_delay);
  }
  a.waited = c.waited.clamped();
  a.charged = charged.clamped();
  a.communication = communication.clamped();
  a.carried_in = c.carried_in.clamped();
  a.unknown = c.unknown.clamped();
  a.self_delay = self_delay.clamped();
  a.amplification = c.waited.over(self_delay);
  WideSum all = charged;
  all.add(communication);
  all.add(c.carried_in);
  all.add(c.unknown);
  a.balanced = all == c.waited;
  a.synchronisations = c.operations;
  a.by_activity = activities_of(scheme, c, t);
  a.pairs = pairs_of(matched, c, a.pairs_complete);
}

void add_notes(const Matching& m, const WaitTimeline& t, const Charges& c, bool comparable, Attribution& a) {
  using Kind = ChargeNote::Kind;
  const bool peers =
      std::any_of(t.peers.begin(), t.peers.end(), [](const PeerWait& w) { return w.peer < 0; });
  if (peers) a.notes.push_back({.kind = Kind::UnnamedPeers});
  if (!comparable && !t.peers.empty()) a.notes.push_back({.kind = Kind::PeersUnclocked});
  if (t.incomplete > 0) a.notes.push_back({.kind = Kind::Incomplete, .operations = t.incomplete});
  if (t.contradictory > 0) a.notes.push_back({.kind = Kind::Contradictory, .operations = t.contradictory});
  if (c.too_tangled) a.notes.push_back({.kind = Kind::Tangled});
  if (m.ops.size() >= kPeerBit) a.notes.push_back({.kind = Kind::TooMany});
}

}  // namespace

Result<Attribution> attribute_waits(const Matched& matched) {
  if (matched.ranks() == 0)
    return fail({.code = Errc::InvalidInput,
                 .id = "diagnose-001",
                 .message = "the Run holds no rank, expected at least one",
                 .hint = "record one with: cox observe -o DIR -- COMMAND",
                 .where = {}});
  const Matching& m = matched.operations();
  const ClockView& clocks = matched.clocks();
  Attribution a;
  a.method = clocks.comparable ? WaitMethod::Clock : WaitMethod::Duration;
  a.validity_ratio = clocks.validity;
  for (const trace::RankTrack& track : matched.tracks())
    a.ranks.push_back({.rank = track.rank, .by_activity = {}});
  const ActivityScheme scheme(matched);
  a.activities = scheme.names();
  if (!clocks.comparable && a.validity_ratio > kWorstValidity)
    a.validity_ratio = validity_where_it_matters(m);
  if (!clocks.comparable && a.validity_ratio > kWorstValidity) {
    a.refused = ChargeRefusal::EndsApart;
    return a;
  }
  if (m.ops.size() >= kPeerBit) {
    a.refused = ChargeRefusal::TooMany;
    return a;
  }
  const RoleClasses roles = group_by_role(matched);
  const TimelineInput in{matched, scheme, roles};
  const WaitTimeline timeline = lay_out_waits(in);
  const Charges charges = charge_waits(in, timeline);
  fill(matched, scheme, timeline, charges, a);
  add_notes(m, timeline, charges, clocks.comparable, a);
  return a;
}

Duration RankCharge::cost() const {
  return plus_clamped(short_term, long_term);
}

}  // namespace cox::diagnose
