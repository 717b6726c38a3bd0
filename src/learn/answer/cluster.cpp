// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/cluster.hpp"

#include <algorithm>
#include <vector>

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

Status stream_way(const model::Scenario& scenario, const Way& way, const model::Compression& wire,
                  std::int64_t steps, std::uint64_t seed, const simulate::UpdateSink& sink) {
  const std::int64_t before = std::min(way.synchronous_steps, steps);
  if (before == 0) return simulate::stream_updates(under(scenario, way, wire, steps), seed, sink);
  bool more = true;
  Seconds last{};
  COX_CHECK(simulate::stream_updates(under(scenario, Way{}, wire, before), seed,
                                     [&](const sync::Event& e, Seconds at) {
                                       last = at;
                                       return more = sink(e, at);
                                     }));
  if (!more || before == steps) return {};
  // Everybody has read version `before` at the end of the first job, as if the second began with it.
  return simulate::stream_updates(under(scenario, way, wire, steps - before), seed,
                                  [&](const sync::Event& e, Seconds at) {
                                    sync::Event later = e;
                                    later.update.version_read += before;
                                    later.update.version_applied += before;
                                    return sink(later, last + at);
                                  });
}

}  // namespace cox::learn
