// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/of_stages.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace cox::diagnose {

bool is_meant(const Suspect& suspect, std::size_t rank, std::size_t step) {
  const auto s = static_cast<std::int64_t>(step);
  const auto r = static_cast<std::int32_t>(rank);
  if (s < suspect.first_step || s > suspect.last_step) return false;
  if (!suspect.rank_of_step.empty()) return suspect.rank_of_step[step] == r;
  return std::find(suspect.ranks.begin(), suspect.ranks.end(), r) != suspect.ranks.end();
}

namespace {

/// Turns within each of several stages. Only those that save enough together are told.
std::vector<Named> turns_by_stage(const Place& all, const Stages& stages, int threads) {
  const std::set<int> numbers(stages.of_rank.begin(), stages.of_rank.end());
  const auto of = [](const Suspect& suspect) {
    return [&suspect](std::size_t rank, std::size_t step) { return is_meant(suspect, rank, step); };
  };
  const Duration everything = stages.saved([](std::size_t, std::size_t) { return true; });
  std::vector<Named> found;
  for (const int stage : numbers) {
    std::vector<std::int32_t> members;
    std::vector<std::vector<Duration>> delays;
    for (std::size_t r = 0; r < stages.of_rank.size(); ++r)
      if (stages.of_rank[r] == stage) {
        members.push_back(static_cast<std::int32_t>(r));
        delays.push_back(all.delays[r]);
      }
    Place place{all.x, all.positions, delays, members};
    place.searched = static_cast<double>(numbers.size());
    place.replayed = [&](const Suspect& suspect) {
      const auto meant = of(suspect);
      const Duration all_others = stages.saved([&](std::size_t r, std::size_t s) { return !meant(r, s); });
      return std::max(stages.saved(meant), everything - all_others);
    };
    for (Named& n : find_rotating(place, figures_of(place, threads))) found.push_back(std::move(n));
  }
  const Duration together = stages.saved([&](std::size_t r, std::size_t s) {
    return std::any_of(found.begin(), found.end(), [&](const Named& n) { return is_meant(n.suspect, r, s); });
  });
  if (ratio(together, all.x.stepped) < all.rules().least_gain) return {};
  for (Named& n : found) n.saving = {.share = stages.saved(of(n.suspect)), .alone = n.saving.share};
  return found;
}

}  // namespace

std::vector<Named> name_in_stages(const Evidenced& x, const Positions& positions, const Stages& stages,
                                  std::vector<bool> known, int threads) {
  if (x.ranks() < 2 || x.steps().count < x.rules.least_steps || x.typical_step <= Duration::zero()) return {};
  Place place{x, positions, x.delays, {}};
  place.replayed = [&](const Suspect& suspect) {
    return stages.saved([&](std::size_t rank, std::size_t step) { return is_meant(suspect, rank, step); });
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
  if (named.empty()) add(turns_by_stage(place, stages, threads));
  const bool rotates = !named.empty();
  add(find_pauses(place, figures, known));
  if (!rotates) add(find_transient(place, figures, known));
  std::stable_sort(named.begin(), named.end(),
                   [](const Named& a, const Named& b) { return a.saving.share > b.saving.share; });
  return named;
}

}  // namespace cox::diagnose
