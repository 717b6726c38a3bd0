// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/lever_margins.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "cox/base/parallel.hpp"
#include "cox/forecast/parts_job.hpp"
#include "cox/forecast/scenario_parts.hpp"

#include "forecast/levers/nearest_margin.hpp"

namespace cox::forecast {
namespace {

/// A scenario as its parts.
struct Parted {
  Parts parts;
  PartsJobOptions options;
};

std::optional<Parted> parted(const model::Scenario& scenario) {
  auto parts = parts_of(scenario);
  if (!parts) return std::nullopt;
  Parted out{.parts = *std::move(parts),
             .options = {.project = {}, .failing = {}, .replicates = 0, .worst = false}};
  out.options.project.rest = rest_of(scenario);
  if (scenario.failures.happen()) out.options.failing = scenario;
  return out;
}

}  // namespace

void add_margins(const model::Scenario& scenario, int threads, LeverTable& table) {
  const std::optional<Parted> as_it_is = parted(scenario);
  if (!as_it_is) return;
  const double now =
      job_of_parts(as_it_is->parts, as_it_is->options).job.at(table.ranks, kEveryMechanism).elasticity;
  const double level = next_level(now);
  const auto margin_of = [&](const Parted& job) {
    return nearest_margin(margins_of_parts(job.parts, job.parts.ranks, level, job.options));
  };
  table.baseline.margin = margin_of(*as_it_is);
  const std::vector<Lever> levers = levers_of(scenario);
  parallel_for(table.levers.size(), threads, [&](std::size_t i) {
    if (!table.levers[i].why_not.empty()) return;
    model::Scenario changed = scenario;
    levers[i].apply(changed);
    if (const std::optional<Parted> job = parted(changed)) table.levers[i].margin = margin_of(*job);
  });
}

}  // namespace cox::forecast
