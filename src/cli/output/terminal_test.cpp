// SPDX-License-Identifier: Apache-2.0
#include "cli/output/terminal.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

namespace cox::cli {
namespace {

bool decide(ColorWhen when, bool is_terminal, std::map<std::string, std::string> environment) {
  std::ostringstream out;
  std::ostringstream err;
  const Console console{.out = out, .err = err, .environment = std::move(environment)};
  return use_color(when, is_terminal, console);
}

TEST(Color, TheOptionWinsOverEverything) {
  EXPECT_TRUE(decide(ColorWhen::Always, false, {{"NO_COLOR", "1"}, {"TERM", "dumb"}}));
  EXPECT_FALSE(decide(ColorWhen::Never, true, {{"FORCE_COLOR", "1"}}));
}

TEST(Color, NoColorWinsOverForce) {
  EXPECT_FALSE(decide(ColorWhen::Auto, true, {{"NO_COLOR", "0"}, {"FORCE_COLOR", "1"}, {"TERM", "xterm"}}));
  EXPECT_TRUE(decide(ColorWhen::Auto, true, {{"NO_COLOR", ""}, {"TERM", "xterm"}})) << "empty means unset";
}

TEST(Color, ForceWorksWithoutTerminal) {
  EXPECT_TRUE(decide(ColorWhen::Auto, false, {{"FORCE_COLOR", "1"}}));
  EXPECT_TRUE(decide(ColorWhen::Auto, false, {{"CLICOLOR_FORCE", "1"}, {"TERM", "dumb"}}));
  EXPECT_FALSE(decide(ColorWhen::Auto, false, {{"FORCE_COLOR", "0"}}));
  EXPECT_FALSE(decide(ColorWhen::Auto, false, {{"FORCE_COLOR", ""}}));
}

TEST(Color, OtherwiseTheTerminalDecides) {
  EXPECT_TRUE(decide(ColorWhen::Auto, true, {{"TERM", "xterm-256color"}}));
  EXPECT_FALSE(decide(ColorWhen::Auto, true, {{"TERM", "dumb"}}));
  EXPECT_FALSE(decide(ColorWhen::Auto, false, {{"TERM", "xterm"}}));
}

}  // namespace
}  // namespace cox::cli
