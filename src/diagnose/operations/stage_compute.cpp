// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/stage_compute.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cox/replay/replay.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastAlike = 2;

/// What a rank does by itself: passes, and what stands beside them (an optimizer, a loss, something unknown).
bool is_own(const OperationRule& rule) {
  return !rule.is_communication && rule.role != OperationRole::ClipGrads;
}

std::int32_t place_of(std::span<const std::int64_t> steps, std::int64_t step) {
  const auto at = std::lower_bound(steps.begin(), steps.end(), step);
  return at != steps.end() && *at == step ? static_cast<std::int32_t>(at - steps.begin()) : -1;
}

}  // namespace

StageCompute::StageCompute(const OperationModel& m, const model::Program& program,
                           std::span<const std::int64_t> steps)
    : model_(m) {
  compare(program, steps);
  step_of_.assign(m.type.size(), -1);
  // Nodes of a step stand between its end and that of the one before.
  std::size_t node = 0;
  for (std::size_t s = 0; s < m.steps.size(); ++s) {
    const std::int32_t at = place_of(steps, m.steps[s]);
    for (; node <= m.step_end[s]; ++node) step_of_[node] = at;
  }
  find_usual();
  recorded_ = replay::makespan(m.graph, m.original, finish_);
}

void StageCompute::find_usual() {
  std::map<std::tuple<int, int, std::uint32_t>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < model_.type.size(); ++i) {
    if (model_.type[i] == kNoType || !own_[model_.type[i]]) continue;
    const model::Role& role = roles_[model_.rank[i]];
    alike[{role.pipeline, role.tensor, model_.type[i]}].push_back(i);
  }
  usual_.assign(model_.type.size(), Duration::zero());
  std::vector<Duration> sample;
  for (const auto& [kind, nodes] : alike) {
    sample.clear();
    for (const std::size_t i : nodes) sample.push_back(model_.original[i]);
    const Duration usual = lower_median_in_place(sample);
    for (const std::size_t i : nodes) usual_[i] = usual;
  }
}

void StageCompute::compare(const model::Program& p, std::span<const std::int64_t> steps) {
  for (const model::ProgramRank& r : p.ranks) roles_.push_back(r.role);
  own_.reserve(p.names.size());
  for (const std::string& name : p.names) own_.push_back(is_own(rule_of(name)));
  computed_.assign(p.ranks.size(), std::vector<Duration>(steps.size()));
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!own_[p.name[i]] || p.duration[i] == model::kNoDuration) continue;
    if (const std::int32_t s = place_of(steps, p.step[i]); s >= 0)
      add_to(computed_[p.rank[i]][static_cast<std::size_t>(s)], std::max(Duration::zero(), p.duration[i]));
  }
  excess_.assign(p.ranks.size(), std::vector<Duration>(steps.size()));
  std::map<std::pair<int, int>, std::vector<std::size_t>> alike;  // stage and tensor rank
  for (std::size_t r = 0; r < p.ranks.size(); ++r)
    alike[{p.ranks[r].role.pipeline, p.ranks[r].role.tensor}].push_back(r);
  std::vector<Duration> sample;
  for (const auto& [place, ranks] : alike)
    for (std::size_t s = 0; s < steps.size(); ++s) {
      sample.clear();
      for (const std::size_t r : ranks)
        if (computed_[r][s] > Duration::zero()) sample.push_back(computed_[r][s]);
      if (sample.size() < kLeastAlike) continue;
      const Duration usual = lower_median_in_place(sample);
      for (const std::size_t r : ranks)
        if (computed_[r][s] > usual) excess_[r][s] = computed_[r][s] - usual;
    }
}

bool StageCompute::lasts(const std::vector<std::size_t>& ranks) const {
  constexpr double kMostSteps = 0.75;
  return !ranks.empty() && std::all_of(ranks.begin(), ranks.end(), [&](std::size_t r) {
    Duration sum{};
    for (const Duration e : excess_[r]) add_to(sum, e);
    const auto steps = static_cast<std::int64_t>(excess_[r].size());
    if (steps == 0 || sum <= Duration::zero()) return false;
    const auto late = std::count_if(excess_[r].begin(), excess_[r].end(),
                                    [&](Duration e) { return e > sum / (2 * steps); });
    return static_cast<double>(late) >= kMostSteps * static_cast<double>(steps);
  });
}

void StageCompute::put_right(const std::function<bool(std::size_t, std::size_t)>& picks,
                             std::vector<Duration>& durations) const {
  const auto is_meant = [&](std::size_t i) {
    if (model_.type[i] == kNoType || step_of_[i] < 0 || !own_[model_.type[i]]) return false;
    const auto s = static_cast<std::size_t>(step_of_[i]);
    return excess_[model_.rank[i]][s] > Duration::zero() && picks(model_.rank[i], s);
  };
  std::map<std::pair<std::size_t, std::size_t>, double> beyond;  // rank and step, in seconds
  for (std::size_t i = 0; i < durations.size(); ++i)
    if (is_meant(i))
      beyond[{model_.rank[i], static_cast<std::size_t>(step_of_[i])}] +=
          in_seconds(minus_clamped(model_.original[i], usual_[i]));
  for (std::size_t i = 0; i < durations.size(); ++i) {
    if (!is_meant(i)) continue;
    const std::size_t rank = model_.rank[i];
    const auto s = static_cast<std::size_t>(step_of_[i]);
    const double all = beyond[{rank, s}];
    const double over = in_seconds(minus_clamped(model_.original[i], usual_[i]));
    const double part =
        all > 0 && model_.original[i] > Duration::zero()
            ? std::min(1.0, in_seconds(excess_[rank][s]) / all) * over / in_seconds(model_.original[i])
            : ratio(excess_[rank][s], computed_[rank][s]);
    durations[i] = duration_from_seconds(in_seconds(durations[i]) * (1 - part));
  }
}

Duration StageCompute::saved(const std::function<bool(std::size_t, std::size_t)>& picks) {
  durations_ = model_.original;
  put_right(picks, durations_);
  return std::max(Duration::zero(), recorded_ - replay::makespan(model_.graph, durations_, finish_));
}

}  // namespace cox::diagnose
