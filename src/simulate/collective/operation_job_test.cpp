// SPDX-License-Identifier: Apache-2.0
// Recorded programs on a scenario's cluster: what the flow engine says is over the network, all of it.
#include "simulate/collective/operation_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/make_run.hpp"

namespace cox::simulate {
namespace {

constexpr double kLatency = 1e-6;
constexpr double kRate = 1e9;
constexpr double kBytes = 1e6;

/// Two ranks that send each other nothing but one message of 1 MB, from `from` to `to`.
class TwoRanks {
 public:
  TwoRanks(int from, int to) {
    put(from, 5, from, to);
    put(to, 6, from, to);
  }
  [[nodiscard]] std::string path() const { return dir_.path().string(); }

 private:
  /// A folder for each: files of one folder are taken as parts of one job.
  void put(int rank, int type, int from, int to) const {
    const auto folder = dir_.path() / fmt::format("rank{}", rank);
    std::filesystem::create_directories(folder);
    test::put_file(folder / "trace.json",
                   fmt::format(R"({{"rank": {}, "workload_graph": [{{"id": 1, "name": "m", "type": {},
                                "comm_size": 1000000, "comm_src": {}, "comm_dst": {}, "comm_tag": 0}}]}})",
                               rank, type, from, to));
  }

  test::ScratchDir dir_;
};

/// Nodes of one device on one switch; messages outside of the network cost nothing.
model::Scenario switched(int nodes, const std::string& file) {
  model::Scenario s;
  s.cluster.nodes = nodes;
  s.cluster.nic = {.latency = Seconds{kLatency}, .bandwidth = Bandwidth::bytes_per_s(kRate)};
  s.fabric.link = s.cluster.nic;
  s.job.work = model::TraceJob{.file = file};
  s.engine = model::EngineKind::Flow;
  return s;
}

TEST(OperationJob, MessagesCrossTheNetworkOfTheFlowEngine) {
  const TwoRanks traces(0, 1);
  model::Scenario s = switched(2, traces.path());
  const auto made = simulate(s, {});
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->engine, model::EngineKind::Flow);
  EXPECT_EQ(made->messages, 1);
  // Out of one card, into the other.
  EXPECT_NEAR(made->total.count(), 2 * kLatency + kBytes / kRate, 1e-12);
  ASSERT_EQ(made->links.size(), 2U);
  for (const LinkLoad& link : made->links) EXPECT_EQ(link.bytes, Bytes{1000000});
  // Half as fast a card is twice as slow a message.
  s.cluster.nic.bandwidth = Bandwidth::bytes_per_s(kRate / 2);
  EXPECT_NEAR(simulate(s, {})->total.count(), 2 * kLatency + 2 * kBytes / kRate, 1e-12);
}

TEST(OperationJob, ARankWithoutAPlaceOnTheNetworkIsRefused) {
  const TwoRanks traces(0, 9);
  model::Scenario s = switched(2, traces.path());
  const auto made = simulate(s, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "simulate-006");
  EXPECT_NE(made.error().message.find("rank 9 of the trace has no place on the cluster, which has 2 devices"),
            std::string::npos)
      << made.error().message;
  // The other engine needs no place, and says that it is another.
  s.engine = model::EngineKind::MaxPlus;
  s.across = {.latency = Seconds{kLatency}};
  const auto other = simulate(s, {});
  ASSERT_TRUE(other) << other.error().to_string();
  EXPECT_EQ(other->engine, model::EngineKind::Event);
}

/// Four ranks that sum 1 MB, on two nodes of two devices with one card each.
class FourRanks {
 public:
  FourRanks() {
    for (int rank = 0; rank < 4; ++rank) {
      const auto folder = dir_.path() / fmt::format("rank{}", rank);
      std::filesystem::create_directories(folder);
      test::put_file(
          folder / "trace.json",
          fmt::format(R"({{"rank": {}, "ngpus": 4, "workload_graph": [{{"id": 1, "name": "c", "type": 7,
                                  "comm_type": 0, "comm_size": 1000000}}]}})",
                      rank));
    }
  }
  [[nodiscard]] model::Scenario scenario(model::Algorithm algorithm) const {
    model::Scenario s = switched(2, {});
    s.cluster.devices_per_node = 2;
    s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::bytes_per_s(100 * kRate)};
    s.inside = {.latency = {}, .per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
    s.across = {.latency = {}, .per_byte = Bandwidth::bytes_per_s(kRate).time_per_byte()};
    s.engine = model::EngineKind::MaxPlus;
    s.job.work = model::TraceJob{.file = dir_.path().string(), .algorithm = algorithm};
    return s;
  }

 private:
  test::ScratchDir dir_;
};

// As a collective by itself is: messages of a round have a part of the card that they share.
TEST(OperationJob, CollectivesOfATraceShareCards) {
  const FourRanks traces;
  model::Scenario s = traces.scenario(model::Algorithm::HalvingDoubling);
  const auto traced = simulate(s, {});
  ASSERT_TRUE(traced) << traced.error().to_string();
  // Half a megabyte of each of two devices through their card, there and back; a quarter inside.
  EXPECT_NEAR(traced->total.count(), 2 * (2 * 0.5e6 / kRate + 0.25e6 / (100 * kRate)), 1e-9);
  EXPECT_TRUE(traced->not_modelled.empty());
  s.engine = model::EngineKind::Flow;
  s.cluster.nic.latency = s.fabric.link.latency = {};
  const auto played = simulate(s, {});
  ASSERT_TRUE(played) << played.error().to_string();
  EXPECT_NEAR(traced->total.count(), played->total.count(), 1e-9);
}

TEST(OperationJob, AnAlgorithmThatIsNotTakenIsNoted) {
  const FourRanks traces;
  const auto notes = [&](model::Algorithm algorithm) {
    const auto made = simulate(traces.scenario(algorithm), {});
    EXPECT_TRUE(made) << made.error().to_string();
    return made ? fmt::format("{}", fmt::join(made->notes, "\n")) : std::string();
  };
  EXPECT_EQ(notes(model::Algorithm::Ring).find("carried out by"), std::string::npos);
  for (const model::Algorithm other :
       {model::Algorithm::Direct, model::Algorithm::Chain, model::Algorithm::Dissemination})
    EXPECT_NE(notes(other).find("carried out by ring"), std::string::npos) << name_of(other);
}

}  // namespace
}  // namespace cox::simulate
