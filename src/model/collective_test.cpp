// SPDX-License-Identifier: Apache-2.0
#include "cox/model/collective.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace cox::model {
namespace {

TEST(Collective, NamesAreDistinctAndReadBack) {
  std::set<std::string_view> names;
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto c = static_cast<Collective>(i);
    EXPECT_FALSE(name_of(c).empty());
    EXPECT_EQ(collective_from_name(name_of(c)), c);
    names.insert(name_of(c));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCollectiveCount));
}

TEST(Collective, ValuesOfTheRunFormatDoNotMove) {
  EXPECT_EQ(name_of(static_cast<Collective>(1)), "AllReduce");
  EXPECT_EQ(name_of(static_cast<Collective>(2)), "ReduceScatter");
  EXPECT_EQ(name_of(static_cast<Collective>(3)), "AllGather");
  EXPECT_EQ(name_of(static_cast<Collective>(4)), "Broadcast");
  EXPECT_EQ(name_of(static_cast<Collective>(5)), "Reduce");
  EXPECT_EQ(name_of(static_cast<Collective>(6)), "Gather");
  EXPECT_EQ(name_of(static_cast<Collective>(7)), "Scatter");
  EXPECT_EQ(name_of(static_cast<Collective>(8)), "Scan");
  EXPECT_EQ(name_of(static_cast<Collective>(9)), "AllToAll");
  EXPECT_EQ(name_of(static_cast<Collective>(10)), "Barrier");
  EXPECT_EQ(name_of(static_cast<Collective>(11)), "Neighbor");
  EXPECT_EQ(name_of(static_cast<Collective>(12)), "SendRecv");
}

TEST(Collective, UnknownValuesAndNamesAreSafe) {
  EXPECT_EQ(name_of(static_cast<Collective>(200)), "Other");
  EXPECT_EQ(collective_from_name("All2All"), std::nullopt);
  EXPECT_EQ(collective_from_name(""), std::nullopt);
}

TEST(Collective, SpellingsOfProgramsAreUnderstood) {
  for (const char* name :
       {"all_reduce", "AllReduce", "ALLREDUCE", "all-reduce", "nccl:all_reduce", "allreduce_coalesced"})
    EXPECT_EQ(synchronization_from_spelling(name), Collective::AllReduce) << name;
  EXPECT_EQ(synchronization_from_spelling("reduce_scatter_tensor"), Collective::ReduceScatter);
  EXPECT_EQ(synchronization_from_spelling("all_gather_into_tensor"), Collective::AllGather);
  EXPECT_EQ(synchronization_from_spelling("all_to_all_single"), Collective::AllToAll);
  EXPECT_EQ(synchronization_from_spelling("barrier"), Collective::Barrier);
  for (const char* name : {"", "reduce", "all_reduce_hook", "grads-all-reduce", "forward:all_reduce",
                           "broadcast", "all_reduce.py", ":", "nccl:"})
    EXPECT_EQ(synchronization_from_spelling(name), std::nullopt) << name;
}

TEST(Collective, OnlySomeHoldEveryRankBack) {
  for (const auto c : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
                       Collective::AllToAll, Collective::Barrier})
    EXPECT_TRUE(synchronizes_all(c)) << name_of(c);
  for (const auto c : {Collective::Other, Collective::Broadcast, Collective::Reduce, Collective::Gather,
                       Collective::Scatter, Collective::Scan, Collective::Neighbor, Collective::SendRecv})
    EXPECT_FALSE(synchronizes_all(c)) << name_of(c);
}

TEST(BusBandwidth, FactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::AllReduce, 2), 1.0);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::AllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::ReduceScatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::AllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::AllToAll, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::Broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::Reduce, 8), 1);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::AllReduce, 1), 1);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::AllReduce, 0), 1);
}

}  // namespace
}  // namespace cox::model
