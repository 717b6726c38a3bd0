// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/simulate/render.hpp"

namespace cox::simulate {
namespace {

std::string total_line(Seconds mean, Seconds half) {
  Outcome o;
  o.over_replicas = {.mean = mean, .half_width_95 = half, .p50 = mean, .p99 = mean, .replicas = 3};
  return text_lines(model::Scenario{}, o, nullptr).at(3);
}

TEST(OutcomeText, AnIntervalThatReachesBelowZeroIsCutThereAndSaysSo) {
  EXPECT_EQ(total_line(Seconds{2}, Seconds{0.5}),
            "total        mean of 3 seeds 2.00 ± 0.5 s (95 %), p50 2.00 s, p99 2.00 s");
  EXPECT_EQ(total_line(Seconds{2}, Seconds{3}),
            "total        mean of 3 seeds 2.00 s (95 %: 0 to 5.00 s, cut at 0), p50 2.00 s, p99 2.00 s");
}

}  // namespace
}  // namespace cox::simulate
