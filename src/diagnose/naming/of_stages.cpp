// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/of_stages.hpp"

#include <algorithm>
#include <utility>

namespace cox::diagnose {

bool is_meant(const Suspect& suspect, std::size_t rank, std::size_t step) {
  const auto s = static_cast<std::int64_t>(step);
  const auto r = static_cast<std::int32_t>(rank);
  if (s < suspect.first_step || s > suspect.last_step) return false;
  if (!suspect.rank_of_step.empty()) return suspect.rank_of_step[step] == r;
  return std::find(suspect.ranks.begin(), suspect.ranks.end(), r) != suspect.ranks.end();
}

std::vector<Named> name_in_stages(const Evidenced& x, const Positions& positions,
                                  const std::function<Duration(const Meant&)>& saved, std::vector<bool> known,
                                  int threads) {
  if (x.ranks() < 2 || x.steps().count < x.rules.least_steps || x.typical_step <= Duration::zero()) return {};
  Place place{x, positions, x.delays, {}};
  place.replayed = [&](const Suspect& suspect) {
    return saved([&](std::size_t rank, std::size_t step) { return is_meant(suspect, rank, step); });
  };
  const DelayFigures figures = figures_of(place, threads);
  const auto is_known = [&](std::int32_t r) { return known[static_cast<std::size_t>(r)]; };
  std::vector<Named> named;
  const auto add = [&](std::vector<Named> found) {
    for (Named& n : found)
      if (std::none_of(n.suspect.ranks.begin(), n.suspect.ranks.end(), is_known))
        named.push_back(std::move(n));
    for (const Named& n : named)
      for (const std::int32_t r : n.suspect.ranks) known[static_cast<std::size_t>(r)] = true;
  };
  add(find_rotating(place, figures));
  const bool rotates = !named.empty();
  add(find_pauses(place, figures, known));
  if (!rotates) add(find_transient(place, figures, known));
  std::stable_sort(named.begin(), named.end(),
                   [](const Named& a, const Named& b) { return a.saving.share > b.saving.share; });
  return named;
}

}  // namespace cox::diagnose
