// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/over_time/runs.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

RunTimes run_of(const std::string& name, std::uint64_t seed, int steps, Duration usual, double jitter) {
  RunTimes run{.name = name, .steps = {}};
  for (int s = 0; s < steps; ++s) run.steps.push_back(testing::lognormal_work(seed, 0, s, usual, jitter));
  return run;
}

TEST(CompareRuns, EqualRunsAreOneLevel) {
  int unequal = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<RunTimes> runs{run_of("job/0", seed * 3, 200, 100ms, 0.05),
                                     run_of("job/1", seed * 3 + 1, 300, 100ms, 0.05),
                                     run_of("job/2", seed * 3 + 2, 150, 100ms, 0.05)};
    const auto groups = compare_runs(runs);
    ASSERT_EQ(groups.size(), 1U);
    unequal += groups[0].levels > 1;
    for (const RunFigures& r : groups[0].runs) unequal += r.stalls_stand_out;
  }
  EXPECT_LE(unequal, 3);
}

TEST(CompareRuns, ASlowerRunIsNamedWithWhatItCosts) {
  const std::vector<RunTimes> runs{run_of("job/a", 1, 300, 100ms, 0.03), run_of("job/b", 2, 300, 103ms, 0.03),
                                   run_of("job/c", 3, 300, 100ms, 0.03)};
  const auto groups = compare_runs(runs);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].levels, 2);
  EXPECT_EQ(groups[0].runs[1].level, 1);
  EXPECT_EQ(groups[0].runs[2].level, 0);
  const auto lines = run_lines(groups);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("longer than in a, c: b."), std::string::npos) << lines[1];
}

TEST(CompareRuns, OneOfThemHasStalls) {
  std::vector<RunTimes> runs{run_of("job/0", 1, 150, 100ms, 0.01), run_of("job/1", 2, 150, 100ms, 0.01),
                             run_of("job/2", 3, 150, 100ms, 0.01)};
  for (std::size_t s = 10; s < 150; s += 20) runs[2].steps[s] = 180ms;
  const auto groups = compare_runs(runs);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].levels, 1);
  EXPECT_FALSE(groups[0].runs[0].stalls_stand_out);
  EXPECT_TRUE(groups[0].runs[2].stalls_stand_out);
  EXPECT_EQ(groups[0].runs[2].stalls, 7);
}

TEST(CompareRuns, DifferentKindsAndShortRunsAreNotHeldAgainstEachOther) {
  const std::vector<RunTimes> runs{run_of("512/0", 1, 100, 100ms, 0.01), run_of("1024/0", 2, 100, 60ms, 0.01),
                                   run_of("512/1", 3, 9, 300ms, 0.01)};
  EXPECT_TRUE(compare_runs(runs).empty());
  EXPECT_TRUE(compare_runs({}).empty());
  EXPECT_TRUE(run_lines({}).empty());
}

TEST(CompareRuns, JsonNamesTheSchema) {
  const std::vector<RunTimes> runs{run_of("a", 1, 100, 100ms, 0.01), run_of("b", 2, 100, 100ms, 0.01)};
  const auto j = nlohmann::json::parse(to_json(compare_runs(runs), "t.csv"));
  EXPECT_EQ(j["schema"], "cox.runs/1");
  EXPECT_EQ(j["result"]["groups"][0]["runs"][1]["name"], "b");
  EXPECT_TRUE(j["warnings"].empty());
  EXPECT_EQ(nlohmann::json::parse(to_json({}, "t.csv", {"c.csv: not used"}))["warnings"][0],
            "c.csv: not used");
}

}  // namespace
}  // namespace cox::diagnose
