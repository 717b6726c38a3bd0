// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pacing/page.hpp"

#include <gtest/gtest.h>

#include "cox/study/write.hpp"

namespace cox::evaluate {
namespace {

PacingSide side(double mean, double cv) {
  return {.steps = 100,
          .lasted = Seconds{100 * mean},
          .mean = Seconds{mean},
          .p99 = Seconds{mean * 1.1},
          .cv = cv,
          .wait = Seconds{mean / 4},
          .delay = Seconds{0.001},
          .energy = mean / 2};
}

std::vector<PacingStart> starts(const std::vector<std::vector<double>>& gains) {
  std::vector<PacingStart> all;
  all.reserve(gains.size());
  for (const std::vector<double>& of_pairs : gains)
    all.push_back(
        {.number = static_cast<int>(all.size()), .pair_gains = of_pairs, .total_gain = of_pairs.front()});
  return all;
}

struct Sample {
  PacingStudy study;
  PacingResults results;
  Sample() {
    study.title = "A title";
    study.arms = {{.name = "off"}, {.name = "auto", .settings = "auto"}, {.name = "random"}};
    study.protocol.segment = Seconds{2};
    study.conditions = {{.name = "link",
                         .about = "shared",
                         .quick = true,
                         .bar = 0.08,
                         .cv_bar = 0.7,
                         .period = Seconds{0.03},
                         .best = Seconds{0.02},
                         .job = {{.fetch = Bytes{100'000},
                                  .link = Bandwidth::gbit_per_s(0.4),
                                  .compute = Seconds{0.01},
                                  .jitter = model::JitterLaw::Lognormal,
                                  .spread = 0.03,
                                  .imbalance = model::Imbalance::Persistent,
                                  .slow_ranks = 1,
                                  .slow_factor = 1.5},
                                 4},
                         .arms = {1, 2}},
                        {.name = "other",
                         .period = Seconds{0.03},
                         .best = Seconds{0.02},
                         .job = {{.compute = Seconds{0.01}}, 2},
                         .arms = {1}}};
    results = {.full = true,
               .machine = {.kernel = "6.1", .cores = 2, .date = "2026-01-02", .load_before = 0.25}};
    PacingConditionResult link{.name = "link", .starts = 2, .floor_half_width = 0.004, .is_resolved = true};
    link.effects = {{.arm = "auto",
                     .starts = starts({{0.13, 0.14, 0.15}, {0.13, 0.14, 0.1717}}),
                     .struck = 1,
                     .gain = 0.15,
                     .low = 0.13,
                     .high = 0.16,
                     .total_gain = 0.14,
                     .total_low = 0.12,
                     .total_high = 0.15,
                     .off = side(0.03, 0.05),
                     .on = side(0.026, 0.04),
                     .held_cv = 0.03,
                     .held_steps = 500,
                     .p_harm = 0.001,
                     .p_bar = 0.002,
                     .p_random = 0.003},
                    {.arm = "random",
                     .starts = starts({{0.1}, {0.11}}),
                     .gain = 0.1,
                     .low = 0.08,
                     .high = 0.12,
                     .off = side(0.03, 0.05),
                     .on = side(0.027, 0.06)}};
    results.conditions = {link, {.name = "other", .skipped = "no network namespace"}};
    correct_tests(study, results.conditions);
  }
};

TEST(PacingResults, ReadBackToThemselves) {
  const Sample sample;
  const std::string text = pacing_json(sample.results);
  const auto back = parse_pacing_json(text, "p.json");
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(pacing_json(*back), text);
  EXPECT_EQ(back->conditions[0].effects[0].held_steps, 500);
  EXPECT_DOUBLE_EQ(back->conditions[0].effects[0].total_low, 0.12);
  EXPECT_EQ(back->conditions[1].skipped, "no network namespace");
}

TEST(PacingResults, HostileFilesAreRefused) {
  const std::string text = pacing_json(Sample().results);
  const std::pair<const char*, const char*> cases[] = {
      {"cox.pacing-study/2", "cox.pacing-study/1"},
      {"\"number\": 1", "\"number\": -1"},
      {"\"number\": 1", "\"number\": 1e30"},
      {"\"number\": 1", "\"numbers\": 1"},
      {"\"total_gain_ratio\": 0.13", "\"total_gain_ratio\": -1"},
      {"0.1717", "-1.5"},
      {"\"cv\": 0.05", "\"cv\": null"},
      {"\"resolved\": true", "\"resolved\": 1"},
      {"\"effects\": []", "\"effects\": {}"},
      {"\"kernel\": \"6.1\"", "\"kernel\": 6"},
      {"\"machine\": {", "\"machine\": [{"}};
  for (const auto& [what, by] : cases) {
    std::string bad = text;
    const std::size_t at = bad.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    bad.replace(at, std::string(what).size(), by);
    const auto back = parse_pacing_json(bad, "p.json");
    ASSERT_FALSE(back) << by;
    EXPECT_EQ(back.error().id, "study-007");
  }
  EXPECT_FALSE(parse_pacing_json("[]", "p.json"));
}

/// Intervals and p values of a file are not taken from it: they follow from its starts.
TEST(PacingResults, JudgedAnewWhatAFileSaysOfItselfDoesNotCount) {
  Sample sample;
  judge_all(sample.study, sample.results);
  const std::string judged = pacing_json(sample.results);
  PacingResults flattered = sample.results;
  flattered.conditions[0].effects[0].low = 0.5;
  flattered.conditions[0].effects[0].p_harm = 0;
  flattered.conditions[0].superior = {.p = 0, .passed = true};
  ASSERT_NE(pacing_json(flattered), judged);
  judge_all(sample.study, flattered);
  EXPECT_EQ(pacing_json(flattered), judged);
}

TEST(PacingPage, SizesAreInRisingOrderWithTheConditionAmongThem) {
  Sample sample;
  sample.study.size_of = "link";
  for (const int ranks : {2, 8}) {
    PacingCondition c = sample.study.conditions[0];
    c.name = "link-" + std::to_string(ranks);
    c.job.ranks = ranks;
    c.arms = {1};
    sample.study.sizes.push_back(c);
    PacingConditionResult r = sample.results.conditions[0];
    r.name = c.name;
    sample.results.sizes.push_back(r);
  }
  const auto simulated = simulate_pacing(sample.study, 1);
  ASSERT_TRUE(simulated) << simulated.error().to_string();
  const std::string text = sizes_section(sample.study, sample.results, *simulated, "p.svg").markdown;
  const std::size_t two =
      text.find("\n| 2 | 2 | 67 → 77 | +14.0 [+12.0, +15.0] | - | 1.00 | 0.050 → 0.040 | 0.030 | ");
  const std::size_t four = text.find("\n| 4 | 2 | 133 → 154 | ");
  const std::size_t eight = text.find("\n| 8 | 2 | 267 → 308 | ");
  ASSERT_NE(two, std::string::npos) << text;
  EXPECT_LT(two, four);
  EXPECT_LT(four, eight);
  EXPECT_NE(eight, std::string::npos) << text;
  EXPECT_NE(text.find("](p.svg)"), std::string::npos);
  const study::Picture picture = sizes_picture(sample.study, sample.results, *simulated);
  ASSERT_EQ(picture.series.size(), 4U);
  EXPECT_EQ(picture.series[0].x, (std::vector<double>{2, 4, 8}));
  ASSERT_EQ(picture.below.size(), 1U);
  EXPECT_EQ(picture.below[0].series[2].y, (std::vector<double>{0.03, 0.03, 0.03}));
  // Nothing was measured: no section and no picture.
  sample.results.sizes.clear();
  EXPECT_TRUE(sizes_section(sample.study, sample.results, *simulated, "p.svg").markdown.empty());
  EXPECT_TRUE(study::to_svg(sizes_picture(sample.study, sample.results, *simulated)).empty());
}

TEST(PacingPage, SaysWhatPassedAndWhatWasSkipped) {
  const Sample sample;
  const auto simulated = simulate_pacing(sample.study, 1);
  ASSERT_TRUE(simulated) << simulated.error().to_string();
  const PageSection sections[] = {protocol_section(sample.study),
                                  measured_section(sample.study, sample.results, *simulated)};
  const std::string page = pacing_page(sample.study, sections);
  EXPECT_EQ(page.find("# A title\n"), 0U);
  EXPECT_NE(page.find("| link | yes (p = 0.0010) | +8 %: yes (p = 0.0020) | yes (p = 0.0030) | yes (0.60) |"),
            std::string::npos);
  EXPECT_NE(page.find("| other | skipped: no network namespace |"), std::string::npos);
  EXPECT_NE(page.find("| auto | +14.0 [+12.0, +15.0] | "), std::string::npos);
  EXPECT_NE(page.find("| 2 (6), 1 struck |"), std::string::npos);
  EXPECT_NE(page.find("2026-01-02 on 2 cores, kernel 6.1"), std::string::npos);
}

TEST(PacingPage, SimulatedCounterpartIsTheSameForAnyNumberOfThreads) {
  const Sample sample;
  const auto one = simulate_pacing(sample.study, 1);
  const auto four = simulate_pacing(sample.study, 4);
  ASSERT_TRUE(one && four);
  ASSERT_EQ(one->size(), 2U);
  ASSERT_EQ((*one)[0].effects.size(), 2U);
  EXPECT_EQ((*one)[0].effects[0].gain, (*four)[0].effects[0].gain);
  EXPECT_EQ((*one)[0].effects[1].delay, (*four)[0].effects[1].delay);
  EXPECT_EQ((*one)[1].effects[0].delay, Seconds{}) << "nothing shared, nobody slow";
}

TEST(PacingPage, AgreementIsSignAndSizeOrBothNearZero) {
  const auto measured = [](double low, double gain, double high) {
    return PacingEffect{.arm = "always", .gain = gain, .low = low, .high = high};
  };
  EXPECT_TRUE(agrees(measured(0.15, 0.2, 0.25), {.gain = 0.13}));  // within 40 %
  EXPECT_FALSE(agrees(measured(0.15, 0.2, 0.25), {.gain = 0.11}));
  EXPECT_TRUE(agrees(measured(0.01, 0.02, 0.03), {.gain = 0.06}));    // within 5 points
  EXPECT_FALSE(agrees(measured(0.01, 0.02, 0.03), {.gain = -0.01}));  // another sign
  EXPECT_FALSE(agrees(measured(0.01, 0.02, 0.03), {.gain = 0.0}));    // none is another one, on either side
  EXPECT_FALSE(agrees(measured(-0.03, -0.02, -0.01), {.gain = 0.0}));
  EXPECT_TRUE(agrees(measured(-0.01, 0.01, 0.03), {.gain = -0.02}));
  EXPECT_FALSE(agrees(measured(-0.01, 0.01, 0.03), {.gain = 0.03}));
  // auto is judged by all of its time
  PacingEffect cold = measured(0.1, 0.2, 0.3);
  cold.arm = "auto";
  cold.total_low = -0.01;
  cold.total_high = 0.01;
  EXPECT_TRUE(agrees(cold, {.gain = 0.0}));
}

}  // namespace
}  // namespace cox::evaluate
