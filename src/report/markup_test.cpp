// SPDX-License-Identifier: Apache-2.0
#include "report/markup.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cox::report {
namespace {

TEST(Html, EscapesWhatWouldLeaveItsPlace) {
  EXPECT_EQ(html("<script>\"a\" & 'b'</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;");
}

TEST(Html, KeepsWellFormedUtf8AndReplacesTheRest) {
  EXPECT_EQ(html("f\xC3\xBCnf \xE2\x82\xAC \xF0\x9F\x9A\xA3"), "f\xC3\xBCnf \xE2\x82\xAC \xF0\x9F\x9A\xA3");
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(html("a\xFFz"), "a" + mark + "z");
  EXPECT_EQ(html("a\xC3"), "a" + mark) << "cut in the middle of a sequence";
  EXPECT_EQ(html("\xC0\xAF"), mark + mark) << "overlong form of a slash";
  EXPECT_EQ(html("\xED\xA0\x80"), mark + mark + mark) << "half of a surrogate pair";
}

TEST(Html, ShowsControlsAndReorderingMarksAsReplaced) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(html(std::string("a\x1b[31m\0b", 8)), "a" + mark + "[31m" + mark + "b");
  EXPECT_EQ(html("x\xE2\x80\xAEgnp.exe"), "x" + mark + "gnp.exe");
}

TEST(ScriptJson, CannotCloseItsElement) {
  const nlohmann::ordered_json value = {{"name", "</script><!-- & \xE2\x80\xA8"}};
  const std::string text = script_json(value);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos) << text;
  EXPECT_EQ(nlohmann::ordered_json::parse(text), value);
}

TEST(ScriptJson, TakesBrokenUtf8) {
  EXPECT_NO_THROW(static_cast<void>(script_json(nlohmann::ordered_json("\xFF\xFE"))));
}

TEST(TerminalText, LetsNoEscapeSequenceThrough) {
  EXPECT_EQ(terminal_text("a\x1b]0;title\x07\nb\x7f"), "a?]0;title? b?");
  EXPECT_EQ(terminal_text("caf\xC3\xA9 \xC2\x9B[2J"), "caf\xC3\xA9 ?[2J");
}

TEST(Base64, MatchesRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFB\xFF\xBF"), "+/+/");
}

}  // namespace
}  // namespace cox::report
