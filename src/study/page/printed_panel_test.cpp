// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "cox/study/write.hpp"

namespace cox::study {
namespace {

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// A study that printed `printed` (TOML of its value) for a computed ratio.
AnsweredStudy with(const std::string& printed, double ours, const std::string& name = "p") {
  AnsweredStudy a;
  auto s = parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[printed]]\nname = \"" +
          name + "\"\nquantity = \"q\"\nline = 4\n" + printed + "\n",
      "one.toml");
  EXPECT_TRUE(s) << s.error().to_string();
  if (!s) return a;
  a.study = *s;
  a.computation.values = {{.name = "q", .value = Quantity::ratio(ours), .engine = "by-hand"}};
  a.judged = *judge(a.study, a.computation);
  return a;
}

/// The row of the only printed number.
std::string row_of(const AnsweredStudy& a) {
  const std::string svg = to_svg(a);
  const auto from = svg.find("<g class=\"printed\">");
  if (from == std::string::npos) return {};
  return svg.substr(from, svg.find("</g>", from) - from);
}

TEST(PrintedPanel, ANumberStandsWhereItsRatioIs) {
  const std::string equal = row_of(with("value = \"3.0x\"", 3));
  EXPECT_NE(equal.find("<title>p: printed 3.0x, computed 3.00x, follows</title>"), std::string::npos)
      << equal;
  EXPECT_NE(equal.find("translate(406.0 "), std::string::npos) << equal;  // the middle of 306 to 506
  const std::string twice = row_of(with("value = \"6.0x\"", 3));
  EXPECT_NE(twice.find("translate(506.0 "), std::string::npos) << twice;
  EXPECT_NE(twice.find("does-not-follow"), std::string::npos) << twice;
  // What is five times too small is at the left end, however large another unit would make it.
  EXPECT_NE(row_of(with("value = \"2.0%\"", 0.1)).find("translate(306.0 "), std::string::npos);
}

TEST(PrintedPanel, ARangeIsABarBetweenItsEnds) {
  const std::string row = row_of(with("value = \"1x\"\nup_to = \"4x\"", 2));
  EXPECT_NE(row.find("class=\"range\" x=\"306.0\""), std::string::npos) << row;
  EXPECT_NE(row.find("width=\"200.0\""), std::string::npos) << row;
  EXPECT_EQ(count(row, "class=\"mark\""), 2U) << row;
}

TEST(PrintedPanel, WhatNoLogarithmShowsIsAtAnEndWithANote) {
  const std::string zero = row_of(with("value = \"0x\"", 3));
  EXPECT_NE(zero.find("translate(306.0 "), std::string::npos) << zero;
  EXPECT_NE(zero.find(">printed is 0<"), std::string::npos) << zero;
  const std::string sign = row_of(with("value = \"3x\"", -3));
  EXPECT_NE(sign.find(">other sign<"), std::string::npos) << sign;
  const std::string none = row_of(with("value = \"3x\"", 0));
  EXPECT_NE(none.find("translate(506.0 "), std::string::npos) << none;
  EXPECT_NE(none.find(">computed is 0<"), std::string::npos) << none;
  EXPECT_NE(row_of(with("value = \"0x\"", 0)).find(">both are 0<"), std::string::npos);
  AnsweredStudy from_minus_one = with("value = \"1x\"\nup_to = \"3x\"", 3);
  from_minus_one.study.printed.front().value.value = Quantity::ratio(-1);
  const std::string across = row_of(from_minus_one);
  EXPECT_NE(across.find(">from other sign<"), std::string::npos) << across;
  EXPECT_NE(row_of(with("value = \"0x\"\nup_to = \"3x\"", 3)).find(">from 0<"), std::string::npos);
  for (const std::string& row : {zero, sign, none, across}) {
    EXPECT_EQ(row.find("nan"), std::string::npos) << row;
    EXPECT_EQ(row.find("inf"), std::string::npos) << row;
  }
}

TEST(PrintedPanel, WhatIsFarOffIsAtAnEndWithItsRatio) {
  const std::string row = row_of(with("value = \"30000x\"", 3));
  EXPECT_NE(row.find("translate(506.0 "), std::string::npos) << row;
  EXPECT_NE(row.find(">1e+04<"), std::string::npos) << row;
  EXPECT_NE(row_of(with("value = \"3x\"", 6e6)).find(">5e-07<"), std::string::npos);
  EXPECT_EQ(count(row_of(with("value = \"3x\"", 0.003)), "<text"), 3U);  // 1000 is no note
}

TEST(PrintedPanel, LongNamesTakeLinesAndNothingIsCut) {
  const std::string name = "a < b " + std::string(60, 'n') + " end";
  const std::string row = row_of(with("value = \"3x\"", 3, name));
  EXPECT_NE(row.find(">a &lt; b<"), std::string::npos) << row;
  EXPECT_NE(row.find(">" + std::string(46, 'n') + "<"), std::string::npos) << row;
  EXPECT_NE(row.find(">" + std::string(14, 'n') + " end<"), std::string::npos) << row;
}

TEST(PrintedPanel, IsAsHighAsItsRowsAndBelowThePicture) {
  AnsweredStudy a = with("value = \"3x\"", 3);
  const std::string alone = to_svg(a);
  EXPECT_EQ(alone.find("translate(0 "), std::string::npos) << alone;
  EXPECT_NE(alone.find("viewBox=\"0 0 720 100\""), std::string::npos) << alone;
  a.study.printed.push_back(a.study.printed.front());
  a.judged.push_back(a.judged.front());
  EXPECT_NE(to_svg(a).find("viewBox=\"0 0 720 118\""), std::string::npos) << to_svg(a);
  a.computation.picture.series = {{.name = "s", .x = {1, 2}, .y = {1, 2}}};
  EXPECT_NE(to_svg(a).find("viewBox=\"0 0 720 478\""), std::string::npos) << to_svg(a);
  EXPECT_NE(to_svg(a).find("translate(0 360)"), std::string::npos);
}

TEST(PrintedPanel, WhatIsComparedWithNothingSaysSo) {
  AnsweredStudy a = with("value = \"3x\"", 3);
  a.judged.front() = {.verdict = Verdict::NotComputed, .computed = {}, .reason = {}};
  const std::string row = row_of(a);
  EXPECT_NE(row.find(">not-computed<"), std::string::npos) << row;
  EXPECT_EQ(count(row, "class=\"mark\""), 0U);
}

TEST(PrintedPanel, WithoutPrintedNumbersThereIsNone) {
  AnsweredStudy a;
  EXPECT_EQ(to_svg(a), "");
  a.computation.picture.series = {{.name = "s", .x = {1, 2}, .y = {1, 2}}};
  EXPECT_EQ(to_svg(a), to_svg(a.computation.picture));
}

}  // namespace
}  // namespace cox::study
