// SPDX-License-Identifier: Apache-2.0
// Theorems 5 and 10: bounds that the source prints, beside what the engine computes.
#include <algorithm>
#include <cmath>
#include <vector>

#include "exercises/jobs.hpp"

namespace cox::exercises {
namespace {

using simulate::testing::data_parallel;
using simulate::testing::work_of;

/// A step of n workers that share `work` of computing, and do each `fixed` more, whatever their number.
double step_of(int n, Seconds work, Seconds fixed) {
  model::Scenario s = data_parallel(n, 1);
  work_of(s).layers[0] = {
      .forward = work / (3.0 * n), .backward = 2 * work / (3.0 * n), .gradients = {}, .activations = {}};
  work_of(s).optimizer = fixed;
  s.across = s.inside = {};
  const auto played = simulate::simulate(s, {.threads = 1});
  EXPECT_TRUE(played);
  return played ? played->total.count() : 0;
}

// False as a bound: n / (1 + (n - 1) rho) lies below the speed-up n (1 + rho) / (1 + n rho) of a job whose communication
// takes the same for any n, for every n > 1: what it calls the most is exceeded.
TEST(Theorem, T05ThePrintedBoundOfTheSpeedUpLiesBelowTheExactValue) {
  const Seconds work{0.8};
  for (const double rho : {0.01, 0.05, 0.1, 0.5, 1.0}) {
    const double one = step_of(1, work, rho * work);
    for (const int n : {2, 4, 8, 64}) {
      const double exact = one / step_of(n, work, rho * work);
      EXPECT_NEAR(exact, n * (1 + rho) / (1 + n * rho), 1e-9 * n);
      EXPECT_GT(exact, n / (1 + (n - 1) * rho)) << n << ' ' << rho;
      EXPECT_LT(exact, (1 + rho) / rho) << "this one is a bound, and is come near";
    }
    EXPECT_GT(one / step_of(4096, work, rho * work), 0.9 * (1 + rho) / rho * 4096 / (4096 + 1 / rho));
  }
}

// Computing a / n and a fixed b: the time is never below 2 sqrt(a b / n), and meets it where both parts are equal. It is
// never below b either, which the conclusion, a time that falls as 1 / sqrt(n), would be.
TEST(Theorem, T10TheLeastTimeIsMetWhereBothPartsAreEqualAndNowhereElse) {
  const Seconds a{0.48}, b{0.03};
  int nearest = 0;
  double least = 1e9;
  for (const int n : {1, 2, 4, 8, 15, 16, 17, 32, 64, 256}) {
    const double time = step_of(n, a, b);
    const double bound = 2 * std::sqrt(a.count() * b.count() / n);
    EXPECT_NEAR(time, a.count() / n + b.count(), 1e-9) << n;
    EXPECT_GT(time, bound - 1e-9) << n;
    EXPECT_GE(time, b.count());
    if (time / bound < least) {
      least = time / bound;
      nearest = n;
    }
  }
  EXPECT_EQ(nearest, 16) << "a / n = b";
  EXPECT_NEAR(least, 1, 1e-6);
  const double at_16 = step_of(16, a, b);
  EXPECT_LT(at_16 / 4, b.count()) << "sixteen times the workers would take a quarter of the time";
  EXPECT_GT(step_of(256, a, b), 2 * at_16 / 4);
}

}  // namespace
}  // namespace cox::exercises
