// SPDX-License-Identifier: Apache-2.0
// The flow engine on the 4:1 fat tree of docs/accuracy.md (8 hosts a leaf, 400 Gbit/s, 250 ns a link): a ring
// of 256 MiB over a random order of ranks, static routes. Prints one line per run: processor seconds are of
// the run alone. Usage: flow_bench HOSTS [memo|no-memo|jitter]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string_view>
#include <vector>

#include "cox/simulate/flow.hpp"

namespace {

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// A Fisher-Yates shuffle by counter.
std::vector<int> random_order(int n) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[mix(i * 0x9e3779b97f4a7c15) % i]);
  return order;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace cox;
  const int hosts = argc > 1 ? std::atoi(argv[1]) : 64;
  const std::string_view mode = argc > 2 ? argv[2] : "memo";
  const model::Link link{.latency = Seconds{250e-9}, .bandwidth = Bandwidth::gbit_per_s(400)};
  model::Cluster cluster;
  cluster.nodes = hosts;
  cluster.nic = link;
  model::Fabric fabric;
  fabric.kind = model::FabricKind::FatTree;
  fabric.link = link;
  fabric.oversubscription = 4;
  const double begin = processor_seconds();
  const auto network = simulate::Network::make(cluster, fabric);
  const auto schedule = model::Schedule::make({.ranks = hosts, .bytes = Bytes{256 << 20}});
  if (!network || !schedule) {
    std::puts("cannot set up");
    return 1;
  }
  simulate::FlowOptions options;
  options.memo = mode == "memo";
  if (mode == "jitter")
    options.disturb = [](const simulate::FlowMessage& m, Seconds idle) {
      const std::uint64_t draw =
          mix(static_cast<std::uint64_t>(m.round) << 32 | static_cast<std::uint32_t>(m.to));
      return idle * (1 + 0.05 * static_cast<double>(draw >> 11) * 0x1p-53);
    };
  std::vector<Seconds> times(static_cast<std::size_t>(hosts));
  const std::vector<int> order = random_order(hosts);
  const auto outcome = simulate::run_flows(*schedule, *network, fabric, order, options, times);
  double last = 0;
  for (const Seconds t : times) last = std::max(last, t.count());
  std::printf(
      "hosts %d %s: %.12g s simulated, %.4f processor s, %lld messages, %lld solves of "
      "%.1f links, peak %lld flows%s\n",
      hosts, argc > 2 ? argv[2] : "memo", last, processor_seconds() - begin,
      static_cast<long long>(outcome.messages), static_cast<long long>(outcome.solved),
      static_cast<double>(outcome.evaluated) / static_cast<double>(outcome.solved),
      static_cast<long long>(outcome.peak_flows), outcome.memo ? ", memo used" : "");
}
