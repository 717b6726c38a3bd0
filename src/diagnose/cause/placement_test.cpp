// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/placement.hpp"

#include <gtest/gtest.h>

#include "diagnose/cause/cause_rules.hpp"

namespace cox::diagnose {
namespace {

/// A host of four ranks.
NodeLocality host() {
  NodeLocality h;
  h.host = "n0";
  h.known = {Rank{0}, Rank{1}, Rank{2}, Rank{3}};
  return h;
}

CauseTestState state_of(const Reasons& r, Cause rule) {
  for (const CauseTest& t : test_causes(r))
    if (t.rule == rule) return t.state;
  return CauseTestState::NoData;
}

TEST(Placement, WhoAloneIsAwayFromAllGpusIsFarFromThem) {
  NodeLocality h = host();
  h.gpus = {.nodes = {0}, .away = {Rank{2}}};
  const std::vector<Rank> late = {Rank{2}};
  const auto found = find_placement(late, late, std::span(&h, 1), false);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause(), Cause::FarFromDevice);
  EXPECT_EQ(found->device, "GPUs");
  EXPECT_EQ(found->host, "n0");
  EXPECT_EQ(found->device_nodes, std::vector<int>{0});
}

TEST(Placement, WhereOthersAreBoundAlikeItIsNoCause) {
  NodeLocality h = host();
  h.gpus = {.nodes = {0}, .away = {Rank{2}, Rank{3}}};
  h.sharing = {Rank{0}, Rank{2}};
  const std::vector<Rank> late = {Rank{2}};
  const auto found = find_placement(late, late, std::span(&h, 1), true);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause(), Cause::Unknown);
  EXPECT_EQ(found->far, CauseTestState::NotFired);
  EXPECT_EQ(found->shared, CauseTestState::NotFired);
  h.gpus = {};
  EXPECT_EQ(find_placement(late, late, std::span(&h, 1), true)->far, CauseTestState::NoData)
      << "where GPUs are is not known";
}

TEST(Placement, PortsMatterBetweenHostsOnly) {
  std::vector<NodeLocality> hosts = {host(), host()};
  hosts[1].host = "n1";
  hosts[1].known = {Rank{4}, Rank{5}, Rank{6}, Rank{7}};
  hosts[1].ports = {.nodes = {1}, .away = {Rank{6}}};
  const std::vector<Rank> late = {Rank{6}};
  EXPECT_EQ(find_placement(late, late, hosts, true)->cause(), Cause::FarFromDevice);
  EXPECT_EQ(find_placement(late, late, hosts, true)->host, "n1");
  EXPECT_EQ(find_placement(late, late, std::span(hosts).subspan(1), false)->cause(), Cause::Unknown);
}

TEST(Placement, TwoThatShareTheirCoresAreTheLateOnes) {
  NodeLocality h = host();
  h.sharing = {Rank{1}, Rank{2}};
  const std::vector<Rank> both = {Rank{1}, Rank{2}};
  const std::vector<Rank> one = {Rank{1}};
  EXPECT_EQ(find_placement(both, both, std::span(&h, 1), false)->cause(), Cause::SharedCores);
  EXPECT_EQ(find_placement(one, one, std::span(&h, 1), false)->cause(), Cause::Unknown);
  EXPECT_EQ(find_placement(one, both, std::span(&h, 1), false)->cause(), Cause::SharedCores)
      << "2 is another finding";
}

TEST(Placement, NothingIsSaidOfRanksOfWhichItIsNotKnown) {
  NodeLocality h = host();
  h.gpus = {.nodes = {0}, .away = {Rank{2}}};
  const std::vector<Rank> stranger = {Rank{9}};
  EXPECT_FALSE(find_placement(stranger, stranger, std::span(&h, 1), false));
  h.known = {Rank{2}};
  const std::vector<Rank> late = {Rank{2}};
  EXPECT_FALSE(find_placement(late, late, std::span(&h, 1), false));
}

TEST(Placement, ExplainsWhatIsNotExplainedOtherwise) {
  Reasons r;
  EXPECT_EQ(state_of(r, Cause::FarFromDevice), CauseTestState::NoData);
  r.placement = Binding{.far = CauseTestState::Fired, .device = "GPUs", .host = "n0", .device_nodes = {0}};
  EXPECT_EQ(cause_of(r), Cause::FarFromDevice);
  r.why = Why{.cause = Cause::SlowCodeOrCpu, .clock = std::nullopt};
  EXPECT_EQ(cause_of(r), Cause::SlowCodeOrCpu) << "it may have more to do";
  EXPECT_EQ(state_of(r, Cause::FarFromDevice), CauseTestState::Fired);
  r.why.reset();
  r.device = DeviceWhy{.cause = Cause::Copies, .queue = {}, .usual_queue = {}};
  EXPECT_EQ(cause_of(r), Cause::FarFromDevice);
  r.device->cause = Cause::SlowKernels;
  EXPECT_EQ(cause_of(r), Cause::SlowKernels);
  r.device.reset();
  r.placement = Binding{.shared = CauseTestState::Fired, .device = {}, .host = {}, .device_nodes = {}};
  r.why = Why{.cause = Cause::CpuContention, .clock = std::nullopt};
  EXPECT_EQ(cause_of(r), Cause::SharedCores);
  r.why->cause = Cause::CpuQuota;
  EXPECT_EQ(cause_of(r), Cause::CpuQuota);
}

}  // namespace
}  // namespace cox::diagnose
