// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "cox/sync/gossip.hpp"

#include "learn/drive/drive.hpp"

namespace cox::learn {

void drive_gossip(const ComputeTimes& compute, const Prices& prices, const Way& way,
                  const simulate::UpdateSink& sink) {
  using Ended = std::tuple<Seconds, int>;
  sync::Gossip rules(way.graph, compute.workers());
  const double heard = way.graph == sync::GossipGraph::Ring ? 2 : 1;
  const Seconds sending = compute.workers() == 1
                              ? Seconds{}
                              : heard * (prices.parameters() - prices.latency()) + prices.latency();
  std::priority_queue<Ended, std::vector<Ended>, std::greater<>> events;
  std::vector<std::int64_t> used(static_cast<std::size_t>(compute.workers()));
  bool over = false;
  const auto begin = [&](int w, Seconds at) {
    std::int64_t& step = used[static_cast<std::size_t>(w)];
    if (step == compute.steps())
      over = true;
    else
      events.emplace(at + compute.of(w, step++) + sending, w);
  };
  for (int w = 0; w < compute.workers(); ++w) begin(w, Seconds{});
  std::vector<int> released;
  while (!over && !events.empty()) {
    const auto [at, worker] = events.top();
    events.pop();
    rules.delivered(worker, released);
    for (const sync::StreamEvent& e : rules.events())
      if (!over) over = !sink(e, at);
    for (const int r : released) begin(r, at);
  }
}

}  // namespace cox::learn
