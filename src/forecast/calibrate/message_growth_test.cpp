// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/message_growth.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

constexpr Bytes kBytes{40'000'000};
constexpr model::Collective kSum = model::Collective::AllReduce;

MessageLaw ring(double latency_us = 3) {
  return {
      .passes = 2, .latency = Seconds{latency_us * 1e-6}, .per_byte = TimePerByte::seconds_per_byte(4e-11)};
}

/// Times of so many ranks, as the law says.
Sample sent_among(std::int64_t ranks, const MessageLaw& law, std::vector<Bytes> sizes = {kBytes},
                  bool one_node = false) {
  Sample out;
  out.record.overlapped_among = ranks;
  for (const Bytes b : sizes)
    out.record.messages.push_back({.kind = kSum,
                                   .ranks = ranks,
                                   .one_node = one_node,
                                   .bytes = b,
                                   .times = std::vector<Seconds>(20, law.at(ranks, b))});
  return out;
}

/// How many times longer among 512 ranks than among 16: ends of 90 % of the draws.
std::pair<double, double> ends(const MessageGrowth& growth) {
  std::vector<double> d;
  for (const MessageLaw& law : growth.draws) d.push_back(law.at(512, kBytes) / law.at(16, kBytes));
  return {quantile(d, 0.05), quantile_in_place(d, 0.95)};
}

TEST(MessageGrowth, ThreeNumbersOfRanksTellARing) {
  const MessageLaw truth = ring();
  const auto growth = message_growth(
      std::vector{sent_among(16, truth), sent_among(32, truth), sent_among(64, truth)}, kSum, 100);
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->sizes, 3);
  EXPECT_EQ(growth->value.way, MessageWay::Ring);
  EXPECT_NEAR(growth->value.at(512, kBytes) / truth.at(512, kBytes), 1, 0.1);
  const auto [low, high] = ends(*growth);
  const double grows = truth.at(512, kBytes) / truth.at(16, kBytes);
  EXPECT_LT(low, grows);
  EXPECT_GT(high, grows);
  EXPECT_LT(high / low, 3);
}

// Nearly all of the time may be the latency of 30 rounds, or none of it.
TEST(MessageGrowth, OneNumberOfRanksAndOneSizeLeaveLatencyOpen) {
  const auto one = message_growth(std::vector{sent_among(16, ring())}, kSum, 100);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->sizes, 1);
  EXPECT_FALSE(one->bytes_told);
  EXPECT_GT(ends(*one).second, 4 * ends(*one).first);
  const auto two_sizes =
      message_growth(std::vector{sent_among(16, ring(20), {Bytes{4'000'000}, kBytes})}, kSum, 100);
  ASSERT_TRUE(two_sizes);
  EXPECT_TRUE(two_sizes->bytes_told);
  EXPECT_NEAR(two_sizes->value.at(512, kBytes) / ring(20).at(512, kBytes), 1, 0.1);
  const double grows = ring(20).at(512, kBytes) / ring(20).at(16, kBytes);
  EXPECT_LT(ends(*two_sizes).second, 1.2 * grows) << "a ring's, whose latency is told; a tree's is less";
}

TEST(MessageGrowth, WhatLeavesANodeIsNotToldByOne) {
  const auto inside = message_growth(std::vector{sent_among(8, ring(), {kBytes}, true)}, kSum, 100);
  ASSERT_TRUE(inside);
  EXPECT_TRUE(inside->only_one_node);
  const MessageLaw& law = inside->draws.front();
  EXPECT_GT(law.at(9, kBytes), law.at(8, kBytes));
  const auto both =
      message_growth(std::vector{sent_among(8, ring(0.1), {kBytes}, true), sent_among(16, ring())}, kSum, 10);
  ASSERT_TRUE(both);
  EXPECT_FALSE(both->only_one_node);
  EXPECT_EQ(both->sizes, 1) << "the node's own network is another";
}

// A message of all bytes in each of log2 n rounds: 4, 5 and 6 times as long.
TEST(MessageGrowth, DoublingIsToldFromARing) {
  MessageLaw truth = ring();
  truth.way = MessageWay::Doubling;
  const auto growth = message_growth(
      std::vector{sent_among(16, truth), sent_among(32, truth), sent_among(64, truth)}, kSum, 100);
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->value.way, MessageWay::Doubling);
  EXPECT_NEAR(growth->value.at(512, kBytes) / truth.at(512, kBytes), 1, 0.1);
}

TEST(MessageGrowth, NoTimesTellNothing) {
  EXPECT_FALSE(message_growth(std::vector{sent_among(16, ring())}, model::Collective::AllGather, 10));
  EXPECT_FALSE(message_growth({}, kSum, 10));
}

}  // namespace
}  // namespace cox::forecast
