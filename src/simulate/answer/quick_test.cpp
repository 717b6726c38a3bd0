// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;

model::Scenario on_a_tree() {
  model::Scenario s = data_parallel(4, 2);
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.link = s.cluster.nic;
  s.fabric.hosts_per_leaf = 2;
  s.fabric.oversubscription = 2;
  work_of(s).collective.algorithm = model::Algorithm::HalvingDoubling;  // two messages meet above a leaf
  s.job.steps = 4;
  return s;
}

// It is what the outcome says that max-plus makes of the job.
TEST(LeftOutWithoutLinks, IsWhatMaxPlusLeavesOut) {
  model::Scenario s = on_a_tree();
  const auto left_out = left_out_without_links(s);
  ASSERT_TRUE(left_out);
  s.engine = model::EngineKind::MaxPlus;
  const auto quick = simulate(s, {});
  ASSERT_TRUE(quick);
  EXPECT_EQ(*left_out, quick->not_modelled);
  EXPECT_TRUE(std::ranges::any_of(
      *left_out, [](const std::string& l) { return l.find("2:1 oversubscription") != std::string::npos; }));
}

TEST(LeftOutWithoutLinks, NothingIsKnownWhereNoLinksArePlayedOrMaxPlusCannot) {
  EXPECT_FALSE(left_out_without_links(data_parallel(4, 2)));
  model::Scenario s = on_a_tree();
  s.job.places.rule = model::PlaceRule::Random;
  EXPECT_FALSE(left_out_without_links(s));
  s = on_a_tree();
  s.policy.kind = model::PolicyKind::Asynchronous;
  EXPECT_FALSE(left_out_without_links(s));
}

}  // namespace
}  // namespace cox::simulate
