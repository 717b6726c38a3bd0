// SPDX-License-Identifier: Apache-2.0
// Families about who is named: positions, turns, own work alone, pauses, ranks that hide each other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "cox/base/hash.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/diagnose/finding.hpp"

#include "diagnose/match/account.hpp"
#include "diagnose/match/coverage.hpp"
#include "diagnose/match/matched.hpp"
#include "diagnose/verdict/finding.hpp"
#include "family.hpp"
#include "job.hpp"

namespace cox::accuracy {
namespace {

using diagnose::Diagnosis;
using diagnose::Finding;
using diagnose::FindingKind;

/// Whoever is named must be this, and all of it.
struct Truth {
  FindingKind kind = FindingKind::SlowRank;
  std::vector<std::int32_t> ranks{};      ///< ascending
  std::vector<std::int64_t> positions{};  ///< from 1; empty: not limited, or not asked for
  bool asked_where = false;               ///< whether positions must agree
  std::int64_t period = 0;                ///< pauses; 0: irregular
};

struct Case {
  std::size_t level = 0;
  Truth truth;
  trace::Run run;
};

class Dice {
 public:
  Dice(int family, int index)
      : bits_(static_cast<std::uint64_t>(family) * 1'000'003 + static_cast<std::uint64_t>(index)) {}
  int below(int n) { return static_cast<int>(bits_.next() % static_cast<std::uint64_t>(n)); }
  int from_to(int low, int high) { return low + below(high - low + 1); }
  std::uint64_t seed() { return bits_.next(); }
  /// `k` different ranks, in the order drawn.
  std::vector<std::int32_t> ranks(int k, int n) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    for (int i = 0; i < k; ++i)
      std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(from_to(i, n - 1))]);
    all.resize(static_cast<std::size_t>(k));
    return all;
  }

 private:
  SplitMix bits_;
};

std::size_t level_of(int index) {
  return static_cast<std::size_t>(index) % kLevels.size();
}

/// Sizes from 4 to 512 ranks; large ones are rare, as they take long.
JobShape any_shape(Dice& dice, int index, int least_positions, int most_positions) {
  static constexpr std::array kRanks{4, 6, 8, 8, 12, 16, 16, 24, 32, 64};
  JobShape s;
  s.noise = static_cast<Noise>(index / static_cast<int>(kLevels.size()) % kNoises);
  s.seed = dice.seed();
  s.ranks = kRanks[static_cast<std::size_t>(dice.below(static_cast<int>(kRanks.size())))];
  s.steps = dice.from_to(60, 160);
  s.positions = dice.from_to(least_positions, most_positions);
  s.unit = 0.03 + 0.01 * dice.below(5);
  if (index % 50 >= 45) {  // one of each level
    s.ranks = index % 100 >= 95 ? 512 : 128;
    s.steps = 60;
    s.positions = std::max(least_positions, 2);
  }
  return s;
}

/// An order shows in as many steps.
JobShape with_turns(JobShape s) {
  s.steps = std::max(s.steps, 100);
  return s;
}

std::vector<std::int32_t> sorted(std::vector<std::int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

bool innocent(const Finding& f, const Truth& t) {
  return std::any_of(f.ranks.begin(), f.ranks.end(),
                     [&](Rank r) { return !std::binary_search(t.ranks.begin(), t.ranks.end(), r.value()); });
}

bool is_exact(const Finding& f, const Truth& t) {
  if (f.kind != t.kind || f.ranks.size() != t.ranks.size()) return false;
  const auto* e = std::get_if<diagnose::LateEvidence>(&f.evidence);
  if (t.kind != FindingKind::PeriodicPause) return true;
  return e != nullptr && e->pauses &&
         (t.period == 0 ? !e->pauses->phase : e->pauses->phase && e->pauses->period_steps == t.period);
}

/// False where positions are named that are not those of the truth; naming none is no error in itself.
bool is_there(const Finding& f, const Truth& t) {
  for (const diagnose::StepPosition& p : f.positions)
    if (std::find(t.positions.begin(), t.positions.end(), p.number) == t.positions.end()) return false;
  return true;
}

Answer judge_findings(const Diagnosis& d, const Case& c) {
  const bool effect = kLevels[c.level] > 0;
  if (d.findings.empty()) return effect ? Answer::Silent : Answer::Right;
  if (!effect) return Answer::Wrong;
  for (const Finding& f : d.findings)
    if (innocent(f, c.truth) || (c.truth.asked_where && !is_there(f, c.truth))) return Answer::Wrong;
  const Finding& first = d.findings.front();
  const bool where = !c.truth.asked_where || first.positions.size() == c.truth.positions.size();
  return d.findings.size() == 1 && is_exact(first, c.truth) && where ? Answer::Right : Answer::Half;
}

Answer of_rule(std::int32_t named, const Case& c) {
  if (kLevels[c.level] <= 0) return Answer::Wrong;
  if (!std::binary_search(c.truth.ranks.begin(), c.truth.ranks.end(), named)) return Answer::Wrong;
  return c.truth.ranks.size() == 1 ? Answer::Right : Answer::Half;
}

Judged judge(const Case& c) {
  Judged out;
  out.level = c.level;
  const diagnose::Matched matched(c.run, {.threads = 1});
  Diagnosis d;  // what `diagnose` does up to here, without the replays that come after
  d.coverage = diagnose::cover(matched);
  const diagnose::StepTable delays = matched.by_step(diagnose::InStep::Delay);
  diagnose::TimeAccount account = diagnose::account_for(matched, delays);
  d.step_times = std::move(account.step_times);
  d.step_time = account.step_time;
  d.run_time = account.run_time;
  d.ranks = std::move(account.ranks);
  d.lost = matched.skew().lost;
  d.findings = diagnose::name_and_explain(matched, delays, d, 1).all;
  out.tool = judge_findings(d, c);
  const auto most = [&](auto of) {
    const auto at = std::max_element(d.ranks.begin(), d.ranks.end(),
                                     [&](const auto& a, const auto& b) { return of(a) < of(b); });
    return at->rank.value();
  };
  out.largest_mean = of_rule(most([](const diagnose::RankAccount& a) { return a.self_delay; }), c);
  out.last_most = of_rule(most([](const diagnose::RankAccount& a) { return a.last_share; }), c);
  out.said = fmt::format("{} ranks, {} steps, level {}, truth {} {} at {}:", c.run.ranks.size(),
                         d.step_times.size(), kLevels[c.level], diagnose::name_of(c.truth.kind),
                         fmt::join(c.truth.ranks, ","), fmt::join(c.truth.positions, ","));
  for (const Finding& f : d.findings) {
    out.said += fmt::format(" [{}", diagnose::name_of(f.kind));
    for (const Rank r : f.ranks) out.said += fmt::format(" {}", r.value());
    for (const diagnose::StepPosition& p : f.positions) out.said += fmt::format(" @{}", p.number);
    out.said += "]";
  }
  return out;
}

// One rank is late before one synchronisation of the step, before two, or before all.
Judged position_case(int index) {
  Dice dice(1, index);
  NoisyJob job(any_shape(dice, index, 2, 8));
  const JobShape& s = job.shape();
  const std::int32_t rank = dice.below(s.ranks);
  const int draw = dice.below(8);
  const int places = draw == 0 ? s.positions : draw == 1 && s.positions >= 4 ? 2 : 1;
  Case c{.level = level_of(index), .truth = {.ranks = {rank}, .asked_where = true}, .run = {}};
  for (const auto p : sorted(dice.ranks(places, s.positions))) {
    c.truth.positions.push_back(p + 1);
    for (int t = 0; t < s.steps; ++t) job.add(rank, t, p, kLevels[c.level] * job.unit(p));
  }
  if (places == s.positions) c.truth.positions.clear();
  c.run = job.run();
  return judge(c);
}

/// Whose turn it is in a step.
std::int32_t in_turn(const std::vector<std::int32_t>& ranks, int step, int turn) {
  return ranks[static_cast<std::size_t>(step / turn) % ranks.size()];
}

// Three to eight ranks are late in turn before one synchronisation of the step.
Judged rotating_case(int index) {
  Dice dice(2, index);
  NoisyJob job(with_turns(any_shape(dice, index, 2, 8)));
  const JobShape& s = job.shape();
  const int turn = dice.from_to(1, 4);
  const int most = std::min(s.ranks, s.steps / turn / 6);  // each comes at least six times
  const std::vector<std::int32_t> ranks = dice.ranks(std::min(most, dice.from_to(3, 8)), s.ranks);
  const int p = dice.below(s.positions);
  Case c{.level = level_of(index),
         .truth = {.kind = FindingKind::RotatingStraggler,
                   .ranks = sorted(ranks),
                   .positions = {p + 1},
                   .asked_where = true},
         .run = {}};
  for (int t = 0; t < s.steps; ++t) job.add(in_turn(ranks, t, turn), t, p, kLevels[c.level] * job.unit(p));
  c.run = job.run();
  return judge(c);
}

// One rank, or three in turn, with clocks that cannot be compared and members that leave far apart.
Judged own_work_case(int index) {
  Dice dice(3, index);
  JobShape shape = any_shape(dice, index, 1, 4);
  shape.apart = true;
  NoisyJob job(shape);
  const JobShape& s = job.shape();
  const int k = dice.below(3) == 0 ? 3 : 1;
  const std::vector<std::int32_t> ranks = dice.ranks(k, s.ranks);
  const int p = dice.below(s.positions);
  Case c{.level = level_of(index),
         .truth = {.kind = k == 1 ? FindingKind::SlowRank : FindingKind::RotatingStraggler,
                   .ranks = sorted(ranks),
                   .positions = {p + 1}},
         .run = {}};
  for (int t = 0; t < s.steps; ++t) job.add(in_turn(ranks, t, 2), t, p, kLevels[c.level] * job.unit(p));
  c.run = job.run();
  return judge(c);
}

// `ranks` are late in turn, `turn` steps each, at position `p`.
Judged judge_turns(NoisyJob& job, const std::vector<std::int32_t>& ranks, int turn, int p,
                   std::size_t level) {
  Case c{.level = level,
         .truth = {.kind = FindingKind::RotatingStraggler, .ranks = sorted(ranks), .positions = {p + 1}},
         .run = {}};
  for (int t = 0; t < job.shape().steps; ++t)
    job.add(in_turn(ranks, t, turn), t, p, kLevels[level] * job.unit(p));
  c.run = job.run();
  return judge(c);
}

// Two or three ranks alternate.
Judged in_turn_case(int index) {
  Dice dice(4, index);
  NoisyJob job(with_turns(any_shape(dice, index, 1, 4)));
  const JobShape& s = job.shape();
  const std::vector<std::int32_t> ranks = dice.ranks(dice.from_to(2, 3), s.ranks);
  const int turn = dice.from_to(1, 3);
  const int p = dice.below(s.positions);
  return judge_turns(job, ranks, turn, p, level_of(index));
}

// Two to four ranks alternate in twelve to twenty turns of many steps, at one of one or two synchronisations.
Judged long_turns_case(int index) {
  Dice dice(10, index);
  JobShape shape = any_shape(dice, index, 1, 2);
  const int turn = dice.from_to(4, 10);
  shape.steps = turn * dice.from_to(12, 20);
  NoisyJob job(shape);
  const JobShape& s = job.shape();
  const std::vector<std::int32_t> ranks = dice.ranks(dice.from_to(2, 4), s.ranks);
  const int p = dice.below(s.positions);
  return judge_turns(job, ranks, turn, p, level_of(index));
}

// One rank pauses every so many steps, in one case of four at irregular times. A pause costs as much as the
// effect in all the steps up to the next one.
Judged pause_case(int index) {
  Dice dice(5, index);
  JobShape shape = any_shape(dice, index, 1, 4);
  const int period = dice.from_to(4, 20);
  const bool irregular = dice.below(4) == 0;
  // Six pauses or more: fewer at irregular times are no evidence.
  shape.steps = std::max(shape.steps, (irregular ? 12 : 8) * period);
  NoisyJob job(shape);
  const JobShape& s = job.shape();
  const std::int32_t rank = dice.below(s.ranks);
  const int p = dice.below(s.positions);
  Case c{.level = level_of(index),
         .truth = {.kind = FindingKind::PeriodicPause,
                   .ranks = {rank},
                   .positions = {p + 1},
                   .period = irregular ? 0 : period},
         .run = {}};
  for (int t = dice.below(period); t < s.steps;) {
    job.add(rank, t, p, kLevels[c.level] * period * job.unit(p));
    t += irregular ? dice.from_to(std::max(2, period / 2), 2 * period) : period;
  }
  c.run = job.run();
  return judge(c);
}

// One rank is late in one stretch of an eighth to half of the steps, which costs as much as the effect in all steps. In
// every other case it is faster for good afterwards, as where its burst made the machine move it.
Judged stretch_case(int index) {
  Dice dice(11, index);
  NoisyJob job(with_turns(any_shape(dice, index, 1, 4)));
  const JobShape& s = job.shape();
  const std::int32_t rank = dice.below(s.ranks);
  const int length = dice.from_to(s.steps / 8, s.steps / 2);
  const int first = dice.from_to(5, s.steps - length - 5);
  const int p = dice.below(s.positions);
  Case c{.level = level_of(index),
         .truth = {.kind = FindingKind::TransientStraggler, .ranks = {rank}, .positions = {p + 1}},
         .run = {}};
  const double extra = kLevels[c.level] * s.steps / length * job.unit(p);
  for (int t = first; t < first + length; ++t) job.add(rank, t, p, extra);
  if (dice.below(2) == 1)
    for (int t = first + length; t < s.steps; ++t)
      job.add(rank, t, p, -std::min(0.4 * extra, 0.2 / s.positions));
  c.run = job.run();
  return judge(c);
}

// Two to four ranks are equally late: whoever is fixed alone, the others are as late as before.
Judged hidden_case(int index) {
  Dice dice(6, index);
  NoisyJob job(any_shape(dice, index, 1, 4));
  const JobShape& s = job.shape();
  const int most = std::clamp(s.ranks / 2 - 1, 2, 4);  // not as many as those they are held against
  const std::vector<std::int32_t> ranks = dice.ranks(dice.from_to(2, most), s.ranks);
  const int p = dice.below(s.positions);
  Case c{.level = level_of(index),
         .truth = {.kind = FindingKind::SlowGroup, .ranks = sorted(ranks), .positions = {p + 1}},
         .run = {}};
  for (const auto rank : ranks)
    for (int t = 0; t < s.steps; ++t) job.add(rank, t, p, kLevels[c.level] * job.unit(p));
  c.run = job.run();
  return judge(c);
}

// Nobody is late on purpose; in every other case clocks differ and members leave apart.
Judged nobody_case(int index) {
  Dice dice(7, index);
  JobShape shape = any_shape(dice, index, 1, 8);
  shape.noise = static_cast<Noise>(index % kNoises);
  shape.apart = index / kNoises % 2 == 1;
  shape.unit = 0.03 + 0.03 * dice.below(5);
  Case c;
  c.run = NoisyJob(shape).run();
  return judge(c);
}

// Two, four or sixteen ranks whose speeds wander: what lasts for tens of steps is no rank's own.
JobShape wandering_shape(int index) {
  Dice dice(8, index);
  static constexpr std::array kRanks{2, 4, 2, 4, 16};
  JobShape s;
  s.noise = Noise::Wandering;
  s.correlation = index % 3 == 2 ? 0.7 : 0.9;
  s.seed = dice.seed();
  s.ranks = kRanks[static_cast<std::size_t>(index) % kRanks.size()];
  s.steps = index % 2 == 0 ? dice.from_to(60, 160) : dice.from_to(160, 600);
  s.positions = dice.from_to(1, 2);
  s.unit = 0.03 + 0.01 * dice.below(5);
  return s;
}

Judged nobody_wandering_case(int index) {
  Case c;
  c.run = NoisyJob(wandering_shape(index)).run();
  return judge(c);
}

// The same with 4 to 16 ranks, some of which wander much more than others: who is restless is no culprit.
Judged nobody_restless_case(int index) {
  JobShape shape = wandering_shape(index);
  static constexpr std::array kRanks{4, 8, 16};
  shape.ranks = kRanks[static_cast<std::size_t>(index) % kRanks.size()];
  shape.uneven = 0.8;
  Case c;
  c.run = NoisyJob(shape).run();
  return judge(c);
}

// The same, told in multiples of 2 to 10 % of a step: on which side of a half a rank is stays so for tens of steps.
Judged nobody_coarse_case(int index) {
  JobShape shape = wandering_shape(index);
  shape.resolution = 0.02 * (1 + index % 5);
  Case c;
  c.run = NoisyJob(shape).run();
  return judge(c);
}

// A table of step times, so of one synchronisation, whose numbers hardly change: who is rounded up is no culprit, as
// the table's digits say.
Judged nobody_rounded_case(int index) {
  Dice dice(13, index);
  JobShape shape = any_shape(dice, index, 1, 1);
  shape.positions = 1;
  shape.noise = Noise::Normal;
  shape.resolution = 0.05 * dice.from_to(1, 2);
  shape.unit = 0.1 * shape.resolution;
  shape.unlike = 0.9 * shape.resolution;
  Case c;
  const NoisyJob job(shape);
  c.run = job.run();
  c.run.resolution = duration_from_seconds(job.resolution());
  return judge(c);
}

// One rank is later at every position of every step by the level of this index.
Judged late_all_along(NoisyJob job, Dice& dice, int index) {
  const JobShape& s = job.shape();
  const std::int32_t rank = dice.below(s.ranks);
  Case c{.level = level_of(index), .truth = {.ranks = {rank}}, .run = {}};
  for (int p = 0; p < s.positions; ++p)
    for (int t = 0; t < s.steps; ++t) job.add(rank, t, p, kLevels[c.level] * job.unit(p));
  c.run = job.run();
  return judge(c);
}

// One rank is late all along, told in multiples of 1 to 3 % of a step.
Judged coarse_case(int index) {
  Dice dice(12, index);
  JobShape shape = any_shape(dice, index, 1, 2);
  shape.resolution = 0.01 * dice.from_to(1, 3);
  return late_all_along(NoisyJob(shape), dice, index);
}

Judged wandering_case(int index) {
  Dice dice(9, index);
  return late_all_along(NoisyJob(wandering_shape(index / static_cast<int>(kLevels.size()))), dice, index);
}

}  // namespace

std::vector<Family> naming_families() {
  return {
      {.name = "nobody",
       .what = "even jobs of 1 to 8 synchronisations per step, noise up to 15 % of a step, half of them with "
               "clocks that differ",
       .cases = 500,
       .judge = nobody_case},
      {.name = "position",
       .what = "one rank is late before one of 2 to 8 synchronisations of a step, before two, or before all",
       .cases = 250,
       .judge = position_case},
      {.name = "position in turn",
       .what = "three to eight ranks in turn are late before one of 2 to 8 synchronisations",
       .cases = 250,
       .judge = rotating_case},
      {.name = "own work only",
       .what = "one rank, or three in turn, where clocks differ and members leave as far apart as they enter",
       .cases = 250,
       .judge = own_work_case},
      {.name = "two or three in turn",
       .what = "two or three ranks alternate, in turns of 1 to 3 steps",
       .cases = 250,
       .judge = in_turn_case},
      {.name = "long turns",
       .what = "two to four ranks alternate, in twelve to twenty turns of 4 to 10 steps",
       .cases = 250,
       .bars = {.least_right_at_twice = 0.75},  // a dozen draws: the page
       .judge = long_turns_case},
      {.name = "pause",
       .what = "one rank pauses every 4 to 20 steps, in a quarter of the cases at irregular times",
       .cases = 250,
       .judge = pause_case},
      {.name = "stretch",
       .what =
           "one rank is late in an eighth to half of the steps, in every other case faster for good afterwards",
       .cases = 250,
       .judge = stretch_case},
      {.name = "nobody, speeds wander",
       .what =
           "even jobs of 2, 4 or 16 ranks whose speeds have a correlation of 0.7 or 0.9 from step to step",
       .cases = 600,
       .judge = nobody_wandering_case},
      {.name = "nobody, some ranks are restless",
       .what = "the same with 4, 8 or 16 ranks, some of which wander several times as much as others",
       .cases = 600,
       .judge = nobody_restless_case},
      {.name = "nobody, coarse clock",
       .what = "even jobs whose speeds wander, told in multiples of 2 to 10 % of a step",
       .cases = 600,
       .judge = nobody_coarse_case},
      {.name = "nobody, rounded table",
       .what =
           "tables whose last digit is 5 or 10 % of a step; noise is a tenth of it, and ranks differ by less than one",
       .cases = 300,
       .judge = nobody_rounded_case},
      {.name = "coarse clock",
       .what = "one rank is late all along, told in multiples of 1 to 3 % of a step",
       .cases = 250,
       .judge = coarse_case},
      {.name = "speeds wander",
       .what = "jobs whose speeds wander, and one rank is late",
       .cases = 300,
       .bars = {.least_right_at_twice = 0.80},  // what an ideal detector reaches: the page
       .judge = wandering_case},
      {.name = "hidden set",
       .what = "two to four ranks are equally late",
       .cases = 250,
       .judge = hidden_case},
  };
}

}  // namespace cox::accuracy
