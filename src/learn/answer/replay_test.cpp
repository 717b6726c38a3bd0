// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/replay.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "cox/simulate/training.hpp"

#include "learn/answer/job_for_tests.hpp"

namespace cox::learn {
namespace {

Way way_of(const std::string& text) {
  auto way = read_way(text);
  EXPECT_TRUE(way) << text;
  return *way;
}

std::string recorded(const model::Scenario& scenario, const std::string& way, std::int64_t steps) {
  std::ostringstream out;
  const auto said = record_updates(scenario, way_of(way), {}, steps, out);
  EXPECT_TRUE(said) << (said ? "" : said.error().to_string());
  return out.str();
}

std::filesystem::path stored(const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) /
      (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".csv");
  std::ofstream(path) << text;
  return path;
}

// What is learned along the file are the bits of the run that was recorded.
TEST(Replay, HasTheBitsOfTheRun) {
  model::Scenario scenario = testing::job(4);
  testing::make_uneven(scenario, 0.3);
  for (const char* word :
       {"synchronous", "asynchronous", "bounded-discard,staleness=1", "local-sgd,local-steps=4"}) {
    const ReplayQuestion question{.problem = {.dimension = 30, .noise = 0.3},
                                  .optimizer = {.rate = 0.1},
                                  .share = {.samples = 2},
                                  .way = way_of(word)};
    const auto replayed = replay_updates(stored(recorded(scenario, word, 40)), question, {"u.csv"});
    ASSERT_TRUE(replayed) << word << ' ' << replayed.error().to_string();

    auto problem = make_problem(question.problem);
    ASSERT_TRUE(problem);
    Learner learner(**problem, question.optimizer, question.way, question.share, 4);
    model::Scenario same = scenario;
    same.policy = question.way.policy;
    same.job.steps = 40;
    ASSERT_TRUE(simulate::stream_updates(
        same, scenario.seed, [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); }));
    const std::string last = replayed->json.substr(replayed->json.rfind("\"loss\": ") + 8);
    EXPECT_EQ(std::stod(last), (*problem)->score(learner.parameters()).loss) << word;
    EXPECT_NE(replayed->json.find("\"versions\": " + std::to_string(learner.version())), std::string::npos);
  }
}

TEST(Replay, SaysWhatItFollowedAndHowItWent) {
  const auto path = stored(recorded(testing::job(4), "asynchronous", 50));
  const auto replayed = replay_updates(path, {.problem = {.dimension = 10}, .optimizer = {.rate = 0.1}}, {});
  ASSERT_TRUE(replayed);
  EXPECT_FALSE(replayed->diverged);
  EXPECT_NE(replayed->lines.front().text.find("mean age"), std::string::npos);
  EXPECT_NE(replayed->lines[1].text.find("quadratic of 10 parameters, sgd at rate 0.1"), std::string::npos);
}

TEST(Replay, DivergesInALine) {
  const auto path = stored(recorded(testing::job(4), "synchronous", 400));
  const auto replayed = replay_updates(path, {.problem = {.dimension = 10}, .optimizer = {.rate = 1000}}, {});
  ASSERT_TRUE(replayed);
  EXPECT_TRUE(replayed->diverged);
  EXPECT_NE(replayed->lines.back().text.find("is not a number any more"), std::string::npos);
}

TEST(Replay, RefusesWhatTheFileDoesNotFit) {
  const auto path = stored(recorded(testing::job(4), "local-sgd,local-steps=4", 40));
  const auto plain = replay_updates(path, {}, {});
  ASSERT_FALSE(plain);
  EXPECT_NE(plain.error().message.find("an update holds 4 local steps, and synchronous has none"),
            std::string::npos);
  const auto other = replay_updates(path, {.problem = {.spread = 1, .workers = 77}}, {});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("the problem is made for 77 workers"), std::string::npos);
  const auto large = replay_updates(path, {.problem = {.dimension = 1'000'000'000}}, {});
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("more than 4 GB"), std::string::npos);
  EXPECT_FALSE(replay_updates("/nonexistent/updates.csv", {}, {}));
  EXPECT_FALSE(replay_updates(stored("nothing"), {}, {}));
}

}  // namespace
}  // namespace cox::learn
