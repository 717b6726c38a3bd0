// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/presence.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cox/base/stats.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// A list of ranks stays readable.
constexpr std::size_t kMostAbsent = 4096;
/// Operations of a group that cost something are put into so many blocks.
constexpr std::size_t kBlocks = 10;
constexpr std::size_t kLeastOperations = 30;
constexpr double kSure = 0.05;

/// What one operation cost, and the rank that came last in it.
struct Cost {
  std::size_t last = 0;
  double seconds = 0;
};

std::vector<Cost> costs_of(const Matched& matched) {
  const Matching& m = matched.operations();
  std::vector<Cost> costs;
  for (const ComparedOp& op : matched.skew().ops) {
    if (op.lost <= Duration::zero()) continue;
    const auto& members = m.groups[static_cast<std::size_t>(op.group)].members;
    costs.push_back(
        {static_cast<std::size_t>(members[static_cast<std::size_t>(op.last)]), in_seconds(op.lost)});
  }
  return costs;
}

}  // namespace

Presence presence_of(const Matched& matched) {
  Presence out;
  const Matching& m = matched.operations();
  std::map<Rank, std::pair<std::int64_t, std::int64_t>> counts;
  for (const Group& group : m.groups) {
    std::vector<std::int64_t> present(group.members.size(), 0);
    std::int64_t held = 0;
    for (std::int64_t op = 0; op < group.ops; ++op) {
      const Operation& about = m.ops[group.first_op + static_cast<std::size_t>(op)];
      if (!holds_all(group, about) || about.seen == 0) continue;
      ++held;
      std::int64_t here = 0;
      for (std::size_t k = 0; k < group.members.size(); ++k) {
        if (m.entry[group.cell(op, k)] == kUnknown) continue;
        ++present[k];
        ++here;
      }
      out.incomplete += here < group.declared;
    }
    out.operations += held;
    if (held == 0) continue;
    for (std::size_t k = 0; k < group.members.size(); ++k) {
      auto& [absent, of] = counts[matched.rank(static_cast<std::size_t>(group.members[k]))];
      absent += held - present[k];
      of += held;
    }
    if (group.comm < 0) continue;
    for (const Rank rank : matched.communicator(group.comm).ranks)
      if (matched.index_of(rank) < 0 && counts.size() < kMostAbsent) {
        counts[rank].first += held;
        counts[rank].second += held;
      }
  }
  for (const auto& [rank, c] : counts)
    if (c.first > 0) out.absent.push_back({rank, c.first, c.second});
  std::stable_sort(out.absent.begin(), out.absent.end(),
                   [](const Presence::Absent& a, const Presence::Absent& b) { return a.absent > b.absent; });
  return out;
}

CostSpread spread_of_cost(const Matched& matched) {
  CostSpread out;
  const std::vector<Cost> costs = costs_of(matched);
  if (costs.size() < kLeastOperations) return out;
  std::vector<double> by_rank(matched.ranks(), 0);
  double all = 0;
  for (const Cost& c : costs) {
    by_rank[c.last] += c.seconds;
    all += c.seconds;
  }
  const auto most =
      static_cast<std::size_t>(std::max_element(by_rank.begin(), by_rank.end()) - by_rank.begin());
  out.tested = true;
  out.most = by_rank[most] / all;
  // Leave each block out in turn.
  Welford shares;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    double mine = by_rank[most];
    double rest = all;
    for (std::size_t i = b * costs.size() / kBlocks; i < (b + 1) * costs.size() / kBlocks; ++i) {
      rest -= costs[i].seconds;
      if (costs[i].last == most) mine -= costs[i].seconds;
    }
    shares.add(rest > 0 ? mine / rest : out.most);
  }
  const auto n = static_cast<double>(kBlocks);
  const double error = std::sqrt((n - 1) / n * (n - 1) * shares.variance());
  const double limit = std::max(0.5, 1.5 / static_cast<double>(matched.ranks()));
  out.spread = out.most + student_quantile(kSure, static_cast<std::int64_t>(kBlocks) - 1) * error < limit;
  return out;
}

}  // namespace cox::diagnose
