// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "evaluate/learning/answer_for_tests.hpp"

namespace cox::evaluate {
namespace {

TEST(ConstantDelay, UpdatesOfTheBestRateGrowWithTheDelay) {
  // By a script of its own with another grid of rates: chapter-part3, C.3.
  const std::pair<const char*, double> expected[] = {{"updates-tau0", 89},    {"updates-tau1", 178},
                                                     {"updates-tau5", 613},   {"updates-tau10", 1170},
                                                     {"updates-tau20", 2285}, {"updates-tau50", 5627}};
  for (const auto& [name, updates] : expected)
    EXPECT_NEAR(value_of("constant-delay", name), updates, 0.03 * updates) << name;
  EXPECT_NEAR(value_of("constant-delay", "added-by-a-unit-tau50"), 1.25, 0.05);
}

TEST(ConstantDelay, OneSmallRateHidesItUntilItDiverges) {
  const auto& v = values_of("constant-delay");
  EXPECT_LT(v.at("updates-fixed-rate-tau20"), v.at("updates-fixed-rate-tau0"));
  EXPECT_FALSE(v.contains("updates-fixed-rate-tau50"));
}

TEST(ConstantDelay, ReductionsThatAreStable) {
  EXPECT_NEAR(value_of("constant-delay", "least-c-tau10"), 0.57, 0.005);
  EXPECT_NEAR(value_of("constant-delay", "least-c-tau50"), 0.62, 0.005);
  EXPECT_NEAR(value_of("constant-delay", "reduction-tau50"), 32, 0.5);
}

TEST(StalenessBound, ThrowsAwayWhatIsOlder) {
  // By a script of its own: chapter-part3, C.3, and learning.md, section 3.
  EXPECT_NEAR(value_of("staleness-bound", "thrown-away-bound0"), 0.85, 0.01);
  EXPECT_NEAR(value_of("staleness-bound", "thrown-away-bound1"), 0.71, 0.01);
  EXPECT_NEAR(value_of("staleness-bound", "thrown-away-bound5"), 0.31, 0.01);
  EXPECT_NEAR(value_of("staleness-bound", "thrown-away-bound10"), 0.065, 0.01);
  EXPECT_EQ(value_of("staleness-bound", "thrown-away-bound50"), 0);
}

TEST(StalenessBound, BeyondTheOldestUpdateIsNone) {
  for (const char* what : {"updates-", "time-", "mean-age-"})
    EXPECT_EQ(value_of("staleness-bound", what + std::string("bound50")),
              value_of("staleness-bound", what + std::string("no-bound")));
  EXPECT_NEAR(value_of("staleness-bound", "mean-age-no-bound"), 7, 0.1);
}

// What a delay costs is over no delay at all, whether that is in the list or not, and in any order.
TEST(ConstantDelay, ASlowdownIsOverNoDelay) {
  const auto a = with_input("constant-delay", "delays=[5, 1]");
  ASSERT_TRUE(a);
  const auto& values = a->computation.values;
  const auto found = std::ranges::find(values, "slowdown-tau5", &study::Computed::name);
  ASSERT_NE(found, values.end());
  EXPECT_EQ(found->value.in_base_unit(), value_of("constant-delay", "slowdown-tau5"));
}

}  // namespace
}  // namespace cox::evaluate
