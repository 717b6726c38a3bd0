// SPDX-License-Identifier: Apache-2.0
// What sharing does to a small difference of when messages begin (docs/concepts/flow-engine.md, differences that grow).
#include <gtest/gtest.h>

#include <array>

#include "simulate/flow/engine.hpp"

namespace cox::simulate {
namespace {

constexpr double kMs = 1e-3;

model::Schedule chain(int ranks) {
  auto made = model::Schedule::make({.kind = model::Collective::SendRecv,
                                     .algorithm = model::Algorithm::Chain,
                                     .ranks = ranks,
                                     .bytes = Bytes{1'000'000}});
  EXPECT_TRUE(made) << made.error().to_string();
  return *std::move(made);
}

/// Hosts 0 to 3 pass 1 MB on at 1 GB/s, the first from `begin` on. To each of the three that receive it comes as much from a host of
/// its own, at 0.5, 2 and 3.5 ms. When what each sent is there, in ms.
std::array<double, 3> passed_on(double begin) {
  model::Cluster cluster;
  cluster.nodes = 7;
  cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  model::Fabric fabric;
  fabric.link = cluster.nic;
  const auto network = Network::make(cluster, fabric);
  EXPECT_TRUE(network) << network.error().to_string();
  FlowEngine engine(*network, fabric, {}, Seconds{});
  const model::Schedule four = chain(4);
  const model::Schedule two = chain(2);
  const FlowCourseId ours = engine.begin({.schedule = &four, .rank_of = {0, 1, 2, 3}});
  for (int p = 0; p < 4; ++p) engine.arrive(ours, p, Seconds{begin * kMs});
  for (int k = 0; k < 3; ++k) {
    const FlowCourseId other = engine.begin({.schedule = &two, .rank_of = {4 + k, 1 + k}});
    for (const int p : {0, 1}) engine.arrive(other, p, Seconds{(0.5 + 1.5 * k) * kMs});
  }
  std::array<double, 3> at{};
  while (const auto one = engine.next())
    if (one->course == ours && one->place < 3)
      at.at(static_cast<std::size_t>(one->place)) = one->at / Seconds{kMs};
  return at;
}

// Alone for half a millisecond, then two at half the rate: 1.5 ms each. Later by e it has e less of the card for itself, too: twice as much
// later at each host.
TEST(Sensitivity, ADifferenceDoublesWhereAnotherMessageComes) {
  for (const double e : {0.0, 1e-3, 1e-6}) {
    const std::array<double, 3> at = passed_on(e);
    EXPECT_NEAR(at[0], 1.5 + 2 * e, 1e-11);
    EXPECT_NEAR(at[1], 3.0 + 4 * e, 1e-11);
    EXPECT_NEAR(at[2], 4.5 + 8 * e, 1e-11);
  }
}

}  // namespace
}  // namespace cox::simulate
