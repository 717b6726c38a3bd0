// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>
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
/// send. What servers send to one worker passes its port one after the other, too. With sparse pulls all of these take the part of their
/// time that the step needs of the shard; a server of which it needs nothing is not asked, and what is read for the first steps is there.
///
/// A standby has a copy of its server's shard. Synchronous: an update's version is there once it has gone to the standby, through the port
/// that also sends parameters. Asynchronous: a copy of the whole shard goes the same way, one at a time. When a server dies, what waits at it
/// is lost, and what comes there before its standby serves: workers bring it, and ask again, then; what it had begun to send comes. After
/// that the shard has no standby.
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
        spec_(way.server),
        watched_(way.server.dies > Seconds{} ? way.server.dead : -1),
        applies_(way.server.apply > Bandwidth{}),
        own_(index(compute.workers()), ServerPort(prices.occupied() / way.shards, prices.latency())),
        own_in_(own_.size(), ServerPort((prices.parameters() - prices.latency()) / way.shards, Seconds{})),
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
    if (spec_.dies > Seconds{}) events_.emplace(spec_.dies, What::Died, 0, spec_.dead);
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
          if (stands_by(shard) && spec_.standby == Standby::Synchronous)
            events_.emplace(servers_[index(shard)].out.pass(at, part(worker, shard)), What::Known, worker,
                            shard);
          else
            deliver(worker, shard, at);
          break;
        case What::Known:
          deliver(worker, shard, at);
          break;
        case What::CopyBegins:
          told_.copied(shard, at);
          servers_[index(shard)].copies = told_.version(shard);
          events_.emplace(servers_[index(shard)].out.through(at), What::CopyThere, worker, shard);
          break;
        case What::CopyThere:
          servers_[index(shard)].copying = false;
          servers_[index(shard)].copied = servers_[index(shard)].copies;
          copy_if_due(shard, at);
          break;
        case What::Died:
          die(shard, at);
          break;
        case What::TookOver:
          take_over(shard, at);
          break;
        case What::Read:
          if (shard == watched_) std::erase(asked_, worker);
          told_.read(worker, shard, at);
          // From its first byte on it takes its turn at the worker's port.
          events_.emplace(
              own_in_[index(worker)].pass(servers_[index(shard)].out.through(at, 0), part(worker, shard)),
              What::Got, worker, shard);
          break;
        case What::Got:
          if (--missing_[index(worker)] == 0) compute_step(worker, at);
          break;
      }
    }
    if (loads_ != nullptr) tell_loads();
  }

 private:
  enum class What : std::uint8_t {
    Died,
    TookOver,
    Applied,
    Known,
    CopyThere,
    CopyBegins,
    Read,
    Arrived,
    Got,
    Computed
  };
  struct Server {
    ServerPort in, out, apply;
    std::deque<Seconds> begins{};  ///< of pieces that wait: when they will no more
    std::int64_t pieces = 0, deepest = 0;
    double parts = 0;
    Seconds waited{};
    std::int64_t copied = 0, copies = 0;  ///< versions: that the standby has, and of the copy on its way
    bool copying = false;
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
    if (shard == watched_) brought_.push_back(worker);
    if (shard == watched_ && gone_) return;
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
  [[nodiscard]] bool stands_by(int shard) const {
    return spec_.standby != Standby::None && (shard != watched_ || !took_over_);
  }
  void deliver(int worker, int shard, Seconds at) {
    if (shard == watched_) std::erase(brought_, worker);
    for (const int w : told_.delivered(worker, shard, at)) ask(w, at);
    copy_if_due(shard, at);
  }
  void copy_if_due(int shard, Seconds at) {
    Server& s = servers_[index(shard)];
    if (spec_.standby != Standby::Asynchronous || !stands_by(shard) || s.copying ||
        told_.version(shard) - s.copied < spec_.copy_every)
      return;
    s.copying = true;
    events_.emplace(s.out.begin(at), What::CopyBegins, 0, shard);
  }
  /// What the server had to do is void.
  void die(int shard, Seconds at) {
    gone_ = true;
    told_.server_left(shard, at);
    if (spec_.standby == Standby::None) return told_.end();
    ShardEvents<What> left;
    for (; !events_.empty(); events_.pop()) {
      const What what = std::get<1>(events_.top());
      const bool of_server = what == What::Applied || what == What::Known || what == What::Read ||
                             what == What::CopyBegins || what == What::CopyThere;
      if (!of_server || std::get<3>(events_.top()) != shard) left.push(events_.top());
    }
    events_ = std::move(left);
    events_.emplace(at + spec_.takes_over, What::TookOver, 0, shard);
  }
  void take_over(int shard, Seconds at) {
    gone_ = false;
    took_over_ = true;
    Server& s = servers_[index(shard)];
    told_.server_joined(shard, spec_.standby == Standby::Synchronous ? told_.version(shard) : s.copied, at);
    s.begins.clear();
    s.in.idle_from(at);
    s.out.idle_from(at);
    s.apply.idle_from(at);
    for (const int w : std::exchange(brought_, {}))
      events_.emplace(own_[index(w)].pass(at, part(w, shard)), What::Arrived, w, shard);
    for (const int w : asked_) events_.emplace(s.out.begin(at, part(w, shard)), What::Read, w, shard);
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
      if (s == watched_) asked_.push_back(worker);
      if (s == watched_ && gone_) return;
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
  ServerSpec spec_;
  int watched_;  ///< the server that will die; -1: none
  bool applies_;
  std::vector<ServerPort> own_, own_in_;  ///< of workers, out and in
  std::vector<Server> servers_;
  bool gone_ = false, took_over_ = false;  ///< that server; its standby
  std::vector<int> brought_,
      asked_;                 ///< workers whose piece came there and is not known, who wait to read, in order
  std::vector<int> missing_;  ///< shards that a worker waits for
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
