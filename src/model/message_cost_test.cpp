// SPDX-License-Identifier: Apache-2.0
#include "cox/model/message_cost.hpp"

#include <gtest/gtest.h>

#include <set>

#include "cox/model/schedule.hpp"

namespace cox::model {
namespace {

using namespace literals;

constexpr MessageCost kAlphaBeta{.latency = 1us, .per_byte = Bandwidth::gbyte_per_s(50).time_per_byte()};

TEST(MessageCost, AlphaBetaCountsEveryByte) {
  EXPECT_DOUBLE_EQ(kAlphaBeta(0_B).count(), 1e-6);
  EXPECT_DOUBLE_EQ(kAlphaBeta(1_B).count(), 1e-6 + 20e-12);
  EXPECT_DOUBLE_EQ(kAlphaBeta(1_MB).count(), 21e-6);
  EXPECT_NEAR(kAlphaBeta.occupied(1_MB).count(), 20e-6, 1e-18);
}

TEST(MessageCost, LogGopsCountsTheGapsBetweenBytes) {
  MessageCost c = kAlphaBeta;
  c.form = CostForm::LogGops;
  EXPECT_DOUBLE_EQ(c(0_B).count(), 1e-6);
  EXPECT_DOUBLE_EQ(c(1_B).count(), 1e-6);
  EXPECT_DOUBLE_EQ(c(1'000'001_B).count(), 21e-6);
  EXPECT_DOUBLE_EQ(c.occupied(0_B).count(), 0);
  EXPECT_DOUBLE_EQ(c.occupied(1_B).count(), 0);
}

TEST(MessageCost, NamesDiffer) {
  std::set<std::string_view> names;
  for (const auto p : {Protocol::Rendezvous, Protocol::Eager, Protocol::EagerGap}) names.insert(name_of(p));
  for (const auto f : {CostForm::AlphaBeta, CostForm::LogGops, CostForm::Nccl}) names.insert(name_of(f));
  for (int a = 0; a <= static_cast<int>(kLastAlgorithm); ++a)
    names.insert(name_of(static_cast<Algorithm>(a)));
  EXPECT_EQ(names.size(), 3u + 3u + 15u);
}

}  // namespace
}  // namespace cox::model
