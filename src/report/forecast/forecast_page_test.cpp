// SPDX-License-Identifier: Apache-2.0
#include "report/forecast/forecast_page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "cox/base/number_text.hpp"

#include "report/forecast_sample.hpp"

namespace cox::report {
namespace {

TEST(ForecastPage, SectionsStandInTheirOrder) {
  const auto page = render_forecast(test::sample_forecast());
  ASSERT_TRUE(page);
  std::size_t at = 0;
  for (const std::string_view id : {"definition", "recognition", "observations", "projection", "metrics",
                                    "levers", "decision", "monitoring", "limits", "artefacts"}) {
    const std::size_t next = page->find("<section id=\"" + std::string(id) + "\"", at);
    ASSERT_NE(next, std::string::npos) << id;
    at = next;
  }
  for (const std::string_view id : {"scaling", "margin", "decay", "coupling", "path"}) {
    const std::size_t figure = page->find("<figure id=\"" + std::string(id) + "\"");
    ASSERT_NE(figure, std::string::npos) << id;
    const std::size_t end = page->find("</figure>", figure);
    EXPECT_LT(page->find("<svg", figure), end) << id;
  }
  EXPECT_EQ(*page, *render_forecast(test::sample_forecast()));
}

TEST(ForecastPage, BoundariesAreNamedWithWhatMakesThem) {
  const ForecastPage sample = test::sample_forecast();
  const auto page = render_forecast(sample);
  for (const forecast::TransitionBand* t :
       {&sample.regimes->n1, &sample.regimes->n2, &sample.regimes->n_star}) {
    EXPECT_NE(page->find(">" + grouped(t->value.ranks) + "<"), std::string::npos);
    EXPECT_NE(page->find(t->because), std::string::npos);
  }
}

// Where a stretch is too narrow for a line its name goes upwards.
TEST(ForecastPage, NarrowRegimesHaveTheirNames) {
  ForecastPage sample = test::sample_forecast();
  std::int64_t most = 0;
  for (const auto& p : sample.sizes) most = p.refused.empty() ? std::max(most, p.ranks) : most;
  const auto inside = [](double ranks) {
    return forecast::RegimeBoundary{.place = forecast::RegimeBoundary::Place::Inside,
                                    .ranks = static_cast<std::int64_t>(ranks)};
  };
  sample.regimes->map.n1 = inside(static_cast<double>(most) / 8);
  sample.regimes->map.n2 = inside(static_cast<double>(most) / 2);
  sample.regimes->map.n_star = inside(static_cast<double>(most) / 1.4);
  const auto page = render_forecast(sample);
  ASSERT_TRUE(page);
  for (const char* name : {"post-linear", "collapse"})
    EXPECT_NE(page->find(std::string("rotate(-90)\">") + name + "</text>"), std::string::npos) << name;
}

// Lines are behind the names of regimes: none is crossed by one.
TEST(ForecastPage, NamesOfRegimesStandBeforeTheLines) {
  const auto page = render_forecast(test::sample_forecast());
  const std::size_t picture = page->find("<figure id=\"scaling\"");
  EXPECT_LT(page->find("class=\"series\"", picture), page->find(">linear</text>", picture));
}

// Of the margin's stretches one leads to each boundary, and one back from behind N*.
TEST(ForecastPage, TheMarginHasAStretchForEachBoundary) {
  const ForecastPage sample = test::sample_forecast();
  const auto page = render_forecast(sample);
  const std::size_t from = page->find("<figure id=\"margin\"");
  const std::size_t to = page->find("</figure>", from);
  int lines = 0;
  for (std::size_t at = page->find("class=\"series\"", from); at < to;
       at = page->find("class=\"series\"", at + 1))
    ++lines;
  EXPECT_EQ(lines, 4);
}

TEST(ForecastPage, LargeNumbersAreGroupedEverywhere) {
  ForecastPage sample = test::sample_forecast();
  ASSERT_GE(sample.sizes.size(), 2U);
  sample.sizes.back().ranks = 16'384;
  sample.sizes.back().throughput = sample.sizes.back().high = 11'041.7;
  sample.sizes.back().low = 10'937.2;
  const auto page = render_forecast(sample);
  EXPECT_NE(page->find("16 384 ranks: 11 042 (10 937 to 11 042)"), std::string::npos);
  EXPECT_NE(page->find(">11 042 <span class=\"quiet\">10 937 to 11 042<"), std::string::npos);
  const std::string shown = page->substr(0, page->find("id=\"artefacts\""));
  for (std::size_t at = shown.find("e+"); at != std::string::npos; at = shown.find("e+", at + 1))
    EXPECT_EQ(std::isdigit(static_cast<unsigned char>(shown[at - 1])), 0) << shown.substr(at - 10, 20);
}

TEST(ForecastPage, BaselineIsCrossedOutBesideControl) {
  const auto page = render_forecast(test::sample_forecast());
  EXPECT_NE(page->find("<del>1.000</del>"), std::string::npos);
  EXPECT_NE(page->find("<ins>"), std::string::npos);
  ForecastPage none = test::sample_forecast();
  none.control->reached = false;
  EXPECT_EQ(render_forecast(none)->find("id=\"metrics\""), std::string::npos);
}

TEST(ForecastPage, LeversThatWereSimulatedStandBehindThoseOfTheParts) {
  ForecastPage sample = test::sample_forecast();
  ASSERT_TRUE(sample.levers);
  EXPECT_EQ(render_forecast(sample)->find("Who waits for whom"), std::string::npos);
  sample.played = sample.levers;
  const auto page = render_forecast(sample);
  const std::size_t at = page->find("id=\"levers\"");
  EXPECT_LT(at, page->find("Who waits for whom"));
  EXPECT_LT(page->find("Who waits for whom"), page->find("id=\"decision\""));
}

TEST(ForecastPage, WhatLeversDoToLearningStandsBehindThem) {
  ForecastPage sample = test::sample_forecast();
  EXPECT_EQ(render_forecast(sample)->find("id=\"learning\""), std::string::npos);
  EXPECT_NE(render_forecast(sample)->find("learning is not included"), std::string::npos);
  sample.learned = forecast::LearnedControl{
      .what = "a <quadratic>",
      .levers = {{.name = "local-steps",
                  .ranks = 16,
                  .throughput = {1.1, 1.05, 1.15},
                  .samples = {1.25, 1.2, 1.3},
                  .time = {1.136, 1.08, 1.2}},
                 {.name = "asynchronous", .ranks = 16, .why_not = "it diverges"}},
      .sizes = {{.ranks = 64, .throughput = 3.4, .samples = {2.2, 2.1, 2.3}, .time_ratio = 0.647},
                {.ranks = 4096, .why_not = "more than 256 replicas are not learned"}},
      .no_regimes = "no larger size was learned"};
  const std::string page = render_forecast(sample).value_or("");
  const std::size_t at = page.find("id=\"learning\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(page.find("id=\"levers\""), at);
  EXPECT_LT(at, page.find("id=\"decision\""));
  for (const std::string_view part : {"a &lt;quadratic&gt;", "1.136", "1.080 to 1.200", "it diverges",
                                      "0.647", "more than 256 replicas", "no larger size was learned"})
    EXPECT_NE(page.find(part, at), std::string::npos) << part;
  EXPECT_EQ(page.find("learning is not included"), std::string::npos);
}

// On a narrow screen a lever is a list of its figures: each has its name.
TEST(ForecastPage, CellsOfLeversHaveTheirNames) {
  ForecastPage sample = test::sample_forecast();
  ASSERT_TRUE(sample.levers && !sample.levers->levers.empty());
  sample.levers->levers.front().why_not = "too few ranks";
  const auto page = render_forecast(sample);
  const std::size_t from = page->find("id=\"levers\"");
  const std::string table = page->substr(from, page->find("</section>", from) - from);
  EXPECT_NE(table.find("class=\"stack\""), std::string::npos);
  EXPECT_NE(table.find("data-label=\"not here\">too few ranks"), std::string::npos);
  for (std::size_t at = table.find("<td"); at != std::string::npos; at = table.find("<td", at + 1))
    EXPECT_NE(table.substr(at, table.find('>', at) - at).find("data-label"), std::string::npos);
}

TEST(ForecastPage, ARangeOfALeverHasNoPointAndEndsStandUnderTheirNumbers) {
  ForecastPage sample = test::sample_forecast();
  ASSERT_TRUE(sample.levers && !sample.levers->levers.empty());
  forecast::LeverEffect& e = sample.levers->levers.front();
  e.why_not.clear();
  e.throughput = {.value = 1.2341, .low = 1, .high = 1.3};
  e.margin = 1.75;
  e.margin_ends = forecast::DrawnEnds{1, 2.5};
  const auto of = [](const ForecastPage& page) { return render_forecast(page).value_or(""); };
  EXPECT_NE(of(sample).find("x1.75<span class=\"ends\">crossed to x2.5</span>"), std::string::npos);
  EXPECT_NE(of(sample).find("1.234<span class=\"ends\">1.000 to 1.300"), std::string::npos);
  e.range = true;
  EXPECT_EQ(of(sample).find("1.234"), std::string::npos);
  EXPECT_NE(of(sample).find("a range<span class=\"ends\">1.000 to 1.300"), std::string::npos);
}

TEST(ForecastPage, NothingIsAskedOfTheNetworkAndNothingRuns) {
  for (const ForecastPage& page : {test::sample_forecast(), test::hostile_forecast()}) {
    const auto html = render_forecast(page);
    ASSERT_TRUE(html);
    EXPECT_EQ(html->find("<script"), std::string::npos);
    EXPECT_EQ(html->find("<img"), std::string::npos);
    EXPECT_EQ(html->find("http://"), std::string::npos);
    EXPECT_EQ(html->find("https://"), std::string::npos);
    EXPECT_NE(html->find("default-src 'none'"), std::string::npos);
    EXPECT_LT(html->size(), 300'000u);
  }
}

TEST(ForecastPage, WhatIsUnknownHasASentenceInsteadOfAPicture) {
  const ForecastPage small{.name = "x",
                           .headline = "x",
                           .lead = {},
                           .system = {},
                           .scale = {},
                           .mode = {},
                           .runtime = {},
                           .sizes = {{.ranks = 8, .throughput = 8, .refused = {}},
                                     {.ranks = 64, .refused = "the tail was not seen"}}};
  const auto page = render_forecast(small);
  ASSERT_TRUE(page);
  EXPECT_NE(page->find("Not drawn: fewer than two sizes have a number."), std::string::npos);
  EXPECT_NE(page->find("no number: the tail was not seen"), std::string::npos);
  EXPECT_EQ(page->find("nan"), std::string::npos);
  EXPECT_EQ(render_forecast({}).error().id, "report-002");
}

TEST(ForecastPage, ArtefactsAreInsideAsTheyAre) {
  // "ranks,throughput\n8,7.9\n" in base64.
  EXPECT_NE(render_forecast(test::sample_forecast())->find("cmFua3MsdGhyb3VnaHB1dAo4LDcuOQo="),
            std::string::npos);
}

}  // namespace
}  // namespace cox::report
