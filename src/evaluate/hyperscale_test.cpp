// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "cox/evaluate/computations.hpp"
#include "cox/study/study.hpp"

namespace cox::evaluate {
namespace {

study::AnsweredStudy answer() {
  const auto studies = study::read_studies(COX_STUDIES);
  EXPECT_TRUE(studies);
  for (const study::Study& s : *studies) {
    if (s.name != "hyperscale-fabric") continue;
    auto a = study::run_study(s, computations(), {.threads = 1});
    EXPECT_TRUE(a) << a.error().to_string();
    return *a;
  }
  ADD_FAILURE() << "no such study";
  return {};
}

std::optional<double> value(const study::AnsweredStudy& a, const std::string& name) {
  for (const study::Computed& c : a.computation.values)
    if (c.name == name) return c.value.in_base_unit();
  return std::nullopt;
}

TEST(Hyperscale, FourRegimesAndTheirMechanisms) {
  const study::AnsweredStudy a = answer();
  const double n1 = *value(a, "N1"), n2 = *value(a, "N2"), most = *value(a, "N*");
  EXPECT_LT(n1, n2);
  EXPECT_LT(n2, most);
  // By a script of its own, other derivatives: 90, 2,723, 4,116.
  EXPECT_NEAR(n1, 90, 1);
  EXPECT_NEAR(n2, 2723, 5);
  EXPECT_NEAR(most, 4116, 5);
  // Switching the named mechanism off removes or moves its transition; others hardly move it.
  EXPECT_NEAR(*value(a, "N1 without oversubscription between pods"), 339, 2);
  EXPECT_NEAR(*value(a, "N* without restarts that grow with the job"), 16'290, 100);
  EXPECT_NEAR(*value(a, "N* without failures, their checkpoints and restarts"), 32'200, 400);
  EXPECT_NEAR(*value(a, "N* without time-outs in sequential rounds"), 1.02 * most, 0.01 * most);
  for (const study::CrossCheck& c : a.computation.checks) EXPECT_TRUE(c.agrees()) << c.name;
}

TEST(Hyperscale, ControlMovesTheSizeOfMostThroughput) {
  const study::AnsweredStudy a = answer();
  EXPECT_GT(*value(a, "N* with control"), 2 * *value(a, "N*"));
  EXPECT_GT(*value(a, "throughput of N* with control"), 1.3);
  EXPECT_LT(*value(a, "throughput of twice N*"), 0.8);  // more nodes do less
}

}  // namespace
}  // namespace cox::evaluate
