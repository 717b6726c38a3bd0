// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "cox/base/stats.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastCulprits = 2;
/// A rank takes part that is the culprit in at least this part of the steps that most others are.
constexpr double kOfUsual = 0.4;
/// One rank that is the culprit more often than this is not a rotation.
constexpr double kMostOfOne = 0.6;
constexpr std::size_t kLeastTurns = 4;
constexpr double kForetold = 0.5;
/// Longest recurrence looked for, in steps.
constexpr std::size_t kMostLag = 2000;
/// Longest cycle looked for by its places, in steps, and most ranks in it: bounds of the cost.
constexpr std::size_t kMostCycle = 256;
constexpr std::size_t kMostInCycle = 16;
/// A culprit need only stand out from this many spreads of single delays: what makes a rotation is its order.
constexpr double kStandsOut = 1.5;

/// Consecutive steps with one culprit (a row); steps without a clear one in between do not end a turn.
struct Turn {
  std::int32_t rank = -1;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The row that is late beyond doubt in each step, or -1.
std::vector<std::int32_t> culprits(const Place& x, double bar) {
  std::vector<std::int32_t> row(x.steps(), -1);
  std::vector<double> most(row.size(), bar);
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t s = 0; s < row.size(); ++s)
      if (const double d = x.delay(r, s); d >= most[s] && d > 0) {
        most[s] = d;
        row[s] = static_cast<std::int32_t>(r);
      }
  return row;
}

/// Rows that are culprits about as often as the one that is it in the usual step with a culprit.
std::vector<std::int32_t> who_takes_part(const std::map<std::int32_t, std::int64_t>& times) {
  std::vector<double> by_step;
  for (const auto& [row, count] : times)
    by_step.insert(by_step.end(), static_cast<std::size_t>(count), static_cast<double>(count));
  const double usual = median_in_place(by_step);
  std::vector<std::int32_t> set;
  for (const auto& [row, count] : times)
    if (static_cast<double>(count) >= std::max(2.0, kOfUsual * usual)) set.push_back(row);
  return set;
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

/// Probability by chance that the next culprit is foretold so often by a constant increment of the rank, where
/// `part` of them take part: with two, the next is always the other one.
double chance_of_increment(const std::vector<Turn>& turns, std::size_t ranks, std::size_t part) {
  std::map<std::int64_t, std::int64_t> votes;
  const auto n = static_cast<std::int64_t>(ranks);
  for (std::size_t i = 0; i + 1 < turns.size(); ++i) ++votes[(turns[i + 1].rank - turns[i].rank + n) % n];
  std::int64_t best = 0;
  for (const auto& [increment, count] : votes) best = std::max(best, count);
  const auto pairs = static_cast<std::int64_t>(turns.size()) - 1;
  if (pairs < 1) return 1;
  if (static_cast<double>(best) < kForetold * static_cast<double>(pairs)) return 1;
  const double others = static_cast<double>(ranks) - 1;
  const double next = 1 / (static_cast<double>(part) - 1);
  return std::min(1.0, others * binomial_upper_tail(best, pairs, next));
}

/// Probability by chance that two or three ranks are the culprits of so many turns, where each next turn is anybody else's.
/// Formula: at most sets x sum over j <= outside of C(turns, j) ((k - 1) / (n - 1))^(turns - 2 j): a turn outside of the set frees
///          itself and the next one.
double chance_of_set(const std::vector<Turn>& turns, std::size_t ranks,
                     const std::vector<std::int32_t>& set) {
  // Of more, those who are late more often than others make a set by themselves.
  constexpr std::size_t kFew = 3;
  if (2 * set.size() > ranks || set.size() > kFew || turns.size() < 2) return 1;
  const auto next = static_cast<double>(turns.size() - 1);
  const auto outside = static_cast<double>(std::count_if(turns.begin() + 1, turns.end(), [&](const Turn& t) {
    return !std::binary_search(set.begin(), set.end(), t.rank);
  }));
  double sets = 1;
  for (std::size_t k = 0; k < set.size(); ++k)
    sets *= static_cast<double>(ranks - k) / static_cast<double>(k + 1);
  const double stays = std::log(static_cast<double>(set.size() - 1) / static_cast<double>(ranks - 1));
  double chance = 0;
  for (double j = 0; j <= outside && 2 * j < next; ++j)
    chance += std::exp(std::lgamma(next + 1) - std::lgamma(j + 1) - std::lgamma(next - j + 1) +
                       stays * (next - 2 * j));
  return 2 * outside < next ? std::min(1.0, sets * chance) : 1;
}

/// Whether who takes part is late by about as much each time, and not late when it is another's turn: ranks that scatter more
/// than others are culprits as often, but by anything.
bool alternates(const Place& x, const std::vector<std::int32_t>& culprit,
                const std::vector<std::int32_t>& set) {
  constexpr double kAlike = 0.35;
  constexpr double kOnTime = 0.25;
  constexpr double kAsMuch = 0.5;
  std::vector<std::vector<double>> late(set.size());
  std::vector<double> all, on_time;
  for (std::size_t s = 0; s < culprit.size(); ++s)
    for (std::size_t k = 0; k < set.size() && culprit[s] >= 0; ++k) {
      const double delay = x.delay(static_cast<std::size_t>(set[k]), s);
      if (set[k] != culprit[s]) {
        on_time.push_back(delay);
        continue;
      }
      late[k].push_back(delay);
      all.push_back(delay);
    }
  if (all.size() < kLeastTurns || on_time.empty()) return false;
  const double usual = median(all);
  return quantile(on_time, 0.9) <= kOnTime * usual &&
         std::all_of(late.begin(), late.end(), [&](const std::vector<double>& own) {
           return !own.empty() && median(own) >= kAsMuch * usual && scaled_mad(own) <= kAlike * median(own);
         });
}

/// Turns without those that are short beside the usual one, by `part` of it: an intruder for a step does not end a turn.
std::vector<Turn> without_intruders(const std::vector<Turn>& turns, double part = 0.5) {
  std::vector<double> lengths;
  lengths.reserve(turns.size());
  for (const Turn& t : turns) lengths.push_back(static_cast<double>(t.last - t.first + 1));
  // Weighted by steps: the turn length in which the usual step lies.
  std::vector<double> by_step;
  for (const double l : lengths) by_step.insert(by_step.end(), static_cast<std::size_t>(l), l);
  const double usual = median_in_place(by_step);
  std::vector<Turn> kept;
  for (const Turn& t : turns) {
    if (static_cast<double>(t.last - t.first + 1) < part * usual) continue;
    if (!kept.empty() && kept.back().rank == t.rank)
      kept.back().last = t.last;
    else
      kept.push_back(t);
  }
  return kept;
}

/// Two independent tests of one hypothesis as one. Source: Fisher 1925, combined probability of two.
double both_by_chance(double a, double b) {
  const double product = a * b;
  return product > 0 ? std::min(1.0, product * (1 - std::log(product))) : 0;
}

/// Probability by chance that turns begin so often every `length` steps, for the best length and phase. What lasts
/// for many steps on its own ends at any time, so a turn is one draw by who comes next, and one more by when it
/// ends. The first one that begins sets the phase; a timetable is kept nearly always.
double chance_of_timetable(const std::vector<Turn>& turns, std::size_t steps) {
  constexpr double kKept = 0.75;
  constexpr std::size_t kShortest = 3;  // shorter ones are told by who comes next
  if (turns.size() <= kLeastTurns) return 1;
  const std::size_t longest = steps / kLeastTurns;
  const auto begins = static_cast<std::int64_t>(turns.size()) - 1;  // nobody saw the first turn begin
  double best = 1;
  std::vector<std::int64_t> at;
  for (std::size_t length = kShortest; length <= longest; ++length) {
    at.assign(length, 0);
    for (std::size_t i = 1; i < turns.size(); ++i) ++at[static_cast<std::size_t>(turns[i].first) % length];
    const std::int64_t hits = *std::max_element(at.begin(), at.end());
    const std::size_t whole_cycles = steps / length;
    const double expected = static_cast<double>(whole_cycles) - 1;
    if (static_cast<double>(hits) < kKept * std::max(expected, static_cast<double>(begins))) continue;
    best = std::min(best, binomial_upper_tail(hits - 1, begins - 1, 1 / static_cast<double>(length)));
  }
  return std::min(1.0, best * static_cast<double>(std::max(longest, kShortest) - kShortest + 1));
}

double steps_per_turn(const std::vector<Turn>& turns) {
  double steps = 0;
  for (const Turn& t : turns) steps += static_cast<double>(t.last - t.first + 1);
  return steps / static_cast<double>(turns.size());
}

/// Steps of the longest stretch in which one row is the culprit in three of four steps that have one. Source: the segment
/// of the largest sum (Kadane), with +1 for its steps and -3 for those of others.
std::size_t longest_stretch(const std::vector<std::int32_t>& culprit, const std::vector<std::int32_t>& set) {
  std::size_t longest = 0;
  for (const std::int32_t row : set) {
    int sum = 0;
    int most = 0;
    std::size_t first = 0;
    for (std::size_t s = 0; s < culprit.size(); ++s) {
      if (culprit[s] < 0) continue;
      if (sum == 0) {
        first = s;
        most = 0;
      }
      sum = std::max(0, sum + (culprit[s] == row ? 1 : -3));
      if (sum <= most) continue;
      most = sum;
      longest = std::max(longest, s - first + 1);
    }
  }
  return longest;
}

/// Probability by chance that the culprit of a step is the one of `lag` steps before
/// so often, for the best lag.
///
/// By chance two steps agree as often as the culprits' frequencies say. Steps of one turn are one draw; lags within one
/// `stretch` agree whoever comes next.
double chance_of_recurrence(const std::vector<std::int32_t>& culprit, const std::vector<Turn>& turns,
                            std::size_t stretch, double by_chance) {
  const double per_turn = steps_per_turn(turns);
  const std::size_t lags = std::min(culprit.size() / 2, kMostLag);
  std::int64_t best_pairs = 0;
  std::int64_t best_agree = 0;
  const auto shortest = std::max(stretch, static_cast<std::size_t>(std::max(2.0, std::ceil(2 * per_turn))));
  for (auto lag = shortest; lag <= lags; ++lag) {
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

/// A cycle of culprits, and who is it most often at one of its places.
struct Cycle {
  double chance = 1;
  std::vector<std::int32_t> members{};
};

/// How often each member is the culprit at each place of cycles of one length.
class PlaceCounts {
 public:
  PlaceCounts(const std::vector<std::int32_t>& member, std::size_t members, std::size_t length)
      : members_(members), length_(length), count_(length * members, 0) {
    for (std::size_t s = 0; s < member.size(); ++s)
      if (member[s] >= 0) ++count_[s % length * members + static_cast<std::size_t>(member[s])];
  }
  /// Whether it is the culprit most often at the place of a step, not counting `without` of its steps.
  [[nodiscard]] bool is_most(std::size_t step, std::int32_t member, std::int32_t without) const {
    const std::int32_t* row = count_.data() + step % length_ * members_;
    const std::int32_t rest = row[member] - without;
    bool most = rest > 0;
    for (std::size_t k = 0; most && k < members_; ++k)
      most = static_cast<std::int32_t>(k) == member || row[k] < rest;
    return most;
  }

 private:
  std::size_t members_;
  std::size_t length_;
  std::vector<std::int32_t> count_;
};

/// Probability by chance that the culprit of a step is so often the one that most other steps of its place in a
/// cycle have, for the best length of the cycle. Sharper than recurrence where others come in between.
Cycle find_cycle(const std::vector<std::int32_t>& culprit, const std::vector<std::int32_t>& set,
                 double per_turn, double most_of_one) {
  const std::size_t longest = std::min(culprit.size() / kLeastTurns, kMostCycle);
  if (set.size() > kMostInCycle || longest < 2) return {};
  std::vector<std::int32_t> member(culprit.size(), -1);
  std::int64_t events = 0;
  for (std::size_t s = 0; s < culprit.size(); ++s) {
    events += culprit[s] >= 0;
    const auto at = std::lower_bound(set.begin(), set.end(), culprit[s]);
    if (at != set.end() && *at == culprit[s]) member[s] = static_cast<std::int32_t>(at - set.begin());
  }
  std::int64_t best = 0;
  std::size_t best_length = 0;
  for (std::size_t length = 2; length <= longest; ++length) {
    const PlaceCounts counts(member, set.size(), length);
    std::int64_t hits = 0;
    for (std::size_t s = 0; s < member.size(); ++s) hits += member[s] >= 0 && counts.is_most(s, member[s], 1);
    if (hits > best) {
      best = hits;
      best_length = length;
    }
  }
  if (static_cast<double>(best) < kForetold * static_cast<double>(events) || best == 0) return {};
  Cycle cycle;
  const auto draws = static_cast<std::int64_t>(static_cast<double>(events) / per_turn);
  const auto hits = static_cast<std::int64_t>(static_cast<double>(best) / per_turn);
  cycle.chance = std::min(1.0, binomial_upper_tail(hits, draws, most_of_one) * static_cast<double>(longest));
  const PlaceCounts counts(member, set.size(), best_length);
  for (std::size_t k = 0; k < set.size(); ++k)
    for (std::size_t place = 0; place < best_length; ++place)
      if (counts.is_most(place, static_cast<std::int32_t>(k), 0)) {
        cycle.members.push_back(set[k]);
        break;
      }
  return cycle;
}

/// Culprits that take turns, before it is known what they cost.
Named named_turns(const Place& x, const DelayFigures& f, const std::vector<std::int32_t>& culprit,
                  const std::vector<std::int32_t>& set) {
  std::vector<double> delays;
  for (std::size_t s = 0; s < culprit.size(); ++s)
    if (culprit[s] >= 0) delays.push_back(x.delay(static_cast<std::size_t>(culprit[s]), s));
  // Whoever does not take part is somebody's own bad moment, and ends no turn.
  std::vector<std::int32_t> of_set = culprit;
  for (std::int32_t& row : of_set)
    if (!std::binary_search(set.begin(), set.end(), row)) row = -1;
  std::vector<double> lengths;
  constexpr double kIntruder = 0.25;  // turns that end at any time may be half as long
  for (const Turn& t : without_intruders(turns_of(of_set), kIntruder))
    lengths.push_back(static_cast<double>(t.last - t.first + 1));
  Named n{.kind = FindingKind::RotatingStraggler,
          .suspect = {{}, 0, x.x.steps().count - 1, of_set, x.limits()},
          .typical_delay = median(delays),
          .others_spread = f.step_noise,
          .agreement = static_cast<double>(delays.size()) / static_cast<double>(culprit.size()),
          .period_steps = static_cast<std::int64_t>(std::llround(median_in_place(lengths)))};
  for (const auto row : set) n.suspect.ranks.push_back(x.rank(static_cast<std::size_t>(row)));
  for (auto& who : n.suspect.rank_of_step) {
    if (who < 0) continue;
    ++n.late_steps;
    who = x.rank(static_cast<std::size_t>(who));
  }
  return n;
}

/// Who takes turns, and how likely that is by chance.
struct Rotation {
  std::vector<std::int32_t> set;
  double chance = 1;
};

Rotation rotation_of(const Place& x, const std::vector<std::int32_t>& culprit) {
  Rotation out;
  const std::vector<Turn> turns = turns_of(culprit);
  if (turns.size() < kLeastTurns) return out;
  std::map<std::int32_t, std::int64_t> times;
  double events = 0;
  for (const auto r : culprit)
    if (r >= 0) {
      ++times[r];
      ++events;
    }
  out.set = who_takes_part(times);
  if (out.set.size() < kLeastCulprits) return out;
  double most = 0;
  double by_chance = 0;  // that two steps share their culprit
  for (const auto& [row, count] : times) {
    most = std::max(most, static_cast<double>(count));
    by_chance += std::pow(static_cast<double>(count) / events, 2);
  }
  if (most > kMostOfOne * events) return out;
  const std::vector<Turn> clean = without_intruders(turns);
  const Cycle cycle = find_cycle(culprit, out.set, steps_per_turn(turns), most / events);
  const double tests = 8 * x.searched;
  const double next = chance_of_increment(clean, x.rows(), out.set.size());
  const double when = chance_of_timetable(clean, x.steps());
  const double who = alternates(x, culprit, out.set) ? chance_of_set(turns, x.rows(), out.set) : 1;
  out.chance =
      tests * std::min({chance_of_increment(turns, x.rows(), out.set.size()), next, when,
                        both_by_chance(next, when), who, both_by_chance(who, when),
                        chance_of_recurrence(culprit, turns, longest_stretch(culprit, out.set), by_chance),
                        cycle.chance});
  // Whoever is most often the culprit at no place of the cycle has its own bad moments.
  if (tests * cycle.chance <= x.rules().burst_test && cycle.members.size() >= kLeastCulprits)
    out.set = cycle.members;
  return out;
}

/// Whether one rank that comes back every so many steps makes an order of many others' bad moments: without it there is none.
bool rests_on_one(const Place& x, std::vector<std::int32_t> culprit) {
  std::map<std::int32_t, std::int64_t> times;
  for (const auto r : culprit)
    if (r >= 0) ++times[r];
  const auto most = std::max_element(times.begin(), times.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  for (auto& r : culprit)
    if (r == most->first) r = -1;
  return rotation_of(x, culprit).chance > x.rules().burst_test;
}

}  // namespace

std::vector<Named> find_rotating(const Place& x, const DelayFigures& f) {
  constexpr std::size_t kMany = 8;
  if (x.rows() < kLeastCulprits) return {};
  const double bar = std::max(x.rules().least_delay, kStandsOut * f.step_noise);
  const std::vector<std::int32_t> culprit = culprits(x, bar);
  const auto events =
      static_cast<double>(std::count_if(culprit.begin(), culprit.end(), [](auto r) { return r >= 0; }));
  if (events < 0.5 * static_cast<double>(culprit.size())) return {};
  const Rotation rotation = rotation_of(x, culprit);
  if (rotation.set.size() < kLeastCulprits || rotation.chance > x.rules().burst_test) return {};
  if (rotation.set.size() >= kMany && rests_on_one(x, culprit)) return {};

  Named n = named_turns(x, f, culprit, rotation.set);
  n.chance = std::min(1.0, rotation.chance);
  n.saving = x.without(n.suspect);
  if (ratio(n.saving.share, x.x.stepped) < x.rules().least_gain) return {};
  return {n};
}

}  // namespace cox::diagnose
