// SPDX-License-Identifier: Apache-2.0
// Who shares a rail where devices do not go to their cards in order.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "cox/simulate/noise.hpp"

#include "simulate/flow/places.hpp"
#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::NoisePattern;
using model::NoiseScope;

/// Two nodes of four devices and two cards; what goes round the rails takes half as long again, the first rail first.
model::Scenario on_rails() {
  model::Scenario s = data_parallel(8, 1);
  s.cluster = cluster(2, 4);
  s.cluster.nics_per_node = 2;
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.cluster.scale_up = s.cluster.nic;
  work_of(s).layers[0] = {
      .forward = Seconds{2e-3}, .backward = {}, .gradients = Bytes{8'000'000}, .activations = {}};
  work_of(s).optimizer = {};
  s.noise = {{.name = "rail",
              .law = model::NoiseLaw::Constant,
              .scope = NoiseScope::Rail,
              .pattern = NoisePattern::Rotating,
              .mean_ratio = 0.5}};
  return s;
}

/// Computation of a rank on average, of all ranks' time.
double busy_ms(const model::Scenario& s) {
  const auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  if (!out) return 0;
  Seconds busy{};
  for (const GroupTime& g : out->groups) busy += g.busy * static_cast<double>(g.ranks);
  return busy.count() * 1e3 / static_cast<double>(out->ranks);
}

// In their order two of four devices of a node are at the first card: 2 ms + 1 ms x 2/4. Three of four by `nic_of`: 2.75.
TEST(NoiseRails, AreTheCardsThatDevicesUse) {
  model::Scenario s = on_rails();
  EXPECT_NEAR(busy_ms(s), 2.5, 1e-9);
  s.cluster.nic_of = {0, 0, 0, 1};
  EXPECT_NEAR(busy_ms(s), 2.75, 1e-9);
  // A node of a class with one card has all four at it, the other one two: 2 ms + 1 ms x 6/8.
  s.cluster.nic_of = {};
  s.cluster.classes = {{.name = "one card", .first = 1, .count = 1, .nics = 1}};
  EXPECT_NEAR(busy_ms(s), 2.75, 1e-9);
  // A class's own order: 2 ms + 1 ms x (2 + 1)/8.
  s.cluster.classes = {{.name = "turned", .first = 1, .count = 1, .nic_of = {1, 0, 1, 1}}};
  EXPECT_NEAR(busy_ms(s), 2 + 3.0 / 8, 1e-9);
}

// Ranks go round the nodes: a rank has the draw of its device's card, for what it computes and for what it receives.
TEST(NoiseRails, GoByWhereRanksSit) {
  model::Cluster c = cluster(2, 4);
  c.nics_per_node = 2;
  c.nic_of = {1, 0, 0, 0};
  const SharedPlaces places{.ranks = 8,
                            .ranks_per_node = 4,
                            .rails = 2,
                            .devices = {0, 4, 1, 5, 2, 6, 3, 7},
                            .card_of_device = cards_of_devices(c)};
  const std::array<double, 8> factor = {1, 1, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5};  // step 0: card 0
  for (const auto target : {model::NoiseTarget::Compute, model::NoiseTarget::Message}) {
    model::NoiseSource source = on_rails().noise[0];
    source.target = target;
    const auto noise = Noise::make({source}, places, 1);
    ASSERT_TRUE(noise);
    std::vector<Seconds> times(8, Seconds{1});
    if (target == model::NoiseTarget::Compute)
      noise->compute(0, 0, times, times);
    else
      noise->messages(0, 0, 0, 0, times);
    for (std::size_t r = 0; r < 8; ++r) EXPECT_DOUBLE_EQ(times[r].count(), factor[r]) << r;
  }
}

}  // namespace
}  // namespace cox::simulate
