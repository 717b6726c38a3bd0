// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/pacing/page.hpp"

namespace cox::evaluate {
namespace {

/// Two starts of one chunk each, a little apart.
std::vector<PacingStart> starts_of(double gain) {
  std::vector<PacingStart> all;
  for (const double apart : {-1e-4, 1e-4})
    all.push_back(
        {.number = static_cast<int>(all.size()), .pair_gains = {gain + apart}, .total_gain = gain + apart});
  return all;
}

/// One job whose link is shared, and one where nothing is.
struct Measured {
  PacingStudy study;
  PacingResults results;
  Measured(double gain_of_link, double gain_of_nothing, double cv_held) {
    study.arms = {{.name = "off"},
                  {.name = "auto", .settings = "auto"},
                  {.name = "yield", .wait = pace::WaitMode::Yield}};
    study.conditions = {
        {.name = "link", .job = {{.fetch = Bytes{1000}, .imbalance = model::Imbalance::Persistent}, 4}},
        {.name = "plain", .job = {{}, 4}}};
    results.machine.cores = 2;
    const auto add = [&](const char* name, double gain, double held) {
      PacingConditionResult& r = results.conditions.emplace_back(PacingConditionResult{.name = name});
      PacingEffect e{.arm = "auto", .starts = starts_of(gain)};
      e.off.cv = 0.02;
      e.on.cv = 0.03;
      e.held_cv = held;
      e.held_steps = held > 0 ? 100 : 0;
      e.on.delay = Seconds{0.002};
      r.effects.push_back(e);
    };
    add("link", gain_of_link, cv_held);
    add("plain", gain_of_nothing, 0);
    results.conditions[0].effects.push_back({.arm = "yield", .starts = starts_of(-0.3)});
    judge_all(study, results);
  }
  [[nodiscard]] PacingClaims claims() const { return pacing_claims(study, results); }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Every word turns with its number.
TEST(PacingClaims, TheSentenceFollowsTheData) {
  const std::string up = Measured(0.1, 0.0, 0.01).claims().sentence;
  EXPECT_TRUE(has(up, "throughput rises in 1 (`link` +10.0 %), falls in none")) << up;
  EXPECT_TRUE(has(up, "no difference is shown in 1 (from `plain`")) << up;
  EXPECT_TRUE(has(up, "the CV of the steps falls in 1 of 1 jobs (`link` 0.020 → 0.010).")) << up;
  const std::string down = Measured(-0.1, 0.05, 0.04).claims().sentence;
  EXPECT_TRUE(has(down, "rises in 1 (`plain` +5.0 %), falls in 1 (`link` -10.0 %).")) << down;
  EXPECT_FALSE(has(down, "no difference")) << down;
  EXPECT_TRUE(has(down, "falls in 0 of 1 jobs and rises in 1 (`link` 0.020 → 0.040).")) << down;
  EXPECT_TRUE(has(Measured(0, 0, 0).claims().sentence, "rises in none, falls in none"));
}

TEST(PacingClaims, OneStartIsNoProof) {
  Measured one(0.1, 0.1, 0);
  for (PacingConditionResult& r : one.results.conditions)
    for (PacingEffect& e : r.effects) e.starts.pop_back();
  judge_all(one.study, one.results);
  EXPECT_TRUE(has(one.claims().sentence, "rises in none")) << one.claims().sentence;
  EXPECT_TRUE(has(one.claims().sentence, "2 of them have one cold start")) << one.claims().sentence;
  EXPECT_TRUE(has(one.claims().table, "+10.0 (one start)")) << one.claims().table;
}

TEST(PacingClaims, TableAndRemediesNameEveryJob) {
  const PacingClaims claims = Measured(0.1, 0.0, 0.01).claims();
  EXPECT_TRUE(
      has(claims.table, "| `link` | a link, at the start of the iteration | persistent | - | - | +10.0 ["))
      << claims.table;
  EXPECT_TRUE(has(claims.table, "| `plain` | nothing | random |")) << claims.table;
  EXPECT_TRUE(has(claims.remedies, "yield -30.0 [")) << claims.remedies;
  EXPECT_FALSE(has(claims.remedies, "plain")) << claims.remedies;
}

TEST(PacingClaims, FindingsNameHarmAndGainsThatNobodyHolds) {
  const Measured harmed(-0.006, 0.05, 0.04);
  const std::string text = findings_section(harmed.study, harmed.results).markdown;
  EXPECT_TRUE(has(text, "`auto` costs something in `link`: -0.6 [")) << text;
  EXPECT_TRUE(has(text, "within the margin of 1.0 %")) << text;
  EXPECT_TRUE(has(text, "`plain` gains +5.0 [")) << text;
  EXPECT_TRUE(has(text, "the mean delay is 2.00 ms")) << text;
  EXPECT_FALSE(has(findings_section(Measured(0.006, 0, 0).study, Measured(0.006, 0, 0).results).markdown,
                   "costs something"));
}

TEST(PacingClaims, StandBetweenTheirMarksAndNowhereElse) {
  const PacingClaims claims{.sentence = "S\n", .table = "T\n", .remedies = "R\n"};
  const std::string page =
      "a\n<!-- pacing study: table -->\nold\n<!-- end -->\nb\n<!-- pacing study: sentence -->\n<!-- end -->\n";
  const auto made = with_claims(page, claims, "p.md");
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(
      *made,
      "a\n<!-- pacing study: table -->\nT\n<!-- end -->\nb\n<!-- pacing study: sentence -->\nS\n<!-- end -->\n");
  EXPECT_EQ(with_claims(*made, claims, "p.md").value_or(""), *made);
  for (const char* bad : {"no mark\n", "<!-- pacing study: table -->\nnot ended\n",
                          "<!-- pacing study: tabel -->\n<!-- end -->\n"}) {
    const auto refused = with_claims(bad, claims, "p.md");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().id, "study-007");
  }
}

}  // namespace
}  // namespace cox::evaluate
