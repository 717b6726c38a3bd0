// SPDX-License-Identifier: Apache-2.0
// Whole jobs: checkpoints, operations, delayed gradients, learning rates.
#include <cmath>
#include <numbers>

#include "cox/forecast/checkpoints.hpp"
#include "cox/learn/stability.hpp"

#include "evaluate/claim/formula.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;
using Readings = std::vector<ClaimReading>;

constexpr Needed kWrite{.name = "checkpoint",
                        .dimension = Dimension::Time,
                        .words = "checkpoint write writes writing save saving cost takes long c blocks"};
constexpr Needed kBetween{.name = "between failures",
                          .dimension = Dimension::Time,
                          .words = "mtbf failure fail fails mean m between"};
constexpr Needed kInterval{.name = "interval", .dimension = Dimension::Time, .words = "interval every"};
constexpr Needed kRestart{.name = "restart",
                          .dimension = Dimension::Time,
                          .domain = Domain::Any,
                          .words = "restart restarts restarting recovery",
                          .otherwise = 0};
constexpr Needed kParameters{.name = "parameters", .words = "parameter param weight model"};
constexpr Needed kTokens{.name = "tokens", .words = "token"};
constexpr std::string_view kCheckpoint = "checkpoint checkpoints checkpointing young daly";
constexpr std::string_view kUseWords = "mfu utilisation utilization efficiency of";

Readings interval(const ClaimValues& v) {
  const Seconds c = v.time("checkpoint");
  const Seconds m = v.time("between failures");
  Readings out = {reading("Young's, sqrt(2 C M)", Quantity::of(forecast::young_interval(c, m))),
                  reading("the best for exponential failures", Quantity::of(forecast::best_interval(c, m))),
                  reading("Daly's of higher order", Quantity::of(forecast::daly_interval(c, m)))};
  const Seconds less = forecast::young_interval(c, m) - c;
  if (less > Seconds{}) out.push_back(reading("Young's less the checkpoint itself", Quantity::of(less)));
  return out;
}

Readings lost_at(Seconds every, Seconds c, Seconds r, Seconds m) {
  const double exact = 1 / forecast::wall_over_work(every, c, r, m);
  const double first = c / every + every / (2 * m) + r / m;
  return {reading("lost, to first order: C / tau + tau / 2M + R / M", Quantity::ratio(first)),
          reading("lost of the wall time, exponential failures", Quantity::ratio(1 - exact)),
          reading("goodput", Quantity::ratio(exact))};
}

Readings lost(const ClaimValues& v) {
  return lost_at(v.time("interval"), v.time("checkpoint"), v.time("restart"), v.time("between failures"));
}

Readings least_lost(const ClaimValues& v) {
  const Seconds c = v.time("checkpoint");
  const Seconds m = v.time("between failures");
  return lost_at(forecast::young_interval(c, m), c, v.time("restart"), m);
}

Readings failures_of_all(const ClaimValues& v) {
  return {reading("independent, one of all of them", Quantity::of(v.time("of one") / v.number("nodes")))};
}

/// Operations of a transformer's forward and backward pass, of a parameter and token.
constexpr double kFlopOfBoth = 6;

Readings operations(const ClaimValues& v) {
  const double n = v.number("parameters") * v.number("tokens");
  return {reading("forward and backward, 6 P D", Quantity::of(Flops{kFlopOfBoth * n})),
          reading("forward alone, 2 P D", Quantity::of(Flops{kFlopOfBoth / 3 * n}))};
}

Readings days(const ClaimValues& v) {
  const Seconds one = Flops{kFlopOfBoth * v.number("parameters") * v.number("tokens")} / v.work_rate("peak") /
                      v.number("utilisation");
  return {reading("on the clock", Quantity::of(one / v.number("gpus"))),
          reading("of all devices together", Quantity::of(one))};
}

Readings work_time(const ClaimValues& v) {
  return {reading("operations over their rate", Quantity::of(v.work("work") / v.work_rate("peak") /
                                                             v.number("utilisation") / v.number("gpus")))};
}

Readings delay_edge(const ClaimValues& v) {
  const double tau = v.number("delay");
  if (tau > 1e9) return {};
  Readings out = {reading("stable below this learning rate x curvature",
                          Quantity::ratio(learn::stable_edge({.delay = std::llround(tau)})))};
  if (tau >= 1) out.push_back(reading("the sufficient 1 / tau", Quantity::ratio(1 / tau)));
  return out;
}

Readings longest_delay(const ClaimValues& v) {
  const double x = v.number("rate x curvature");
  if (x >= 2) return {};
  // Strictly below the edge: the edge itself neither decays nor grows.
  const double edge = (std::numbers::pi / (2 * std::asin(x / 2)) - 1) / 2;
  return {reading("the longest delay that is stable", Quantity::count(std::ceil(edge - 1e-9) - 1))};
}

Readings mean_age(const ClaimValues& v) {
  return {reading("workers of equal speed: the updates of all others come between",
                  Quantity::count(v.number("workers") - 1))};
}

Readings scaled_rate(const ClaimValues& v) {
  const double k = v.number("batch") / v.number("batch before");
  return {reading("in proportion to the batch", Quantity::ratio(v.number("rate before") * k)),
          reading("as its square root", Quantity::ratio(v.number("rate before") * std::sqrt(k)))};
}

const std::array kFormulas = {
    Formula{.name = "checkpoints, what they and failures cost",
            .equation = "C / tau + tau / 2M + R / M",
            .source = "Young 1974, Daly 2006",
            .names = {kCheckpoint, "lost lose loses waste wasted overhead goodput"},
            .needs = {kInterval, kWrite, kBetween, kRestart},
            .gives = Dimension::Ratio,
            .result = "lost loses lose waste wasted overhead goodput",
            .compute = lost},
    Formula{.name = "checkpoints, what they cost at Young's interval",
            .equation = "sqrt(2 C / M) + R / M",
            .source = "Young 1974",
            .names = {kCheckpoint, "lost lose loses waste wasted overhead goodput"},
            .never = "interval every",
            .needs = {kWrite, kBetween, kRestart},
            .gives = Dimension::Ratio,
            .result = "lost loses lose waste wasted overhead goodput",
            .compute = least_lost},
    Formula{.name = "checkpoint interval",
            .equation = "sqrt(2 C M)",
            .source = "Young 1974, Daly 2006",
            .names = {kCheckpoint, "interval every often optimum optimal best young daly"},
            .needs = {kWrite, kBetween},
            .result = "interval every best optimum optimal young daly",
            .compute = interval},
    Formula{
        .name = "failures of many nodes",
        .equation = "M / n",
        .source = "definition",
        .names = {"mtbf failure fail fails"},
        .needs = {Needed{.name = "of one", .dimension = Dimension::Time, .words = "mtbf node one each"},
                  Needed{
                      .name = "nodes", .domain = Domain::Whole, .words = "node worker gpu machine device"}},
        .result = "cluster every job all together",
        .compute = failures_of_all},
    Formula{.name = "training of a transformer, time",
            .equation = "6 P D / (n x peak x utilisation)",
            .source = "Kaplan 2020",
            .names = {"token", "parameter param model weight"},
            .needs = {kParameters, kTokens,
                      Needed{.name = "gpus",
                             .domain = Domain::Whole,
                             .words = "gpu device worker accelerator",
                             .otherwise = 1},
                      Needed{.name = "peak", .dimension = Dimension::WorkRate, .words = "peak at"},
                      Needed{.name = "utilisation",
                             .dimension = Dimension::Ratio,
                             .domain = Domain::Share,
                             .words = kUseWords,
                             .otherwise = 1,
                             .is_ours = true}},
            .result = "takes train training day",
            .compute = days},
    Formula{.name = "training of a transformer, operations",
            .equation = "6 P D",
            .source = "Kaplan 2020",
            .names = {"token", "parameter param model weight"},
            .needs = {kParameters, kTokens},
            .gives = Dimension::Work,
            .result = "needs takes compute operation",
            .compute = operations},
    Formula{.name = "operations, time",
            .equation = "W / (n x peak x utilisation)",
            .source = "definition",
            .names = {},
            .needs = {Needed{.name = "work", .dimension = Dimension::Work, .words = "work operation"},
                      Needed{.name = "peak", .dimension = Dimension::WorkRate, .words = "peak at"},
                      Needed{.name = "gpus",
                             .domain = Domain::Whole,
                             .words = "gpu device worker accelerator",
                             .otherwise = 1},
                      Needed{.name = "utilisation",
                             .dimension = Dimension::Ratio,
                             .domain = Domain::Share,
                             .words = kUseWords,
                             .otherwise = 1}},
            .result = "takes",
            .compute = work_time},
    Formula{.name = "delayed gradient, longest delay",
            .equation = "largest tau with x < 2 sin(pi / (2 (2 tau + 1)))",
            .source = "Levin and May 1976",
            .names = {"delay delayed stale staleness", "longest up largest tolerates tolerate most"},
            .needs = {Needed{.name = "rate x curvature",
                             .dimension = Dimension::Ratio,
                             .words = "curvature product alphalambda lambda rate"}},
            .gives = Dimension::Count,
            .result = "delay staleness tau up",
            .compute = longest_delay},
    Formula{.name = "delayed gradient, stability edge",
            .equation = "2 sin(pi / (2 (2 tau + 1)))",
            .source = "Levin and May 1976",
            .names = {"delay delayed stale staleness tau",
                      "stable stability edge limit diverges converges below curvature"},
            .needs = {Needed{
                .name = "delay", .domain = Domain::Any, .words = "delay tau stale staleness update step"}},
            .gives = Dimension::Ratio,
            .result = "below edge limit curvature is",
            .compute = delay_edge},
    Formula{.name = "age of an asynchronous update",
            .equation = "n - 1",
            .source = "the ledger of ages: docs/concepts/synchronisation-policies.md",
            .names = {"asynchronous async asynchronously", "age staleness stale delay old"},
            .needs = {Needed{.name = "workers", .domain = Domain::Whole, .words = "worker gpu rank device"}},
            .gives = Dimension::Count,
            .result = "age staleness delay mean",
            .compute = mean_age},
    Formula{.name = "learning rate of another batch",
            .equation = "rate x B / B0",
            .source = "Goyal 2017; square root: Krizhevsky 2014",
            .names = {"rate lr", "batch"},
            .needs = {Needed{.name = "batch before", .domain = Domain::Whole, .words = "batch from"},
                      Needed{.name = "rate before", .dimension = Dimension::Ratio, .words = "rate lr"},
                      Needed{.name = "batch", .domain = Domain::Whole, .words = "batch to"}},
            .gives = Dimension::Ratio,
            .result = "needs to becomes gives",
            .compute = scaled_rate},
};

}  // namespace

std::span<const Formula> job_formulas() {
  return kFormulas;
}

}  // namespace cox::evaluate
