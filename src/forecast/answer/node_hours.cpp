// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/node_hours.hpp"

#include <algorithm>
#include <cmath>

#include "forecast/answer/goodput_bands.hpp"
#include "forecast/scenario/as_training.hpp"

namespace cox::forecast {
namespace {

SizeGoodput goodput_at(const Failing& failing, const SizePoint& point) {
  const auto ranks = static_cast<double>(point.ranks);
  const Interruptions costs = failing.costs(ranks);
  SizeGoodput out{.between = costs.between, .intervals = failing.intervals(costs)};
  out.shares = wall_shares(costs, out.intervals);
  out.best_goodput = out.shares.work;
  if (writes_checkpoints(failing.scenario.failures)) {
    const Intervals best = best_intervals(costs);
    out.best_interval = best.far;
    out.best_goodput = wall_shares(costs, best).work;
  }
  ThroughputPoint with{.throughput = 1, .elasticity = point.elasticity};
  failing.apply(ranks, true, with);
  out.elasticity = with.elasticity;
  return out;
}

NodeHours hours_of(const SizePoint& p, const WallShares& wall) {
  const std::optional<StepParts>& s = p.goes_into;
  const double own = s ? s->work / s->total() : std::min(p.efficiency, 1.0);
  const double communication =
      s ? s->communication / s->total() : std::clamp(p.rest / p.mean.value, 0.0, 1 - own);
  return {.own = wall.work * own,
          .communication = wall.work * communication,
          .waiting = wall.work * (1 - own - communication),
          .writes = wall.write,
          .rework = wall.rework,
          .restarts = wall.restart,
          .repair = wall.waiting};
}

std::optional<Energy> energy_of(const Forecast& f, const SizePoint& p, const NodeHours& h) {
  const double counts = h.own + h.communication + h.waiting;
  if (!f.scenario || !f.scenario->power.known() || !(counts > 0)) return {};
  const model::PowerDraw& draw = f.scenario->power;
  const double nodes = static_cast<double>(p.ranks) / std::max(f.scenario->cluster.devices_per_node, 1);
  const double again = 1 + h.rework / counts;
  const double watts = draw.busy.in_watts() * h.own * again +
                       draw.transfer.in_watts() * h.communication * again +
                       draw.wait.in_watts() * (h.waiting * again + h.writes) +
                       draw.idle.in_watts() * (h.down() + f.scenario->failures.spares / nodes);
  return Power::watts(watts * nodes * draw.pue) * (p.mean.value / counts);
}

}  // namespace

std::optional<model::Scenario> failing_scenario(const FullForecast& forecast, const Asked& question) {
  if (forecast.failing) return forecast.failing;
  if (!forecast.calibrated && forecast.scenario && forecast.scenario->failures.happen())
    return forecast.scenario;
  if (!question.failures.happen() || !forecast.parts) return {};
  model::Scenario out;
  out.cluster.devices_per_node = std::max(forecast.parts->ranks_per_node, 1);
  out.cluster.nodes = static_cast<int>(std::max<std::int64_t>(forecast.parts->nodes, 1));
  out.job.steps = static_cast<int>(forecast.parts->steps);
  out.failures = question.failures;
  out.start = start_of(forecast.run);
  return out;
}

model::Startup start_of(const RunParameters& run) {
  if (!run.start) return {};
  return {.fixed = run.start->fixed.value, .per_rank = run.start->per_rank.value};
}

void add_interruptions(FullForecast& f, const Asked& question) {
  if (!f.scenario || !f.calibrated) return;
  model::Failures failures = question.failures;
  const bool seen = !failures.happen() && f.run.failures && f.run.failures->between.value > Seconds{};
  if (seen) failures.node_mtbf = f.run.failures->between.value;
  if (!failures.lengthen()) return;
  failures.cold_steps *= f.told.synchronisations;
  Result<model::Scenario> training = as_training(*f.scenario);
  if (!training) {
    f.scenario_notes.push_back("failures and the start are not in the Scenario: " + training.error().message);
    return;
  }
  f.scenario = *std::move(training);
  f.scenario->failures = failures;
  f.scenario->start = start_of(f.run);
  f.scenario_notes.emplace_back(
      "its steps are those of training, each rank a replica, which can fail and start; they take as long");
  if (seen)
    f.scenario_notes.emplace_back(
        "it fails as often as was seen; what a restart takes beside the start, and checkpoints, were not: --failures says it");
}

void add_goodput(FullForecast& forecast, const Failing& failing, const Prior& prior) {
  for (const SizePoint& point : forecast.projection.points)
    forecast.goodput.push_back(point.refused.empty() ? goodput_at(failing, point) : SizeGoodput{});
  forecast.at_seen = goodput_at(failing, forecast.seen);
  std::vector<std::string>& notes = forecast.projection.notes;
  notes.emplace_back(
      "step, p99 and rate are those while the job runs; goodput, net rate, regime, bends and margins count failures");
  const model::Failures& f = failing.scenario.failures;
  if (f.checkpoint_interval <= Seconds{} && !writes_checkpoints(f))
    notes.emplace_back("no checkpoint is written: every failure throws the job back to its first step");
  add_goodput_bands(forecast, failing, prior);
}

double Forecast::elasticity(std::size_t i) const {
  return goodput.empty() ? projection.points[i].elasticity : goodput[i].elasticity;
}

Regime Forecast::regime(std::size_t i) const {
  const bool most =
      regimes && regimes->n_star.value.inside() && regimes->n_star.value.ranks == projection.points[i].ranks;
  const Regime out = regime_of(elasticity(i));
  return most && out == Regime::Collapse ? Regime::PostLinear : out;
}

double Forecast::net_speed_up(std::size_t i) const {
  const double whole = speed_up(projection.points[i]);
  if (goodput.empty()) return whole;
  return goodput_seen() > 0 ? whole * goodput[i].shares.work / goodput_seen() : 0;
}

NodeHours Forecast::node_hours(std::size_t i) const {
  return hours_of(projection.points[i], goodput.empty() ? WallShares{.work = 1} : goodput[i].shares);
}

std::optional<Energy> Forecast::energy_of_step(std::size_t i) const {
  return energy_of(*this, projection.points[i], node_hours(i));
}

std::optional<double> Forecast::energy_of_sample(std::size_t i) const {
  const auto here = energy_of_step(i);
  const auto before =
      energy_of(*this, seen, hours_of(seen, goodput.empty() ? WallShares{.work = 1} : at_seen.shares));
  if (!here || !before || !(*before > Energy{})) return {};
  const double steps = *here / *before;
  if (projection.scaling == Scaling::Strong) return steps;
  return steps * static_cast<double>(seen.ranks) / static_cast<double>(projection.points[i].ranks);
}

}  // namespace cox::forecast
