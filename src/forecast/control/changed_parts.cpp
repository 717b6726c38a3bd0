// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/changed_parts.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cox/base/parallel.hpp"

#include "forecast/levers/nearest_margin.hpp"
#include "forecast/regimes/parts_job.hpp"
#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

constexpr int kDraws = 20;

constexpr std::int64_t kFar = 4'096;  ///< ranks up to which throughput that falls may rise again

/// A scenario as its parts.
struct Parted {
  Parts parts;
  PartsJobOptions options;
};

std::optional<Parted> parted(const model::Scenario& scenario, const OverPartsAt& over_parts = {}) {
  auto parts = parts_of(scenario);
  if (!parts) return std::nullopt;
  Parted out{.parts = *std::move(parts),
             .options = {.project = {}, .failing = {}, .replicates = 0, .worst = false}};
  RestOfScenario rest = rest_and_range_of(scenario);
  out.options.project.rest = std::move(rest.at);
  out.options.project.over_parts = over_parts;
  out.options.links = std::move(rest.with_links);
  out.options.exact_links = std::move(rest.with_exact_links);
  out.options.simulated_to = rest.simulated_below(kFar).value_or(kFar);
  if (scenario.failures.happen()) out.options.failing = scenario;
  return out;
}

/// Samples per time, in any unit. Failures included.
double rate_of(const Parted& job, std::int64_t ranks) {
  Seconds own{};
  for (const PositionParts& p : job.parts.positions) own += p.level.value;
  return job_of_parts(job.parts, job.options).job.at(ranks, kEveryMechanism).throughput / own.count();
}

}  // namespace

void add_margins(const model::Scenario& scenario, int threads, const OverPartsAt& over_parts,
                 LeverTable& table) {
  const std::optional<Parted> as_it_is = parted(scenario, over_parts);
  if (!as_it_is) return;
  const double now =
      job_of_parts(as_it_is->parts, as_it_is->options).job.at(table.ranks, kEveryMechanism).elasticity;
  const double level = next_level(now);
  const auto add = [&](const Parted& job, LeverEffect& out) {
    const Margins found = margins_of_parts(job.parts, job.parts.ranks, level, job.options);
    out.margin = nearest_margin(found);
    PartsJobOptions drawn = job.options;
    drawn.replicates = kDraws;
    out.margin_ends = ends_of(drawn_margins(job.parts, job.parts.ranks, found, drawn), *out.margin);
  };
  add(*as_it_is, table.baseline);
  const std::vector<Lever> levers = levers_of(scenario);
  parallel_for(table.levers.size(), threads, [&](std::size_t i) {
    if (!table.levers[i].why_not.empty()) return;
    model::Scenario changed = scenario;
    levers[i].apply(changed);
    if (const std::optional<Parted> job = parted(changed, over_parts)) add(*job, table.levers[i]);
  });
}

std::vector<ControlledSize> controlled_sizes(const model::Scenario& scenario,
                                             const std::vector<std::string>& levers,
                                             const std::vector<std::int64_t>& ranks) {
  model::Scenario changed = scenario;
  for (const Lever& lever : levers_of(scenario))
    if (std::ranges::find(levers, lever.name) != levers.end()) lever.apply(changed);
  const std::optional<Parted> before = parted(scenario), after = parted(changed);
  std::vector<ControlledSize> out;
  if (!before || !after) return out;
  for (const std::int64_t n : ranks) {  // a set may take ranks away: as large a part of them at any size
    const std::int64_t left = std::max<std::int64_t>(n * after->parts.ranks / before->parts.ranks, 1);
    out.push_back({.ranks = n, .throughput_ratio = rate_of(*after, left) / rate_of(*before, n)});
  }
  return out;
}

}  // namespace cox::forecast
