// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/advice.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cox::pace {
namespace {

std::vector<AdviceKind> remedies(const Facts& facts) {
  std::vector<AdviceKind> out;
  const AdviceList list = advise(facts);
  for (const Advice& a : list.items()) out.push_back(a.remedy);
  return out;
}
using Order = std::vector<AdviceKind>;

TEST(Advice, SpinningWaitersOnSharedCoresComeFirst) {
  Facts facts{.ranks_on_host = 32, .cores = 2, .wait = WaitMode::Spin};
  EXPECT_EQ(remedies(facts), Order{AdviceKind::ChangeWaitMode});
  facts.persistent = true;
  facts.host_busy_at_start = true;
  facts.priority_undoable = true;
  EXPECT_EQ(remedies(facts), (Order{AdviceKind::ChangeWaitMode, AdviceKind::Delay}))
      << "priority lost half of the throughput where waiters spin";
  facts.wait = WaitMode::Block;
  EXPECT_EQ(remedies(facts), (Order{AdviceKind::RaisePriority, AdviceKind::Delay}));
  facts.priority_undoable = false;
  EXPECT_EQ(remedies(facts), Order{AdviceKind::Delay});
}

TEST(Advice, AWaiterThatHasItsCoreForItselfMaySpin) {
  EXPECT_EQ(remedies({.ranks_on_host = 2, .cores = 2, .wait = WaitMode::Spin}), Order{AdviceKind::Nothing});
  EXPECT_EQ(remedies({.ranks_on_host = 8, .cores = 0, .wait = WaitMode::Spin}), Order{AdviceKind::Nothing});
}

TEST(Advice, ADelayNeedsPersistentImbalanceAndSomethingShared) {
  EXPECT_EQ(remedies({.persistent = true, .link_busy_at_start = true}), Order{AdviceKind::Delay});
  EXPECT_EQ(remedies({.persistent = true}), Order{AdviceKind::Nothing});
  EXPECT_EQ(remedies({.link_busy_at_start = true}), Order{AdviceKind::Nothing});
  EXPECT_EQ(remedies({.persistent = true, .rotating = true, .link_busy_at_start = true}),
            Order{AdviceKind::Nothing});
  EXPECT_EQ(remedies({.persistent = true, .link_busy_at_start = true, .launch_ahead = true}),
            Order{AdviceKind::Nothing});
}

TEST(Advice, GroupsOnOneLinkAreStaggeredBeforeAnythingIsDelayed) {
  EXPECT_EQ(remedies({.persistent = true, .link_busy_at_start = true, .groups_share_link = true}),
            (Order{AdviceKind::StaggerGroups, AdviceKind::Delay}));
}

TEST(Advice, EveryItemSaysWhyWhatAndWhatWasSeen) {
  for (int bits = 0; bits < 1024; ++bits) {
    const auto bit = [bits](int n) { return (bits >> n & 1) != 0; };
    const Facts facts{.ranks_on_host = bit(0) ? 32U : 1U,
                      .cores = 2,
                      .wait = bit(1) ? WaitMode::Spin : (bit(2) ? WaitMode::Block : WaitMode::Unknown),
                      .persistent = bit(3),
                      .rotating = bit(4),
                      .host_busy_at_start = bit(5),
                      .link_busy_at_start = bit(6),
                      .groups_share_link = bit(7),
                      .priority_undoable = bit(8),
                      .launch_ahead = bit(9)};
    const AdviceList list = advise(facts);
    ASSERT_FALSE(list.items().empty());
    for (const Advice& a : list.items()) {
      EXPECT_NE(std::string(a.why), "");
      EXPECT_NE(std::string(a.action), "");
      EXPECT_NE(std::string(a.evidence), "");
      if (a.remedy == AdviceKind::Nothing) {
        EXPECT_EQ(list.items().size(), 1U);
      }
      if (a.remedy == AdviceKind::Delay) {
        EXPECT_TRUE(facts.persistent && !facts.launch_ahead);
      }
    }
  }
}

}  // namespace
}  // namespace cox::pace
