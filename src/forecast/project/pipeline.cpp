// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "cox/base/assert.hpp"

#include "forecast/law/chain.hpp"

namespace cox::forecast {
namespace {

/// What the others of the slowest stage count, where all count the same.
double weight_of_others(const Pipeline& pipeline) {
  if (pipeline.schedule == model::PipelineSchedule::Interleaved) return 1.0 / pipeline.chunks;
  return pipeline.schedule == model::PipelineSchedule::ZeroBubble ? 1.0 / 3 : 1;
}

}  // namespace

std::vector<std::vector<double>> weights_of(const Pipeline& pipeline) {
  const auto p = static_cast<std::size_t>(pipeline.stages);
  const double m = pipeline.micro_batches;
  std::vector<std::vector<double>> weights(p, std::vector<double>(p, weight_of_others(pipeline) / m));
  const bool fills = pipeline.schedule == model::PipelineSchedule::OneForwardOneBackward &&
                     pipeline.micro_batches >= pipeline.stages;
  for (std::size_t i = 0; i < p; ++i) {
    weights[i][i] = 1;
    if (!fills) continue;
    weights[i][i] = 1 - static_cast<double>(p - 1 - i) / m;
    for (std::size_t j = i + 1; j < p; ++j) weights[i][j] = 2 / m;
  }
  return weights;
}

Pipeline with_batch(Pipeline pipeline, double part) {
  if (pipeline.fixed_batch)
    pipeline.micro_batches =
        std::max(1, static_cast<int>(std::lround(part * static_cast<double>(pipeline.micro_batches))));
  return pipeline;
}

Seconds pipelined(const Pipeline& pipeline, const std::vector<Seconds>& stages) {
  COX_ASSERT(stages.size() == static_cast<std::size_t>(pipeline.stages), "every stage has work");
  const auto slowest = static_cast<std::size_t>(std::ranges::max_element(stages) - stages.begin());
  const std::vector<double> weights = weights_of(pipeline)[slowest];
  return std::inner_product(stages.begin(), stages.end(), weights.begin(), Seconds{}, std::plus<>(),
                            [](Seconds stage, double weight) { return weight * stage; });
}

Crowd replicas_of(const Pipeline& pipeline, const std::vector<Nest>& stages, std::int64_t ranks,
                  const Quadrature& quadrature) {
  COX_ASSERT(stages.size() == static_cast<std::size_t>(pipeline.stages), "every stage has work");
  const Nest& first = stages.front();
  const int replica = pipeline.members * pipeline.stages;
  const bool whole = first.ranks_per_node >= replica;
  Chain chain{.units = {}, .weights = weights_of(pipeline)};
  const double all = std::accumulate(chain.weights[0].begin(), chain.weights[0].end(), 0.0);
  for (const Nest& stage : stages) {
    Nest unit{.own = stage.own,
              .ranks_per_node = std::min(stage.ranks_per_node, pipeline.members),
              .rank = stage.rank};
    if (!whole) {
      unit.node = stage.node;
      unit.slow_node = stage.slow_node;
      unit.lasting_node = stage.lasting_node;
    }
    chain.units.push_back(Maximum(unit, pipeline.members, quadrature).law());
  }
  Nest nest{.own = law_of(chain, quadrature.points), .common = first.common.times(all)};
  if (whole) {
    nest.ranks_per_node = first.ranks_per_node / replica;
    nest.node = first.node.times(all);
    nest.slow_node = first.slow_node.times(all);
    nest.lasting_node = first.lasting_node.times(all);
  }
  return {.nest = nest, .ranks = std::max<std::int64_t>(1, ranks / replica)};
}

}  // namespace cox::forecast
