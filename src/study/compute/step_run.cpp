// SPDX-License-Identifier: Apache-2.0
#include "study/compute/step_run.hpp"

#include <array>
#include <cstddef>

#include "cox/base/assert.hpp"
#include "cox/replay/replay.hpp"

namespace cox::study {

StepRun run_step(const StepPlan& plan) {
  model::Dependencies graph;
  std::vector<Duration> durations;
  std::vector<model::OperationIndex> computed = {graph.add()};
  durations.push_back(duration_from_seconds(plan.forward.count()));
  for (const Seconds t : plan.backward) {
    computed.push_back(graph.add(computed.back()));
    durations.push_back(duration_from_seconds(t.count()));
  }
  const std::size_t first_message = durations.size();
  model::OperationIndex sent = computed.front();
  for (const GradientBucket& bucket : plan.buckets) {
    const auto ready = static_cast<std::size_t>(bucket.ready_after);
    COX_ASSERT(ready < computed.size(), "a bucket waits for a layer that exists");
    sent = graph.add(std::array{computed[ready], sent});
    durations.push_back(duration_from_seconds(bucket.all_reduce.count()));
  }
  const std::size_t after_messages = durations.size();
  graph.add(std::array{computed.back(), sent});
  durations.push_back(duration_from_seconds(plan.optimizer.count()));
  const Duration with = replay::replay(graph, durations).makespan;
  for (std::size_t i = first_message; i < after_messages; ++i) durations[i] = Duration::zero();
  const Duration without = replay::replay(graph, durations).makespan;
  return {.step = Seconds{in_seconds(with)}, .exposed = Seconds{in_seconds(with - without)}};
}

}  // namespace cox::study
