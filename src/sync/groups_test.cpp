// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/sync/policy.hpp"

namespace cox::sync {
namespace {

using model::PolicyKind;

/// Members in any order that the rules allow; the ledgers of both levels at every event.
struct NestedWalk {
  NestedWalk(const model::PolicySpec& between, int workers, int size)
      : groups(workers, size), policy(between, workers / size), outer(workers / size) {
    for (int w = 0; w < workers; ++w) can.push_back(w);
    for (int g = 0; g < groups.count(); ++g) inner.emplace_back(size);
  }
  void step(std::uint64_t draw) {
    const auto pick = draw % can.size();
    const int w = can[pick];
    can.erase(can.begin() + static_cast<std::ptrdiff_t>(pick));
    const auto group = groups.arrived(w);
    take_inside(w / groups.size(), {.kind = StreamEvent::Kind::Delivered, .update = inside(w)});
    if (!group) return;
    Ledger& own = inner[static_cast<std::size_t>(*group)];
    take_inside(*group,
                {.kind = StreamEvent::Kind::Advanced, .update = {.version_applied = own.version() + 1}});
    policy.delivered(*group, released);
    for (const StreamEvent& e : policy.events()) {
      ASSERT_TRUE(outer.take(e)) << outer.error();
      ASSERT_EQ(outer.ages(), outer.aged());
    }
    for (const int g : released) {
      const int first = groups.begin(g);
      for (int i = 0; i < groups.size(); ++i) {
        can.push_back(first + i);
        take_inside(g,
                    {.kind = StreamEvent::Kind::Read,
                     .update = {.worker = i, .version_read = inner[static_cast<std::size_t>(g)].version()}});
      }
    }
  }
  [[nodiscard]] Update inside(int w) const {
    const std::int64_t version = inner[static_cast<std::size_t>(w / groups.size())].version();
    return {.worker = w % groups.size(), .version_read = version, .version_applied = version};
  }
  void take_inside(int g, const StreamEvent& e) {
    Ledger& own = inner[static_cast<std::size_t>(g)];
    ASSERT_TRUE(own.take(e)) << own.error();
    ASSERT_EQ(own.ages(), own.aged());
  }
  Groups groups;
  Policy policy;
  Ledger outer;
  std::vector<Ledger> inner;
  std::vector<int> can, released;
};

TEST(Groups, NestedLedgersHoldAtEveryEvent) {
  for (const model::PolicySpec& between :
       {model::PolicySpec{.kind = PolicyKind::Asynchronous},
        model::PolicySpec{.kind = PolicyKind::BoundedWait, .staleness = 2},
        model::PolicySpec{.kind = PolicyKind::BoundedDiscard, .staleness = 1},
        model::PolicySpec{.kind = PolicyKind::LocalSgd, .local_steps = 3}, model::PolicySpec{}})
    for (const int size : {1, 2, 4}) {
      NestedWalk walk(between, 8, size);
      std::uint64_t x = 3;
      for (int i = 0; i < 2000; ++i) {
        ASSERT_FALSE(walk.can.empty()) << "the job waits for ever";
        x = x * 6364136223846793005U + 1442695040888963407U;
        walk.step(x >> 33);
      }
      EXPECT_GT(walk.outer.version(), 50);
      for (const Ledger& own : walk.inner) EXPECT_EQ(own.largest_age(), 0);
      if (between.kind == PolicyKind::BoundedWait) {
        EXPECT_LE(walk.outer.largest_age(), (8 / size - 1) * (2 * 2 + 1));
      }
    }
}

TEST(Groups, AGroupIsThereWithItsLastMember) {
  Groups groups(4, 2);
  EXPECT_EQ(groups.count(), 2);
  EXPECT_FALSE(groups.arrived(3));
  EXPECT_FALSE(groups.arrived(0));
  EXPECT_EQ(groups.arrived(2), 1);
  EXPECT_EQ(groups.begin(1), 2);
  EXPECT_FALSE(groups.arrived(2));
  EXPECT_EQ(groups.arrived(1), 0);
}

}  // namespace
}  // namespace cox::sync
