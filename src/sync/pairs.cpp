// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"

namespace cox::sync {
namespace {
constexpr std::uint32_t kPeers = 2;  ///< stream of the neighbours that are drawn
}

std::vector<char> who_asks(const Neighbours& graph) {
  const std::vector<int> sides = graph.sides();
  COX_ASSERT(!sides.empty(), "a graph with two sides");
  const auto second = std::ranges::count(sides, 1);
  const int side = 2 * second > graph.workers() ? 1 : 0;
  std::vector<char> out(sides.size());
  std::ranges::transform(sides, out.begin(), [&](int s) { return static_cast<char>(s == side); });
  return out;
}

std::string pairs_misfit(const GossipSpec& spec, int workers) {
  if (std::string why = graph_misfit(spec, workers); !why.empty()) return why;
  const Neighbours graph(spec, workers);
  if (graph.period() == 1 && !graph.sides().empty()) return {};
  return fmt::format(
      "this graph of {} workers has no two sides that hear only each other, so pairs may wait in a circle",
      workers);
}

Pairs::Pairs(const Neighbours& graph, std::uint64_t seed)
    : graph_(graph), seed_(seed), workers_(static_cast<std::size_t>(graph.workers())) {
  const std::vector<char> asking = who_asks(graph_);
  for (std::size_t w = 0; w < workers_.size(); ++w) workers_[w].asks = asking[w] != 0;
}

void Pairs::clear() {
  events_.clear();
  released_.clear();
  begun_.clear();
}

/// The worker's gradient makes a version, and it goes on from there.
void Pairs::apply(int worker) {
  Worker& w = of(worker);
  events_.push_back({.kind = StreamEvent::Kind::Delivered,
                     .update = {.worker = worker, .version_read = w.read, .version_applied = version_}});
  w.read = ++version_;
  ++w.step;
  events_.push_back(
      {.kind = StreamEvent::Kind::Advanced, .update = {.worker = worker, .version_applied = version_}});
  events_.push_back(
      {.kind = StreamEvent::Kind::Read, .update = {.worker = worker, .version_read = version_}});
  released_.push_back(worker);
}

void Pairs::begin_next(int answers) {
  Worker& a = of(answers);
  if (a.in_exchange || a.asked_by.empty()) return;
  const int by = a.asked_by.front();
  a.asked_by.erase(a.asked_by.begin());
  a.in_exchange = of(by).in_exchange = true;
  begun_.push_back({.by = by, .with = answers});
}

void Pairs::computed(int worker) {
  clear();
  Worker& w = of(worker);
  const std::span<const int> peers = graph_.of(worker, 0);
  if (!w.asks || peers.empty()) {
    COX_ASSERT(!w.waits, "a worker ends a step that it has begun");
    if (w.in_exchange)
      w.waits = true;
    else
      apply(worker);
    return;
  }
  COX_ASSERT(w.with < 0, "a worker ends a step that it has begun");
  const double u = RandomStream(seed_, kPeers)
                       .uniform(static_cast<std::uint64_t>(w.step), static_cast<std::uint64_t>(worker));
  const auto drawn = static_cast<std::size_t>(u * static_cast<double>(peers.size()));
  w.with = peers[std::min(drawn, peers.size() - 1)];
  of(w.with).asked_by.push_back(worker);
  begin_next(w.with);
}

void Pairs::exchanged(int by) {
  clear();
  Worker& w = of(by);
  COX_ASSERT(w.asks && w.in_exchange, "an exchange that has begun");
  const int with = std::exchange(w.with, -1);
  Worker& a = of(with);
  w.in_exchange = a.in_exchange = false;
  events_.push_back(
      {.kind = StreamEvent::Kind::Averaged,
       .update = {.worker = by, .version_read = w.read, .version_applied = version_, .with = with}});
  apply(by);
  if (std::exchange(a.waits, false)) apply(with);
  begin_next(with);
}

}  // namespace cox::sync
