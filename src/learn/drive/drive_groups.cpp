// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "cox/sync/groups.hpp"
#include "cox/sync/policy.hpp"

#include "learn/drive/drive.hpp"
#include "learn/drive/server_port.hpp"

namespace cox::learn {
namespace {

/// Who sits where: themselves, or the fastest first.
std::vector<int> seats(const ComputeTimes& compute, bool by_speed) {
  constexpr std::int64_t kMeasured = 10;
  std::vector<int> order(static_cast<std::size_t>(compute.workers()));
  std::iota(order.begin(), order.end(), 0);
  if (!by_speed) return order;
  std::vector<Seconds> took(order.size());
  for (int w = 0; w < compute.workers(); ++w)
    for (std::int64_t step = 0; step < std::min(kMeasured, compute.steps()); ++step)
      took[static_cast<std::size_t>(w)] += compute.of(w, step);
  std::ranges::stable_sort(order, {}, [&](int w) { return took[static_cast<std::size_t>(w)]; });
  return order;
}

class GroupsDrive {
 public:
  GroupsDrive(const ComputeTimes& compute, const Prices& prices, const Way& way,
              const simulate::UpdateSink& sink, const Beside& beside)
      : compute_(compute),
        prices_(prices),
        sink_(sink),
        bound_(beside.bound),
        lost_steps_(beside.lost_steps),
        elastic_(way.elastic),
        servers_(way.policy.has_servers()),
        groups_(compute.workers(), way.group),
        policy_(way.policy, groups_.count()),
        inside_(prices.sum(way.group, way.by_speed ? groups_.count() : 1)),
        in_(prices.occupied() / way.policy.servers, prices.latency()),
        out_(prices.parameters() / way.policy.servers, Seconds{}),
        seats_(seats(compute, way.by_speed)),
        used_(seats_.size()),
        held_(seats_.size()),
        here_(seats_.size(), 1) {}

  void play() {
    for (int w = 0; w < compute_.workers(); ++w) compute(w, Seconds{});
    if (elastic_.leave > Seconds{}) events_.emplace(elastic_.leave, What::Leave, 0);
    if (elastic_.join > Seconds{}) events_.emplace(elastic_.join, What::Join, 0);
    while (!over_ && !events_.empty()) {
      const auto [at, what, who] = events_.top();
      events_.pop();
      if (what == What::Leave) {
        leave(at);
      } else if (what == What::Join) {
        for (int k = 0; k < elastic_.count; ++k) join(at);
      } else if (here_[static_cast<std::size_t>(who)] == 0) {
        continue;  // what it had under way is lost
      } else if (what == What::Delivered) {
        deliver(who, at);
      } else if (const auto group = elastic_.count > 0 ? std::optional(who) : groups_.arrived(who)) {
        ++held_[static_cast<std::size_t>(who)];
        const Seconds summed = at + inside_;
        events_.emplace(servers_ ? bring(summed) : summed, What::Delivered, *group);
      }
    }
  }

 private:
  enum class What : std::uint8_t { Leave, Join, Delivered, Computed };
  using Event = std::tuple<Seconds, What, int>;  ///< of a group, of a worker

  /// When all of a message from `at` on is with the servers: its parts are through the worker's own port, and through theirs.
  Seconds bring(Seconds at) { return in_.begin(at + prices_.occupied()) + prices_.latency(); }
  /// When the parameters are there: servers send parts beside each other, which pass the worker's port one after the other.
  Seconds fetch(Seconds at) { return out_.begin(at) + prices_.parameters(); }
  void deliver(int group, Seconds at) {
    const std::int64_t before = policy_.version();
    const bool late = policy_.delivered(group, released_) == sync::Ruling::Discard;
    // Whoever comes during a sum (a backup worker) waits for its end, and reads what it has missed.
    const Seconds end = after_meeting(before, servers_ ? at : std::max(at, last_));
    follow(end, late && !servers_ ? end + prices_.parameters() : end);
    if (!bound_ || over_) return;
    policy_.set_staleness(bound_(), released_);
    follow(end, end);
  }
  /// When what the last call did is over: a sum over all, if it made a version without servers.
  [[nodiscard]] Seconds after_meeting(std::int64_t before, Seconds at) const {
    if (servers_ || policy_.version() == before) return at;
    return at + (elastic_.count > 0 ? prices_.sum(policy_.members())
                                    : prices_.sum(groups_.count(), groups_.size()));
  }
  /// The last ones, all at once.
  void leave(Seconds at) {
    std::vector<int> gone(static_cast<std::size_t>(elastic_.count));
    std::iota(gone.begin(), gone.end(), compute_.workers() - elastic_.count);
    for (const int w : gone) {
      here_[static_cast<std::size_t>(w)] = 0;
      if (lost_steps_ != nullptr) *lost_steps_ += held_[static_cast<std::size_t>(w)];
    }
    const std::int64_t before = policy_.version();
    policy_.left(gone, released_);
    const Seconds end = after_meeting(before, std::max(at, last_));
    follow(end, end);
  }
  void join(Seconds at) {
    // In the place of one that left, or beside one that did not.
    seats_.push_back(compute_.workers() - elastic_.count + static_cast<int>(seats_.size()) % elastic_.count);
    used_.push_back(0);
    held_.push_back(0);
    here_.push_back(1);
    policy_.joined(released_);
    const Seconds now = std::max(at, last_);
    follow(now, servers_ ? now : now + prices_.parameters());
  }

  /// Tells what the last call made happen; those whom it released begin, with parameters that are there from `begins` on.
  void follow(Seconds end, Seconds begins) {
    last_ = end;
    for (const sync::StreamEvent& e : policy_.events()) {
      if (!over_) over_ = !sink_(e, end);
      if (e.kind == sync::StreamEvent::Kind::Delivered) held_[static_cast<std::size_t>(e.update.worker)] = 0;
    }
    for (const int g : released_) {
      const Seconds reads = servers_ ? fetch(begins) : begins;
      if (elastic_.count > 0) {
        compute(g, reads);
        continue;
      }
      const int first = groups_.begin(g);
      for (int i = 0; i < groups_.size(); ++i) compute(first + i, reads);
    }
  }

  void compute(int worker, Seconds at) {
    const auto w = static_cast<std::size_t>(worker);
    if (used_[w] == compute_.steps()) {
      over_ = true;
      return;
    }
    const std::int64_t step = used_[w]++;
    const bool joined = worker >= compute_.workers();
    events_.emplace(at + (joined ? compute_.beside(seats_[w], step) : compute_.of(seats_[w], step)),
                    What::Computed, worker);
  }

  const ComputeTimes& compute_;
  const Prices& prices_;
  const simulate::UpdateSink& sink_;
  const BoundNow& bound_;
  std::int64_t* lost_steps_;
  Elastic elastic_;
  bool servers_;  ///< between groups; else groups meet
  sync::Groups groups_;
  sync::Policy policy_;
  Seconds inside_;                  ///< a sum inside a group
  ServerPort in_, out_;             ///< of all servers together
  std::vector<int> seats_;          ///< whose times each worker has
  std::vector<std::int64_t> used_;  ///< steps that each worker has begun
  std::vector<std::int64_t> held_;  ///< of these, computed and not delivered yet
  std::vector<char> here_;
  std::vector<int> released_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Seconds last_{};  ///< that was told
  bool over_ = false;
};

}  // namespace

void drive_groups(const ComputeTimes& compute, const Prices& prices, const Way& way,
                  const simulate::UpdateSink& sink, const Beside& beside) {
  GroupsDrive(compute, prices, way, sink, beside).play();
}

}  // namespace cox::learn
