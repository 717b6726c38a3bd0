// SPDX-License-Identifier: Apache-2.0
#include "study/runs/flow_run.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cox/simulate/flow.hpp"
#include "cox/simulate/network.hpp"

namespace cox::study {

model::Cluster railed_cluster(int nodes, int devices, const model::Link& inside, const model::Link& nic,
                              int rails) {
  model::Cluster cluster;
  cluster.nodes = nodes;
  cluster.devices_per_node = devices;
  cluster.scale_up = inside;
  cluster.nics_per_node = rails;
  cluster.nic = {.latency = nic.latency / 2, .bandwidth = nic.bandwidth};
  return cluster;
}

Result<Seconds> shared_time(const model::CollectiveSpec& spec, const model::Cluster& cluster,
                            Placing placing) {
  const model::Fabric fabric;
  COX_TRY(const simulate::Network network, simulate::Network::make(cluster, fabric));
  COX_TRY(const model::Schedule schedule, model::Schedule::make(spec));
  std::vector<int> rank_of(static_cast<std::size_t>(schedule.participants()));
  std::iota(rank_of.begin(), rank_of.end(), 0);
  if (placing == Placing::Dealt)
    for (int& r : rank_of) r = r % cluster.nodes * cluster.devices_per_node + r / cluster.nodes;
  std::vector<Seconds> times(static_cast<std::size_t>(schedule.ranks()), Seconds{0});
  (void)simulate::run_flows(schedule, network, fabric, rank_of, {}, times);
  return *std::max_element(times.begin(), times.end());
}

Seconds tree_on_rails(const model::CollectiveSpec& spec, const model::Cluster& cluster, Placing placing) {
  const auto rounds = [](int n) { return 2 * (std::bit_width(static_cast<unsigned>(n)) - 1); };
  const int sharing = placing == Placing::InOrder ? 1 : cluster.devices_per_node / cluster.nics_per_node;
  const Seconds inside =
      cluster.scale_up.latency + cluster.scale_up.bandwidth.time_per_byte().over(spec.bytes);
  const Seconds across =
      2 * cluster.nic.latency + sharing * cluster.nic.bandwidth.time_per_byte().over(spec.bytes);
  return rounds(cluster.devices_per_node) * inside + rounds(cluster.nodes) * across;
}

}  // namespace cox::study
