// SPDX-License-Identifier: Apache-2.0
// Runs side by side, in words.
#include "diagnose/over_time/runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kTold = 8;

std::string own_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

std::string names_at(const RunGroup& g, int level) {
  std::string names;
  std::size_t told = 0;
  for (const RunFigures& r : g.runs) {
    if (r.level != level) continue;
    if (told++ < kTold) names += (names.empty() ? "" : ", ") + own_name(r.name);
  }
  return told > kTold ? names + fmt::format(" and {} more", told - kTold) : names;
}

void say_medians(const RunGroup& g, std::vector<std::string>& lines) {
  const auto [least, most] =
      std::minmax_element(g.runs.begin(), g.runs.end(),
                          [](const RunFigures& a, const RunFigures& b) { return a.median < b.median; });
  if (g.levels == 1) {
    lines.push_back(
        fmt::format("{}: {} runs are equal: {} to {} per step (medians); a difference is told from {} on.",
                    g.name.empty() ? "runs" : g.name, g.runs.size(), to_string(least->median),
                    to_string(most->median), percent(g.least_seen_ratio)));
    return;
  }
  lines.push_back(fmt::format("{}: {} runs are not equal: {} to {} per step (medians).",
                              g.name.empty() ? "runs" : g.name, g.runs.size(), to_string(least->median),
                              to_string(most->median)));
  for (int level = 1; level < g.levels; ++level)
    for (const RunFigures& r : g.runs) {
      if (r.level != level) continue;
      lines.push_back(fmt::format("  {} longer than in {}: {}.", percent(ratio(r.median, least->median) - 1),
                                  names_at(g, 0), names_at(g, level)));
      break;
    }
}

}  // namespace

std::vector<std::string> run_lines(const std::vector<RunGroup>& groups) {
  std::vector<std::string> lines;
  for (const RunGroup& g : groups) {
    say_medians(g, lines);
    for (const RunFigures& r : g.runs)
      if (r.stalls_stand_out)
        lines.push_back(
            fmt::format("  {} is not as clean as the others: {} stalls in {} steps, {} of its time.",
                        own_name(r.name), r.stalls, r.steps, percent(r.stall_cost_ratio)));
  }
  return lines;
}

}  // namespace cox::diagnose
