// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/simulate/render.hpp"

namespace cox::simulate {
namespace {

constexpr Seconds kMilli{1e-3};

TEST(DelayText, WhatEndsBeforeItsTimeIsEarlier) {
  const KeptDelay kept{.delay = 4 * kMilli,
                       .step = 7,
                       .by = {{.mean = 4 * kMilli, .replicas = 2}, {.mean = -1 * kMilli, .replicas = 2}},
                       .ranks = {-2 * kMilli, 3 * kMilli, Seconds{}}};
  const std::vector<std::string> lines = text_lines(kept);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[1].find("4.00 ms later") != std::string::npos) << lines[1];
  EXPECT_TRUE(lines[2].find(" 1.00 ms earlier") != std::string::npos) << lines[2];
  EXPECT_EQ(lines[3],
            "  at the end 1 of 3 ranks are later (first seed), from 2.00 ms earlier to 3.00 ms later");
}

}  // namespace
}  // namespace cox::simulate
