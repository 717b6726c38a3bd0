// SPDX-License-Identifier: Apache-2.0
#include "guest/pacing/ordering.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "cox/guest/pace_text.hpp"

#include "guest/pacing/fake_process.hpp"

namespace cox::guest {
namespace {

using std::chrono::milliseconds;
using trace::RawRecord;

class OrderingTest : public FakeProcessTest {
 protected:
  void start(const char* text) {
    pace::Settings settings;
    ASSERT_EQ(read_pace(text, settings), -1);
    ordering_ = std::make_unique<Ordering>(settings, kFakeWorld);
  }
  Duration slept() const { return process_.slept_in_all(); }
  std::unique_ptr<Ordering> ordering_;
};

TEST_F(OrderingTest, OneThatComesEarlyIsHeldUntilTheOneBeforeItHasBegun) {
  start("always,order=5ms");
  ordering_->enter(1, 0);
  process_.while_asleep = [&] {
    if (process_.slept.size() == 3) ordering_->enter(1, 1);
  };
  ordering_->enter(1, 2);
  EXPECT_EQ(process_.slept.size(), 3U);
  ASSERT_EQ(process_.records.size(), 1U);
  const RawRecord& r = process_.records.front();
  EXPECT_EQ(r.kind, static_cast<std::uint8_t>(trace::EventKind::Pace));
  EXPECT_EQ(r.op, static_cast<std::uint8_t>(pace::Reason::InOrder));
  EXPECT_EQ(r.seq, 2U);
  EXPECT_EQ(r.bytes, 5'000'000U);  // the most that it could have been, in ns
  EXPECT_EQ(r.end - r.begin, 150'000U);
}

TEST_F(OrderingTest, NothingIsHeldLongerThanAsked) {
  for (const bool clock : {true, false}) {
    process_ = FakeProcess{};
    process_.clock_runs = clock;
    start("auto,order=1ms");
    ordering_->enter(1, 0);
    ordering_->enter(1, 2);  // 1 never comes
    EXPECT_EQ(slept(), Duration{milliseconds{1}}) << clock;
    // A group whose numbers have gaps is left alone for good.
    for (std::uint64_t k = 4; k < 100; k += 2) ordering_->enter(1, k);
    EXPECT_EQ(slept(), Duration{milliseconds{pace::Order::kMostExpired}}) << clock;
  }
}

TEST_F(OrderingTest, DoesNothingWhereItIsOff) {
  for (const char* text : {"always", "observe,order=5ms", "off,order=5ms"}) {
    start(text);
    ordering_->enter(1, 0);
    ordering_->enter(1, 5);
  }
  start("always,order=5ms");
  ordering_->enter(0, 0);  // a communicator that was not told of
  ordering_->enter(0, 5);
  process_.recording = false;
  ordering_->enter(1, 0);
  ordering_->enter(1, 5);
  EXPECT_TRUE(process_.slept.empty());
  EXPECT_TRUE(process_.records.empty());
}

TEST_F(OrderingTest, NothingIsHeldAheadOfAnAccelerator) {
  start("always,order=5ms");
  process_.accelerator = true;
  ordering_->enter(1, 0);
  ordering_->enter(1, 5);
  EXPECT_TRUE(process_.slept.empty());
}

TEST_F(OrderingTest, WhatCannotBeRecordedIsNotDone) {
  start("always,order=5ms");
  process_.room = false;
  ordering_->enter(1, 0);
  ordering_->enter(1, 5);
  EXPECT_TRUE(process_.slept.empty());
}

TEST_F(OrderingTest, CommunicatorsAreToldApartAndTheFifthIsLeftAlone) {
  start("always,order=1ms");
  for (std::uint32_t comm = 1; comm <= Ordering::kGroups + 1; ++comm) ordering_->enter(comm, 0);
  for (std::uint32_t comm = 1; comm <= Ordering::kGroups; ++comm) ordering_->enter(comm, 1);
  EXPECT_TRUE(process_.slept.empty());
  ordering_->enter(Ordering::kGroups + 1, 7);
  EXPECT_TRUE(process_.slept.empty());
  ordering_->enter(2, 7);
  EXPECT_EQ(slept(), Duration{milliseconds{1}});
}

}  // namespace
}  // namespace cox::guest
