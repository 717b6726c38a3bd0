// SPDX-License-Identifier: Apache-2.0
// What the engines say about one ring all-reduce of bench/live_accuracy.py:
//
//   live_predict RANKS BYTES LATENCY_S CABLE_BYTES_PER_S PER_LEAF UPLINK_BYTES_PER_S
//
// prints seconds and the engine. UPLINK 0: all hosts on one switch, nothing is shared:
// max-plus. Otherwise PER_LEAF hosts on each of two switches, neighbours of the ring on different
// ones: flows that share the uplinks.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cox/model/schedule.hpp"
#include "cox/simulate/flow.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/network.hpp"

namespace {

using cox::Bandwidth;
using cox::Seconds;

int print(const std::vector<Seconds>& times, const char* engine) {
  std::printf("%.9f %s\n", std::max_element(times.begin(), times.end())->count(), engine);
  return 0;
}

int give_up(const cox::Error& error) {
  std::fprintf(stderr, "live_predict: %s\n", error.to_string().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int ranks = std::atoi(argv[1]);
  const Seconds latency{std::atof(argv[3])};
  const Bandwidth cable = Bandwidth::bytes_per_s(std::atof(argv[4]));
  const int per_leaf = std::atoi(argv[5]);
  const Bandwidth uplink = Bandwidth::bytes_per_s(std::atof(argv[6]));
  const auto schedule =
      cox::model::Schedule::make({.ranks = ranks, .bytes = cox::Bytes{std::atoll(argv[2])}});
  if (!schedule) return give_up(schedule.error());
  std::vector<Seconds> times(static_cast<std::size_t>(ranks));
  if (uplink == Bandwidth{}) {
    cox::simulate::LinkCosts costs;
    costs.across = {.latency = latency, .per_byte = cable.time_per_byte()};
    cox::simulate::run_collective(*schedule, costs, {}, times);
    return print(times, "max-plus");
  }
  const cox::model::Cluster cluster{.preset = {},
                                    .nodes = ranks,
                                    .devices_per_node = 1,
                                    .device_name = {},
                                    .nic = {.latency = latency / 2, .bandwidth = cable}};
  const cox::model::Fabric fabric{.kind = cox::model::FabricKind::FatTree,
                                  .link = {.latency = Seconds{}, .bandwidth = uplink},
                                  .hosts_per_leaf = per_leaf,
                                  .oversubscription = static_cast<double>(per_leaf)};  // one uplink
  const auto network = cox::simulate::Network::make(cluster, fabric);
  if (!network) return give_up(network.error());
  std::vector<int> rank_of;
  for (int i = 0; i < per_leaf; ++i) {
    rank_of.push_back(i);
    rank_of.push_back(i + per_leaf);
  }
  static_cast<void>(cox::simulate::run_flows(*schedule, *network, fabric, rank_of, {}, times));
  return print(times, "flow");
}
