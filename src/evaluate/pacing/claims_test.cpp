// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cox/pace/advice.hpp"

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
  EXPECT_TRUE(has(up, "In 1 no difference is shown after correction (from `plain`")) << up;
  EXPECT_TRUE(
      has(up, "the scatter of the steps (CV, no interval) falls in 1 of 1 jobs (`link` 0.020 → 0.010)."))
      << up;
  const std::string down = Measured(-0.1, 0.05, 0.04).claims().sentence;
  EXPECT_TRUE(has(down, "rises in 1 (`plain` +5.0 %), falls in 1 (`link` -10.0 %).")) << down;
  EXPECT_FALSE(has(down, "no difference")) << down;
  EXPECT_TRUE(has(down, "falls in 0 of 1 jobs and rises in 1 (`link` 0.020 → 0.040).")) << down;
  EXPECT_TRUE(has(Measured(0, 0, 0).claims().sentence, "rises in none, falls in none"));
}

/// Fourteen looks find one of 4 % by chance: what a correction takes back is no rise, though its interval leaves 0 out.
TEST(PacingClaims, ALookAmongManyIsNoProof) {
  Measured many(0.1, 0.0, 0);
  many.study.protocol.start_correlation = 0;
  PacingEffect& e = many.results.conditions[0].effects[0];
  e.starts[0].total_gain = 0.1;
  e.starts[1].total_gain = 0.107;
  judge_all(many.study, many.results);
  ASSERT_TRUE(shown_gain(e).is_above());
  ASSERT_GT(e.p_zero, 0.05 / 14);
  EXPECT_TRUE(has(many.claims().sentence, "rises in 1 (`link`")) << many.claims().sentence;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "plain" + std::to_string(i);
    many.study.conditions.push_back({.name = name, .job = {{}, 4}});
    many.results.conditions.push_back(many.results.conditions[1]);
    many.results.conditions.back().name = name;
  }
  EXPECT_TRUE(has(many.claims().sentence, "rises in none")) << many.claims().sentence;
}

// What the plan's own tests found stands beside what rose and fell.
TEST(PacingClaims, TheSentenceHasThePlansTests) {
  Measured m(0.1, 0.0, 0);
  m.study.conditions[0].bar = 0.2;
  m.results.conditions[0].effects.push_back({.arm = "random", .starts = starts_of(0.15)});
  judge_all(m.study, m.results);
  const std::string missed = m.claims().sentence;
  EXPECT_TRUE(has(
      missed,
      "It is shown to cost less than 1.0 % in 2 of the 2; of 1 that had to gain a stated amount 0 did, and 0 are "
      "shown to be no worse than random delays (these gain: `link` +15.0 %)"))
      << missed;
  m.study.conditions[0].bar = 0.05;
  judge_all(m.study, m.results);
  EXPECT_TRUE(has(m.claims().sentence, "of 1 that had to gain a stated amount 1 did")) << m.claims().sentence;
  EXPECT_FALSE(has(Measured(0.1, 0, 0).claims().sentence, "had to gain a stated amount"));
}

/// A mean that is a loss is counted, though its interval does not exclude that it is none.
TEST(PacingClaims, LossesThatAreNotShownAreCounted) {
  Measured small(0.1, -0.006, 0);
  for (PacingEffect& e : small.results.conditions[1].effects) {
    e.starts[0].total_gain = -0.05;
    e.starts[1].total_gain = 0.038;
  }
  judge_all(small.study, small.results);
  const std::string said = small.claims().sentence;
  EXPECT_TRUE(has(said, "In 1 no difference is shown")) << said;
  EXPECT_TRUE(has(said, "from `plain` -0.") && has(said, "with a mean below 0 in 1")) << said;
  EXPECT_FALSE(has(Measured(0.1, 0.001, 0).claims().sentence, "with a mean below 0"));
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

/// What throughput gained in the measured study, in per cent: the least and the most over these jobs and arms.
struct MeasuredGains {
  PacingResults results;

  [[nodiscard]] PacingEffect effect(const std::string& job, const std::string& arm) const {
    for (const auto* list : {&results.conditions, &results.sizes})
      for (const PacingConditionResult& c : *list)
        for (const PacingEffect& e : c.effects)
          if (c.name == job && e.arm == arm) return e;
    ADD_FAILURE() << job << ' ' << arm << " was not measured";
    return {};
  }
  [[nodiscard]] double gain(const std::string& job, const std::string& arm) const {
    return 100 * effect(job, arm).total_gain;
  }
  [[nodiscard]] std::pair<double, double> range(const std::vector<std::string>& jobs,
                                                const std::vector<std::string>& arms) const {
    std::pair<double, double> out{1e9, -1e9};
    for (const std::string& job : jobs)
      for (const std::string& arm : arms) {
        out.first = std::min(out.first, gain(job, arm));
        out.second = std::max(out.second, gain(job, arm));
      }
    return out;
  }
};

TEST(PacingClaims, AdviceIsWhatWasMeasured) {
  const std::string studies = COX_STUDIES;
  std::ifstream file(studies + "/../docs/studies/pacing.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto parsed = parse_pacing_json(text, "pacing.json");
  ASSERT_TRUE(parsed) << (parsed ? "" : parsed.error().to_string());
  std::ifstream plan(studies + "/pacing.toml");
  const auto study = parse_pacing(std::string{std::istreambuf_iterator<char>(plan), {}}, "pacing.toml");
  ASSERT_TRUE(study);
  judge_all(*study, *parsed);
  const MeasuredGains m{*parsed};
  const auto gains = [](std::pair<double, double> r) {
    return r.first == r.second ? fmt::format("{:+.0f} %", r.first)
                               : fmt::format("{:+.0f} to {:+.0f} %", r.first, r.second);
  };
  const auto losses = [](std::pair<double, double> r) {
    return fmt::format("lost {:.0f} to {:.0f} %", -r.second, -r.first);
  };
  const auto one = [&](const char* job, const char* arm) { return m.range({job}, {arm}); };

  std::ifstream page(studies + "/../docs/concepts/pacing-actuators.md");
  std::string told;
  for (std::string word; page >> word;) told += word + ' ';
  const auto says = [&](const pace::Facts& facts, pace::AdviceKind kind,
                        const std::vector<std::string>& what) {
    const pace::AdviceList list = pace::advise(facts);
    for (const pace::Advice& a : list.items()) {
      if (a.remedy != kind) continue;
      for (const std::string& w : what) {
        EXPECT_TRUE(has(a.evidence, w)) << w << " is not in: " << a.evidence;
        EXPECT_TRUE(has(told, w)) << w << " is not in pacing-actuators.md";
      }
      return;
    }
    ADD_FAILURE() << "not advised: " << name_of(kind);
  };
  using pace::AdviceKind;
  const std::string yields =
      gains(m.range({"spin", "spin-persistent"}, {"yield", "block"})) + " throughput where";
  const std::string spinning = gains(m.range({"spin-persistent"}, {"paper", "auto", "always"}));
  const pace::Facts spins{.ranks_on_host = 32, .cores = 2, .wait = pace::WaitMode::Spin, .persistent = true};
  says(spins, AdviceKind::ChangeWaitMode, {yields, spinning, losses(m.range({"spin"}, {"paper", "always"}))});
  says(spins, AdviceKind::Delay, {spinning});
  says({.persistent = true, .host_busy_at_start = true, .priority_undoable = true}, AdviceKind::RaisePriority,
       {gains(one("shared-host-persistent", "priority")), gains(one("spin-persistent", "priority"))});
  const std::string few =
      fmt::format("{:.0f} to {:+.0f} % with 4 to 16", std::abs(m.gain("shared-host-persistent-4", "auto")),
                  m.gain("shared-host-persistent-16", "auto"));
  says({.persistent = true, .host_busy_at_start = true}, AdviceKind::Delay,
       {gains(one("shared-host-persistent", "auto")), few});
  says({.persistent = true, .link_busy_at_start = true}, AdviceKind::Delay,
       {gains(one("shared-link-persistent", "auto")),
        fmt::format("{:.3f} to {:.3f}", m.effect("shared-link-persistent", "auto").off.cv,
                    m.effect("shared-link-persistent", "auto").on.cv)});
  says({.rotating = true}, AdviceKind::Nothing,
       {losses(m.range({"rotating"}, {"paper", "always"})),
        fmt::format("mode auto {:.0f} %", -m.gain("rotating", "auto"))});
  const auto [low, high] = m.range({"straggler"}, {"paper", "auto", "always"});
  says({.persistent = true}, AdviceKind::Nothing,
       {fmt::format("{:+.1f} to {:+.1f} %", low, high),
        fmt::format("it lost {:.0f} %", -m.gain("jitter-persistent", "paper"))});
  const auto [least, most] = m.range({"jitter", "jitter-persistent", "homogeneous"}, {"auto"});
  says({}, AdviceKind::Nothing,
       {losses(m.range({"jitter", "jitter-persistent", "homogeneous"}, {"paper", "always"})),
        fmt::format("mode auto {:.1f} to {:.1f} %", -most, -least)});
}

}  // namespace
}  // namespace cox::evaluate
