// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "cox/sync/shards.hpp"

#include "learn/drive/drive.hpp"
#include "learn/drive/server_port.hpp"

namespace cox::learn {
namespace {

std::optional<int> bound_of(const Way& way) {
  return way.policy.kind == model::PolicyKind::BoundedWait ? std::optional(way.policy.staleness)
                                                           : std::nullopt;
}

/// Rules, and who hears of them.
class ShardsTold {
 public:
  ShardsTold(sync::Shards rules, const simulate::UpdateSink& sink) : rules_(std::move(rules)), sink_(sink) {
    tell(Seconds{});
  }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] int shards() const { return rules_.shards(); }
  void end() { over_ = true; }
  void read(int worker, int shard, Seconds at) {
    if (over_) return;
    rules_.read(worker, shard);
    tell(at);
  }
  /// Those that may begin to read.
  const std::vector<int>& delivered(int worker, int shard, Seconds at) {
    released_.clear();
    if (over_) return released_;
    rules_.delivered(worker, shard, released_);
    tell(at);
    return released_;
  }

 private:
  void tell(Seconds at) {
    for (const sync::StreamEvent& e : rules_.events())
      if (!over_) over_ = !sink_(e, at);
  }

  sync::Shards rules_;
  const simulate::UpdateSink& sink_;
  std::vector<int> released_;
  bool over_ = false;
};

/// Steps that each worker has begun.
class StepsUsed {
 public:
  explicit StepsUsed(const ComputeTimes& compute)
      : compute_(compute), used_(static_cast<std::size_t>(compute.workers())) {}
  /// How long the worker's next step computes; nothing where it is out of steps.
  std::optional<Seconds> next(int worker) {
    std::int64_t& step = used_[static_cast<std::size_t>(worker)];
    if (step == compute_.steps()) return std::nullopt;
    return compute_.of(worker, step++);
  }

 private:
  const ComputeTimes& compute_;
  std::vector<std::int64_t> used_;
};

/// When, what, whose, of which shard. Of one time: in this order of what.
template <class What>
using ShardEvent = std::tuple<Seconds, What, int, int>;
template <class What>
using ShardEvents = std::priority_queue<ShardEvent<What>, std::vector<ShardEvent<What>>, std::greater<>>;

/// A server a shard. A worker's pieces leave one after the other, worker w's first to server w mod S, so that not all begin at one; a
/// server takes one after the other, and sends one after the other: its version is that of when it begins to send.
class ServersDrive {
 public:
  ServersDrive(const ComputeTimes& compute, const Prices& prices, const Way& way,
               const simulate::UpdateSink& sink)
      : told_(sync::Shards(compute.workers(), way.shards, bound_of(way)), sink),
        used_(compute),
        own_(static_cast<std::size_t>(compute.workers()),
             ServerPort(prices.occupied() / way.shards, prices.latency())),
        in_(static_cast<std::size_t>(way.shards), ServerPort(prices.occupied() / way.shards, Seconds{})),
        out_(static_cast<std::size_t>(way.shards),
             ServerPort((prices.parameters() - prices.latency()) / way.shards, prices.latency())),
        missing_(own_.size()) {
    for (int w = 0; w < compute.workers(); ++w) compute_step(w, Seconds{});
  }

  void play() {
    while (!told_.over() && !events_.empty()) {
      const auto [at, what, worker, shard] = events_.top();
      events_.pop();
      switch (what) {
        case What::Computed:
          for (int k = 0; k < told_.shards(); ++k)
            events_.emplace(own_[index(worker)].pass(at), What::Arrived, worker,
                            (worker + k) % told_.shards());
          break;
        case What::Arrived:
          // Its last byte is there; the server takes it when those before it are through.
          events_.emplace(in_[index(shard)].begin(at), What::Taken, worker, shard);
          break;
        case What::Taken:
          for (const int w : told_.delivered(worker, shard, at)) ask(w, at);
          break;
        case What::Read:
          told_.read(worker, shard, at);
          events_.emplace(at + out_[index(shard)].service() + out_[index(shard)].latency(), What::Got, worker,
                          shard);
          break;
        case What::Got:
          if (--missing_[index(worker)] == 0) compute_step(worker, at);
          break;
      }
    }
  }

 private:
  enum class What : std::uint8_t { Taken, Read, Arrived, Got, Computed };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  /// Every server sends its shard when its turn comes.
  void ask(int worker, Seconds at) {
    missing_[index(worker)] = told_.shards();
    for (int k = 0; k < told_.shards(); ++k) {
      const int shard = (worker + k) % told_.shards();
      events_.emplace(out_[index(shard)].begin(at), What::Read, worker, shard);
    }
  }
  void compute_step(int worker, Seconds at) {
    if (const auto takes = used_.next(worker))
      events_.emplace(at + *takes, What::Computed, worker, 0);
    else
      told_.end();
  }

  ShardsTold told_;
  StepsUsed used_;
  std::vector<ServerPort> own_;  ///< of workers
  std::vector<ServerPort> in_, out_;
  std::vector<int> missing_;  ///< shards that a worker waits for
  ShardEvents<What> events_;
};

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
      return ServersDrive(compute, prices, way, sink).play();
    case Sharding::Memory:
      return MemoryDrive(compute, prices, way, sink).play();
    case Sharding::Pipeline:
      return PipelineDrive(compute, stages, sink).play();
  }
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
