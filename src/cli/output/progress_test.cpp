// SPDX-License-Identifier: Apache-2.0
#include "cli/output/progress.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace cox::cli {
namespace {

using namespace std::chrono_literals;

/// A stream and a clock that only moves when told to.
class ProgressTest : public ::testing::Test {
 protected:
  Progress make(ProgressStyle style) {
    return Progress(stream_, style, "reading", [this] { return now_; });
  }
  void pass(std::chrono::milliseconds span) { now_ += span; }
  std::ostringstream stream_;
  std::chrono::steady_clock::time_point now_{};
};

TEST_F(ProgressTest, ShortWorkSaysNothing) {
  for (const auto style : {ProgressStyle::Bar, ProgressStyle::Lines}) {
    Progress progress = make(style);
    for (int i = 0; i <= 100; ++i) {
      pass(5ms);
      progress.update(i, 100);
      if (i == 99) break;  // 500 ms: not yet over the limit
    }
  }
  EXPECT_EQ(stream_.str(), "");
}

TEST_F(ProgressTest, LinesComeEveryTenPercent) {
  Progress progress = make(ProgressStyle::Lines);
  pass(501ms);
  for (int i = 0; i <= 1000; ++i) progress.update(i, 1000);
  progress.finish();
  EXPECT_EQ(
      stream_.str(),
      "cox: reading 10 %\ncox: reading 20 %\ncox: reading 30 %\ncox: reading 40 %\ncox: reading 50 %\n"
      "cox: reading 60 %\ncox: reading 70 %\ncox: reading 80 %\ncox: reading 90 %\ncox: reading 100 %\n");
}

TEST_F(ProgressTest, LinesSkipWhatPassedInSilenceAndNeverGoBack) {
  Progress progress = make(ProgressStyle::Lines);
  progress.update(40, 100);
  pass(600ms);
  progress.update(57, 100);
  progress.update(31, 100);
  progress.update(59, 100);
  progress.update(60, 100);
  EXPECT_EQ(stream_.str(), "cox: reading 50 %\ncox: reading 60 %\n");
}

TEST_F(ProgressTest, BarIsDrawnOncePerPercentAndRemoved) {
  {
    Progress progress = make(ProgressStyle::Bar);
    pass(1s);
    progress.update(50, 100);
    progress.update(50, 100);
  }
  EXPECT_EQ(stream_.str(), "\rreading [###############...............]  50 %\r\x1b[K");
}

TEST_F(ProgressTest, OffIsSilent) {
  Progress progress = make(ProgressStyle::Off);
  pass(10s);
  progress.update(99, 100);
  progress.finish();
  EXPECT_EQ(stream_.str(), "");
}

TEST_F(ProgressTest, NonsenseCountsDoNoHarm) {
  Progress progress = make(ProgressStyle::Bar);
  pass(1s);
  progress.update(5, 0);
  progress.update(5, -1);
  EXPECT_EQ(stream_.str(), "");
  progress.update(500, 100);
  EXPECT_NE(stream_.str().find("100 %"), std::string::npos);
  progress.finish();
  progress.update(1, 100);
  EXPECT_EQ(stream_.str().find("  1 %"), std::string::npos);
}

}  // namespace
}  // namespace cox::cli
