// SPDX-License-Identifier: Apache-2.0
// Which of the ranks that are late all along are worth a name, and who of them belong together.
#include <algorithm>
#include <map>
#include <utility>

#include "cox/base/stats.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {
namespace {

/// A node is named as a whole where at least this part of its ranks is late.
constexpr double kNodeShare = 0.75;
/// A rank is hidden by others where fixing it alone saves less than this part of its share of fixing all.
constexpr double kHide = 0.75;
/// One is not concerned by the others where fixing it alone saves this part of its share.
constexpr double kApart = 0.95;
/// Where fixing one of them saves this part of fixing all, it is named by itself.
constexpr double kMostOfAll = 0.75;

using Ranks = std::vector<const LateRank*>;
using ByPositions = std::map<std::vector<std::int32_t>, Ranks>;

Named named_of(const Evidenced& x, FindingKind kind, const Ranks& ranks) {
  Named n{
      .kind = kind, .suspect = {{}, 0, x.steps().count - 1, {}, ranks.front()->positions}, .agreement = 1};
  std::vector<double> typical;
  for (const LateRank* late : ranks) {
    n.suspect.ranks.push_back(late->rank);
    typical.push_back(late->typical);
    n.others_spread = std::max(n.others_spread, late->spread);
    n.agreement = std::min(n.agreement, late->agreement);
    n.chance = std::max(n.chance, late->chance);
    n.late_steps = std::max(n.late_steps, late->late_steps);
  }
  std::sort(n.suspect.ranks.begin(), n.suspect.ranks.end());
  n.typical_delay = median_in_place(typical);
  return n;
}

/// Splits ranks that are late at the same positions into whole nodes and single ranks.
void split_by_node(const Evidenced& x, const Ranks& ranks, std::vector<Named>& named) {
  std::map<NodeId, std::int64_t> size;
  std::map<NodeId, Ranks> late;
  for (const trace::RankTrack& track : x.matched.tracks()) ++size[track.node];
  for (const LateRank* r : ranks) late[x.matched.track(static_cast<std::size_t>(r->rank)).node].push_back(r);
  for (const auto& [node, of_node] : late) {
    const bool whole = size.size() > 1 && of_node.size() > 1 &&
                       static_cast<double>(of_node.size()) >= kNodeShare * static_cast<double>(size[node]);
    if (whole) {
      named.push_back(named_of(x, FindingKind::SlowGroup, of_node));
      continue;
    }
    for (const LateRank* r : of_node) named.push_back(named_of(x, FindingKind::SlowRank, {r}));
  }
}

/// Ranks that hide each other become one finding, which says what fixing each of them alone saves.
std::vector<Named> join_hidden(const Evidenced& x, const Positions& positions, std::vector<Named> named,
                               const std::vector<LateRank>& late) {
  std::map<std::vector<std::int32_t>, std::vector<std::size_t>> singles;
  for (std::size_t i = 0; i < named.size(); ++i)
    if (named[i].kind == FindingKind::SlowRank) singles[named[i].suspect.positions].push_back(i);
  std::vector<bool> joined(named.size(), false);
  std::vector<Named> sets;
  for (const auto& [at, members] : singles) {
    std::vector<Suspect> suspects;
    for (const auto i : members) suspects.push_back(named[i].suspect);
    const std::vector<std::size_t> hidden = hidden_set(savings_without(x.matched, suspects, &positions));
    if (hidden.empty()) continue;
    Ranks ranks;
    std::vector<Suspect> together;
    for (const auto k : hidden) {
      together.push_back(suspects[k]);
      ranks.push_back(&*std::find_if(late.begin(), late.end(),
                                     [&](const LateRank& l) { return l.rank == suspects[k].ranks.front(); }));
    }
    const Savings savings = savings_without(x.matched, together, &positions);
    Named set = named_of(x, FindingKind::SlowGroup, ranks);
    std::map<std::int32_t, Duration> alone_of;
    for (std::size_t k = 0; k < hidden.size(); ++k) {
      const std::size_t i = members[hidden[k]];
      set.saving.share += named[i].saving.share;
      add_to(set.saving.share_in, named[i].saving.share_in);
      add_to(set.saving.bound_in, savings.each[k].bound_in);
      alone_of[together[k].ranks.front()] = most_of_a_rank(x.matched, savings.each[k].alone_in);
      joined[i] = true;
    }
    set.saving.alone = savings.joint;
    set.saving.alone_in = savings.joint_in;
    for (const auto& [rank, saved] : alone_of) set.each_alone.push_back(saved);
    sets.push_back(std::move(set));
  }
  for (std::size_t i = 0; i < named.size(); ++i)
    if (!joined[i]) sets.push_back(std::move(named[i]));
  return sets;
}

}  // namespace

std::vector<std::size_t> hidden_set(const Savings& savings) {
  bool hides = false;
  double most_alone = 0;
  std::vector<std::size_t> set;
  for (std::size_t i = 0; i < savings.each.size(); ++i) {
    const double alone = in_seconds(savings.each[i].alone);
    const double share = in_seconds(savings.each[i].share);
    hides = hides || alone < kHide * share;
    most_alone = std::max(most_alone, alone);
    if (alone < kApart * share) set.push_back(i);
  }
  const bool one_is_enough = in_seconds(savings.joint) * kMostOfAll < most_alone;
  return hides && set.size() > 1 && !one_is_enough ? set : std::vector<std::size_t>{};
}

std::vector<Named> name_late(const Evidenced& x, const Positions& positions,
                             const std::vector<LateRank>& late) {
  if (late.empty()) return {};
  ByPositions by_positions;
  for (const LateRank& r : late) by_positions[r.positions].push_back(&r);
  std::vector<Named> named;
  for (const auto& [at, ranks] : by_positions) split_by_node(x, ranks, named);
  std::vector<Suspect> suspects;
  suspects.reserve(named.size());
  for (const Named& n : named) suspects.push_back(n.suspect);
  const Savings savings = savings_without(x.matched, suspects, &positions);
  const double needed = x.steps().count < x.rules.least_steps ? x.rules.huge_delay / 2 : x.rules.least_gain;
  if (ratio(savings.joint, x.stepped) < needed) return {};
  std::vector<Named> kept;
  for (std::size_t i = 0; i < named.size(); ++i) {
    named[i].saving = savings.each[i];
    // One who is late but whose lateness costs next to nothing beside the others' is not worth a name.
    if (ratio(savings.each[i].share, x.stepped) >= x.rules.least_gain / 3)
      kept.push_back(std::move(named[i]));
  }
  return join_hidden(x, positions, std::move(kept), late);
}

}  // namespace cox::diagnose
