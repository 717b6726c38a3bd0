// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cox/base/assert.hpp"
#include "cox/replay/graph.hpp"

namespace cox::replay {

Timeline replay(const Graph& graph, std::span<const Duration> durations) {
  return replay(graph, durations, {});
}

Timeline replay(const Graph& graph, std::span<const Duration> durations, std::span<const Duration> release) {
  COX_ASSERT(durations.size() == graph.size(), "one duration per operation");
  Timeline out;
  out.finish.resize(graph.size());
  for (Node i = 0; i < graph.size(); ++i) {
    Duration begin = release.empty() ? Duration::zero() : std::max(Duration::zero(), release[i]);
    const auto before = graph.before(i);
    for (std::size_t k = 0; k < before.size(); ++k)
      begin = std::max(begin, out.finish[before[k]] + graph.lag(i, k));
    out.finish[i] = begin + std::max(Duration::zero(), durations[i]);
    if (out.last == kNoNode || out.finish[i] > out.makespan) out.makespan = out.finish[i], out.last = i;
  }
  return out;
}

Duration makespan(const Graph& graph, std::span<const Duration> durations, std::vector<Duration>& finish) {
  Timeline t = replay(graph, durations);
  finish.swap(t.finish);
  return t.makespan;
}

}  // namespace cox::replay
