// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/saver.hpp"

#include <gtest/gtest.h>

namespace cox::train {
namespace {

TEST(CheckpointSaver, ReadsHowOften) {
  EXPECT_EQ(read_save_every("100")->steps, 100);
  EXPECT_EQ(read_save_every("5%")->steps, 0);
  EXPECT_DOUBLE_EQ(read_save_every("5%")->share, 0.05);
  EXPECT_DOUBLE_EQ(read_save_every("0.5%")->share, 0.005);
  for (const char* wrong : {"", "%", "0", "-1", "1.5", "0%", "100%", "nan%", "5 %", "often", "1e30"}) {
    const auto read = read_save_every(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().id, "train-002");
  }
}

// Saves of 2 s among steps of 1 s, at most a fifth of the time: four times as long between them as they take.
TEST(CheckpointSaver, KeepsToAShare) {
  EXPECT_EQ(steps_until_saved(0.2, Seconds{2}, Seconds{2}, Seconds{10}, Seconds{1}), 6);
  EXPECT_EQ(steps_until_saved(0.2, Seconds{4}, Seconds{2}, Seconds{16}, Seconds{1}), 8);
  EXPECT_EQ(steps_until_saved(0.2, Seconds{4}, Seconds{2}, Seconds{160}, Seconds{1}), 1) << "there is room";
  double saved = 0, stepped = 20;
  for (int i = 0; i < 100; ++i) {
    const double cost = i % 7 == 0 ? 3 : 2;
    saved += cost;
    EXPECT_LE(saved, 0.2 * (saved + stepped) * (1 + 1e-12)) << i;
    stepped += static_cast<double>(
                   steps_until_saved(0.2, Seconds{saved}, Seconds{3}, Seconds{stepped}, Seconds{0.5})) *
               0.5;
  }
  EXPECT_GT(saved, 0.19 * (saved + stepped)) << "no fewer than the share allows";
}

}  // namespace
}  // namespace cox::train
