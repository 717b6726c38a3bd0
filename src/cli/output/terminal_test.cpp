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

report::TextStyle style(bool is_terminal, std::size_t columns,
                        std::map<std::string, std::string> environment) {
  std::ostringstream out;
  std::ostringstream err;
  const Console console{
      .out = out, .err = err, .environment = std::move(environment), .out_columns = columns};
  return text_style(ColorWhen::Never, is_terminal, console);
}

TEST(TextStyle, TheFirstLocaleVariableThatIsSetDecidesOnLetters) {
  const auto charset = [](std::map<std::string, std::string> environment) {
    return style(false, 0, std::move(environment)).charset;
  };
  EXPECT_EQ(charset({}), report::Charset::Ascii) << "no locale is the C locale";
  EXPECT_EQ(charset({{"LANG", "en_GB.UTF-8"}}), report::Charset::Utf8);
  EXPECT_EQ(charset({{"LANG", "C.utf8"}}), report::Charset::Utf8);
  EXPECT_EQ(charset({{"LANG", "en_GB.UTF-8"}, {"LC_ALL", "C"}}), report::Charset::Ascii);
  EXPECT_EQ(charset({{"LC_CTYPE", "de_DE.ISO-8859-1"}, {"LANG", "en_GB.UTF-8"}}), report::Charset::Ascii);
  EXPECT_EQ(charset({{"LC_ALL", ""}, {"LANG", "en_GB.UTF-8"}}), report::Charset::Utf8) << "empty means unset";
}

TEST(TextStyle, TheTerminalsWidthCountsUnlessColumnsIsSet) {
  EXPECT_EQ(style(true, 52, {}).columns, 52U);
  EXPECT_EQ(style(false, 52, {}).columns, 80U) << "a pipe has no width";
  EXPECT_EQ(style(true, 0, {}).columns, 80U);
  EXPECT_EQ(style(false, 0, {{"COLUMNS", "44"}}).columns, 44U);
  EXPECT_EQ(style(true, 52, {{"COLUMNS", "wide"}}).columns, 52U);
}

}  // namespace
}  // namespace cox::cli
