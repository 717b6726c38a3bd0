// SPDX-License-Identifier: Apache-2.0
#include "study/runs/pipeline_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/replay/replay.hpp"
#include "cox/simulate/training.hpp"

namespace cox::study {
namespace {

using simulate::StageOp;
using Kind = StageOp::Kind;

/// Builds the graph of all stages and remembers whose each node is.
class Builder {
 public:
  explicit Builder(const PipelinePlan& plan) : plan_(plan), last_(plan.stages * plan.interleave - 1) {
    for (int s = 0; s < plan.stages; ++s)
      orders_.push_back(
          simulate::pipeline_order(plan.schedule, plan.stages, s, plan.micro_batches, plan.interleave));
    at_.resize(orders_.size());
    own_.assign(orders_.size(), model::kNoOperation);
    held_.resize(orders_.size());
    peak.resize(orders_.size());
  }

  /// Adds what can be added until nothing is left.
  void build() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < orders_.size(); ++s)
        while (at_[s] < orders_[s].size() && place(s, orders_[s][at_[s]])) {
          ++at_[s];
          moved = true;
        }
    }
    for (std::size_t s = 0; s < orders_.size(); ++s)
      COX_ASSERT(at_[s] == orders_[s].size(), "the orders wait for each other for ever");
  }

  model::Dependencies graph;
  std::vector<Duration> durations;
  std::vector<int> stage_of;
  std::vector<int> peak;

 private:
  bool place(std::size_t s, const StageOp& op) {
    const int at = op.chunk * plan_.stages + static_cast<int>(s);
    const bool forward = op.kind == Kind::Forward;
    std::vector<model::OperationIndex> before;
    std::vector<Duration> lags;
    if (own_[s] != model::kNoOperation) {
      before.push_back(own_[s]);
      lags.push_back(Duration::zero());
    }
    if (op.kind != Kind::BackwardWeight && !(forward && at == 0)) {
      const bool turn = !forward && at == last_;
      const int from = turn ? at : (forward ? at - 1 : at + 1);
      const auto need = done_.find({forward || turn, from, op.micro_batch});
      if (need == done_.end()) return false;
      before.push_back(need->second);
      lags.push_back(turn ? Duration::zero() : duration_from_seconds(plan_.transfer.count()));
    }
    own_[s] = graph.add(before, lags);
    durations.push_back(duration_from_seconds(time_of(op.kind, static_cast<std::size_t>(at)).count()));
    stage_of.push_back(static_cast<int>(s));
    if (op.kind != Kind::BackwardWeight) done_[{forward, at, op.micro_batch}] = own_[s];
    if (forward) peak[s] = std::max(peak[s], ++held_[s]);
    if (op.kind == Kind::Backward || op.kind == Kind::BackwardWeight) --held_[s];
    return true;
  }

  [[nodiscard]] Seconds time_of(Kind kind, std::size_t at) const {
    if (kind == Kind::Forward) return plan_.forward[at];
    if (kind == Kind::Backward) return plan_.backward[at];
    return plan_.backward[at] / 2;
  }

  const PipelinePlan& plan_;
  int last_;
  std::vector<std::vector<StageOp>> orders_;
  std::vector<std::size_t> at_;
  std::vector<model::OperationIndex> own_;
  std::vector<int> held_;
  std::map<std::tuple<bool, int, int>, model::OperationIndex> done_;  ///< (forward, place, micro-batch)
};

/// Time in which all stages work at once.
Duration all_busy(const Builder& b, const replay::OperationTimes& timeline, int stages) {
  std::vector<std::pair<Duration, int>> changes;  // ends sort before begins at the same time
  for (std::size_t i = 0; i < b.durations.size(); ++i) {
    if (b.durations[i] == Duration::zero()) continue;
    changes.emplace_back(timeline.finish[i] - b.durations[i], 1);
    changes.emplace_back(timeline.finish[i], -1);
  }
  std::sort(changes.begin(), changes.end());
  int busy = 0;
  Duration since{};
  Duration sum{};
  for (const auto& [when, change] : changes) {
    if (busy == stages) sum += when - since;
    busy += change;
    since = when;
  }
  return sum;
}

}  // namespace

PipelinePlan equal_stages(model::PipelineSchedule schedule, int stages, int micro_batches, Seconds forward,
                          Seconds backward) {
  const auto places = static_cast<std::size_t>(stages);
  return {.schedule = schedule,
          .stages = stages,
          .micro_batches = micro_batches,
          .interleave = 1,
          .forward = std::vector<Seconds>(places, forward),
          .backward = std::vector<Seconds>(places, backward)};
}

PipelineRun run_pipeline(const PipelinePlan& plan) {
  COX_ASSERT(plan.forward.size() ==
                 static_cast<std::size_t>(plan.stages) * static_cast<std::size_t>(plan.interleave),
             "a duration for each chunk");
  COX_ASSERT(plan.backward.size() == plan.forward.size(), "a duration for each chunk");
  Builder b(plan);
  b.build();
  const replay::OperationTimes timeline = replay::replay(b.graph, b.durations);
  Duration work{};
  for (const Duration d : b.durations) work += d;
  PipelineRun run;
  run.makespan = Seconds{in_seconds(timeline.makespan)};
  if (timeline.makespan > Duration::zero()) {
    run.bubble_ratio = 1 - in_seconds(work) / (plan.stages * in_seconds(timeline.makespan));
    run.any_idle_ratio = 1 - ratio(all_busy(b, timeline, plan.stages), timeline.makespan);
  }
  run.peak_live = b.peak;
  return run;
}

double balanced_bubble(int stages, int micro_batches) {
  return static_cast<double>(stages - 1) / (micro_batches + stages - 1);
}

void check_bubble(Computation& out, const PipelineRun& run, int stages, int micro_batches) {
  out.checks.push_back({.name = fmt::format("bubble, p = {}, m = {}", stages, micro_batches),
                        .engine = Quantity::ratio(run.bubble_ratio),
                        .oracle = Quantity::ratio(balanced_bubble(stages, micro_batches))});
}

}  // namespace cox::study
