// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/pacing/record.hpp"
#include "support/make_run.hpp"
#include "support/paced_run.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

trace::EventColumns& events_of(trace::Run& run, std::size_t rank) {
  return run.ranks[rank].events;
}

/// Index of the n-th Pace record that served a delay.
std::size_t served_record(const trace::EventColumns& e, std::size_t n) {
  for (std::size_t i = 0; i < e.size(); ++i)
    if (e.kind[i] == trace::EventKind::Pace && e.end[i] > e.begin[i] && n-- == 0) return i;
  return e.size();
}

TEST(Pacing, WhatTheControllersDidIsReadBack) {
  const trace::Run run = test::make_paced_run({});
  const auto record = read_pacing(run);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->mode, pace::Mode::Auto);
  EXPECT_EQ(record->settings_text, "auto");
  EXPECT_EQ(record->group_name, "world");
  ASSERT_EQ(record->ranks.size(), 4U);
  std::int64_t delays = 0;
  Duration delayed{};
  for (std::size_t r = 0; r < 4; ++r) {
    const trace::EventColumns& e = run.ranks[r].events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != trace::EventKind::Pace || e.end[i] == e.begin[i]) continue;
      ++delays;
      delayed += e.end[i] - e.begin[i];
    }
  }
  EXPECT_GT(delays, 100);
  EXPECT_EQ(record->delays, delays);
  EXPECT_EQ(record->delayed, delayed);
  EXPECT_EQ(record->ranks[3].delays, 0) << "the slow rank has no slack";
  EXPECT_EQ(record->ranks[0].delayed - record->ranks[0].decided, record->ranks[0].delays * Duration(60us))
      << "timers oversleep";
  EXPECT_EQ(record->ranks[0].changes.front().decision.reason, pace::Reason::WarmingUp);
  EXPECT_EQ(record->ranks[0].changes.front().step, 1U);
}

TEST(Pacing, TransferIsWhatTheLastRankWaits) {
  const trace::Run of_large = test::make_run({.ranks = 4, .steps = 100});
  const auto unknown = understand_pacing(of_large);
  ASSERT_TRUE(unknown);
  ASSERT_TRUE(unknown->transfer);
  EXPECT_NEAR(in_seconds(*unknown->transfer), 1e-3, 1e-6);
  EXPECT_NE(describe(*unknown).at(describe(*unknown).size() - 2).find("transfer_latency=1000us"),
            std::string::npos);
  // A barrier has none, and what the job was told need not be found.
  const trace::Run of_small = test::make_run({.ranks = 4, .steps = 100, .bytes = Bytes{8}});
  const auto small = understand_pacing(of_small);
  ASSERT_TRUE(small);
  EXPECT_FALSE(small->transfer);
  const trace::Run of_few = test::make_run({.ranks = 4, .steps = 20});
  const auto few = understand_pacing(of_few);
  ASSERT_TRUE(few);
  EXPECT_FALSE(few->transfer);
}

TEST(Pacing, RecordsThatKeepAnOrderAreNoDecisions) {
  trace::Run run = test::make_paced_run({});
  const auto before = read_pacing(run);
  trace::EventColumns& e = events_of(run, 0);
  const std::size_t at = served_record(e, 3);
  ASSERT_LT(at, e.size());
  e.op[at] = static_cast<std::uint8_t>(pace::Reason::InOrder);
  const auto after = read_pacing(run);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->ranks[0].delays, before->ranks[0].delays - 1);
}

TEST(Pacing, ARunWithoutPaceRecordsHasNoRecord) {
  const trace::Run run = test::make_run({.ranks = 4, .steps = 50});
  EXPECT_FALSE(read_pacing(run));
}

TEST(Pacing, ReplayComesToTheRecordedDecisions) {
  for (const char* settings :
       {"auto", "auto,window=32,warm_up=16,seed=9", "paper", "always", "random,seed=4", "observe"})
    for (const bool marks : {false, true}) {
      const trace::Run run = test::make_paced_run({.marks = marks, .settings = settings});
      const auto replays = replay_pacing(run);
      ASSERT_TRUE(replays) << settings;
      ASSERT_EQ(replays->size(), 4U);
      for (const PaceReplay& r : *replays) {
        EXPECT_FALSE(r.open_loop);
        EXPECT_GT(r.compared, 580) << settings;
        EXPECT_FALSE(r.difference) << settings << ", rank " << r.rank.value() << ", iteration "
                                   << r.difference->step;
      }
    }
}

TEST(Pacing, AMarkedStepWithSeveralSynchronisationsIsOneIteration) {
  const trace::Run run = test::make_paced_run({.marks = true, .calls = 3});
  const auto p = understand_pacing(run);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->record->iterations, 597);
  EXPECT_GT(p->record->delays, 100);
  for (const PaceReplay& r : p->replays) {
    EXPECT_GT(r.compared, 580);
    EXPECT_FALSE(r.difference) << r.rank.value();
  }
}

TEST(Pacing, ReplayFindsADecisionThatWasAnother) {
  trace::Run run = test::make_paced_run({});
  trace::EventColumns& e = events_of(run, 0);
  const std::size_t at = served_record(e, 20);
  ASSERT_LT(at, e.size());
  e.op[at] = static_cast<std::uint8_t>(pace::Reason::Fixed);
  const auto replays = replay_pacing(run, {.rank = Rank{0}});
  ASSERT_TRUE(replays);
  ASSERT_TRUE(replays->front().difference);
  EXPECT_EQ(replays->front().difference->step, e.seq[at]);
  EXPECT_EQ(replays->front().difference->recorded.reason, pace::Reason::Fixed);
  EXPECT_EQ(replays->front().difference->replayed.reason, pace::Reason::BlockPaced);
}

TEST(Pacing, ReplayFindsADelayThatWasAnother) {
  trace::Run run = test::make_paced_run({});
  trace::EventColumns& e = events_of(run, 1);
  const std::size_t at = served_record(e, 3);
  e.bytes.set(at, Bytes{e.bytes[at].count() * 2});
  const auto replays = replay_pacing(run);
  ASSERT_TRUE(replays);
  EXPECT_FALSE((*replays)[0].difference);
  ASSERT_TRUE((*replays)[1].difference);
  EXPECT_EQ((*replays)[1].difference->step, e.seq[at]);
}

TEST(Pacing, OtherSettingsOrNoPacingAreOpenLoop) {
  const trace::Run paced = test::make_paced_run({});
  pace::Settings other;
  other.mode = pace::Mode::Paper;
  const auto changed = replay_pacing(paced, {.settings = other});
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->front().open_loop);
  EXPECT_EQ(changed->front().compared, 0);

  const trace::Run unpaced = test::make_run({.ranks = 4,
                                             .steps = 300,
                                             .transfer = 20us,
                                             .bytes = Bytes{8},
                                             .extras = {{.rank = 2, .amount = 5ms}},
                                             .step_marks = false});
  const auto p = understand_pacing(unpaced);
  ASSERT_TRUE(p);
  EXPECT_FALSE(p->record);
  EXPECT_FALSE(p->comparison);
  ASSERT_EQ(p->replays.size(), 4U);
  const auto in = [&](std::size_t r, pace::State s) { return p->replays[r].in_state[static_cast<int>(s)]; };
  EXPECT_GT(in(0, pace::State::Trial), 0) << "it waits predictably";
  EXPECT_EQ(in(2, pace::State::Trial), 0) << "it is the late one";
  EXPECT_EQ(in(0, pace::State::Hold), 0) << "nobody was held back, so nothing was gained";
  std::string all;
  for (const std::string& line : describe(*p)) all += line + "\n";
  EXPECT_NE(all.find("not paced"), std::string::npos) << all;
  EXPECT_NE(all.find("open loop"), std::string::npos) << all;
}

TEST(Pacing, PairedBlocksShowTheGain) {
  const trace::Run run = test::make_paced_run({.steps = 2000});
  const auto record = read_pacing(run);
  ASSERT_TRUE(record);
  const auto c = compare_blocks(run, *record);
  ASSERT_TRUE(c);
  EXPECT_TRUE(c->within_run);
  ASSERT_TRUE(c->has_interval);
  EXPECT_GT(c->pairs, 8);
  // Unpaced iterations: 10 + 6 + 3 ms and the transfer.
  EXPECT_NEAR(c->baseline.period.value.count(), 19.05e-3, 0.2e-3);
  EXPECT_GT(c->faster_ratio.value, 0.05);
  EXPECT_LT(c->faster_ratio.value, 3.0 / 16 + 0.005) << "all of the contention, give or take the noise";
  EXPECT_GT(c->faster_ratio.low, 0.03);
  EXPECT_LE(c->faster_ratio.low, c->faster_ratio.value);
  EXPECT_GE(c->faster_ratio.high, c->faster_ratio.value);
  EXPECT_LT(c->wait_ratio.value, 1);
  EXPECT_LT(c->energy_ratio.high, 1) << "shorter, and partly asleep";
  ASSERT_EQ(c->ranks.size(), 4U);
  EXPECT_GT(c->ranks[0].control_delay, Seconds{0.5e-3});
  EXPECT_EQ(c->ranks[3].control_delay, Seconds{0});
  EXPECT_NEAR(c->ranks[3].baseline_wait.count(), 0, 1e-6) << "the last to come does not wait";
  const auto again = compare_blocks(run, *record);
  EXPECT_EQ(again->faster_ratio.low, c->faster_ratio.low) << "same draws";
}

TEST(Pacing, ThroughputTurnsTheEndsOfThePeriodRound) {
  PacingComparison c;
  c.baseline.period = {Seconds{0.5}, Seconds{0.4}, Seconds{0.8}};
  EXPECT_EQ(c.baseline.throughput().value, 2);
  EXPECT_EQ(c.baseline.throughput().low, 1.25);
  EXPECT_EQ(c.baseline.throughput().high, 2.5);
  EXPECT_EQ(c.control.throughput().value, 0) << "no period, no rate";
  c.faster_ratio = {0.25, 0.125, 0.5};
  EXPECT_EQ(c.throughput_ratio().value, 1.25);
  EXPECT_EQ(c.throughput_ratio().high, 1.5);
  EXPECT_EQ(c.median_ratio(), 1);
  c.baseline.median.value = Seconds{2};
  c.control.median.value = Seconds{1};
  EXPECT_EQ(c.median_ratio(), 0.5);
  RankPacing four;
  four.delays = 4;
  four.delayed = 10us;
  EXPECT_EQ(four.each(), Duration{2500ns});
  EXPECT_EQ(RankPacing{}.each(), Duration::zero());
}

TEST(Pacing, WithoutContentionNoGainIsFound) {
  const trace::Run run = test::make_paced_run({.steps = 2000, .contention = Duration::zero()});
  const auto record = read_pacing(run);
  ASSERT_TRUE(record);
  const auto c = compare_blocks(run, *record);
  ASSERT_TRUE(c) << "a trial took place";
  EXPECT_LT(std::abs(c->faster_ratio.value), 0.01);
  EXPECT_LE(c->faster_ratio.low, 0);
}

TEST(Pacing, TwoRunsAreCompared) {
  const trace::Run off = test::make_paced_run({.steps = 800, .seed = 2, .settings = "observe"});
  const trace::Run on = test::make_paced_run({.steps = 800, .settings = "always"});
  EXPECT_FALSE(compare_blocks(on, *read_pacing(on))) << "mode always has no blocks of its own";
  const auto c = compare_runs(off, on);
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->within_run);
  EXPECT_EQ(c->pairs, 0);
  EXPECT_GT(c->faster_ratio.low, 0.05);
  EXPECT_EQ(c->baseline.iterations, c->control.iterations);
}

TEST(Pacing, AnOverwrittenBeginningIsNumberedAsTheRecordsAre) {
  trace::Run run = test::make_paced_run({.steps = 600});
  const auto whole = compare_blocks(run, *read_pacing(run));
  for (trace::RankTrack& track : run.ranks) {
    trace::EventColumns& e = track.events;
    std::size_t cut = 0;
    while (e.seq[cut] < 100 || e.kind[cut] != trace::EventKind::Collective) ++cut;
    std::vector<std::uint32_t> kept(e.size() - cut);
    std::iota(kept.begin(), kept.end(), static_cast<std::uint32_t>(cut));
    e.reorder(kept);
  }
  const auto record = read_pacing(run);
  ASSERT_TRUE(record);
  const auto rest = compare_blocks(run, *record);
  ASSERT_TRUE(rest);
  EXPECT_NEAR(rest->faster_ratio.value, whole->faster_ratio.value, 0.01);
  const auto replays = replay_pacing(run);
  ASSERT_TRUE(replays);
  int late = 0;
  for (const PaceReplay& r : *replays) {
    late += r.begins_late ? 1 : 0;
    EXPECT_TRUE(r.open_loop);
    EXPECT_FALSE(r.difference) << "what the controller knew before is not in the Run";
  }
  EXPECT_GT(late, 0);
}

TEST(Pacing, SettingsThatCannotBeReadAreNotBelieved) {
  trace::Run run = test::make_paced_run({});
  for (trace::RankTrack& t : run.ranks) t.locality = {{kPaceSettingsFact, "auto,window=1e99"}};
  const auto p = understand_pacing(run);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->record->settings_text.empty());
  for (const PaceReplay& r : p->replays) EXPECT_TRUE(r.open_loop);
}

TEST(Pacing, HostileNumbersDoNotCostMemory) {
  trace::Run run = test::make_paced_run({.steps = 200});
  trace::EventColumns& e = events_of(run, 0);
  for (std::size_t i = 0; i < e.size(); ++i)
    if (e.kind[i] == trace::EventKind::Pace) {
      e.seq[i] = 0xffffffff;
      e.bytes.set(i, Bytes{INT64_MAX});
      e.op[i] = 250;
    }
  const auto p = understand_pacing(run);
  ASSERT_TRUE(p);
  EXPECT_LT(p->record->iterations, 1000);
  EXPECT_FALSE(describe(*p).empty());
  EXPECT_TRUE(p->replays.front().difference);
}

TEST(Pacing, NothingToReplaySaysSo) {
  const trace::Run empty = testing::empty_run(4);
  const auto none = replay_pacing(empty);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "pace-001");
  const trace::Run run = test::make_paced_run({});
  const auto absent = replay_pacing(run, {.rank = Rank{17}});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().id, "pace-002");
}

TEST(Pacing, ExplainIsOneLinePerChangeOfDecision) {
  const trace::Run run = test::make_paced_run({});
  const auto changes = replay_pacing(run, {.rank = Rank{0}});
  const auto every = replay_pacing(run, {.rank = Rank{0}, .every_iteration = true});
  ASSERT_TRUE(changes && every);
  const auto few = explain(changes->front(), false);
  const auto many = explain(every->front(), true);
  EXPECT_LT(few.size(), 20U);
  EXPECT_EQ(many.size(), static_cast<std::size_t>(every->front().observations) + 3);
  EXPECT_NE(few.back().find("as recorded"), std::string::npos);
  const auto hold = std::find_if(few.begin(), few.end(),
                                 [](const std::string& l) { return l.find("  hold ") != std::string::npos; });
  ASSERT_NE(hold, few.end());
  EXPECT_NE(hold->find("measurably better"), std::string::npos);
}

TEST(Pacing, TheDocumentHoldsItsParts) {
  const trace::Run run = test::make_paced_run({.steps = 400});
  const auto p = understand_pacing(run);
  ASSERT_TRUE(p);
  const auto doc = nlohmann::json::parse(to_json(*p, run, {"run"}, true));
  EXPECT_EQ(doc["schema"], "cox.pace/1");
  EXPECT_EQ(doc["result"]["record"]["mode"], "auto");
  EXPECT_EQ(doc["result"]["record"]["ranks"].size(), 4U);
  EXPECT_EQ(doc["result"]["replays"][0]["difference"], nullptr);
  EXPECT_GT(doc["result"]["comparison"]["faster_ratio"]["value"].get<double>(), 0.0);
  EXPECT_GT(doc["result"]["replays"][0]["decisions"].size(), 3U);
}

}  // namespace
}  // namespace cox::diagnose
