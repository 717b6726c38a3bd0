// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "learn/drive/drive.hpp"
#include "learn/drive/server_port.hpp"
#include "learn/drive/shards_told.hpp"

namespace cox::learn {
namespace {

std::optional<int> bound_of(const Way& way) {
  return way.policy.kind == model::PolicyKind::BoundedWait ? std::optional(way.policy.staleness)
                                                           : std::nullopt;
}

/// A server a shard. A worker's pieces leave one after the other, worker w's first to server w mod S, so that not all begin at one; a
/// server takes one after the other, applies one after the other, and sends one after the other: its version is that of when it begins to
/// send. With sparse pulls all of these take the part of their time that the step needs of the shard; a server of which it needs nothing
/// is not asked, and what is read for the first steps is there.
class ServersDrive {
 public:
  ServersDrive(const ComputeTimes& compute, const Prices& prices, const Way& way,
               const simulate::UpdateSink& sink, const Beside& beside)
      : needs_(beside.needs),
        loads_(beside.loads),
        told_(sync::Shards(compute.workers(), way.shards, bound_of(way),
                           needs_ ? sync::FirstRead::None : sync::FirstRead::Held),
              sink),
        used_(compute),
        applies_(way.server.apply > Bandwidth{}),
        own_(index(compute.workers()), ServerPort(prices.occupied() / way.shards, prices.latency())),
        servers_(index(way.shards), server(prices, way)),
        missing_(own_.size()),
        parts_(own_.size(), std::vector<double>(servers_.size(), 1.0)) {
    for (int w = 0; w < compute.workers(); ++w) {
      if (needs_) {
        say_needs(w);
        for (int s = 0; s < way.shards; ++s)
          if (part(w, s) > 0) told_.read(w, s, Seconds{});
      }
      compute_step(w, Seconds{});
    }
  }

  void play() {
    while (!told_.over() && !events_.empty()) {
      const auto [at, what, worker, shard] = events_.top();
      events_.pop();
      last_ = at;
      switch (what) {
        case What::Computed:
          for_needed(worker, [&](int s) {
            events_.emplace(own_[index(worker)].pass(at, part(worker, s)), What::Arrived, worker, s);
          });
          break;
        case What::Arrived:
          take(worker, shard, at);
          break;
        case What::Applied:
          for (const int w : told_.delivered(worker, shard, at)) ask(w, at);
          break;
        case What::Read:
          told_.read(worker, shard, at);
          events_.emplace(servers_[index(shard)].out.through(at, part(worker, shard)), What::Got, worker,
                          shard);
          break;
        case What::Got:
          if (--missing_[index(worker)] == 0) compute_step(worker, at);
          break;
      }
    }
    if (loads_ != nullptr) tell_loads();
  }

 private:
  enum class What : std::uint8_t { Applied, Read, Arrived, Got, Computed };
  struct Server {
    ServerPort in, out, apply;
    std::deque<Seconds> begins{};  ///< of pieces that wait: when they will no more
    std::int64_t pieces = 0, deepest = 0;
    double parts = 0;
    Seconds waited{};
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static Server server(const Prices& prices, const Way& way) {
    const Seconds applies = way.server.apply > Bandwidth{}
                                ? Seconds{static_cast<double>(prices.bytes().count()) /
                                          way.server.apply.in_bytes_per_s() / way.shards}
                                : Seconds{};
    return {.in = ServerPort(prices.occupied() / way.shards, Seconds{}),
            .out = ServerPort((prices.parameters() - prices.latency()) / way.shards, prices.latency()),
            .apply = ServerPort(applies, Seconds{})};
  }
  [[nodiscard]] double part(int worker, int shard) const { return parts_[index(worker)][index(shard)]; }

  /// Its last byte is there; the server takes it when those before it are through, and applies it when those are.
  void take(int worker, int shard, Seconds at) {
    Server& s = servers_[index(shard)];
    const double size = part(worker, shard);
    const Seconds taken = s.in.begin(at, size);
    const Seconds begins = applies_ ? s.apply.begin(taken, size) : taken;
    events_.emplace(applies_ ? s.apply.through(begins, size) : begins, What::Applied, worker, shard);
    ++s.pieces;
    s.parts += size;
    s.waited += begins - at;
    while (!s.begins.empty() && s.begins.front() <= at) s.begins.pop_front();
    if (begins > at) s.begins.push_back(begins);
    s.deepest = std::max(s.deepest, static_cast<std::int64_t>(s.begins.size()));
  }
  /// Of the worker's next step.
  void say_needs(int worker) {
    needs_(worker, used_.number(worker), parts_[index(worker)]);
    needed_.clear();
    for (int s = 0; s < told_.shards(); ++s)
      if (part(worker, s) > 0) needed_.push_back(s);
    told_.needs(worker, needed_);
  }
  template <class Each>
  void for_needed(int worker, Each each) {
    for (int k = 0; k < told_.shards(); ++k)
      if (const int shard = (worker + k) % told_.shards(); part(worker, shard) > 0) each(shard);
  }
  /// Every server that is needed sends of its shard when its turn comes.
  void ask(int worker, Seconds at) {
    if (needs_) say_needs(worker);
    int& missing = missing_[index(worker)];
    missing = 0;
    for_needed(worker, [&](int s) {
      ++missing;
      events_.emplace(servers_[index(s)].out.begin(at, part(worker, s)), What::Read, worker, s);
    });
  }
  void compute_step(int worker, Seconds at) {
    if (const auto takes = used_.next(worker))
      events_.emplace(at + *takes, What::Computed, worker, 0);
    else
      told_.end();
  }
  void tell_loads() const {
    double all = 0;
    for (const Server& s : servers_) all += s.parts;
    loads_->clear();
    for (const Server& s : servers_)
      loads_->push_back({.pieces = s.pieces,
                         .part = all > 0 ? s.parts / all : 0,
                         .in = s.in.busy(),
                         .out = s.out.busy(),
                         .applied = s.apply.busy(),
                         .waited = s.waited,
                         .deepest = s.deepest,
                         .time = last_});
  }

  const StepNeeds& needs_;
  std::vector<ServerLoad>* loads_;
  ShardsTold told_;
  StepsUsed used_;
  bool applies_;
  std::vector<ServerPort> own_;  ///< of workers
  std::vector<Server> servers_;
  std::vector<int> missing_;                ///< shards that a worker waits for
  std::vector<std::vector<double>> parts_;  ///< of each shard, by worker: what its step needs
  std::vector<int> needed_;
  ShardEvents<What> events_;
  Seconds last_{};
};

}  // namespace

void drive_servers(const ComputeTimes& compute, const Prices& prices, const Way& way,
                   const simulate::UpdateSink& sink, const Beside& beside) {
  ServersDrive(compute, prices, way, sink, beside).play();
}

}  // namespace cox::learn
