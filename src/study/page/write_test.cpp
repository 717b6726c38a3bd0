// SPDX-License-Identifier: Apache-2.0
#include "cox/study/write.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

namespace cox::study {
namespace {

Picture two_curves() {
  return {.title = "a < b & \"c\"",
          .x_label = "x",
          .y_label = "y",
          .x_is_log = true,
          .series = {{.name = "one", .x = {1, 10, 100}, .y = {0, 5, 10}},
                     {.name = "two", .x = {1, 10, 100}, .y = {10, 5, 0}}}};
}

TEST(Svg, EscapesAndDrawsEachSeries) {
  const std::string svg = to_svg(two_curves());
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("a < b"), std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1))
    ++lines;
  EXPECT_EQ(lines, 2U);
  // The first and last x are the ends of the axis, y = 10 its top.
  EXPECT_NE(svg.find("points=\"70.0,300.0"), std::string::npos) << svg;
  EXPECT_NE(svg.find("700.0,50.0\""), std::string::npos) << svg;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Svg, PrintedPointsAreHollowAndNegativeOnesHaveATick) {
  Picture p = two_curves();
  p.series[1].is_printed = true;
  p.series[1].y = {-7, 5, 0};
  const std::string svg = to_svg(p);
  std::size_t dashed = 0;
  for (std::size_t at = svg.find("stroke-dasharray"); at != std::string::npos;
       at = svg.find("stroke-dasharray", at + 1))
    ++dashed;
  EXPECT_EQ(dashed, 1U);
  EXPECT_NE(svg.find("fill=\"none\" stroke=\"#e69f00\" stroke-width=\"1.5\""), std::string::npos);
  EXPECT_NE(svg.find(">-10<"), std::string::npos) << svg;
}

// A bar stands on the axis; where that has no zero, a value is a mark. One that is missing leaves its place empty.
TEST(Svg, BarsOnALogarithmicAxisAreMarksInTheirPlaces) {
  Picture p{.kind = Picture::Kind::Bars,
            .title = "t",
            .series = {{.name = "one", .x = {0, 2}, .y = {10, 1000}}},
            .categories = {"a", "b", "c"}};
  const auto count = [](const std::string& svg, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++n;
    return n;
  };
  const std::string linear = to_svg(p);
  EXPECT_EQ(count(linear, "<rect"), 2U) << linear;
  const std::string third = fmt::format("x=\"{:.1f}\"", 70 + 630.0 / 3 * 2.1);
  EXPECT_NE(linear.find(third), std::string::npos) << third << " in " << linear;
  p.y_is_log = true;
  EXPECT_EQ(count(to_svg(p), "<rect"), 0U) << to_svg(p);
}

TEST(Svg, ALongLegendHasTwoRows) {
  Picture p = two_curves();
  EXPECT_NE(to_svg(p).find("y=\"39\">two"), std::string::npos) << to_svg(p);
  p.series[0].name = std::string(90, 'n');
  EXPECT_NE(to_svg(p).find("y=\"47\">two"), std::string::npos) << to_svg(p);
}

TEST(Svg, CurvesGoFromLeftToRight) {
  Picture p = two_curves();
  const std::string sorted = to_svg(p);
  std::swap(p.series[1].x[0], p.series[1].x[2]);
  std::swap(p.series[1].y[0], p.series[1].y[2]);
  EXPECT_EQ(to_svg(p), sorted);
}

TEST(Svg, NoLineHidesAnother) {
  Picture p = two_curves();
  p.series[1].y = {0, 5, 0};  // the first half lies on the other line
  const std::string half = to_svg(p);
  const std::string dashes = "stroke-dasharray=\"8 8\" stroke-dashoffset=\"-8\"";
  EXPECT_NE(half.find("points=\"70.0,300.0 385.0,175.0 700.0,50.0\" fill"), std::string::npos) << half;
  EXPECT_NE(
      half.find("points=\"70.0,300.0 385.0,175.0\" fill=\"none\" stroke=\"#e69f00\" stroke-width=\"2\" " +
                dashes),
      std::string::npos)
      << half;
  EXPECT_EQ(half.find(dashes), half.rfind(dashes)) << half;
  // Three on each other: each has dashes at places of its own.
  p.series[1].y = p.series[0].y;
  p.series.push_back(p.series[0]);
  const std::string three = to_svg(p);
  EXPECT_NE(three.find("stroke-dasharray=\"8 16\" stroke-dashoffset=\"-8\""), std::string::npos) << three;
  EXPECT_NE(three.find("stroke-dasharray=\"8 16\" stroke-dashoffset=\"-16\""), std::string::npos) << three;
}

TEST(Svg, WhatWasPrintedIsThinAndDrawnLast) {
  Picture p = two_curves();
  p.series[0].is_printed = true;
  p.series[1].y = p.series[0].y;
  const std::string svg = to_svg(p);
  const auto computed = svg.find("stroke=\"#e69f00\" stroke-width=\"2\"/>");
  const auto printed = svg.find("stroke=\"#0072b2\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/>");
  ASSERT_NE(computed, std::string::npos) << svg;
  ASSERT_NE(printed, std::string::npos) << svg;
  EXPECT_LT(computed, printed);
}

TEST(Svg, PrintedValuesOfBarsAreMarks) {
  Picture p{.kind = Picture::Kind::Bars, .title = "t"};
  p.series = {{.name = "s", .x = {}, .y = {1, 2}},
              {.name = "s, printed", .x = {1}, .y = {2}, .of = {}, .is_printed = true}};
  p.categories = {"a", "b"};
  const std::string svg = to_svg(p);
  EXPECT_NE(svg.find("height=\"250.0\""), std::string::npos) << svg;  // bars as wide and high as without
  EXPECT_NE(svg.find("fill=\"none\" stroke=\"#e69f00\""), std::string::npos) << svg;
}

TEST(Svg, PanelsStandBelowEachOther) {
  Picture p = two_curves();
  const std::string one = to_svg(p);
  p.below = {two_curves(), Picture{}};
  p.below[0].title = "lower";
  const std::string two = to_svg(p);
  EXPECT_NE(one.find("viewBox=\"0 0 720 360\""), std::string::npos);
  EXPECT_NE(two.find("viewBox=\"0 0 720 720\""), std::string::npos);
  EXPECT_NE(two.find("translate(0 360)"), std::string::npos);
  EXPECT_NE(two.find(">lower<"), std::string::npos);
  EXPECT_EQ(two.find("translate(0 720)"), std::string::npos);  // nothing to draw there
}

TEST(Svg, NothingToDrawIsEmpty) {
  EXPECT_EQ(to_svg(Picture{}), "");
  Picture p;
  p.series = {{.name = "none", .x = {}, .y = {}}};
  EXPECT_EQ(to_svg(p), "");
}

TEST(Svg, BarsStandOnTheAxis) {
  Picture p{.kind = Picture::Kind::Bars, .title = "t"};
  p.series = {{.name = "s", .x = {}, .y = {1, 2}}};
  p.categories = {"a", "b"};
  const std::string svg = to_svg(p);
  EXPECT_NE(svg.find("height=\"125.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("height=\"250.0\""), std::string::npos) << svg;
}

TEST(Svg, TheLastNumberBelowTheAxisIsNotCut) {
  Picture p = two_curves();
  EXPECT_NE(to_svg(p).find("x=\"700.0\" y=\"316\" text-anchor=\"middle\">100<"), std::string::npos)
      << to_svg(p);
  p.series[0].x[2] = 100000;
  EXPECT_NE(to_svg(p).find("x=\"694.6\" y=\"316\" text-anchor=\"middle\">100000<"), std::string::npos)
      << to_svg(p);
}

TEST(Svg, LongNamesOfBarsTakeLines) {
  Picture p{.kind = Picture::Kind::Bars, .title = "t"};
  p.series = {{.name = "s", .x = {}, .y = {1, 2, 3, 4, 5, 6, 7, 8}}};
  p.categories = {"100ms-cv0.1-slow1", "b", "c", "d", "e", "f", "g", "h"};
  const std::string svg = to_svg(p);
  EXPECT_NE(svg.find("y=\"316\" text-anchor=\"middle\">100ms-<"), std::string::npos) << svg;
  EXPECT_NE(svg.find("y=\"329\" text-anchor=\"middle\">cv0.1-slow1<"), std::string::npos) << svg;
  EXPECT_NE(svg.find("viewBox=\"0 0 720 373\""), std::string::npos) << svg;
}

AnsweredStudy answer() {
  AnsweredStudy a;
  a.study = *parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What | is <it>?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"given\"\nvalue = \"28ms\"\nfrom = \"source\"\nline = 3\n"
      "[[printed]]\nname = \"p\"\nquantity = \"exact, too\"\nvalue = \"28.00ms\"\nline = 4\nsays = \"It "
      "takes | this\"\nreason = \"why\"\n",
      "one.toml");
  a.computation.values = {
      {.name = "exact, too", .value = Quantity::of(Seconds{0.0281}), .engine = "max-plus"}};
  a.judged = *judge(a.study, a.computation);
  a.verdict = a.judged.front().verdict;
  return a;
}

TEST(Write, MarkdownKeepsItsTable) {
  const std::string page = to_markdown(answer(), "one.svg");
  EXPECT_NE(page.find("| 4 | p | 28.00ms | 28.10 ms | does-not-follow |"), std::string::npos) << page;
  EXPECT_NE(page.find("- **p**: It takes \\| this. *Ours*: why.\n"), std::string::npos) << page;
  EXPECT_NE(page.find("![](one.svg)"), std::string::npos);
  const std::vector<AnsweredStudy> all = {answer()};
  EXPECT_NE(index_markdown(all).find("What \\| is &lt;it>?"), std::string::npos);
}

TEST(Write, TablesStandBetweenThePrintedNumbersAndTheInputs) {
  AnsweredStudy a = answer();
  const std::string without = to_markdown(a, "");
  a.computation.tables = {{.title = "By size",
                           .says = "Larger takes longer.",
                           .columns = {"size", "time"},
                           .rows = {{"1 MB", "2 ms"}, {"a|b", "3 ms"}}}};
  const std::string table =
      "## By size\n\nLarger takes longer.\n\n| size | time |\n|---|---:|\n| 1 MB | 2 ms |\n| a\\|b | 3 ms |\n\n";
  std::string page = to_markdown(a, "");
  const auto at = page.find(table);
  ASSERT_NE(at, std::string::npos) << page;
  EXPECT_LT(page.find("## Printed against computed"), at);
  EXPECT_EQ(page.substr(at + table.size(), 9), "## Inputs");
  EXPECT_EQ(page.erase(at, table.size()), without);
}

TEST(Write, CsvQuotesCommas) {
  EXPECT_EQ(to_csv(answer()),
            "name,value,unit,half_width_95,replicas,engine\n\"exact, too\",0.0281,s,,1,max-plus\n");
}

TEST(Write, JsonCarriesUnitsInItsKeys) {
  const std::vector<AnsweredStudy> all = {answer()};
  const std::string json = to_json(all, {"one"});
  for (const char* key : {"\"schema\": \"cox.study/1\"", "\"value_s\": 0.028,", "\"computed_s\": 0.0281",
                          "\"verdict\": \"does-not-follow\"", "\"says\": \"It takes | this\"", "\"studies\"",
                          "\"printed\"", "\"computed\""})
    EXPECT_NE(json.find(key), std::string::npos) << key << json;
}

TEST(StudyText, ACheckSaysHowFarItsWaysAreApart) {
  const CrossCheck check{.name = "step",
                         .engine = Quantity::of(Seconds{0.02}),
                         .oracle = Quantity::of(Seconds{0.01}),
                         .limit_ratio = 1e-9};
  EXPECT_EQ(
      to_text(check),
      "step: the engine says 20.00 ms, its oracle 10.00 ms; the relative difference is 0.5, at most 1e-09 is "
      "expected");
}

TEST(StudyText, AGroupedNumberOfAnAnswerIsNotBroken) {
  for (std::size_t lead = 60; lead < 100; ++lead) {
    AnsweredStudy a;
    a.answer.text = std::string(lead, 'x') + " of 12 345 ranks";
    EXPECT_NE(to_text(a).find("12 345"), std::string::npos) << lead;
  }
}

}  // namespace
}  // namespace cox::study
