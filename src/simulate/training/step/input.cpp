// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/input.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "cox/simulate/event.hpp"

namespace cox::simulate::training {
namespace {

/// Moves `times` from when each brings `work` to when it is done, where all share `capacity` and none gets more than
/// `limit`.
void serve(std::span<Seconds> times, double work, double capacity, double limit) {
  const auto n = static_cast<double>(times.size());
  const auto ends = [](Seconds t) { return std::isfinite(t.count()); };
  const Seconds took{work / std::min(limit, capacity / n)};
  const bool alike = std::all_of(times.begin(), times.end(), [&](Seconds t) { return t == times.front(); });
  // Absurd sizes and rates never end.
  if (alike || !ends(took) || !std::all_of(times.begin(), times.end(), ends)) {
    for (Seconds& t : times) t += took;
    return;
  }
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  const Seconds begin = times[order.front()];  // a resource's clock begins at zero
  SharedResource resource(capacity);
  std::vector<std::size_t> who;  // by job
  for (std::size_t came = 0; came < order.size() || resource.jobs() > 0;) {
    const SharedResource::Next done = resource.next();
    if (came < order.size() && times[order[came]] - begin < done.at) {
      resource.add(times[order[came]] - begin, work, 1, limit);
      who.push_back(order[came++]);
    } else {
      times[who[done.job]] = begin + done.at;
      resource.remove(done.at, done.job);
    }
  }
}

}  // namespace

NodeInput::NodeInput(const Plan& plan, int first, int count)
    : plan_(plan), units_(static_cast<std::size_t>(count) * static_cast<std::size_t>(plan.stages())) {
  const int ranks = count * plan.stages() * plan.ranks_per_unit();
  const int first_rank = first * plan.stages() * plan.ranks_per_unit();
  std::map<int, std::vector<std::size_t>> nodes;
  for (int r = 0; r < ranks; ++r)
    nodes[plan.device_of(first_rank + r) / plan.scenario().cluster.devices_per_node].push_back(
        static_cast<std::size_t>(r));
  for (auto& [node, its] : nodes) of_node_.push_back(std::move(its));
  reset();
}

void NodeInput::reset() {
  begins_.assign(units_, Seconds{});
  if (ahead()) made_from_.assign(units_, Seconds{});
}

void NodeInput::set_back(Seconds by) {
  for (Seconds& t : made_from_) t -= by;
}

void NodeInput::next_step() {
  if (ahead()) made_from_ = begins_;
}

std::span<const Seconds> NodeInput::begins(std::span<const Seconds> now) {
  make(ahead() ? std::span<const Seconds>(made_from_) : now);
  for (std::size_t u = 0; u < units_; ++u) begins_[u] = std::max(begins_[u], now[u]);
  return begins_;
}

void NodeInput::make(std::span<const Seconds> from) {
  const model::StepInput& in = plan_.job().input;
  const auto per_unit = static_cast<std::size_t>(plan_.ranks_per_unit());
  of_rank_.resize(units_ * per_unit);
  for (std::size_t r = 0; r < of_rank_.size(); ++r) of_rank_[r] = from[r / per_unit];
  const auto bytes = static_cast<double>(in.fetch.count());
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  if (bytes > 0 && in.storage > Bandwidth{}) serve(of_rank_, bytes, in.storage.in_bytes_per_s(), kNoLimit);
  std::vector<Seconds> node;
  for (const std::vector<std::size_t>& ranks : of_node_) {
    node.clear();
    for (const std::size_t r : ranks) node.push_back(of_rank_[r]);
    if (bytes > 0 && in.link > Bandwidth{}) serve(node, bytes, in.link.in_bytes_per_s(), kNoLimit);
    if (in.prepare > Seconds{}) serve(node, in.prepare.count(), in.cores, 1);
    for (std::size_t i = 0; i < ranks.size(); ++i) of_rank_[ranks[i]] = node[i];
  }
  for (std::size_t u = 0; u < units_; ++u)
    begins_[u] = *std::max_element(of_rank_.begin() + static_cast<std::ptrdiff_t>(u * per_unit),
                                   of_rank_.begin() + static_cast<std::ptrdiff_t>((u + 1) * per_unit));
}

}  // namespace cox::simulate::training
