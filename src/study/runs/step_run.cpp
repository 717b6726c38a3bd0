// SPDX-License-Identifier: Apache-2.0
#include "study/runs/step_run.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/replay/replay.hpp"

namespace cox::study {
namespace {

/// A bucket on its way.
struct Sending {
  std::size_t bucket = 0;
  double left = 1;  ///< part of it
};

/// State of a step between two events.
class SharedStep {
 public:
  explicit SharedStep(const SharedStepPlan& plan) : plan_(plan) {
    left_ = plan.backward.empty() ? Seconds{0} : plan.backward.front();
  }

  StepRun run() {
    for (;;) {
      begin_ready();
      const Seconds next = std::min(until_layer(), until_bucket());
      if (next.count() == std::numeric_limits<double>::infinity()) break;
      advance(next);
    }
    const Seconds alone = std::accumulate(plan_.backward.begin(), plan_.backward.end(), Seconds{0});
    return {.step = now_, .exposed = now_ - alone};
  }

 private:
  [[nodiscard]] bool computes() const { return done_ < plan_.backward.size(); }
  [[nodiscard]] double speed() const { return sending_.empty() ? 1 : plan_.overlap_efficiency; }
  [[nodiscard]] Seconds whole(const Sending& s) const {
    return plan_.buckets[s.bucket].all_reduce[sending_.size() - 1];
  }

  void begin_ready() {
    while (next_ < plan_.buckets.size() && sending_.size() < static_cast<std::size_t>(plan_.streams) &&
           static_cast<std::size_t>(plan_.buckets[next_].ready_after) <= done_)
      sending_.push_back({.bucket = next_++});
  }

  [[nodiscard]] Seconds until_layer() const {
    return computes() ? left_ / speed() : Seconds{std::numeric_limits<double>::infinity()};
  }
  [[nodiscard]] Seconds until_bucket() const {
    Seconds least{std::numeric_limits<double>::infinity()};
    for (const Sending& s : sending_) least = std::min(least, s.left * whole(s));
    return least;
  }

  /// To the next event: what ends there is ended without a rest.
  void advance(Seconds by) {
    const bool layer_ends = computes() && until_layer() <= by;
    if (computes()) left_ -= by * speed();
    std::vector<Sending> still;
    for (const Sending& s : sending_)
      if (s.left * whole(s) > by) still.push_back({.bucket = s.bucket, .left = s.left - by / whole(s)});
    sending_ = std::move(still);
    now_ += by;
    if (!layer_ends) return;
    ++done_;
    if (computes()) left_ = plan_.backward[done_];
  }

  const SharedStepPlan& plan_;
  Seconds now_{};
  Seconds left_{};        ///< of the layer under way, at full speed
  std::size_t done_ = 0;  ///< layers
  std::size_t next_ = 0;  ///< bucket
  std::vector<Sending> sending_{};
};

}  // namespace

StepRun run_shared_step(const SharedStepPlan& plan) {
  COX_ASSERT(plan.streams >= 1 && plan.overlap_efficiency > 0 && plan.overlap_efficiency <= 1,
             "a bucket can be sent, and the backward pass goes on");
  for (const SharedBucket& b : plan.buckets)
    COX_ASSERT(b.all_reduce.size() >= static_cast<std::size_t>(plan.streams),
               "a time for every number under way");
  return SharedStep(plan).run();
}

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
