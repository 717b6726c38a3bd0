// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/cluster.hpp"

#include <algorithm>

namespace cox::learn {

model::Scenario under(const model::Scenario& scenario, const Way& way, std::int64_t steps) {
  model::Scenario s = scenario;
  s.policy = way.policy;
  s.job.steps = static_cast<int>(steps);
  return s;
}

Status stream_way(const model::Scenario& scenario, const Way& way, std::int64_t steps, std::uint64_t seed,
                  const simulate::UpdateSink& sink) {
  const std::int64_t before = std::min(way.synchronous_steps, steps);
  if (before == 0) return simulate::stream_updates(under(scenario, way, steps), seed, sink);
  bool more = true;
  Seconds last{};
  COX_CHECK(
      simulate::stream_updates(under(scenario, Way{}, before), seed, [&](const sync::Event& e, Seconds at) {
        last = at;
        return more = sink(e, at);
      }));
  if (!more || before == steps) return {};
  // Everybody has read version `before` at the end of the first job, as if the second began with it.
  return simulate::stream_updates(under(scenario, way, steps - before), seed,
                                  [&](const sync::Event& e, Seconds at) {
                                    sync::Event later = e;
                                    later.update.version_read += before;
                                    later.update.version_applied += before;
                                    return sink(later, last + at);
                                  });
}

}  // namespace cox::learn
