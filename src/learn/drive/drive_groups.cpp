// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "cox/sync/groups.hpp"
#include "cox/sync/policy.hpp"

#include "learn/drive/drive.hpp"
#include "learn/drive/server_port.hpp"

namespace cox::learn {
namespace {

class GroupsDrive {
 public:
  GroupsDrive(const ComputeTimes& compute, const Prices& prices, const Way& way,
              const simulate::UpdateSink& sink, const BoundNow& bound)
      : compute_(compute),
        prices_(prices),
        sink_(sink),
        bound_(bound),
        servers_(way.policy.has_servers()),
        groups_(compute.workers(), way.group),
        policy_(way.policy, groups_.count()),
        in_(prices.occupied() / way.policy.servers, prices.latency()),
        out_(prices.parameters() / way.policy.servers, Seconds{}),
        used_(static_cast<std::size_t>(compute.workers())) {}

  void play() {
    for (int w = 0; w < compute_.workers(); ++w) compute(w, Seconds{});
    while (!over_ && !events_.empty()) {
      const auto [at, what, who] = events_.top();
      events_.pop();
      if (what == What::Delivered) {
        deliver(who, at);
      } else if (const auto group = groups_.arrived(who)) {
        const Seconds summed = at + prices_.sum(groups_.size());
        events_.emplace(servers_ ? in_.pass(summed) : summed, What::Delivered, *group);
      }
    }
  }

 private:
  enum class What : std::uint8_t { Delivered, Computed };
  using Event = std::tuple<Seconds, What, int>;  ///< of a group, of a worker

  void deliver(int group, Seconds at) {
    const std::int64_t before = policy_.version();
    policy_.delivered(group, released_);
    const bool met = !servers_ && policy_.version() > before;
    const Seconds end = met ? at + prices_.sum(groups_.count(), groups_.size()) : at;
    follow(end);
    if (!bound_ || over_) return;
    policy_.set_staleness(bound_(), released_);
    follow(end);
  }

  /// Tells what the last call made happen; those whom it released begin.
  void follow(Seconds end) {
    for (const sync::StreamEvent& e : policy_.events())
      if (!over_) over_ = !sink_(e, end);
    for (const int g : released_) {
      const Seconds reads = servers_ ? out_.pass(end) : end;
      const int first = groups_.begin(g);
      for (int i = 0; i < groups_.size(); ++i) compute(first + i, reads);
    }
  }

  void compute(int worker, Seconds at) {
    std::int64_t& step = used_[static_cast<std::size_t>(worker)];
    if (step == compute_.steps())
      over_ = true;
    else
      events_.emplace(at + compute_.of(worker, step++), What::Computed, worker);
  }

  const ComputeTimes& compute_;
  const Prices& prices_;
  const simulate::UpdateSink& sink_;
  const BoundNow& bound_;
  bool servers_;  ///< between groups; else groups meet
  sync::Groups groups_;
  sync::Policy policy_;
  ServerPort in_;
  ServerPort out_;
  std::vector<std::int64_t> used_;  ///< steps that each worker has begun
  std::vector<int> released_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  bool over_ = false;
};

}  // namespace

void drive_groups(const ComputeTimes& compute, const Prices& prices, const Way& way,
                  const simulate::UpdateSink& sink, const BoundNow& bound) {
  GroupsDrive(compute, prices, way, sink, bound).play();
}

}  // namespace cox::learn
