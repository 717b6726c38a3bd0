// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/settings.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <string>

namespace cox::pace {
namespace {

TEST(Settings, EveryParametersDefaultIsWhatTheTableSays) {
  for (const Parameter& p : parameters()) {
    if (std::string(p.fallback) == "unknown") continue;
    Settings changed;
    EXPECT_TRUE(set(changed, p.key, p.fallback)) << p.key;
    const Settings plain;
    EXPECT_EQ(changed.mode, plain.mode) << p.key;
    EXPECT_EQ(changed.seed, plain.seed) << p.key;
    EXPECT_EQ(changed.window, plain.window) << p.key;
    EXPECT_EQ(changed.warm_up, plain.warm_up) << p.key;
    EXPECT_EQ(changed.max_delay, plain.max_delay) << p.key;
    EXPECT_EQ(changed.max_ratio, plain.max_ratio) << p.key;
    EXPECT_EQ(changed.min_delay, plain.min_delay) << p.key;
    EXPECT_EQ(changed.share, plain.share) << p.key;
    EXPECT_EQ(changed.deviations, plain.deviations) << p.key;
    EXPECT_EQ(changed.budget, plain.budget) << p.key;
    EXPECT_EQ(changed.alpha, plain.alpha) << p.key;
    EXPECT_EQ(changed.min_gain, plain.min_gain) << p.key;
    EXPECT_EQ(changed.block, plain.block) << p.key;
    EXPECT_EQ(changed.settle, plain.settle) << p.key;
    EXPECT_EQ(changed.min_pairs, plain.min_pairs) << p.key;
    EXPECT_EQ(changed.max_pairs, plain.max_pairs) << p.key;
    EXPECT_EQ(changed.retry, plain.retry) << p.key;
    EXPECT_EQ(changed.idle_power, plain.idle_power) << p.key;
    EXPECT_EQ(changed.activate, plain.activate) << p.key;
    EXPECT_EQ(changed.release, plain.release) << p.key;
    EXPECT_EQ(changed.paper_share, plain.paper_share) << p.key;
    EXPECT_EQ(changed.order, plain.order) << p.key;
  }
}

TEST(Settings, ReadsAList) {
  Settings s;
  EXPECT_EQ(set_all(s, "auto,window=32,max_delay=5ms,share=0.5,objective=tail"), -1);
  EXPECT_EQ(s.mode, Mode::Auto);
  EXPECT_EQ(s.window, 32U);
  EXPECT_EQ(s.max_delay, Duration{std::chrono::milliseconds{5}});
  EXPECT_EQ(s.share, 0.5);
  EXPECT_EQ(s.objective, Objective::Tail);
}

TEST(Settings, NumbersHaveAPointWhateverTheHostsLocale) {
  const char* found = nullptr;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "da_DK.UTF-8"})
    if (found == nullptr) found = setlocale(LC_NUMERIC, name);
  if (found == nullptr) GTEST_SKIP() << "no locale with a decimal comma is installed";
  Settings s;
  const std::ptrdiff_t refused = set_all(s, "auto,budget=0.25");
  setlocale(LC_NUMERIC, "C");
  EXPECT_EQ(refused, -1);
  EXPECT_EQ(s.budget, 0.25);
}

TEST(Settings, RefusesWhatItDoesNotKnowAndChangesNothing) {
  for (const char* text : {"auto,windw=3", "fast", "window=1", "window=3.5", "max_delay=5", "max_delay=-1ms",
                           "share=2", "share=nan", "max_delay=1h", "alpha=", "=3"}) {
    Settings s;
    EXPECT_GE(set_all(s, text), 0) << text;
    EXPECT_EQ(s.mode, Mode::Off) << text;
    EXPECT_EQ(s.window, 64U) << text;
  }
  Settings s;
  EXPECT_EQ(set_all(s, "auto,windw=3"), 5);
}

}  // namespace
}  // namespace cox::pace
