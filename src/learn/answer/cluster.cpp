// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/cluster.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "learn/answer/refusal.hpp"
#include "learn/compress/compressor.hpp"

namespace cox::learn {

model::Scenario under(const model::Scenario& scenario, const Way& way, const model::Compression& wire,
                      std::int64_t steps) {
  model::Scenario s = scenario;
  s.policy = way.policy;
  s.job.steps = static_cast<int>(steps);
  if (wire.kind != model::Compressor::None) s.job.as<model::TrainingJob>().compression = wire;
  return s;
}

model::Compression wire_of(const Way& way, Problem& problem) {
  if (way.compressor.kind == CompressorKind::Dense) return {};
  std::vector<float> x(static_cast<std::size_t>(problem.parameters())), g(x.size());
  problem.initial(x);
  problem.gradient(x, {}, g);
  CompressorSpec spec = way.compressor;
  spec.warm_up = 0;
  Compressor compressor(spec, problem.tensors(), 0);
  const Bytes sent = compressor.compress(g, 0, 0, g);
  return wire_of(spec.kind, sent, problem.parameters());
}

Result<int> workers_under(const model::Scenario& scenario, const Way& way) {
  COX_TRY(const int workers, simulate::update_workers(under(scenario, way, {}, 1)));
  if (std::string why = graph_misfit(way, workers); !why.empty()) return refuse(std::move(why), kGraphHint);
  if (way.rule != Rule::Groups) return workers;
  if (workers % way.group == 0) return workers / way.group;
  return refuse(fmt::format("groups of {} do not divide {} workers", way.group, workers),
                "say a group that does");
}

Status stream_way(const model::Scenario& scenario, const Way& way, const model::Compression& wire,
                  std::int64_t steps, std::uint64_t seed, const simulate::UpdateSink& sink,
                  const Beside& beside) {
  if (way.rule != Rule::Policy) return stream_ruled(scenario, way, wire, steps, seed, sink, beside);
  return simulate::stream_updates(under(scenario, way, wire, steps), seed, sink, way.synchronous_steps);
}

}  // namespace cox::learn
