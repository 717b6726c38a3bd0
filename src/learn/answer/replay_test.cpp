// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/replay.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "cox/simulate/training.hpp"

#include "learn/drive/job_for_tests.hpp"

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
  EXPECT_NE(replayed->lines[1].text.find("ages: p50"), std::string::npos);
  EXPECT_NE(replayed->json.find("\"worker_ages\""), std::string::npos);
  EXPECT_NE(replayed->lines[2].text.find("quadratic of 10 parameters, sgd at rate 0.1"), std::string::npos);
}

TEST(Replay, SaysWhatALossScaleDid) {
  const auto path = stored(recorded(testing::job(4), "synchronous", 50));
  const auto replayed = replay_updates(path,
                                       {.problem = {.dimension = 10, .curvature = 4},
                                        .optimizer = {.rate = 0.1},
                                        .way = way_of("synchronous+fp16,dynamic=yes")},
                                       {});
  ASSERT_TRUE(replayed);
  EXPECT_NE(replayed->lines.back().text.find("steps were skipped by all, last for worker"), std::string::npos)
      << replayed->lines.back().text;
  EXPECT_EQ(replayed->json.find("\"loss_scale\": null"), std::string::npos);
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
  const std::string head =
      "# cox.updates/1 workers=2\nseconds,event,worker,version_read,version_applied,steps,applied\n";
  const auto refused = [&](const std::string& lines, const ReplayQuestion& question) {
    const auto read = replay_updates(stored(head + lines), question, {});
    EXPECT_FALSE(read) << lines;
    return read ? std::string() : read.error().message;
  };
  const std::string joins = "0,joined,2,,,,\n0,read,2,0,,,\n1,delivered,2,0,0,1,1\n1,advanced,,,1,,\n";
  EXPECT_NE(refused(joins, {.problem = {.spread = 0.5}}).find("a worker joins"), std::string::npos);
  EXPECT_TRUE(replay_updates(stored(head + joins), {}, {}));
  std::string many;
  for (int i = 0; i <= 4096; ++i) many += "0,joined," + std::to_string(i + 2) + ",,,,\n";
  EXPECT_NE(refused(many, {.problem = {.dimension = 2}}).find("more than 4096 workers join"),
            std::string::npos);
  EXPECT_NE(refused("1,delivered,0,0,0,4,1\n", {.way = way_of("post-local,synchronous-steps=10")})
                .find("has none there"),
            std::string::npos);
  EXPECT_NE(
      refused(
          "1,delivered,0,0,0,1,1\n1,advanced,,,1,,\n1,read,0,1,,,\n2,delivered,0,1,1,3,1\n2,delivered,1,0,1,1,1\n",
          {.way = way_of("post-local,synchronous-steps=1")})
          .find("a version holds gradients and differences"),
      std::string::npos);
  std::string long_ago = "1,joined,2,,,,\n";
  for (int i = 0; i < 9'000; ++i) long_ago += "1,delivered,0,0,0,1000000,0\n1,read,0,0,,,\n";
  EXPECT_NE(refused(long_ago, {.share = {.samples = 1 << 20}, .way = way_of("local-sgd,local-steps=2")})
                .find("more than are numbered"),
            std::string::npos);
  std::string crowd = head;
  crowd.replace(crowd.find("=2"), 2, "=100000");
  const auto wide =
      replay_updates(stored(crowd), {.problem = {.kind = ProblemKind::Mlp, .dimension = 1000}}, {});
  ASSERT_FALSE(wide);
  EXPECT_NE(wide.error().message.find("more than 4 GB"), std::string::npos);
  EXPECT_NE(refused("", {.way = way_of("gossip-ring")}).find("gossip has no common versions"),
            std::string::npos);
  EXPECT_FALSE(replay_updates("/nonexistent/updates.csv", {}, {}));
  EXPECT_FALSE(replay_updates(stored("nothing"), {}, {}));
}

}  // namespace
}  // namespace cox::learn
