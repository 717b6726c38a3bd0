// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "evaluate/learning/answer_for_tests.hpp"

namespace cox::evaluate {
namespace {

double eleven(const std::string& name) {
  return value_of("example-11", name);
}
double twelve(const std::string& name) {
  return value_of("example-12", name);
}

// By hand: 5 x 365.25 / 100 = 18.2625 days; 30 / 18.2625 = 1.6427 failures, each undoing 2 of 4 hours.
TEST(CheckpointPlan, OfAHundredDevicesOverAMonth) {
  EXPECT_NEAR(eleven("between-failures"), 18.2625 * 86400, 1);
  EXPECT_NEAR(eleven("failures"), 1.64271, 1e-5);
  EXPECT_NEAR(eleven("any-failure"), 0.80655, 1e-4);
  EXPECT_NEAR(eleven("lost-by-failures"), 1.64271 * 7200, 1);
  EXPECT_NEAR(eleven("writing"), 1.0 / 12, 1e-12);
  EXPECT_NEAR(eleven("writes"), 60 * 3600, 1e-6);
  EXPECT_NEAR(eleven("best-interval-first-order"), std::sqrt(2 * 1200 * 18.2625 * 86400), 1);
  EXPECT_LT(eleven("overhead-at-best"), eleven("overhead"));
}

// To first order C / tau + tau / 2M; what is drawn knows no formula.
TEST(CheckpointPlan, JobsThatAreDrawnMeetTheLaw) {
  const double first_order = 1.0 / 12 + 4.0 / (2 * 18.2625 * 24);
  EXPECT_NEAR(eleven("overhead"), first_order, 0.002);
  EXPECT_NEAR(eleven("overhead-drawn"), eleven("overhead"), 0.001);
  EXPECT_NEAR(eleven("failures-drawn"), eleven("failures") * (1 + eleven("overhead")), 0.12);
  const auto frail = with_input("example-11", "devices=2000");  // a failure in 22 h, nearly two a day
  ASSERT_TRUE(frail);
  for (const study::CrossCheck& c : frail->computation.checks) EXPECT_TRUE(c.agrees()) << c.name;
}

// The least of (e^((tau + C) / M) - 1) M / tau, found by halving outside of cox: 20 min with 100 and with 1000 devices, 2 min with 100.
// To first order the last two are one number.
TEST(CheckpointPlan, BestIntervalsAreThoseOfOneLaw) {
  EXPECT_NEAR(eleven("best-interval") / 60, 1012.342, 0.05);
  EXPECT_NEAR(eleven("best-interval-of-more") / 60, 311.139, 0.05);
  EXPECT_NEAR(eleven("best-interval-with-faster-storage") / 60, 323.001, 0.05);
}

// What is left at the end is shorter than an interval and no whole number of seconds: the job ends all the same.
TEST(CheckpointPlan, AJobThatDoesNotDivideIntoIntervalsEnds) {
  for (const char* change : {"job=1ms", "job=1234567ms", "interval=1234567ms"}) {
    const auto a = with_input("example-11", change);
    ASSERT_TRUE(a) << change;
  }
}

TEST(CheckpointPlan, FasterStorageAsksForShorterIntervals) {
  EXPECT_LT(eleven("best-interval-with-faster-storage"), 0.4 * eleven("best-interval-first-order"));
  EXPECT_LT(eleven("best-interval-2"), eleven("best-interval-1"));
}

// 175e9 x 4 bytes over 64 devices; 127 + 8 slots of 50 ms; a ring over 16 at 200 GB/s.
TEST(HybridPlan, OfAHundredAndSeventyFiveBillion) {
  EXPECT_NEAR(twelve("weights-tensor"), 87.5e9, 1);
  EXPECT_NEAR(twelve("weights-tensor-pipeline"), 10.9375e9, 1);
  EXPECT_NEAR(twelve("state-tensor-pipeline"), 43.75e9, 1);
  EXPECT_NEAR(twelve("bubble"), 7.0 / 135, 1e-12);
  EXPECT_NEAR(twelve("forward"), 6.75, 1e-9);
  EXPECT_NEAR(twelve("all-reduce"), 2 * 15.0 / 16 * 10.9375e9 / 200e9, 1e-9);
  EXPECT_EQ(twelve("nodes"), 128);
  EXPECT_EQ(twelve("layers-of-a-stage"), 12);
}

TEST(HybridPlan, DegreesThatDoNotFitAreRefused) {
  const auto studies = study::read_studies(COX_STUDIES);
  ASSERT_TRUE(studies);
  for (study::Study s : *studies) {
    if (s.name != "example-12") continue;
    ASSERT_TRUE(study::set_input(s, "pipeline=7"));
    const auto a = study::run_study(s, computations(), {});
    ASSERT_FALSE(a);
    EXPECT_EQ(a.error().id, "study-003");
  }
}

}  // namespace
}  // namespace cox::evaluate
