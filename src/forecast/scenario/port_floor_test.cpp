// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/port_floor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "cox/simulate/outcome.hpp"

#include "forecast/scenario/quiet_step.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

/// 60 MB of each rank to so many servers, over cards of 12.5 GB/s.
model::Scenario served(int nodes, int servers) {
  model::Scenario s;
  s.engine = model::EngineKind::Flow;
  s.cluster.nodes = nodes;
  s.cluster.nic = {.latency = Seconds{2e-6}, .bandwidth = Bandwidth::gbyte_per_s(12.5)};
  s.across = {.latency = Seconds{2e-6}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  model::CollectiveJob work;
  work.compute = Seconds{0.035};
  work.collective = {.kind = model::Collective::AllReduce,
                     .algorithm = model::Algorithm::ParameterServer,
                     .ranks = nodes,
                     .bytes = Bytes{60'000'000},
                     .servers = servers};
  s.job.work = work;
  s.job.steps = 12;
  return s;
}

Seconds simulated(const model::Scenario& s) {
  const auto outcome = simulate::simulate(s, {.threads = 1});
  EXPECT_TRUE(outcome);
  return outcome->total / static_cast<double>(s.job.steps);
}

TEST(PortFloor, IsTheBytesOfAServerOverItsCard) {
  // 6,143 ranks on other nodes push 10 MB to each of six servers.
  EXPECT_NEAR(port_floor(served(6'144, 6)).count(), 6'143 * 10e6 / 12.5e9, 1e-9);
  EXPECT_NEAR(port_floor(served(64, 1)).count(), 63 * 60e6 / 12.5e9, 1e-9);
  // Twice as many servers as nodes: two behind each card.
  EXPECT_NEAR(port_floor(served(8, 16)).count(), 7 * 2 * 60e6 / 16 / 12.5e9, 1e-9);
}

TEST(PortFloor, NoSimulatedStepIsBelowItAndTheCompute) {
  for (const auto& [nodes, servers] :
       {std::pair{16, 1}, {48, 1}, {96, 2}, {192, 6}, {100, 6}, {64, 64}, {8, 16}}) {
    const model::Scenario s = served(nodes, servers);
    EXPECT_GE(simulated(s), port_floor(s) + Seconds{0.035}) << nodes << " ranks, " << servers << " servers";
  }
  // One server has one order, so nothing else is in a step: within its first one.
  EXPECT_LT(simulated(served(96, 1)), 1.2 * (port_floor(served(96, 1)) + Seconds{0.035}));
}

TEST(PortFloor, IsNoneWhereRanksMeetOtherwise) {
  model::Scenario ring = served(64, 6);
  ring.job.as<model::CollectiveJob>().collective.algorithm = model::Algorithm::Ring;
  EXPECT_EQ(port_floor(ring), Seconds{});
  EXPECT_EQ(port_floor(served(1, 1)), Seconds{}) << "one node sends nothing through a card";
  model::Scenario packed = served(64, 6);
  packed.job.as<model::CollectiveJob>().compression.kind = model::Compressor::Sparse;
  EXPECT_EQ(port_floor(packed), Seconds{});
}

// Beyond what is simulated a step goes with the bytes at the ports, and is never said to be below them.
TEST(PortFloor, HoldsBeyondWhatIsSimulated) {
  for (const int servers : {6, 24}) {
    const model::Scenario s = served(24, servers);
    const RestOfScenario rest = rest_and_range_of(s);
    const std::int64_t most = rest.simulated_below(1 << 20).value();
    for (const std::int64_t ranks : {2 * most, 4 * most, std::int64_t{100'000}}) {
      const TimeEstimate beyond = rest.at(ranks);
      const Seconds floor = port_floor(resized(s, ranks));
      EXPECT_GE(beyond.low, floor) << ranks;
      EXPECT_GE(beyond.value, beyond.low) << ranks;
      EXPECT_GT(beyond.high, beyond.value) << ranks;
    }
    // A size beyond, simulated: in the range.
    const Seconds truth = simulated(resized(s, 2 * most)) - Seconds{0.035};
    EXPECT_GE(truth, rest.at(2 * most).low) << servers;
    EXPECT_LE(truth, rest.at(2 * most).high) << servers;
  }
}

// Messages meet otherwise from step to step: as many steps as the job has are simulated, and three say something else.
TEST(QuietStep, OfServersIsTheMeanOfAllStepsOfTheJob) {
  for (const int ranks : {96, 384}) {
    const model::Scenario s = resized(served(24, 24), ranks);
    const StepWork step = quiet_step(s).value();
    EXPECT_NEAR((step.longest + step.rest.value) / simulated(s), 1, 1e-9) << ranks;
    model::Scenario three = s;
    three.job.steps = 3;
    EXPECT_GT(std::abs(simulated(three) / simulated(s) - 1), 0.02) << ranks;
  }
}

TEST(QuietStep, TheMeanOfSomeStepsCountsTheFirstOnesAsTheirPart) {
  simulate::Outcome outcome;
  outcome.step_ends = {Seconds{10}, Seconds{11}, Seconds{12}, Seconds{13}};
  EXPECT_EQ(mean_of_steps(outcome, 4).count(), 13.0 / 4);
  EXPECT_NEAR(mean_of_steps(outcome, 100).count(), 1 + 9.0 / 100, 1e-12);
  EXPECT_EQ(mean_of_steps({}, 4), Seconds{});
}

}  // namespace
}  // namespace cox::forecast
