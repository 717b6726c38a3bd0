// SPDX-License-Identifier: Apache-2.0
#include "report/forecast_sample.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "forecast/levers/levers.hpp"
#include "forecast/regimes/recipe.hpp"
#include "support/noisy_training.hpp"

namespace cox::test {
namespace {

void add_sizes(const forecast::ScalingJob& job, report::ForecastPage& page) {
  const double first = job.at(8, forecast::kEveryMechanism).throughput / 8;
  for (std::int64_t n = 8; n <= 16'384; n *= 2) {
    const double x = job.at(n, forecast::kEveryMechanism).throughput;
    const double wide = 0.01 * std::log(static_cast<double>(n));
    page.sizes.push_back({.ranks = n,
                          .throughput = x,
                          .low = x * (1 - wide),
                          .high = x * (1 + wide),
                          .cost = first * static_cast<double>(n) / x,
                          .seen = n <= 16});
    // Control: restarts that do not grow (mechanism by name).
    forecast::MechanismSet without = forecast::kEveryMechanism;
    for (std::size_t i = 0; i < job.mechanisms.size(); ++i)
      if (job.mechanisms[i].name.find("grow") != std::string::npos)
        without &= ~(forecast::MechanismSet{1} << i);
    page.controlled.push_back({.ranks = n, .throughput = job.at(n, without).throughput});
  }
}

/// Max-plus at a barrier: what no slack absorbs is kept for good (normal, 64 ranks, 3 deviations: 0.28).
void add_delay(report::ForecastPage& page) {
  for (int k = 0; k <= 20; ++k)
    page.kept.push_back({.step = static_cast<double>(k), .kept = 0.281, .low = 0.25, .high = 0.31});
}

void add_texts(report::ForecastPage& page) {
  page.name = "four-regimes";
  page.headline = "More than 4,116 nodes do less";
  page.lead =
      "Restarts grow with the job, and failures come as often as there are nodes. Up to 90 nodes throughput grows with the "
      "job; from 2,723 on less than half of what is added arrives.";
  page.system = "Hyperscale distributed training fabric with synchronous collective operations";
  page.scale = "8 nodes seen, 16,384 asked";
  page.mode = "Synchronous data-parallel training with model sharding";
  page.runtime = "Long-running jobs with periodic checkpointing";
  page.recognised = {
      {.sign = "throughput per node",
       .now = "0.41 of the small run",
       .look_at = "samples per second over nodes"},
      {.sign = "p99 over median of the step", .now = "1.31", .look_at = "histogram of step times"}};
  page.observations = {{.sentence = "Restarts take 12 times as long at 16,384 nodes as at 8.",
                        .interval = "10 to 14",
                        .evidence = "goodput against size",
                        .anchor = "scaling",
                        .refuted_by = "restart times that do not grow with nodes"}};
  page.monitored = {{.figure = "mean busy share of devices", .small = "94 %", .large = "92 %"},
                    {.figure = "mean load of links", .small = "31 %", .large = "33 %"},
                    {.figure = "cost of a sample", .small = "1.00", .large = "2.4", .moved = true}};
  page.implications = {
      "Re-runs and cost per sample rise while every component works: this is coupling, not a broken part.",
      "Adding nodes beyond 4,116 makes the job slower. Restarts that do not grow move that to 16,290."};
  page.limits = {"Units that are slow for good and were in none of the 8 nodes."};
  page.artefacts = {
      {.name = "forecast.csv", .what = "sizes and throughput", .text = "ranks,throughput\n8,7.9\n"}};
}

}  // namespace

report::ForecastPage sample_forecast() {
  report::ForecastPage page;
  add_texts(page);
  const forecast::ScalingJob job = forecast::testing::recipe();
  page.regimes = forecast::regimes_of(job, {.from = 8, .to = 16'384});
  add_sizes(job, page);
  page.margins = forecast::size_margins(*page.regimes, page.sizes);
  add_delay(page);
  page.coupling = {.rows = {"node 0", "node 1", "node 2", "node 3"},
                   .columns = {"node 0", "node 1", "node 2", "node 3"},
                   .values = {}};
  page.coupling.values = {
      {0.2, 0.05, 0.03, 0.02}, {0.05, 0.1, 0.04, 0.01}, {0.03, 0.04, 0.15, 0.05}, {0.02, 0.01, 0.05, 0.15}};
  for (int w = 0; w < 30; ++w) {
    const double moved = 0.25 + 0.2 * std::sin(w / 5.0);
    page.path.rows.push_back(fmt::format("steps {} to {}", w * 100, w * 100 + 99));
    page.path.values.push_back({moved, 0.5 - moved, 0.3, 0.2});
  }
  page.path.columns = page.coupling.columns;
  const auto scenario = noisy_training(40);
  if (auto table = forecast::compare_levers(scenario, {.replicas = 3, .threads = 1}))
    page.levers = std::move(*table);
  const auto target = forecast::parse_target("throughput >= 1.05 * baseline");
  if (auto set = forecast::cheapest_levers(scenario, *target, {.replicas = 3, .threads = 1}))
    page.control = std::move(*set);
  page.target = target->text;
  page.transition = "regime shift by what is waited for, not by capacity";
  return page;
}

report::ForecastPage hostile_forecast() {
  const std::string attack = "</style><script>window.pwned=1</script>\"><img src=x onerror=window.pwned=1>";
  report::ForecastPage page = sample_forecast();
  page.name = page.headline = page.lead = page.system = page.target = page.transition = attack;
  for (auto& o : page.observations) o = {attack, attack, attack, attack, attack};
  for (auto& r : page.recognised) r = {attack, attack, attack};
  for (auto& m : page.monitored) m = {attack, attack, attack, true};
  for (auto& a : page.artefacts) a = {attack, attack, attack};
  for (auto& n : page.coupling.rows) n = attack;
  for (auto& n : page.path.rows) n = attack;
  for (auto& n : page.path.columns) n = attack;
  page.implications.push_back(attack);
  page.limits.push_back(attack);
  page.sizes.back().refused = attack;
  if (page.control) page.control->best.names = {attack};
  if (page.regimes) page.regimes->n1.because = attack;
  return page;
}

}  // namespace cox::test
