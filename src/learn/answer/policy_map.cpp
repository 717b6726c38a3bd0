// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/policy_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "learn/answer/cluster.hpp"
#include "learn/answer/refusal.hpp"
#include "learn/drive/prices.hpp"

namespace cox::learn {
namespace {

Status check_axes(const MapAxes& axes) {
  const auto rises = [](const std::vector<double>& values) {
    return std::ranges::adjacent_find(values, [](double a, double b) { return !(a < b); }) == values.end();
  };
  const std::size_t cells = axes.communication.size() * axes.speeds.size();
  if (cells == 0 || cells > kMostMapCells)
    return refuse(fmt::format("a map of {} cells; 1 to {} are possible", cells, kMostMapCells),
                  "give fewer values of one axis, and at least one of each");
  if (!rises(axes.communication) || !rises(axes.speeds) || !(axes.communication.front() > 0) ||
      !(axes.speeds.front() >= 0) || !std::isfinite(axes.communication.back()) ||
      !std::isfinite(axes.speeds.back()))
    return refuse("values of an axis do not rise from 0", "say them from the smallest on, each once");
  return {};
}

}  // namespace

const WayResult* MapCell::best() const {
  return !made.ways.empty() && made.ways.front().all_reached() ? &made.ways.front() : nullptr;
}

std::vector<const WayResult*> MapCell::not_told_apart() const {
  std::vector<const WayResult*> out;
  for (const WayResult& w : made.ways)
    if (&w != best() && w.all_reached() && w.over_first_95.low <= 1) out.push_back(&w);
  return out;
}

Result<MapPlace> place_of(const model::Scenario& scenario) {
  if (scenario.job.workload() != model::Workload::Training)
    return refuse("job.workload is not \"training\": there are no updates to learn from",
                  "describe the training job, with its layers and their gradients");
  COX_TRY(const int workers, simulate::update_workers(under(scenario, Way{}, {}, 1)));
  const auto& job = scenario.job.as<model::TrainingJob>();
  MapPlace own{.communication = Prices(scenario, {}).sum(workers)};
  for (const model::Layer& l : job.layers)
    own.computation += (l.forward + l.backward) * job.micro_batches / job.layout.pipeline;
  if (own.computation > Seconds{} && own.communication > Seconds{}) return own;
  return refuse(own.computation > Seconds{} ? "workers exchange nothing" : "workers compute nothing",
                "a map needs a job of several workers with computation and gradients");
}

model::Scenario in_cell(const model::Scenario& scenario, const MapPlace& own, double communication,
                        double speeds) {
  model::Scenario s = scenario;
  auto& job = s.job.as<model::TrainingJob>();
  const double factor = own.ratio() / communication;
  for (model::Layer& l : job.layers) {
    l.forward = l.forward * factor;
    l.backward = l.backward * factor;
  }
  job.optimizer = job.optimizer * factor;
  for (model::NodeClass& c : s.cluster.classes) c.speed = 1;
  for (model::NoiseSource& n : s.noise)
    if (n.target == model::NoiseTarget::Compute && n.pattern == model::NoisePattern::Persistent) n.off = true;
  if (speeds > 0)
    s.noise.push_back({.name = "speeds of the map",
                       .law = model::NoiseLaw::Lognormal,
                       .pattern = model::NoisePattern::Persistent,
                       .cv = speeds});
  return s;
}

Result<PolicyMap> make_map(const model::Scenario& scenario, const WaysQuestion& question,
                           const MapAxes& axes) {
  COX_CHECK(check_axes(axes));
  COX_TRY(const MapPlace own, place_of(scenario));
  PolicyMap map{.own = own, .axes = axes, .cells = {}};
  const auto cells = static_cast<std::int64_t>(axes.communication.size() * axes.speeds.size());
  for (const double speeds : axes.speeds)
    for (const double communication : axes.communication) {
      WaysQuestion here = question;
      if (question.progress)
        here.progress = [&question, cells, at = static_cast<std::int64_t>(map.cells.size())](
                            std::int64_t done, std::int64_t total) {
          question.progress(at * total + done, cells * total);
        };
      COX_TRY(Comparison made, compare(in_cell(scenario, own, communication, speeds), here));
      map.cells.push_back({.communication = communication, .speeds = speeds, .made = std::move(made)});
    }
  return map;
}

Result<MappedWays> map_ways(const model::Scenario& scenario, const WaysQuestion& question,
                            const MapAxes& axes, const std::vector<std::string>& inputs) {
  COX_TRY(const PolicyMap map, make_map(scenario, question, axes));
  return MappedWays{
      .lines = text_lines(map, scenario, question),
      .json = to_json(map, scenario, question, inputs),
      .any_reached = std::ranges::any_of(map.cells, [](const MapCell& c) { return c.best() != nullptr; })};
}

}  // namespace cox::learn
