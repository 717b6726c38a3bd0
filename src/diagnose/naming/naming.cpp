// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/naming.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"

namespace cox::diagnose {
namespace {

constexpr std::int64_t kStepsPerBlock = 5;
constexpr std::int64_t kMostBlocks = 20;
constexpr std::size_t kNoiseSample = 200'000;
/// A node is named as a whole where at least this part of its ranks is late.
constexpr double kNodeShare = 0.75;

std::size_t block_count(std::int64_t steps) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(steps / kStepsPerBlock, 1, kMostBlocks));
}

/// Search for the set of ranks that stand out from all others, from the largest plausible one downwards.
class PersistentSearch {
 public:
  PersistentSearch(const Evidenced& x, const DelayFigures& f) : x_(x), f_(f) {}

  std::vector<std::size_t> find() {
    std::vector<std::size_t> order(x_.ranks());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return f_.typical[a] > f_.typical[b]; });
    for (const std::size_t r : order)
      if (f_.typical[r] >= least_delay() && set_.size() < x_.ranks() / 2) set_.push_back(r);
    while (!set_.empty()) {
      measure_others();
      // Drop the least of those that do not stand out: it may be what hides the others' standing.
      const auto failing =
          std::find_if(set_.rbegin(), set_.rend(), [&](std::size_t r) { return !stands_out(r); });
      if (failing == set_.rend()) break;
      set_.erase(std::next(failing).base());
    }
    return set_;
  }

  [[nodiscard]] double spread() const { return spread_; }

  [[nodiscard]] double agreement(std::size_t r) const {
    const auto& blocks = f_.blocks[r];
    const double bar = std::max(least_delay() / 2, 0.5 * x_.rules.spreads * spread_);
    const auto agreeing = std::count_if(blocks.begin(), blocks.end(), [&](double b) { return b >= bar; });
    return static_cast<double>(agreeing) / static_cast<double>(blocks.size());
  }

  /// Bonferroni bound of a one-sided sign test over steps: how likely one of the ranks
  /// is late so often by chance.
  [[nodiscard]] double chance(std::size_t r) const {
    const auto& row = x_.skew().delay[r];
    std::int64_t late = 0;
    for (std::size_t s = 0; s < row.size(); ++s)
      if (x_.delay(r, s) > x_.rules.least_delay / 2) ++late;
    const double tail = binomial_upper_tail(late, static_cast<std::int64_t>(row.size()), 0.5);
    return std::min(1.0, tail * static_cast<double>(x_.ranks()));
  }

 private:
  [[nodiscard]] bool few_steps() const { return x_.steps().count < x_.rules.least_steps; }
  [[nodiscard]] double least_delay() const {
    return few_steps() ? x_.rules.huge_delay : x_.rules.least_delay;
  }

  void measure_others() {
    std::vector<double> others;
    for (std::size_t r = 0; r < x_.ranks(); ++r)
      if (std::find(set_.begin(), set_.end(), r) == set_.end())
        others.insert(others.end(), f_.blocks[r].begin(), f_.blocks[r].end());
    spread_ = scaled_mad(others);
  }

  [[nodiscard]] bool stands_out(std::size_t r) const {
    if (f_.typical[r] < std::max(least_delay(), x_.rules.spreads * spread_)) return false;
    if (few_steps()) {  // too few for statistics: every single step must say so, but the first, which is carried in
      std::int64_t late = 0;
      for (std::size_t s = 0; s < x_.skew().delay[r].size(); ++s)
        late += x_.delay(r, s) >= x_.rules.huge_delay;
      return late >= 3 && late >= x_.steps().count - 1;
    }
    return agreement(r) >= x_.rules.blocks_agree && chance(r) < x_.rules.sign_test;
  }

  const Evidenced& x_;
  const DelayFigures& f_;
  std::vector<std::size_t> set_;
  double spread_ = 0;
};

/// Splits a set into whole nodes and single ranks.
std::vector<Named> by_node(const Evidenced& x, const std::vector<std::size_t>& set) {
  std::map<NodeId, std::int64_t> size;
  std::map<NodeId, std::vector<std::int32_t>> late;
  for (const trace::RankTrack& track : x.matched.tracks()) ++size[track.node];
  for (const std::size_t r : set) late[x.matched.track(r).node].push_back(static_cast<std::int32_t>(r));
  std::vector<Named> named;
  for (auto& [node, ranks] : late) {
    std::sort(ranks.begin(), ranks.end());
    const bool whole = size.size() > 1 && ranks.size() > 1 &&
                       static_cast<double>(ranks.size()) >= kNodeShare * static_cast<double>(size[node]);
    if (whole) {
      named.push_back({.kind = FindingKind::SlowGroup, .suspect = {ranks, 0, x.steps().count - 1, {}}});
      continue;
    }
    for (const auto r : ranks)
      named.push_back({.kind = FindingKind::SlowRank, .suspect = {{r}, 0, x.steps().count - 1, {}}});
  }
  return named;
}

std::vector<Suspect> suspects_of(const std::vector<Named>& named) {
  std::vector<Suspect> suspects;
  suspects.reserve(named.size());
  for (const Named& n : named) suspects.push_back(n.suspect);
  return suspects;
}

}  // namespace

DelayFigures figures_of(const Evidenced& x, int threads) {
  DelayFigures f;
  const std::size_t ranks = x.ranks();
  const auto steps = static_cast<std::size_t>(x.steps().count);
  const std::size_t blocks = block_count(x.steps().count);
  f.typical.resize(ranks);
  f.blocks.resize(ranks);
  parallel_for(ranks, threads, [&](std::size_t r) {
    std::vector<double> row(steps);
    for (std::size_t s = 0; s < steps; ++s) row[s] = x.delay(r, s);
    f.blocks[r].resize(blocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t from = b * steps / blocks;
      const std::size_t to = (b + 1) * steps / blocks;
      f.blocks[r][b] = median_in_place(std::span(row).subspan(from, to - from));
    }
    f.typical[r] = ratio(x.accounts[r].self_delay_median, x.typical_step);
  });
  // odd: not in step with a pattern of even length
  const std::size_t stride = (ranks * steps / kNoiseSample) | 1;
  std::vector<double> sample;
  for (std::size_t i = 0; i < ranks * steps; i += stride) sample.push_back(x.delay(i / steps, i % steps));
  f.step_noise = scaled_mad(sample);
  for (const double q : {0.8, 0.95, 0.99}) f.late_bars.push_back(quantile_in_place(sample, q));
  return f;
}

std::vector<Named> find_persistent(const Evidenced& x, const DelayFigures& f) {
  PersistentSearch search(x, f);
  const std::vector<std::size_t> set = search.find();
  if (set.empty()) return {};
  std::vector<Named> named = by_node(x, set);
  const Savings savings = savings_without(x.matched, suspects_of(named));
  const double needed = x.steps().count < x.rules.least_steps ? x.rules.huge_delay / 2 : x.rules.least_gain;
  if (ratio(savings.joint, x.stepped) < needed) return {};
  std::vector<Named> kept;
  for (std::size_t i = 0; i < named.size(); ++i) {
    Named& n = named[i];
    n.saving = savings.each[i];
    n.others_spread = search.spread();
    n.agreement = 1;
    std::vector<double> typical;
    for (const auto rank : n.suspect.ranks) {
      const auto r = static_cast<std::size_t>(rank);
      typical.push_back(f.typical[r]);
      n.agreement = std::min(n.agreement, search.agreement(r));
      n.chance = std::max(n.chance, search.chance(r));
    }
    n.typical_delay = median(typical);
    // One who is late but whose lateness costs next to nothing beside the others' is not worth a name.
    if (ratio(n.saving.share, x.stepped) >= x.rules.least_gain / 3) kept.push_back(std::move(n));
  }
  return kept;
}

std::vector<Named> name_culprits(const Evidenced& x, int threads) {
  if (x.ranks() < 2 || x.steps().count < 1 || x.typical_step <= Duration::zero() || x.skew().ops.empty())
    return {};
  const DelayFigures figures = figures_of(x, threads);
  std::vector<Named> named = find_persistent(x, figures);
  if (x.steps().count >= x.rules.least_steps) {
    std::vector<Named> limited;
    if (named.empty()) limited = find_rotating(x, figures);
    if (limited.empty()) limited = find_transient(x, figures, named);
    named.insert(named.end(), std::make_move_iterator(limited.begin()),
                 std::make_move_iterator(limited.end()));
  }
  std::stable_sort(named.begin(), named.end(),
                   [](const Named& a, const Named& b) { return a.saving.share > b.saving.share; });
  return named;
}

}  // namespace cox::diagnose
