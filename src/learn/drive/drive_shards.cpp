// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/sync/shards.hpp"

#include "learn/drive/drive.hpp"
#include "learn/drive/shards_told.hpp"

namespace cox::learn {
namespace {

/// One memory: a step begins with reading block after block and ends with writing them, each for its part of the time of a message of
/// all gradients; nobody waits for anybody. Worker w begins with block w mod B: sweeps in one order and at one pace never meet halfway.
class MemoryDrive {
 public:
  MemoryDrive(const ComputeTimes& compute, const Prices& prices, const Way& way,
              const simulate::UpdateSink& sink)
      : told_(sync::Shards(compute.workers(), way.shards, {}, sync::FirstRead::None), sink),
        used_(compute),
        reads_((prices.parameters() - prices.latency()) / way.shards),
        writes_(prices.occupied() / way.shards) {
    for (int w = 0; w < compute.workers(); ++w) events_.emplace(Seconds{}, What::Read, w, 0);
  }

  void play() {
    while (!told_.over() && !events_.empty()) {
      const auto [at, what, worker, k] = events_.top();  // the worker's k-th block
      events_.pop();
      const int block = (worker + k) % told_.shards();
      const bool last = k + 1 == told_.shards();
      if (what == What::Write) {
        told_.delivered(worker, block, at);
        events_.emplace(at + (last ? reads_ : writes_), last ? What::Read : What::Write, worker,
                        last ? 0 : k + 1);
        continue;
      }
      told_.read(worker, block, at);
      if (!last) {
        events_.emplace(at + reads_, What::Read, worker, k + 1);
      } else if (const auto takes = used_.next(worker)) {
        events_.emplace(at + *takes + writes_, What::Write, worker, 0);
      } else {
        told_.end();
      }
    }
  }

 private:
  enum class What : std::uint8_t { Write, Read };

  ShardsTold told_;
  StepsUsed used_;
  Seconds reads_, writes_;  ///< of a block
  ShardEvents<What> events_;
};

/// One forward, one backward (Narayanan et al. 2019): as many minibatches under way as stages; stage i of n holds at most n - i of them, and
/// goes backward where it can. A stage reads its weights when a minibatch goes forward, keeps that copy until it comes back, and then applies
/// its piece at once.
class PipelineDrive {
 public:
  PipelineDrive(const ComputeTimes& compute, const PipelineTimes& times, const simulate::UpdateSink& sink)
      : compute_(compute),
        times_(times),
        stages_(compute.workers()),
        told_(sync::Shards(stages_, stages_, {}, sync::FirstRead::None), sink),
        each_(static_cast<std::size_t>(stages_)) {
    for (int slot = 0; slot < stages_; ++slot) each_.front().forward.push(slot);
    start(0, Seconds{});
  }

  void play() {
    while (!told_.over() && !events_.empty()) {
      const auto [at, what, slot, stage] = events_.top();
      events_.pop();
      if (what == What::CameForward)
        at_stage(stage).forward.push(slot);
      else if (what == What::CameBack)
        at_stage(stage).backward.push(slot);
      else if (what == What::EndedForward)
        end_forward(slot, stage, at);
      else
        end_backward(slot, stage, at);
      start(stage, at);
    }
  }

 private:
  enum class What : std::uint8_t { EndedBackward, EndedForward, CameBack, CameForward };
  struct Stage {
    std::queue<int> forward{}, backward{};  ///< slots that wait for it
    int holds = 0;                          ///< minibatches between forward and backward
    std::int64_t forwards = 0, backwards = 0;
    bool busy = false;
  };
  Stage& at_stage(int stage) { return each_[static_cast<std::size_t>(stage)]; }

  void end_forward(int slot, int stage, Seconds at) {
    at_stage(stage).busy = false;
    if (stage + 1 == stages_)
      at_stage(stage).backward.push(slot);
    else
      events_.emplace(at + times_.message, What::CameForward, slot, stage + 1);
  }
  void end_backward(int slot, int stage, Seconds at) {
    Stage& s = at_stage(stage);
    s.busy = false;
    --s.holds;
    told_.delivered(slot, stage, at);
    if (stage > 0)
      events_.emplace(at + times_.message, What::CameBack, slot, stage - 1);
    else if (s.backwards == compute_.steps() * stages_)
      told_.end();
    else
      s.forward.push(slot);  // the next minibatch
  }
  /// An idle stage takes what it may.
  void start(int stage, Seconds at) {
    Stage& s = at_stage(stage);
    if (s.busy || told_.over()) return;
    const auto part = [&](std::int64_t minibatch, double share) {
      return compute_.of(stage, minibatch % compute_.steps()) * (share / stages_);
    };
    if (!s.backward.empty()) {
      const int slot = s.backward.front();
      s.backward.pop();
      events_.emplace(at + part(s.backwards++, 1 - times_.forward), What::EndedBackward, slot, stage);
    } else if (!s.forward.empty() && s.holds < stages_ - stage) {
      const int slot = s.forward.front();
      s.forward.pop();
      ++s.holds;
      told_.read(slot, stage, at);
      events_.emplace(at + part(s.forwards++, times_.forward), What::EndedForward, slot, stage);
    } else {
      return;
    }
    s.busy = true;
  }

  const ComputeTimes& compute_;
  PipelineTimes times_;
  int stages_;
  ShardsTold told_;
  std::vector<Stage> each_;
  ShardEvents<What> events_;
};

}  // namespace

void drive_shards(const ComputeTimes& compute, const Prices& prices, const Way& way,
                  const PipelineTimes& stages, const simulate::UpdateSink& sink) {
  switch (way.sharding) {
    case Sharding::Servers:
      break;
    case Sharding::Memory:
      return MemoryDrive(compute, prices, way, sink).play();
    case Sharding::Pipeline:
      return PipelineDrive(compute, stages, sink).play();
  }
  COX_ASSERT(false, "servers have a driver of their own");
}

PipelineTimes pipeline_times(const model::Scenario& scenario) {
  const auto& job = scenario.job.as<model::TrainingJob>();
  Seconds forward{}, all{};
  Bytes activations{};
  for (const model::Layer& l : job.layers) {
    forward += l.forward;
    all += l.forward + l.backward;
    activations += l.activations;
  }
  const auto layers = static_cast<std::int64_t>(std::max<std::size_t>(job.layers.size(), 1));
  const model::MessageCost& link =
      scenario.cluster.ranks() > scenario.cluster.devices_per_node ? scenario.across : scenario.inside;
  return {.forward = all > Seconds{} ? forward / all : 0,
          .message = link(Bytes{activations.count() / layers})};
}

}  // namespace cox::learn
