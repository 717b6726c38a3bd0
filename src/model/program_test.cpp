// SPDX-License-Identifier: Apache-2.0
#include "cox/model/program.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cox::model {
namespace {

TEST(Dependencies, SayWhatEachOperationWaitsFor) {
  Dependencies d;
  const OperationIndex a = d.add();
  const OperationIndex b = d.add(a);
  const OperationIndex c = d.add(std::array{a, b});
  EXPECT_EQ(d.size(), 3U);
  EXPECT_EQ(d.edges(), 3U);
  EXPECT_TRUE(d.before(a).empty());
  EXPECT_EQ(d.before(c)[1], b);
  EXPECT_TRUE(d.is_ordered());
  EXPECT_EQ(d, Dependencies({0, 0, 1, 3}, {0, 0, 1}));
  EXPECT_FALSE(d.has_lags());
}

TEST(Dependencies, KnowWhetherTheyAreOrdered) {
  Dependencies forward;
  forward.add(OperationIndex{1});  // may come later, as in a trace
  forward.add();
  EXPECT_FALSE(forward.is_ordered());
  EXPECT_FALSE(Dependencies({0, 1, 1}, {1}).is_ordered());
  EXPECT_FALSE(Dependencies({0, 1}, {0}).is_ordered()) << "waits for itself";
  EXPECT_TRUE(Dependencies({0, 0, 1}, {0}).is_ordered());
}

TEST(Dependencies, LagsStayWithTheirEdges) {
  Dependencies d;
  const OperationIndex a = d.add();
  const OperationIndex b = d.add(a);
  const OperationIndex c = d.add(std::array{a, b}, std::array{Duration(10), Duration(-4)});
  const OperationIndex e = d.add(c);
  EXPECT_EQ(d.lag(b, 0), Duration::zero());
  EXPECT_EQ(d.lag(c, 1), Duration(-4));
  EXPECT_EQ(d.lag(e, 0), Duration::zero());
  EXPECT_TRUE(d.is_ordered());
}

TEST(Program, IsATableOrAGraphOrNothing) {
  Program p;
  EXPECT_TRUE(p.is_empty());
  EXPECT_FALSE(p.is_graph());
  EXPECT_FALSE(p.is_table());
  p.rank = {0, 0};
  EXPECT_TRUE(p.is_table());
  p.needs.add();
  EXPECT_FALSE(p.is_graph()) << "one operation of two";
  p.needs.add();
  EXPECT_TRUE(p.is_graph());
  EXPECT_FALSE(p.is_table());
}

TEST(Program, GroupsAreFoundByTheirNumber) {
  Program p;
  p.rank = {0, 0, 0};
  EXPECT_EQ(p.group_of(0), nullptr) << "no column";
  p.groups = {{.name = "a", .size = 2}};
  p.comm = {CommId(0), kNoComm, CommId(7)};
  ASSERT_NE(p.group_of(0), nullptr);
  EXPECT_EQ(p.group_of(0)->name, "a");
  EXPECT_EQ(p.group_of(1), nullptr);
  EXPECT_EQ(p.group_of(2), nullptr);
}

}  // namespace
}  // namespace cox::model
