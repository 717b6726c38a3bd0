// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/shared_ports.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

using model::RegularRound;

/// Messages of a round by port, both directions.
class Load {
 public:
  explicit Load(std::int64_t ports) : out_(static_cast<std::size_t>(ports)), in_(out_) {}
  void clear() {
    std::fill(out_.begin(), out_.end(), 0);
    std::fill(in_.begin(), in_.end(), 0);
  }
  void add(std::int64_t from, std::int64_t to) {
    most_ = std::max({most_, ++out_[static_cast<std::size_t>(from)], ++in_[static_cast<std::size_t>(to)]});
  }
  [[nodiscard]] int most() const { return most_; }

 private:
  std::vector<int> out_;
  std::vector<int> in_;
  int most_ = 1;
};

bool same_peers(const RegularRound& a, const RegularRound& b) {
  return a.pattern == b.pattern && a.size == b.size && a.stride == b.stride && a.by == b.by;
}

TimePerByte times(TimePerByte each, int messages) {
  return TimePerByte::seconds_per_byte(each.in_seconds_per_byte() * messages);
}

}  // namespace

LinkCosts with_shared_ports(LinkCosts costs, const model::Schedule& schedule, const model::Cluster& cluster,
                            std::span<const int> rank_of) {
  COX_ASSERT(rank_of.size() >= static_cast<std::size_t>(schedule.ranks()), "one place per rank");
  const std::int64_t devices = std::max(1, cluster.devices_per_node);
  const std::int64_t cards = std::max(1, cluster.nics_per_node);
  const auto card = [&](std::int64_t rank) {
    return rank / devices * cards + rank % devices * cards / devices;
  };
  Load on_cards(std::int64_t{cluster.nodes} * cards);
  Load on_devices(cluster.ranks());
  std::optional<RegularRound> before;
  for (std::int64_t k = 0; k < schedule.rounds(); ++k) {
    const auto now = schedule.regular(k);
    if (!now) return costs;
    if (before && same_peers(*before, *now)) continue;
    before = now;
    on_cards.clear();
    on_devices.clear();
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      const model::PlaceOrder order = schedule.order(lane);
      const auto round = schedule.regular(k, lane);
      for (int p = 0; round && p < schedule.ranks(); ++p) {
        const std::int64_t from = rank_of[static_cast<std::size_t>(order.rank_at(p))];
        const std::int64_t to = rank_of[static_cast<std::size_t>(order.rank_at(round->to(p)))];
        if (from == to) continue;
        if (from / devices == to / devices)
          on_devices.add(from, to);
        else
          on_cards.add(card(from), card(to));
      }
    }
  }
  costs.inside.per_byte = times(costs.inside.per_byte, on_devices.most());
  // Each device has its own way to the card, which may be the slower one.
  const bool own_way =
      cluster.nic.bandwidth > Bandwidth{} && cluster.nic.bandwidth.time_per_byte() < costs.across.per_byte;
  const TimePerByte shared = own_way ? cluster.nic.bandwidth.time_per_byte() : costs.across.per_byte;
  costs.across.per_byte = std::max(costs.across.per_byte, times(shared, on_cards.most()));
  return costs;
}

}  // namespace cox::simulate
