// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "cox/base/stats.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastCulprits = 3;
/// One rank that is the culprit more often than this is not a rotation.
constexpr double kMostOfOne = 0.6;
constexpr std::size_t kLeastTurns = 4;
constexpr double kForetold = 0.5;
/// Longest recurrence looked for, in steps.
constexpr std::size_t kMostLag = 2000;
/// A culprit need only stand out from this many spreads of single delays: what makes a rotation is its order.
constexpr double kStandsOut = 1.5;

/// Consecutive steps with one culprit; steps without a clear one in between do not end a turn.
struct Turn {
  std::int32_t rank = -1;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The rank that is late beyond doubt in each step, or -1.
std::vector<std::int32_t> culprits(const Evidenced& x, double bar) {
  std::vector<std::int32_t> rank(static_cast<std::size_t>(x.steps().count), -1);
  std::vector<double> most(rank.size(), bar);
  for (std::size_t r = 0; r < x.ranks(); ++r)
    for (std::size_t s = 0; s < rank.size(); ++s)
      if (const double d = x.delay(r, s); d >= most[s] && d > 0) {
        most[s] = d;
        rank[s] = static_cast<std::int32_t>(r);
      }
  return rank;
}

std::vector<Turn> turns_of(const std::vector<std::int32_t>& culprit) {
  std::vector<Turn> turns;
  for (std::size_t s = 0; s < culprit.size(); ++s) {
    if (culprit[s] < 0) continue;
    const auto step = static_cast<std::int64_t>(s);
    if (!turns.empty() && turns.back().rank == culprit[s])
      turns.back().last = step;
    else
      turns.push_back({culprit[s], step, step});
  }
  return turns;
}

/// Probability by chance that the next culprit is foretold so often by a constant increment of the rank.
double chance_of_increment(const std::vector<Turn>& turns, std::size_t ranks) {
  std::map<std::int64_t, std::int64_t> votes;
  const auto n = static_cast<std::int64_t>(ranks);
  for (std::size_t i = 0; i + 1 < turns.size(); ++i) ++votes[(turns[i + 1].rank - turns[i].rank + n) % n];
  std::int64_t best = 0;
  for (const auto& [increment, count] : votes) best = std::max(best, count);
  const auto pairs = static_cast<std::int64_t>(turns.size()) - 1;
  if (pairs < 1) return 1;
  if (static_cast<double>(best) < kForetold * static_cast<double>(pairs)) return 1;
  const double others = static_cast<double>(ranks) - 1;
  return std::min(1.0, others * binomial_upper_tail(best, pairs, 1 / others));
}

/// Turns without those that are short beside the usual one: an intruder for a step does not end a turn.
std::vector<Turn> without_intruders(const std::vector<Turn>& turns) {
  std::vector<double> lengths;
  lengths.reserve(turns.size());
  for (const Turn& t : turns) lengths.push_back(static_cast<double>(t.last - t.first + 1));
  // Weighted by steps: the turn length in which the usual step lies.
  std::vector<double> by_step;
  for (const double l : lengths) by_step.insert(by_step.end(), static_cast<std::size_t>(l), l);
  const double usual = median_in_place(by_step);
  std::vector<Turn> kept;
  for (const Turn& t : turns) {
    if (static_cast<double>(t.last - t.first + 1) < 0.5 * usual) continue;
    if (!kept.empty() && kept.back().rank == t.rank)
      kept.back().last = t.last;
    else
      kept.push_back(t);
  }
  return kept;
}

/// Probability by chance that the culprit of a step is the one of `lag` steps before
/// so often, for the best lag.
///
/// By chance two steps agree as often as the culprits' frequencies say. Steps of one turn are one draw.
double chance_of_recurrence(const std::vector<std::int32_t>& culprit, const std::vector<Turn>& turns,
                            double by_chance) {
  double steps_in_turns = 0;
  for (const Turn& t : turns) steps_in_turns += static_cast<double>(t.last - t.first + 1);
  const double per_turn = steps_in_turns / static_cast<double>(turns.size());
  const std::size_t lags = std::min(culprit.size() / 2, kMostLag);
  std::int64_t best_pairs = 0;
  std::int64_t best_agree = 0;
  for (auto lag = static_cast<std::size_t>(std::max(2.0, std::ceil(2 * per_turn))); lag <= lags; ++lag) {
    std::int64_t pairs = 0;
    std::int64_t agree = 0;
    for (std::size_t s = lag; s < culprit.size(); ++s) {
      const bool both = culprit[s] >= 0 && culprit[s - lag] >= 0;
      pairs += both;
      agree += both && culprit[s] == culprit[s - lag];
    }
    if (agree * best_pairs > best_agree * pairs || best_pairs == 0) {
      best_pairs = pairs;
      best_agree = agree;
    }
  }
  if (best_pairs == 0 || static_cast<double>(best_agree) < kForetold * static_cast<double>(best_pairs))
    return 1;
  const auto draws = static_cast<std::int64_t>(static_cast<double>(best_pairs) / per_turn);
  const auto hits = static_cast<std::int64_t>(static_cast<double>(best_agree) / per_turn);
  return std::min(1.0, binomial_upper_tail(hits, draws, by_chance) * static_cast<double>(lags));
}

}  // namespace

std::vector<Named> find_rotating(const Evidenced& x, const DelayFigures& f) {
  const std::size_t ranks = x.ranks();
  if (ranks < kLeastCulprits) return {};
  const double bar = std::max(x.rules.least_burst_delay, kStandsOut * f.step_noise);
  std::vector<std::int32_t> culprit = culprits(x, bar);
  const auto events =
      static_cast<double>(std::count_if(culprit.begin(), culprit.end(), [](auto r) { return r >= 0; }));
  if (events < 0.5 * static_cast<double>(culprit.size())) return {};
  const std::vector<Turn> turns = turns_of(culprit);
  if (turns.size() < kLeastTurns) return {};

  std::map<std::int32_t, std::int64_t> times;
  for (const auto r : culprit)
    if (r >= 0) ++times[r];
  std::vector<std::int32_t> set;
  double most = 0;
  for (const auto& [rank, count] : times) {
    most = std::max(most, static_cast<double>(count));
    // Half of a fair share: less is somebody's own bad moment.
    if (static_cast<double>(count) >= std::max(2.0, 0.5 * events / static_cast<double>(times.size())))
      set.push_back(rank);
  }
  if (set.size() < kLeastCulprits || most > kMostOfOne * events) return {};

  double by_chance = 0;  // that two steps share their culprit
  for (const auto& [rank, count] : times) by_chance += std::pow(static_cast<double>(count) / events, 2);
  const std::vector<Turn> clean = without_intruders(turns);
  const double chance = 3 * std::min({chance_of_increment(turns, ranks), chance_of_increment(clean, ranks),
                                      chance_of_recurrence(culprit, turns, by_chance)});
  if (chance > x.rules.burst_test) return {};

  Named n{.kind = FindingKind::RotatingStraggler, .suspect = {set, 0, x.steps().count - 1, culprit}};
  const Savings savings = savings_without(x.matched, {n.suspect});
  if (ratio(savings.joint, x.stepped) < x.rules.least_gain) return {};
  n.saving = savings.each[0];
  std::vector<double> delays;
  std::vector<double> lengths;
  lengths.reserve(clean.size());
  for (std::size_t s = 0; s < culprit.size(); ++s)
    if (culprit[s] >= 0) delays.push_back(x.delay(static_cast<std::size_t>(culprit[s]), s));
  for (const Turn& t : clean) lengths.push_back(static_cast<double>(t.last - t.first + 1));
  n.typical_delay = median_in_place(delays);
  n.others_spread = f.step_noise;
  n.agreement = events / static_cast<double>(culprit.size());
  n.chance = chance;
  n.period_steps = static_cast<std::int64_t>(std::llround(median_in_place(lengths)));
  return {n};
}

}  // namespace cox::diagnose
