// SPDX-License-Identifier: Apache-2.0
#include "study/runs/flow_run.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cox/simulate/flow.hpp"
#include "cox/simulate/network.hpp"

namespace cox::study {

model::Cluster one_nic_cluster(int nodes, int devices, const model::Link& inside, const model::Link& nic) {
  model::Cluster cluster;
  cluster.nodes = nodes;
  cluster.devices_per_node = devices;
  cluster.scale_up = inside;
  cluster.nics_per_node = 1;
  cluster.nic = {.latency = nic.latency / 2, .bandwidth = nic.bandwidth};
  return cluster;
}

Result<Seconds> shared_time(const model::CollectiveSpec& spec, const model::Cluster& cluster) {
  const model::Fabric fabric;
  COX_TRY(const simulate::Network network, simulate::Network::make(cluster, fabric));
  COX_TRY(const model::Schedule schedule, model::Schedule::make(spec));
  std::vector<int> rank_of(static_cast<std::size_t>(schedule.participants()));
  std::iota(rank_of.begin(), rank_of.end(), 0);
  std::vector<Seconds> times(static_cast<std::size_t>(schedule.ranks()), Seconds{0});
  (void)simulate::run_flows(schedule, network, fabric, rank_of, {}, times);
  return *std::max_element(times.begin(), times.end());
}

}  // namespace cox::study
