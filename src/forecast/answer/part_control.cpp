// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "cox/base/assert.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/answer/node_hours.hpp"
#include "forecast/levers/by_parts.hpp"
#include "forecast/levers/set_search.hpp"
#include "forecast/levers/stated_levers.hpp"
#include "forecast/ways/several_sizes.hpp"

namespace cox::forecast {

void add_part_levers(FullForecast& f, const Evidence& evidence, const Asked& asked,
                     const ControlQuestion& question) {
  COX_ASSERT(f.parts.has_value(), "parts that levers change");
  if (!f.full_control) f.full_control.emplace();
  // Of several that are largest the one of the shortest steps: not the one that was named first.
  const auto seen = std::ranges::max_element(evidence.samples, {}, [](const Sample& s) {
    return std::pair{s.size(), -step_mean(s).mean};
  });
  const PartsCase job{.parts = *f.parts,
                      .rest = f.rest,
                      .links = f.links,
                      .exact_links = f.exact_links,
                      .simulated_to = f.simulated_to,
                      .ranks = f.margins_at > 0 ? f.margins_at : f.seen_ranks,
                      .failing = failing_scenario(f, asked)};
  if (!std::isfinite(project_one(job.parts, job.ranks, asked.project).mean.value.count())) {
    f.full_control->notes.push_back(fmt::format(
        "levers{}: not here: the job has no finite time at {} ranks, and so no ratio: a longer Run tells more of its tail",
        question.target ? " and target" : "", job.ranks));
    return;
  }
  if (f.margins_at == 0)
    f.full_control->notes.push_back(fmt::format(
        "levers: no size that was asked has a number, so they are those of {} ranks", f.seen_ranks));
  std::vector<PartLever> levers = part_levers(job, seen == evidence.samples.end() ? nullptr : &*seen);
  // Failures of a Run are stated beside it; a Scenario has its own, and only training takes them.
  if (evidence.scenario)
    for (PartLever& lever : levers)
      if (lever.name.starts_with("checkpoint-"))
        lever.why_not = "a collective writes no checkpoints: a training job does";
  if (evidence.stated) {
    std::vector<PartLever> own = stated_levers(*evidence.stated);
    levers.insert(levers.begin(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  PartLeverOptions options{.project = asked.project};
  options.project.over_parts = f.over_parts;
  options.project.growth = f.growth;
  options.stated = stated_ranges(asked.prior);
  options.unseen = f.calibrated;
  if (evidence.stated) options.replicates = 0;  // its terms are exact: there is nothing to draw
  if (question.levers)
    f.full_control->levers = compare_part_levers(job, levers, options, question.options.prices);
  if (!question.target) return;
  f.full_control->set = cheapest_part_levers(job, levers, *question.target, options, question.options.prices);
  f.full_control->target = question.target->text;
  if (f.full_control->levers) add_target(*f.full_control->levers, *question.target);
  if (!f.full_control->set->reached || f.full_control->set->already) return;
  for (const SizePoint& p : f.projection.points) {
    if (!p.refused.empty()) continue;
    if (const auto ratio = throughput_with(job, levers, f.full_control->set->best.names, p.ranks, options))
      f.full_control->controlled.push_back({.ranks = p.ranks, .throughput_ratio = *ratio});
  }
}

}  // namespace cox::forecast
