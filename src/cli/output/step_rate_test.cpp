// SPDX-License-Identifier: Apache-2.0
#include "cli/output/step_rate.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace cox::cli {
namespace {

using std::chrono::milliseconds;

TEST(StepRate, SaysALineASecondAndTheEnd) {
  std::ostringstream out;
  std::chrono::steady_clock::time_point now{};
  StepRate rate(out, false, "steps", {}, [&] { return now; });
  now += milliseconds(500);
  rate.update(5, 40);
  EXPECT_EQ(out.str(), "");
  now += milliseconds(500);
  rate.update(10, 40);
  EXPECT_EQ(out.str(), "cox: 10 of 40 steps, 10 steps/s, about 3.00 s left\n");
  now += milliseconds(1);
  rate.update(40, 40);
  EXPECT_EQ(out.str(),
            "cox: 10 of 40 steps, 10 steps/s, about 3.00 s left\ncox: 40 of 40 steps, 40 steps/s\n");
}

TEST(StepRate, RedrawsOneLineOnATerminal) {
  std::ostringstream out;
  std::chrono::steady_clock::time_point now{};
  StepRate rate(out, true, "points", {}, [&] { return now; });
  now += milliseconds(250);
  rate.update(1, 2);
  now += milliseconds(250);
  rate.update(2, 2);
  EXPECT_EQ(out.str(),
            "\r1 of 2 points, 4 points/s, about 250 ms left\x1b[K\r2 of 2 points, 4 points/s\x1b[K\n");
}

TEST(StepRate, IsSilentAboutWorkThatIsSoonOver) {
  std::ostringstream out;
  std::chrono::steady_clock::time_point now{};
  StepRate rate(out, false, "steps", std::chrono::seconds{10}, [&] { return now; });
  now += milliseconds(9000);
  rate.update(9, 20);
  EXPECT_EQ(out.str(), "");
  now += milliseconds(1000);
  rate.update(10, 20);
  EXPECT_EQ(out.str(), "cox: 10 of 20 steps, 1 steps/s, about 10.0 s left\n");
  out.str("");
  StepRate quick(out, false, "steps", std::chrono::seconds{10}, [&] { return now; });
  now += milliseconds(5000);
  quick.update(20, 20);
  EXPECT_EQ(out.str(), "");
}

// A step a second and 20 of them: clear after one second on a terminal, and told; in a log what is waited for.
TEST(StepRate, BeginsWhenItIsClearThatItTakesLong) {
  std::chrono::steady_clock::time_point now{};
  for (const bool terminal : {true, false}) {
    std::ostringstream out;
    StepRate rate(out, terminal, "steps", std::chrono::seconds{10}, [&] { return now; });
    now += milliseconds(900);
    rate.update(0.9, 20);
    EXPECT_EQ(out.str(), "");
    now += milliseconds(1100);
    rate.update(2, 20);
    EXPECT_EQ(out.str(), terminal ? "\r2 of 20 steps, 1 steps/s, about 18.0 s left\x1b[K" : "");
    std::ostringstream quick;
    StepRate soon(quick, terminal, "steps", std::chrono::seconds{10}, [&] { return now; });
    now += milliseconds(2000);
    soon.update(10, 20);
    EXPECT_EQ(quick.str(), "") << "over in 4 s";
  }
}

TEST(StepRate, HintsOnceAtWhatTakesLong) {
  std::chrono::steady_clock::time_point now{};
  for (const bool terminal : {true, false}) {
    std::ostringstream out;
    int asked = 0;
    StepRate rate(out, terminal, "steps", {}, [&] { return now; });
    rate.when_long([&] {
      ++asked;
      return std::string("say less");
    });
    now += milliseconds(1000);
    rate.update(10, 20);  // over in 2 s
    EXPECT_EQ(asked, 0);
    out.str("");
    now += milliseconds(9000);
    rate.update(11, 20);
    EXPECT_EQ(out.str(),
              terminal ? "\rhint: say less\x1b[K\n\r11 of 20 steps, 1.1 steps/s, about 8.18 s left\x1b[K"
                       : "cox: hint: say less\ncox: 11 of 20 steps, 1.1 steps/s, about 8.18 s left\n");
    now += milliseconds(9000);
    rate.update(12, 20);
    EXPECT_EQ(asked, 1);
  }
}

}  // namespace
}  // namespace cox::cli
