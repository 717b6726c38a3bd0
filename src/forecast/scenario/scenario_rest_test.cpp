// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

/// A barrier of messages of a microsecond: as many as the logarithm says.
model::Scenario job(model::Algorithm algorithm, Bytes bytes) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 2;
  s.across = s.inside = {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-9)};
  model::CollectiveJob work;
  work.compute = Seconds{1e-3};
  work.collective = {.algorithm = algorithm, .ranks = 8, .bytes = bytes};
  s.job.work = work;
  return s;
}

TEST(ScenarioRest, IsTheCollectiveOfThatSize) {
  const RestAt rest = rest_of(job(model::Algorithm::RecursiveDoubling, Bytes{8}));
  // In all rounds but the first both devices of a node send through its one card.
  const auto rounds = [](int count) { return count * 1e-6 + (1 + 2 * (count - 1)) * 8e-9; };
  EXPECT_NEAR(rest(8).value.count(), rounds(3), 1e-9);
  EXPECT_NEAR(rest(1024).value.count(), rounds(10), 1e-9);
  EXPECT_NEAR(rest(1 << 14).value.count(), rounds(14), 1e-9);
  EXPECT_EQ(rest(8).low, rest(8).high);
}

TEST(ScenarioRest, IsARangeBeyondWhatIsSimulatedAndBetweenSizes) {
  const RestAt rest = rest_of(job(model::Algorithm::RecursiveDoubling, Bytes{8}));
  EXPECT_EQ(rest(1 << 20).origin, Origin::Range);
  EXPECT_LE(rest(1 << 20).low, rest(1 << 20).value);
  EXPECT_GE(rest(1 << 20).high.count(), 20 * (1e-6 + 8e-9) * (1 - 1e-9));
  EXPECT_GT(rest(24).value, rest(16).value);
  EXPECT_LT(rest(24).value, rest(32).value);
}

TEST(ScenarioRest, ALargeRingGrowsWithItsRounds) {
  const RestAt rest = rest_of(job(model::Algorithm::Ring, Bytes{8'000'000}));
  EXPECT_NEAR(rest(256).value.count(), 2 * 255 * (1e-6 + 8e6 / 256 * 1e-9), 1e-6);
  EXPECT_NEAR(rest(1 << 20).value.count() / (2 * (1 << 20) * 1e-6), 1, 0.02)
      << "beyond what is simulated, too";
}

TEST(ScenarioRest, ItsSlopeHasNoJumps) {
  const RestAt rest = rest_of(job(model::Algorithm::Ring, Bytes{8'000'000}));
  const auto slope = [&rest](std::int64_t from, std::int64_t to) {
    return std::log(rest(to).value / rest(from).value) /
           std::log(static_cast<double>(to) / static_cast<double>(from));
  };
  for (const std::int64_t size : {1024, 2048, 4096, 8192})
    EXPECT_NEAR(slope(size - 16, size), slope(size, size + 16), 0.02) << size;
  for (std::int64_t n = 512; n < 16'000; n += 64) EXPECT_LE(rest(n).value, rest(n + 64).value);
}

TEST(ScenarioRest, TheScenariosOwnSizeIsSimulated) {
  model::Scenario s = job(model::Algorithm::Ring, Bytes{8'000'000});
  s.cluster.nodes = 9;
  s.job.as<model::CollectiveJob>().collective.ranks = 18;
  const RestAt rest = rest_of(s);
  EXPECT_NEAR(rest(18).value.count(), 2 * 17 * (1e-6 + 8e6 / 18 * 1e-9), 1e-6);
  EXPECT_NEAR(rest(72).value.count(), 2 * 71 * (1e-6 + 8e6 / 72 * 1e-9), 1e-6);
  EXPECT_EQ(rest(18).low, rest(18).high);
}

}  // namespace
}  // namespace cox::forecast
