// SPDX-License-Identifier: Apache-2.0
/// \file
/// What drivers of shards share: rules with a listener, steps that are used up, events in order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/sync/shards.hpp"

#include "learn/drive/compute_times.hpp"

namespace cox::learn {

/// Rules, and who hears of them.
class ShardsTold {
 public:
  ShardsTold(sync::Shards rules, const simulate::UpdateSink& sink) : rules_(std::move(rules)), sink_(sink) {
    tell(Seconds{});
  }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] int shards() const { return rules_.shards(); }
  void end() { over_ = true; }
  /// The worker's next step reads these alone.
  void needs(int worker, std::span<const int> shards) {
    if (!over_) rules_.needs(worker, shards);
  }
  void copied(int shard, Seconds at) {
    if (over_) return;
    rules_.copied(shard);
    tell(at);
  }
  void server_left(int shard, Seconds at) {
    if (over_) return;
    rules_.server_left(shard);
    tell(at);
  }
  void server_joined(int shard, std::int64_t version, Seconds at) {
    if (over_) return;
    rules_.server_joined(shard, version);
    tell(at);
  }
  [[nodiscard]] std::int64_t version(int shard) const { return rules_.version(shard); }
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
  /// The number of the worker's next step.
  [[nodiscard]] std::int64_t number(int worker) const { return used_[static_cast<std::size_t>(worker)]; }

 private:
  const ComputeTimes& compute_;
  std::vector<std::int64_t> used_;
};

/// When, what, whose, of which shard. Of one time: in this order of what.
template <class What>
using ShardEvent = std::tuple<Seconds, What, int, int>;
template <class What>
using ShardEvents = std::priority_queue<ShardEvent<What>, std::vector<ShardEvent<What>>, std::greater<>>;

}  // namespace cox::learn
