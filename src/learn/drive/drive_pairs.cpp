// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "cox/sync/pairs.hpp"

#include "learn/drive/drive.hpp"

namespace cox::learn {

void drive_pairs(const ComputeTimes& compute, const Prices& prices, const Way& way, std::uint64_t seed,
                 const simulate::UpdateSink& sink) {
  enum class What : std::uint8_t { Exchanged, Computed };
  using Event = std::tuple<Seconds, What, int>;
  sync::Pairs rules(sync::Neighbours(way.graph, compute.workers()), seed);
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<std::int64_t> used(static_cast<std::size_t>(compute.workers()));
  bool over = false;
  const auto begin = [&](int w, Seconds at) {
    std::int64_t& step = used[static_cast<std::size_t>(w)];
    if (step == compute.steps())
      over = true;
    else
      events.emplace(at + compute.of(w, step++), What::Computed, w);
  };
  for (int w = 0; w < compute.workers(); ++w) begin(w, Seconds{});
  while (!over && !events.empty()) {
    const auto [at, what, worker] = events.top();
    events.pop();
    if (what == What::Computed)
      rules.computed(worker);
    else
      rules.exchanged(worker);
    for (const sync::StreamEvent& e : rules.events())
      if (!over) over = !sink(e, at);
    for (const sync::Pairs::Exchange& x : rules.begun())
      events.emplace(at + prices.parameters(), What::Exchanged, x.by);
    for (const int r : rules.released()) begin(r, at);
  }
}

}  // namespace cox::learn
