// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "cox/sync/gossip.hpp"

#include "learn/drive/drive.hpp"
#include "learn/drive/server_port.hpp"

namespace cox::learn {
namespace {

class GossipDrive {
 public:
  GossipDrive(const ComputeTimes& compute, const Prices& prices, const Way& way,
              const simulate::UpdateSink& sink)
      : compute_(compute),
        message_(prices.parameters() - prices.latency()),
        latency_(prices.latency()),
        sink_(sink),
        rules_(way.graph, compute.workers()),
        star_(way.graph.graph == sync::GossipGraph::Star),
        middle_(message_, prices.latency()),
        used_(static_cast<std::size_t>(compute.workers())) {}

  void play() {
    for (int w = 0; w < compute_.workers(); ++w) begin(w, Seconds{});
    while (!over_ && !events_.empty()) {
      const auto [at, what, worker] = events_.top();
      events_.pop();
      if (what == What::Computed)
        events_.emplace(heard(worker, at), What::Heard, worker);
      else
        deliver(worker, at);
    }
  }

 private:
  enum class What : std::uint8_t { Heard, Computed };
  using Event = std::tuple<Seconds, What, int>;

  /// When all that hear the worker have its parameters: one message after the other, and those to the middle of a star through its port.
  Seconds heard(int worker, Seconds at) {
    const int messages = rules_.neighbours().degree(worker);
    if (messages == 0) return at;
    if (star_ && worker != 0) return middle_.through(middle_.begin(at));
    return at + messages * message_ + latency_;
  }
  void deliver(int worker, Seconds at) {
    rules_.delivered(worker, released_);
    for (const sync::StreamEvent& e : rules_.events())
      if (!over_) over_ = !sink_(e, at);
    for (const int r : released_) begin(r, at);
  }
  void begin(int worker, Seconds at) {
    std::int64_t& step = used_[static_cast<std::size_t>(worker)];
    if (step == compute_.steps())
      over_ = true;
    else
      events_.emplace(at + compute_.of(worker, step++), What::Computed, worker);
  }

  const ComputeTimes& compute_;
  Seconds message_, latency_;
  const simulate::UpdateSink& sink_;
  sync::Gossip rules_;
  bool star_;
  ServerPort middle_;               ///< of a star: into worker 0
  std::vector<std::int64_t> used_;  ///< steps that each worker has begun
  std::vector<int> released_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  bool over_ = false;
};

}  // namespace

void drive_gossip(const ComputeTimes& compute, const Prices& prices, const Way& way,
                  const simulate::UpdateSink& sink) {
  GossipDrive(compute, prices, way, sink).play();
}

}  // namespace cox::learn
