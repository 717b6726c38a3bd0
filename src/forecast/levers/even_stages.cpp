// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/even_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "cox/base/units_text.hpp"

namespace cox::forecast {
namespace {

constexpr const char* kName = "even-stages";

/// Roles of one synchronisation: their places among the positions.
using Roles = std::vector<std::size_t>;

/// Those that have several. Ranks that are named, or take turns, are no role.
std::vector<Roles> roles_of(const Parts& parts) {
  std::vector<Roles> all;
  for (std::size_t i = 0; i < parts.positions.size(); ++i) {
    const PositionParts& p = parts.positions[i];
    if (p.fixed) continue;
    const auto here = std::ranges::find_if(
        all, [&](const Roles& roles) { return parts.positions[roles.front()].name == p.name; });
    if (here == all.end())
      all.push_back({i});
    else
      here->push_back(i);
  }
  std::erase_if(all, [](const Roles& roles) { return roles.size() < 2; });
  return all;
}

double weight_of(const PositionParts& p) {
  return static_cast<double>(std::max<std::int64_t>(p.ranks, 1));
}

/// The level that all these have when work is evened, as sure as the mean of theirs.
TimeEstimate mean_level(const Parts& parts, const Roles& roles) {
  double ranks = 0;
  for (const std::size_t i : roles) ranks += weight_of(parts.positions[i]);
  TimeEstimate out = parts.positions[roles.front()].level;
  out.value = {};
  double below = 0, above = 0;
  for (const std::size_t i : roles) {
    const TimeEstimate& level = parts.positions[i].level;
    const double share = weight_of(parts.positions[i]) / ranks;
    out.value += share * level.value;
    below += std::pow(share * (level.value - level.low).count(), 2);
    above += std::pow(share * (level.high - level.value).count(), 2);
  }
  out.low = out.value - Seconds{std::sqrt(below)};
  out.high = out.value + Seconds{std::sqrt(above)};
  return out;
}

/// Beyond chance: twice the interval of 90 %.
bool unlike(const Parts& parts, const Roles& roles) {
  const TimeEstimate mean = mean_level(parts, roles);
  return std::ranges::any_of(roles, [&](std::size_t i) {
    const TimeEstimate& level = parts.positions[i].level;
    return mean.value > level.value + 2 * (level.high - level.value) ||
           mean.value < level.value - 2 * (level.value - level.low);
  });
}

void even(PartsCase& c) {
  for (const Roles& roles : roles_of(c.parts)) {
    const TimeEstimate mean = mean_level(c.parts, roles);
    for (const std::size_t i : roles) c.parts.positions[i].level = mean;
  }
}

/// Own work of a step, of who has most, and when it is evened.
std::string from_to(const Parts& parts) {
  Seconds most{}, mean{};
  for (const Roles& roles : roles_of(parts)) {
    mean += mean_level(parts, roles).value;
    Seconds here{};
    for (const std::size_t i : roles) here = std::max(here, parts.positions[i].level.value);
    most += here;
  }
  return fmt::format("{} instead of {}", to_string(mean), to_string(most));
}

/// What a stage's layers take for a micro-batch, forward or backward. Layers are dealt out as they are when simulated, in equal numbers.
struct StageLayers {
  std::vector<std::vector<std::size_t>> of;  ///< by stage
};
StageLayers stage_layers(const model::TrainingJob& job) {
  const auto stages = static_cast<std::size_t>(std::max(job.layout.pipeline, 1));
  const std::size_t places =
      stages * static_cast<std::size_t>(
                   job.schedule == model::PipelineSchedule::Interleaved ? std::max(job.interleave, 1) : 1);
  StageLayers out{.of = std::vector<std::vector<std::size_t>>(stages)};
  const std::size_t all = job.layers.size();
  for (std::size_t place = 0; place < places; ++place)
    for (std::size_t l = all * place / places; l < all * (place + 1) / places; ++l)
      out.of[place % stages].push_back(l);
  return out;
}

using Part = Seconds model::Layer::*;

Seconds sum_of(const model::TrainingJob& job, const std::vector<std::size_t>& layers, Part part) {
  Seconds out{};
  for (const std::size_t l : layers) out += job.layers[l].*part;
  return out;
}

bool alike(const model::TrainingJob& job) {
  const StageLayers stages = stage_layers(job);
  const auto same = [&](Part part) {
    const Seconds first = sum_of(job, stages.of.front(), part);
    return std::ranges::all_of(stages.of, [&](const auto& layers) {
      return std::abs((sum_of(job, layers, part) - first).count()) <= 1e-9 * first.count();
    });
  };
  return same(&model::Layer::forward) && same(&model::Layer::backward);
}

void even_layers(model::TrainingJob& job) {
  const StageLayers stages = stage_layers(job);
  for (const Part part : {&model::Layer::forward, &model::Layer::backward}) {
    Seconds all{};
    for (const auto& layers : stages.of) all += sum_of(job, layers, part);
    const Seconds mean = all / static_cast<double>(stages.of.size());
    for (const auto& layers : stages.of) {
      const Seconds now = sum_of(job, layers, part);
      for (const std::size_t l : layers)
        job.layers[l].*part =
            now > Seconds{} ? job.layers[l].*part * (mean / now) : mean / static_cast<double>(layers.size());
    }
  }
}

}  // namespace

void add_even_stages(const PartsCase& job, std::vector<PartLever>& out) {
  const std::vector<Roles> all = roles_of(job.parts);
  if (all.empty() || job.parts.pipeline.stages > 1) return;
  const bool differ = std::ranges::any_of(all, [&](const Roles& roles) { return unlike(job.parts, roles); });
  out.push_back(
      {.name = kName,
       .does = fmt::format("ranks of all stages, or roles, work as long: {} a step; at most, for what "
                           "stages wait for each other inside a step is not recorded",
                           from_to(job.parts)),
       .part = "stages",
       .why_not = differ ? "" : "stages, or roles, differ by chance only",
       .apply = even,
       .range = true});
}

std::optional<Lever> even_stages(const model::Scenario& s) {
  const auto* job = std::get_if<model::TrainingJob>(&s.job.work);
  if (job == nullptr || job->layout.pipeline < 2) return std::nullopt;
  const StageLayers stages = stage_layers(*job);
  const bool empty = std::ranges::any_of(stages.of, [](const auto& layers) { return layers.empty(); });
  return Lever{
      .name = kName,
      .does = fmt::format("layers are dealt out so that all {} stages work as long", job->layout.pipeline),
      .learning = "",
      .part = "stages",
      .apply = [](model::Scenario& x) { even_layers(x.job.as<model::TrainingJob>()); },
      .why_not = empty         ? "a stage has no layer"
                 : alike(*job) ? "they do already"
                               : ""};
}

}  // namespace cox::forecast
