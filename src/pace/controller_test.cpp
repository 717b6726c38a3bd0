// SPDX-License-Identifier: Apache-2.0
// The modes one at a time, against observations written down here. What the controllers of a job do together
// is in tests/property/pace_laws.cpp.
#include "cox/pace/controller.hpp"

#include <gtest/gtest.h>

namespace cox::pace {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Settings with_mode(Mode mode) {
  Settings settings;
  settings.mode = mode;
  return settings;
}

/// One rank whose iterations last 30 ms off a wait that the caller gives; `serve` says whether delays are.
struct Rank {
  explicit Rank(const Settings& settings) : controller(settings, 0, 4) {}
  void pass(Duration wait, Duration paced_period) {
    const Duration delay = controller.decide().delay;
    const Duration whole = delay > Duration::zero() ? paced_period : Duration{milliseconds{30}};
    const Duration left = wait > delay ? wait - delay : Duration::zero();
    controller.observe({.step = step++,
                        .work = whole - left - delay,
                        .sync = left,
                        .transfer = Duration{0},
                        .delayed = delay});
  }
  Controller controller;
  std::uint64_t step = 0;
};

TEST(Controller, OffAndObserveNeverDelay) {
  for (const Mode mode : {Mode::Off, Mode::Observe}) {
    Rank rank(with_mode(mode));
    for (int i = 0; i < 500; ++i) {
      rank.pass(milliseconds{10}, milliseconds{20});
      ASSERT_EQ(rank.controller.decide().delay, Duration::zero());
      ASSERT_EQ(rank.controller.decide().reason, Reason::Observing);
    }
  }
}

TEST(Controller, AutoHoldsWherePacedIterationsAreShorter) {
  Rank rank(with_mode(Mode::Auto));
  for (int i = 0; i < 300; ++i) rank.pass(milliseconds{10}, milliseconds{25});
  EXPECT_EQ(rank.controller.decide().state, State::Hold);
  EXPECT_NEAR(rank.controller.evidence().gain, 1.0 / 6, 1e-6);
  EXPECT_EQ(rank.controller.evidence().spent, Duration::zero());
}

TEST(Controller, AHoldTestsWithHalfABlock) {
  Settings settings = with_mode(Mode::Auto);
  settings.carry = 0;
  Rank rank(settings);
  for (int i = 0; i < 512; ++i) rank.pass(milliseconds{10}, milliseconds{25});
  int unpaced = 0;
  for (int i = 0; i < 1024; ++i) {
    rank.pass(milliseconds{10}, milliseconds{25});
    ASSERT_EQ(rank.controller.decide().state, State::Hold);
    unpaced += rank.controller.decide().reason == Reason::HoldOff ? 1 : 0;
  }
  EXPECT_EQ(unpaced, 1024 / 128 * 4);  // every eighth pair of blocks of 8
}

TEST(Controller, AHoldLeavesTheDelayOutForLongNowAndThen) {
  Rank rank(with_mode(Mode::Auto));
  int off = 0;
  for (int i = 0; i < 11'300; ++i) {
    rank.pass(milliseconds{10}, milliseconds{25});
    if (rank.controller.decide().reason != Reason::LongOff) continue;
    ++off;
    ASSERT_EQ(rank.controller.decide().delay, Duration::zero());
  }
  EXPECT_EQ(off, 128 + 384 + 384);  // of frames of 512, 2,048 and 8,192 steps
  EXPECT_EQ(rank.controller.decide().state, State::Hold);
  EXPECT_EQ(rank.controller.evidence().spent, Duration::zero());
}

TEST(Controller, AutoLetsGoWhereTheyAreNot) {
  for (const Duration paced : {Duration{milliseconds{30}}, Duration{milliseconds{32}}}) {
    Rank rank(with_mode(Mode::Auto));
    for (int i = 0; i < 200; ++i) {
      rank.pass(milliseconds{10}, paced);
      ASSERT_NE(rank.controller.decide().state, State::Hold);
    }
    EXPECT_EQ(rank.controller.decide().reason, Reason::BackingOff);
  }
}

TEST(Controller, AutoLeavesALateRankAndAnUnsteadyOneAlone) {
  Rank late(with_mode(Mode::Auto));
  Rank unsteady(with_mode(Mode::Auto));
  for (int i = 0; i < 300; ++i) {
    late.pass(Duration::zero(), milliseconds{20});
    unsteady.pass(milliseconds{i % 2 == 0 ? 0 : 12}, milliseconds{20});
    ASSERT_EQ(late.controller.decide().delay, Duration::zero());
    ASSERT_EQ(unsteady.controller.decide().delay, Duration::zero());
  }
  EXPECT_EQ(late.controller.decide().reason, Reason::NoSlack);
  EXPECT_EQ(unsteady.controller.decide().reason, Reason::NoSlack);
}

TEST(Controller, AutoTakesNoSlackThatAnotherGroupDoesNotHave) {
  Rank rank(with_mode(Mode::Auto));
  for (int i = 0; i < 300; ++i) {
    rank.controller.observe_other(0, microseconds{20});
    rank.pass(milliseconds{10}, milliseconds{20});
    ASSERT_EQ(rank.controller.decide().delay, Duration::zero());
  }
  EXPECT_EQ(rank.controller.decide().reason, Reason::OtherGroup);
}

TEST(Controller, AutoStaysPassiveAheadOfAnAccelerator) {
  Settings settings = with_mode(Mode::Auto);
  settings.launch_ahead = true;
  Rank rank(settings);
  for (int i = 0; i < 300; ++i) rank.pass(milliseconds{10}, milliseconds{20});
  EXPECT_EQ(rank.controller.decide().reason, Reason::LaunchAhead);
  EXPECT_EQ(rank.controller.decide().delay, Duration::zero());
}

TEST(Controller, PaperDelaysHalfTheMeanWaitWhileItIsAboveTheThreshold) {
  Rank rank(with_mode(Mode::Paper));
  for (int i = 0; i < 31; ++i) {
    rank.controller.observe({.step = rank.step++, .work = milliseconds{20}, .sync = milliseconds{10}});
    ASSERT_EQ(rank.controller.decide().delay, Duration::zero());
  }
  rank.controller.observe({.step = rank.step++, .work = milliseconds{20}, .sync = milliseconds{10}});
  EXPECT_EQ(rank.controller.decide().delay, Duration{milliseconds{5}});
  EXPECT_EQ(rank.controller.decide().reason, Reason::Threshold);
  for (int i = 0; i < 100; ++i)
    rank.controller.observe({.step = rank.step++, .work = milliseconds{30}, .sync = microseconds{10}});
  EXPECT_EQ(rank.controller.decide().delay, Duration::zero());
  EXPECT_EQ(rank.controller.decide().reason, Reason::Released);
}

TEST(Controller, AlwaysKeepsTheDelayOfTheFirstWindow) {
  Rank rank(with_mode(Mode::Always));
  for (int i = 0; i < 64; ++i) rank.pass(milliseconds{10}, milliseconds{30});
  EXPECT_EQ(rank.controller.decide().delay, Duration{milliseconds{5}});
  for (int i = 0; i < 200; ++i) rank.pass(Duration::zero(), milliseconds{35});
  EXPECT_EQ(rank.controller.decide().delay, Duration{milliseconds{5}});
}

TEST(Controller, RandomHasTheSameMeanAndStaysInItsBounds) {
  Rank rank(with_mode(Mode::Random));
  for (int i = 0; i < 64; ++i) rank.pass(milliseconds{4}, milliseconds{30});
  Duration sum{};
  constexpr int kSteps = 4000;
  for (int i = 0; i < kSteps; ++i) {
    rank.pass(milliseconds{4}, milliseconds{30});
    ASSERT_LE(rank.controller.decide().delay, Duration{microseconds{7500}});  // a quarter of 30 ms
    sum += rank.controller.decide().delay;
  }
  EXPECT_NEAR(in_seconds(sum / kSteps), 0.8 * 0.004, 0.0001);
}

TEST(Controller, AnImpossibleObservationIsLeftOut) {
  Rank rank(with_mode(Mode::Always));
  for (int i = 0; i < 100; ++i) rank.pass(milliseconds{10}, milliseconds{30});
  const std::uint64_t seen = rank.controller.seen();
  rank.controller.observe({.step = rank.step, .work = -milliseconds{10}, .sync = milliseconds{10}});
  EXPECT_EQ(rank.controller.seen(), seen);
  EXPECT_EQ(rank.controller.decide().reason, Reason::ClockStep);
  EXPECT_EQ(rank.controller.decide().delay, Duration::zero());
}

}  // namespace
}  // namespace cox::pace
