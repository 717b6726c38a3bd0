// SPDX-License-Identifier: Apache-2.0
// What max-plus says of an exchange over nodes of several devices, whose messages take unequally long: a device has one
// card, and what it sends over it leaves one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/simulate/flow.hpp"
#include "cox/simulate/max_plus.hpp"

namespace cox::simulate {
namespace {

constexpr double kInside = 1e-6;  // latencies
constexpr double kAcross = 2e-6;
constexpr double kFast = 300e9;
constexpr double kSlow = 50e9;

/// All-to-all, round by round; a message begins when both are ready and the cards of both are free.
double with_cards(int nodes, int devices, double bytes_each) {
  const int ranks = nodes * devices;
  std::vector<double> ready(static_cast<std::size_t>(ranks), 0);
  std::vector<double> out = ready;
  std::vector<double> in = ready;
  for (int by = 1; by < ranks; ++by) {
    std::vector<double> next = ready;
    for (int r = 0; r < ranks; ++r) {
      const int to = (r + by) % ranks;
      const auto s = static_cast<std::size_t>(r);
      const auto d = static_cast<std::size_t>(to);
      double start = std::max(ready[s], ready[d]);
      if (r / devices == to / devices) {
        next[d] = start + kInside + bytes_each / kFast;
        continue;
      }
      start = std::max({start, out[s], in[d] - kAcross});
      out[s] = start + bytes_each / kSlow;
      next[d] = in[d] = start + kAcross + bytes_each / kSlow;
    }
    ready = next;
  }
  return std::ranges::max(ready);
}

TEST(Cards, ServeOneMessageAfterTheOther) {
  double furthest = 0;
  for (const int nodes : {2, 3, 4, 8})
    for (const int devices : {2, 4, 8})
      for (const std::int64_t each : {1'000, 100'000, 1'000'000}) {
        const int ranks = nodes * devices;
        const auto schedule = model::Schedule::make({.kind = model::Collective::AllToAll,
                                                     .algorithm = model::Algorithm::Direct,
                                                     .ranks = ranks,
                                                     .bytes = Bytes{each * ranks}});
        ASSERT_TRUE(schedule);
        const LinkCosts costs{
            .inside = {.latency = Seconds{kInside}, .per_byte = TimePerByte::seconds_per_byte(1 / kFast)},
            .across = {.latency = Seconds{kAcross}, .per_byte = TimePerByte::seconds_per_byte(1 / kSlow)},
            .ranks_per_node = devices};
        std::vector<Seconds> times(static_cast<std::size_t>(ranks));
        (void)run_collective(*schedule, costs, {}, times);
        const double made = std::ranges::max(times).count();
        EXPECT_NEAR(made, with_cards(nodes, devices, static_cast<double>(each)), 1e-9 * made)
            << nodes << " x " << devices << ", " << each;
        // The flow engine lets them share the card: later, as the first one is held up for those who wait for it.
        model::Cluster cluster;
        cluster.nodes = nodes;
        cluster.devices_per_node = cluster.nics_per_node = devices;
        cluster.scale_up = {.latency = Seconds{kInside}, .bandwidth = Bandwidth::bytes_per_s(kFast)};
        cluster.nic = {.latency = Seconds{kAcross / 2}, .bandwidth = Bandwidth::bytes_per_s(kSlow)};
        const auto network = Network::make(cluster, {});
        ASSERT_TRUE(network);
        std::vector<int> places;
        places.reserve(static_cast<std::size_t>(ranks));
        for (int r = 0; r < ranks; ++r) places.push_back(r);
        std::vector<Seconds> shared(times.size());
        (void)run_flows(*schedule, *network, {}, places, {}, shared);
        const double part = std::ranges::max(shared).count() / made;
        EXPECT_GE(part, 1 - 1e-9);
        furthest = std::max(furthest, part);
      }
  EXPECT_GT(furthest, 1.25);
  EXPECT_LT(furthest, 1.45);
}

}  // namespace
}  // namespace cox::simulate
