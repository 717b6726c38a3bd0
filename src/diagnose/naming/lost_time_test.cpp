// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/lost_time.hpp"

#include <gtest/gtest.h>

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

/// One operation of one group: when each member came, and its self-delay.
struct OneOp {
  Matching m;
  Skew skew;
  OneOp(std::vector<Duration> arrival, std::vector<Duration> delay) {
    Group group;
    group.declared = static_cast<std::int64_t>(arrival.size());
    for (std::size_t k = 0; k < arrival.size(); ++k) group.members.push_back(static_cast<std::int32_t>(k));
    group.ops = 1;
    group.first_cell = 0;
    m.groups.push_back(group);
    m.entry = std::move(arrival);
    m.exit = std::move(delay);
    skew.ops.push_back({0, 0, 0});
  }
  [[nodiscard]] Savings without(const std::vector<std::vector<std::int32_t>>& sets) const {
    std::vector<Suspect> suspects;
    suspects.reserve(sets.size());
    for (const auto& set : sets) suspects.push_back({set, 0, 0, {}});
    return savings_without(m, skew, m.entry.size(), suspects);
  }
};

TEST(LostTime, OneLateRankSavesUpToTheNextLatest) {
  const OneOp op({10us, 11us, 17us, 13us}, {0us, 1us, 7us, 3us});
  EXPECT_EQ(op.without({{2}}).joint, 4us);
  EXPECT_EQ(op.without({{2}}).each[0].alone, 4us);
  EXPECT_EQ(op.without({{3}}).joint, 0us);
}

TEST(LostTime, SharesOfSeveralAddUpToWhatAllSave) {
  const OneOp op({10us, 11us, 19us, 15us}, {0us, 1us, 9us, 5us});
  const Savings s = op.without({{3}, {2}});
  EXPECT_EQ(s.joint, 8us);
  EXPECT_EQ(s.each[0].share, 2us);  // 15 to 11, shared by two
  EXPECT_EQ(s.each[1].share, 6us);  // and 19 to 15 alone
  EXPECT_EQ(s.each[0].alone, 0us);
  EXPECT_EQ(s.each[1].alone, 4us);
}

TEST(LostTime, ASetSavesOnlyTogether) {
  const OneOp op({10us, 20us, 20us, 11us}, {0us, 10us, 10us, 1us});
  EXPECT_EQ(op.without({{1}}).joint, 0us);
  EXPECT_EQ(op.without({{1, 2}}).joint, 9us);
  EXPECT_EQ(op.without({{1}, {2}}).each[0].share, Duration{9us} / 2);
}

TEST(LostTime, InheritedLatenessIsNotSaved) {
  const OneOp op({10us, 20us}, {0us, 3us});  // 7 of the 10 us came from before
  EXPECT_EQ(op.without({{1}}).joint, 3us);
}

TEST(LostTime, StepsOutsideOfTheWindowDoNotCount) {
  const OneOp op({10us, 20us}, {0us, 10us});
  EXPECT_EQ(savings_without(op.m, op.skew, 2, {{{1}, 1, 5, {}}}).joint, 0us);
  EXPECT_EQ(savings_without(op.m, op.skew, 2, {{{0, 1}, 0, 0, {0}}}).joint, 0us);
  EXPECT_EQ(savings_without(op.m, op.skew, 2, {{{0, 1}, 0, 0, {1}}}).joint, 10us);
}

}  // namespace
}  // namespace cox::diagnose
