// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "cox/base/resample.hpp"
#include "cox/base/stats.hpp"
#include "cox/pace/controller.hpp"

#include "diagnose/match/span_math.hpp"
#include "diagnose/pacing/iterations.hpp"
#include "diagnose/pacing/record.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kDraws = 400;
constexpr std::size_t kMostUnits = 2048;  ///< resampled; of more, evenly thinned ones
constexpr std::size_t kFewestUnits = 4;   ///< below it an interval would say nothing
constexpr std::uint64_t kSeed = 20261122;

/// One iteration of the group, means over its members in seconds.
struct Iteration {
  double period = 0;
  double wait = 0;
  double energy = 0;
  bool known = false;
};

/// Iterations that are resampled together.
struct Unit {
  std::array<std::vector<Iteration>, 2> arm;  ///< [paced]
};

struct Table {
  GroupIterations group;
  std::vector<Duration> shortest;  ///< time inside, of the member that was inside the least
};

Table table_of(GroupIterations g) {
  Table t{.group = std::move(g), .shortest = {}};
  t.shortest.assign(t.group.count, Duration::max());
  for (const GroupMember& m : t.group.members)
    for (std::size_t k = 0; k < t.group.count; ++k)
      if (const SeenIteration* i = t.group.at(m, k)) t.shortest[k] = std::min(t.shortest[k], i->sync);
  return t;
}

Duration wait_of(const Table& t, const SeenIteration& i, std::size_t k) {
  return positive_part(minus_clamped(i.sync, t.shortest[k]));
}

Iteration iteration_of(const Table& t, std::size_t k, double idle_power) {
  Iteration out;
  double members = 0;
  for (const GroupMember& m : t.group.members) {
    const SeenIteration* i = t.group.at(m, k);
    if (i == nullptr) continue;
    const double period = in_seconds(minus_clamped(i->end, i->begin));
    out.period += period;
    out.wait += in_seconds(wait_of(t, *i, k));
    out.energy += period - (1 - idle_power) * std::min(in_seconds(i->delayed), period);
    ++members;
  }
  if (members == 0) return out;
  out.period /= members;
  out.wait /= members;
  out.energy /= members;
  out.known = out.period > 0;
  return out;
}

/// What somebody's test wanted of an iteration.
enum class Arm : std::uint8_t { None = 0, Baseline = 1, Control = 2, Spoilt = 3 };

Arm arm_of(std::uint8_t reason) {
  switch (static_cast<pace::Reason>(reason)) {
    case pace::Reason::BlockOff:
    case pace::Reason::HoldOff:
      return Arm::Baseline;
    case pace::Reason::BlockPaced:
    case pace::Reason::Holding:
      return Arm::Control;
    case pace::Reason::ProbeTurn:
      return Arm::Spoilt;
    default:
      return Arm::None;
  }
}

/// The strongest word of any member: one rank held back makes it a paced iteration.
std::vector<Arm> arms_of(const GroupIterations& g) {
  std::vector<Arm> arms(g.count, Arm::None);
  for (const GroupMember& m : g.members)
    for (std::size_t k = 0; k < g.count; ++k)
      if (const SeenIteration* i = g.at(m, k)) arms[k] = std::max(arms[k], arm_of(i->reason));
  return arms;
}

std::vector<Unit> thinned(std::vector<Unit> units) {
  const std::size_t stride = (units.size() + kMostUnits - 1) / kMostUnits;
  if (stride <= 1) return units;
  std::vector<Unit> out;
  for (std::size_t i = 0; i < units.size(); i += stride) out.push_back(std::move(units[i]));
  return out;
}

/// Figures of one arm in one sample, in the order of `kFigures`.
enum Figure : std::uint8_t { kPeriod, kMedian, kP99, kCv, kWait, kEnergy, kFigures };
using Figures = std::array<double, kFigures>;

Figures figures_of(std::span<const Iteration* const> sample, std::vector<double>& room) {
  Figures f{};
  Welford period;
  double wait = 0;
  double energy = 0;
  room.clear();
  for (const Iteration* i : sample) {
    period.add(i->period);
    wait += i->wait;
    energy += i->energy;
    room.push_back(i->period);
  }
  if (room.empty()) return f;
  const auto n = static_cast<double>(room.size());
  f[kPeriod] = period.mean();
  f[kMedian] = quantile_in_place(room, 0.5);
  f[kP99] = quantile_in_place(room, 0.99);
  f[kCv] = period.cv();
  f[kWait] = wait / n;
  f[kEnergy] = energy / n;
  return f;
}

void gather(const std::vector<Unit>& units, std::size_t arm, const UnitDraws* draws, std::size_t draw,
            std::vector<const Iteration*>& sample) {
  sample.clear();
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Unit& u = units[draws == nullptr ? i : draws->pick(draw, i)];
    for (const Iteration& each : u.arm[arm]) sample.push_back(&each);
  }
}

/// Figures of both arms, as they are and in every draw.
struct Resampled {
  Figures value[2];
  std::vector<Figures> draws[2];
};

Resampled resample(const std::vector<Unit>& baseline, const std::vector<Unit>& control, bool together) {
  Resampled out;
  std::vector<const Iteration*> sample;
  std::vector<double> room;
  const std::vector<Unit>* units[2] = {&baseline, &control};
  const bool enough = std::min(baseline.size(), control.size()) >= kFewestUnits;
  for (std::size_t arm = 0; arm < 2; ++arm) {
    gather(*units[arm], arm, nullptr, 0, sample);
    out.value[arm] = figures_of(sample, room);
    if (!enough) continue;
    const UnitDraws draws(units[arm]->size(), kSeed, together ? 0U : static_cast<std::uint32_t>(arm));
    for (std::size_t d = 0; d < kDraws; ++d) {
      gather(*units[arm], arm, &draws, d, sample);
      out.draws[arm].push_back(figures_of(sample, room));
    }
  }
  return out;
}

template <class T, class F>
Bounded<T> bounded(const Resampled& r, const F& of) {
  const double value = of(r.value[0], r.value[1]);
  Bounded<T> b{T(value), T(value), T(value)};
  std::vector<double> sample;
  for (std::size_t d = 0; d < r.draws[0].size(); ++d) {
    const double x = of(r.draws[0][d], r.draws[1][d]);
    if (std::isfinite(x)) sample.push_back(x);
  }
  if (sample.empty()) return b;
  const Interval middle = middle_95(sample);
  b.low = T(middle.low);
  b.high = T(middle.high);
  return b;
}

double quotient(double a, double b) {
  return b > 0 ? a / b : 0;
}

PaceArm arm_figures(const Resampled& r, int arm) {
  PaceArm a;
  const auto of = [&](Figure f) {
    return [arm, f](const Figures& x, const Figures& y) { return arm == 0 ? x[f] : y[f]; };
  };
  a.period = bounded<Seconds>(r, of(kPeriod));
  a.median = bounded<Seconds>(r, of(kMedian));
  a.p99 = bounded<Seconds>(r, of(kP99));
  a.cv_ratio = bounded<double>(r, of(kCv));
  a.wait = bounded<Seconds>(r, of(kWait));
  a.energy = bounded<Seconds>(r, of(kEnergy));
  return a;
}

std::int64_t iterations_in(const std::vector<Unit>& units, std::size_t arm) {
  std::int64_t n = 0;
  for (const Unit& u : units) n += static_cast<std::int64_t>(u.arm[arm].size());
  return n;
}

PacingComparison comparison_of(const std::vector<Unit>& baseline, const std::vector<Unit>& control,
                               bool together) {
  PacingComparison c;
  const Resampled r = resample(baseline, control, together);
  c.within_run = together;
  c.has_interval = !r.draws[0].empty();
  c.baseline = arm_figures(r, 0);
  c.control = arm_figures(r, 1);
  c.baseline.blocks = static_cast<std::int64_t>(baseline.size());
  c.control.blocks = static_cast<std::int64_t>(control.size());
  c.baseline.iterations = iterations_in(baseline, 0);
  c.control.iterations = iterations_in(control, 1);
  c.faster_ratio = bounded<double>(
      r, [](const Figures& x, const Figures& y) { return quotient(x[kPeriod], y[kPeriod]) - 1; });
  const auto over = [&](Figure f) {
    return bounded<double>(r, [f](const Figures& x, const Figures& y) { return quotient(y[f], x[f]); });
  };
  c.cv_ratio = over(kCv);
  c.p99_ratio = over(kP99);
  c.wait_ratio = over(kWait);
  c.energy_ratio = over(kEnergy);
  return c;
}

/// Sums of one member over the iterations of an arm.
struct Sums {
  double wait = 0;
  double delay = 0;
  double n = 0;
};

template <class Takes>
Sums sums_of(const Table& t, const GroupMember& m, const Takes& takes) {
  Sums s;
  for (std::size_t k = 0; k < t.group.count; ++k) {
    const SeenIteration* i = takes(k) ? t.group.at(m, k) : nullptr;
    if (i == nullptr) continue;
    s.wait += in_seconds(wait_of(t, *i, k));
    s.delay += in_seconds(i->delayed);
    ++s.n;
  }
  return s;
}

Seconds mean(double sum, double n) {
  return Seconds{n > 0 ? sum / n : 0};
}

/// Stretches of a Run of equal length, each iteration in the given arm.
std::vector<Unit> stretches(const Table& t, std::size_t length, std::size_t arm, double idle_power) {
  std::vector<Unit> units;
  for (std::size_t k = 0; k < t.group.count; ++k) {
    if (k % length == 0) units.emplace_back();
    const Iteration i = iteration_of(t, k, idle_power);
    if (i.known) units.back().arm[arm].push_back(i);
  }
  std::erase_if(units, [&](const Unit& u) { return u.arm[arm].size() * 2 < length; });
  return thinned(std::move(units));
}

bool is_told(Arm arm) {
  return arm == Arm::Baseline || arm == Arm::Control;
}

/// The test's pairs of blocks that have both arms.
struct Pairs {
  std::vector<Unit> units;
  std::vector<Arm> used;  ///< per column; None where it is in no such pair
};

Pairs pairs_of(const Table& t, const pace::Settings& s) {
  const pace::Pattern pattern(s.seed, s.block);
  const std::uint32_t settle = std::min(s.settle, pattern.block() - 1);  // as the controller takes it
  const std::vector<Arm> arms = arms_of(t.group);
  Pairs out{.units = {}, .used = std::vector<Arm>(t.group.count, Arm::None)};
  std::size_t k = 0;
  while (k < t.group.count) {
    const std::uint64_t pair = pattern.pair_of(t.group.first + k);
    const std::size_t begin = k;
    Unit unit;
    // iterations that settle, after the beginning of a block and after a change of arm
    std::uint32_t left = 0;
    for (; k < t.group.count && pattern.pair_of(t.group.first + k) == pair; ++k) {
      const std::uint32_t place = pattern.place_of(t.group.first + k);
      const bool told = is_told(arms[k]);
      if (k == begin) left = settle - std::min(settle, place);
      if (place == 0 || (k > begin && told && is_told(arms[k - 1]) && arms[k] != arms[k - 1])) left = settle;
      if (left > 0) {
        --left;
        continue;
      }
      if (!told) continue;
      const Iteration i = iteration_of(t, k, s.idle_power);
      if (!i.known) continue;
      unit.arm[arms[k] == Arm::Control ? 1 : 0].push_back(i);
      out.used[k] = arms[k];
    }
    if (unit.arm[0].empty() || unit.arm[1].empty())
      std::fill(out.used.begin() + static_cast<std::ptrdiff_t>(begin),
                out.used.begin() + static_cast<std::ptrdiff_t>(k), Arm::None);
    else
      out.units.push_back(std::move(unit));
  }
  return out;
}

}  // namespace

Bounded<double> PaceArm::throughput() const {
  const auto over = [](Seconds s) { return s.count() > 0 ? 1 / s.count() : 0; };
  return {over(period.value), over(period.high), over(period.low)};
}

Bounded<double> PacingComparison::throughput_ratio() const {
  return {1 + faster_ratio.value, 1 + faster_ratio.low, 1 + faster_ratio.high};
}

double PacingComparison::median_ratio() const {
  return baseline.median.value.count() > 0 ? control.median.value / baseline.median.value : 1.0;
}

std::optional<PacingComparison> compare_blocks(const Matched& matched, const PacingRecord& record) {
  std::optional<GroupIterations> found = find_group_iterations(matched, record.settings);
  if (!found || !found->paced) return std::nullopt;
  const Table t = table_of(*std::move(found));
  Pairs pairs = pairs_of(t, record.settings);
  if (pairs.units.empty()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(pairs.units.size());
  const std::vector<Unit> units = thinned(std::move(pairs.units));
  PacingComparison c = comparison_of(units, units, true);
  c.pairs = count;
  for (const GroupMember& m : t.group.members) {
    const Sums off = sums_of(t, m, [&](std::size_t k) { return pairs.used[k] == Arm::Baseline; });
    const Sums on = sums_of(t, m, [&](std::size_t k) { return pairs.used[k] == Arm::Control; });
    c.ranks.push_back(
        {matched.rank(m.track), mean(off.wait, off.n), mean(on.wait, on.n), mean(on.delay, on.n)});
  }
  return c;
}

std::optional<PacingComparison> compare_runs(const Matched& baseline, const Matched& control) {
  const std::optional<PacingRecord> record = read_pacing(control);
  const pace::Settings settings = record ? record->settings : pace::Settings{};
  std::optional<GroupIterations> with = find_group_iterations(control, settings);
  if (!with) return std::nullopt;
  std::optional<GroupIterations> without = find_group_iterations(baseline, settings, with->name);
  if (!without) return std::nullopt;
  const Table off = table_of(*std::move(without));
  const Table on = table_of(*std::move(with));
  const std::size_t length = 2 * std::size_t{settings.block};
  const std::vector<Unit> before = stretches(off, length, 0, settings.idle_power);
  const std::vector<Unit> after = stretches(on, length, 1, settings.idle_power);
  if (before.size() < 2 || after.size() < 2) return std::nullopt;
  PacingComparison c = comparison_of(before, after, false);
  const auto all = [](std::size_t) { return true; };
  for (const GroupMember& m : on.group.members) {
    const Rank rank = control.rank(m.track);
    const Sums after_sums = sums_of(on, m, all);
    Sums before_sums;
    for (const GroupMember& b : off.group.members)
      if (baseline.rank(b.track) == rank) before_sums = sums_of(off, b, all);
    c.ranks.push_back({rank, mean(before_sums.wait, before_sums.n), mean(after_sums.wait, after_sums.n),
                       mean(after_sums.delay, after_sums.n)});
  }
  return c;
}

}  // namespace cox::diagnose
