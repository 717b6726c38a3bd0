// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/told.hpp"

#include <utility>

#include "cox/base/json.hpp"

#include "diagnose/efficiency/efficiency.hpp"
#include "diagnose/efficiency/json.hpp"
#include "diagnose/figures/figures.hpp"
#include "diagnose/over_time/runs.hpp"

namespace cox::diagnose {

Told tell_figures(const trace::Figures& figures, const trace::Figures* before, const std::string& input) {
  const FiguresAnswer answer = understand_figures(figures, before);
  std::vector<std::string> lines = figure_lines(answer);
  std::string summary = to_summary(answer, input, lines.front());
  return {.lines = std::move(lines),
          .json = to_json(answer, input),
          .summary = std::move(summary),
          .is_clean = answer.is_clean()};
}

Told tell_runs(std::span<const RunTimes> runs, const std::string& input,
               const std::vector<std::string>& warnings) {
  const std::vector<RunGroup> groups = compare_runs(runs);
  if (groups.empty()) return {};
  return {.lines = run_lines(groups), .json = to_json(groups, input, warnings)};
}

std::optional<Told> tell_sizes(std::span<const std::shared_ptr<const Efficiencies>> sizes,
                               ProblemSize problem, const std::string& input) {
  std::vector<Efficiencies> all;
  for (const auto& one : sizes) all.push_back(*one);
  const auto compared = compare_sizes(std::move(all), problem);
  if (!compared) return std::nullopt;
  Json result;
  write_json(*compared, result);
  return Told{.lines = scaling_lines(*compared), .json = framed({"cox.sizes/1", {input}}, std::move(result))};
}

}  // namespace cox::diagnose
