// SPDX-License-Identifier: Apache-2.0
#include "forecast/checkpoints/goodput.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cox/base/assert.hpp"

namespace cox::forecast {
namespace {

constexpr double kAllTheTime = 1e-9;  ///< an interval of no length, over the time between failures

/// Times that pass until the next far checkpoint holds, and what passes in them.
struct Passed {
  double busy = 0;     ///< at work, held or undone
  double write = 0;    ///< held up by checkpoints
  double restart = 0;  ///< down
  double failures = 0;
  double falls = 0;  ///< failures that go back to a far checkpoint

  Passed& operator+=(const Passed& o) {
    busy += o.busy;
    write += o.write;
    restart += o.restart;
    failures += o.failures;
    falls += o.falls;
    return *this;
  }
  friend Passed operator*(Passed p, double k) {
    return {p.busy * k, p.write * k, p.restart * k, p.failures * k, p.falls * k};
  }
};

/// A stretch of work and the checkpoint behind it.
struct Stretch {
  Seconds work{};
  Seconds blocks{};
  double survives = 0;  ///< part of the failures in it after which it alone is lost
  Seconds near_restart{};
  Seconds far_restart{};
};

/// One try of a stretch.
Passed one_try(const Stretch& s, Seconds m) {
  const double fails = -std::expm1(-((s.work + s.blocks) / m));
  const double down = m.count() * (s.survives * std::expm1(s.near_restart / m) +
                                   (1 - s.survives) * std::expm1(s.far_restart / m));
  const double again =
      s.survives * std::exp(s.near_restart / m) + (1 - s.survives) * std::exp(s.far_restart / m);
  return {.busy = m.count() * -std::expm1(-(s.work / m)),
          .write = m.count() * std::exp(-(s.work / m)) * -std::expm1(-(s.blocks / m)),
          .restart = fails * down,
          .failures = fails * again,
          .falls = fails * (1 - s.survives)};
}

/// Until a far checkpoint holds, from the one before it. x_j = r_j + P(none) x_(j+1) + P(failure) (p x_j + (1 - p) x_0),
/// as x_j = a_j + b_j x_0 from the last stretch on.
Passed until_far(const std::vector<Stretch>& stretches, Seconds m) {
  Passed a;
  double b = 0;
  for (auto s = stretches.rbegin(); s != stretches.rend(); ++s) {
    const double done = std::exp(-((s->work + s->blocks) / m));
    const double leaves = 1 - (1 - done) * s->survives;
    Passed from_here = one_try(*s, m);
    from_here += a * done;
    a = from_here * (1 / leaves);
    b = (done * b + (1 - done) * (1 - s->survives)) / leaves;
  }
  // 1 - b is the probability that a far checkpoint is reached from the one before without falling back to it.
  return a * (1 / (1 - b));
}

/// The stretches of a far interval, whose own checkpoint blocks so long.
std::vector<Stretch> stretches_of(const Interruptions& c, const Intervals& intervals, Seconds blocks,
                                  Seconds far_restart) {
  std::vector<Stretch> out;
  const bool near = c.near_blocks > Seconds{} && intervals.near > Seconds{} && intervals.near < intervals.far;
  Seconds left = intervals.far;
  while (near && left > intervals.near * (1 + 1e-9)) {
    out.push_back({.work = intervals.near,
                   .blocks = c.near_blocks,
                   .survives = out.empty() ? 0 : c.near_survives,
                   .near_restart = c.restart,
                   .far_restart = far_restart});
    left -= intervals.near;
  }
  out.push_back({.work = left,
                 .blocks = blocks,
                 .survives = out.empty() ? 0 : c.near_survives,
                 .near_restart = c.restart,
                 .far_restart = far_restart});
  return out;
}

/// Mean over the places of a chain of one full checkpoint and its deltas.
Passed over_chain(const Interruptions& c, const Intervals& intervals) {
  Passed mean;
  for (int k = 0; k < c.full_every; ++k) {
    const int deltas = k == 0 ? c.full_every - 1 : k - 1;  // behind the one that is read
    const Seconds read = (c.read + c.delta_read * deltas) * (1 / (1 - c.unreadable));
    const Seconds blocks = k == 0 ? c.blocks : c.delta_blocks;
    mean += until_far(stretches_of(c, intervals, blocks, c.restart + read), c.between) * (1.0 / c.full_every);
  }
  return mean;
}

Seconds mean_write(const Interruptions& c) {
  return (c.write + c.delta_write * (c.full_every - 1)) * (1.0 / c.full_every);
}

Seconds mean_blocks(const Interruptions& c) {
  return (c.blocks + c.delta_blocks * (c.full_every - 1)) * (1.0 / c.full_every);
}

/// One checkpoint after the other, all alike, lives that are exponential: Daly's law.
bool is_plain(const Interruptions& c) {
  return c.full_every == 1 && c.near_blocks <= Seconds{} && c.unreadable <= 0 &&
         (c.weibull_shape == 1 || c.nodes > 1);
}

/// A node alone is as new after each failure. Writes that a failure cut off count as rework here.
WallShares renewed(const Interruptions& c, const Intervals& at) {
  const Survival survival = weibull_survival(c.between, c.weibull_shape);
  const Seconds down = c.restart + c.read;
  const double all = wall_over_work(at.far, c.blocks, down, c.between, survival);
  const double work = 1 / all;
  const double write = c.blocks / at.far * work;
  constexpr int kPoints = 1000;
  double lasts = 0;  // mean part of the restart that a life sees
  for (int i = 0; i < kPoints; ++i) lasts += survival(down * ((i + 0.5) / kPoints)) / kPoints;
  const double restart = down / c.between * lasts;
  return {.work = work,
          .write = write,
          .rework = 1 - work - write - restart,
          .restart = restart,
          .failures_per_work = all / c.between.count()};
}

WallShares while_enough_nodes(const Interruptions& c, const Intervals& intervals) {
  COX_ASSERT(intervals.far > Seconds{}, "an interval");
  const Seconds write = mean_write(c);
  const Intervals at{.far = std::max(intervals.far, write), .near = intervals.near};
  if (std::isinf(c.between.count())) {
    const bool near = c.near_blocks > Seconds{} && at.near > Seconds{};
    const double held = mean_blocks(c) / at.far + (near ? c.near_blocks / at.near : 0);
    return {.work = 1 / (1 + held), .write = held / (1 + held)};
  }
  const bool alone = c.nodes == 1 && c.weibull_shape != 1 && c.full_every == 1 &&
                     c.near_blocks <= Seconds{} && c.unreadable <= 0 && write <= Seconds{};
  if (alone) return renewed(c, at);
  // A write that a failure cuts off is lost once more: its stretch is one that failures may hit, too.
  Passed p = over_chain(c, at) * std::exp(write / c.between);
  // Every fall undoes rho / (1 - rho) further intervals, each of which has to be done again, falls and all.
  const double undone = p.falls * c.unreadable / (1 - c.unreadable);
  // Where no number holds how often it falls, what falls is the longer of a restart and an interval.
  const double restarts = c.restart + c.read > at.far ? 1 : 0;
  if (undone >= 1) return {.work = 0, .write = 0, .rework = 1, .restart = 0, .failures_per_work = 0};
  p = p * (1 / (1 - undone));
  const double all = p.busy + p.write + p.restart;
  if (!std::isfinite(all))
    return {.work = 0, .write = 0, .rework = 1 - restarts, .restart = restarts, .failures_per_work = 0};
  return {.work = at.far.count() / all,
          .write = p.write / all,
          .rework = (p.busy - at.far.count()) / all,
          .restart = p.restart / all,
          .failures_per_work = p.failures / at.far.count()};
}

}  // namespace

bool writes_checkpoints(const model::Failures& f) {
  return f.checkpoint > Seconds{} || f.checkpoint_write > Seconds{} ||
         (f.checkpoint_size > Bytes{} && f.storage.in_bytes_per_s() > 0);
}

WallShares wall_shares(const Interruptions& c, const Intervals& intervals) {
  WallShares w = while_enough_nodes(c, intervals);
  // Failures come as often, and cost as much, in the time in which there are nodes enough; the rest of it is lost.
  const double enough = 1 - c.waits_for_nodes;
  w = {.work = w.work * enough,
       .write = w.write * enough,
       .rework = w.rework * enough,
       .restart = w.restart * enough,
       .waiting = c.waits_for_nodes,
       .failures_per_work = enough > 0 ? w.failures_per_work / enough : 0};
  return w;
}

Intervals best_intervals(const Interruptions& c) {
  const Seconds never{std::numeric_limits<double>::infinity()};
  if (std::isinf(c.between.count())) return {.far = never, .near = never};
  const Seconds write = mean_write(c);
  // What costs nothing is done all the time.
  if (is_plain(c))
    return {.far = std::max({best_interval(c.blocks, c.between), write, c.between * kAllTheTime}),
            .near = {}};
  const Seconds cheap = std::min(mean_blocks(c), c.near_blocks > Seconds{} ? c.near_blocks : mean_blocks(c));
  const Seconds least = std::max({write, young_interval(cheap, c.between) * 0.1, Seconds{1e-6}});
  const Seconds most = std::max(c.between * 20, least * 2);
  const auto waste = [&](const Intervals& at) { return 1 - wall_shares(c, at).work; };
  if (c.near_blocks <= Seconds{} || c.near_survives <= 0)
    return {.far = least_cost(least, most, [&](Seconds t) { return waste({.far = t, .near = {}}); }),
            .near = {}};
  // Two levels: to first order each has its own optimum, sqrt(2 C M / part). From there in turns, the far one in whole
  // numbers of near ones, which is where the waste has its minima.
  Intervals at{.far = young_interval(c.blocks, c.between / std::max(1 - c.near_survives, 1e-6)),
               .near = young_interval(c.near_blocks, c.between / c.near_survives)};
  for (int turn = 0; turn < 3; ++turn) {
    const double parts = std::max(std::round(at.far / at.near), 1.0);
    at.near =
        least_cost(at.near / 4, at.near * 4, [&](Seconds t) { return waste({.far = t * parts, .near = t}); });
    double best = parts;
    for (double n = std::max(parts / 2, 1.0); n <= parts * 2; n += std::max(1.0, std::floor(parts / 50)))
      if (waste({.far = at.near * std::round(n), .near = at.near}) <
          waste({.far = at.near * best, .near = at.near}))
        best = std::round(n);
    at.far = std::max(at.near * best, write);
  }
  return at;
}

namespace {

Status check(const model::Scenario& s) {
  const model::Failures& f = s.failures;
  if (f.happen() && writes_checkpoints(f)) return {};
  return fail({.code = Errc::InvalidInput,
               .id = "forecast-030",
               .message = f.happen() ? "failures happen, and what a checkpoint takes is not said"
                                     : "the scenario says nothing of failures",
               .hint = f.happen()
                           ? "say `checkpoint`, or `checkpoint_size` and `storage`, under [failures]"
                           : "say `node_mtbf`, `job_mtbf` or classes, and `checkpoint`, under [failures]",
               .where = std::nullopt});
}

}  // namespace

Result<std::vector<GoodputPoint>> goodput(const model::Scenario& scenario,
                                          const std::vector<std::int64_t>& nodes, Seconds cold_step,
                                          const SizeRule& rule) {
  COX_CHECK(check(scenario));
  std::vector<GoodputPoint> out;
  for (const std::int64_t n : nodes) {
    GoodputPoint p;
    p.nodes = n;
    p.costs = interruptions(scenario, n, cold_step, rule);
    p.given = {.far = scenario.failures.checkpoint_interval, .near = scenario.failures.near_interval};
    p.best = best_intervals(p.costs);
    p.at_best = wall_shares(p.costs, p.best);
    if (p.given.far > Seconds{}) p.at_given = wall_shares(p.costs, p.given);
    out.push_back(std::move(p));
  }
  return out;
}

Result<MostWork> most_work(const model::Scenario& scenario, std::int64_t most, const RateAt& rate,
                           Seconds cold_step, const SizeRule& rule) {
  COX_ASSERT(most >= 1, "a size");
  COX_CHECK(check(scenario));
  const auto work = [&](std::int64_t n) {
    const Interruptions costs = interruptions(scenario, n, cold_step, rule);
    const double all = rate ? rate(n) : static_cast<double>(n);
    return all * wall_shares(costs, best_intervals(costs)).work;
  };
  // A grid of 64 a decade, then whole numbers between the neighbours of its best.
  std::vector<std::int64_t> grid;
  for (double x = 1; x < static_cast<double>(most); x = std::max(x * 1.0366, x + 1))
    grid.push_back(static_cast<std::int64_t>(x));
  grid.push_back(most);
  std::size_t best = 0;
  double best_work = -1;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const double here = work(grid[i]);
    if (here > best_work) best = i;
    best_work = std::max(best_work, here);
  }
  std::int64_t low = grid[best > 0 ? best - 1 : 0];
  std::int64_t high = grid[std::min(best + 1, grid.size() - 1)];
  while (high - low > 2) {
    const std::int64_t a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (work(a) < work(b))
      low = a;
    else
      high = b;
  }
  MostWork out;
  double most_done = -1;
  for (std::int64_t n = low; n <= high; ++n) {
    const double here = work(n);
    if (here > most_done) out.nodes = n;
    most_done = std::max(most_done, here);
  }
  const Interruptions costs = interruptions(scenario, out.nodes, cold_step, rule);
  out.censored = out.nodes == most;
  out.best = best_intervals(costs);
  out.goodput = wall_shares(costs, out.best).work;
  return out;
}

}  // namespace cox::forecast
