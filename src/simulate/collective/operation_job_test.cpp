// SPDX-License-Identifier: Apache-2.0
// Recorded programs on a scenario's cluster: what the flow engine says is over the network, all of it.
#include "simulate/collective/operation_job.hpp"

#include <fmt/format.h>
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

}  // namespace
}  // namespace cox::simulate
