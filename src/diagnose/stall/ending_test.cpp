// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stall/ending.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

trace::Run ended_job(int status) {
  testing::Job job;
  job.ranks = 3;
  job.steps = 30;
  trace::Run run = testing::make_job(job);
  for (trace::RankTrack& track : run.ranks) {
    track.state = trace::WriterState::Open;
    track.samples = {trace::Sample{.at = 10s}};
  }
  run.info.exit_status = status;
  return run;
}

std::string text_of(const trace::Run& run) {
  const auto d = diagnose(run);
  return d && d->trouble.ending ? d->trouble.ending->text : std::string();
}

TEST(Ending, NothingWhereTheJobEndedWellOrNobodyKnows) {
  EXPECT_EQ(text_of(ended_job(0)), "");
  EXPECT_EQ(text_of(ended_job(-1)), "");
}

TEST(Ending, TheStatusAndItsSignalReachTheVerdict) {
  trace::Run run = ended_job(139);
  EXPECT_EQ(text_of(run),
            "the job ended with status 139 (as after SIGSEGV); which rank ended first is not recorded");
  run.info.signal = 11;
  EXPECT_EQ(text_of(run), "the job ended with status 139 (SIGSEGV); which rank ended first is not recorded");
  EXPECT_TRUE(diagnose(run)->verdict.starts_with("The job ended with status 139 (SIGSEGV);"));
  EXPECT_FALSE(has_trouble(*diagnose(run))) << "--check is about who is late and what hangs";
}

TEST(Ending, ALogThatTellsOfABadEndIsBelieved) {
  trace::Run run = ended_job(-1);
  run.info.logged_end = "aborted";
  EXPECT_EQ(text_of(run), "the log says that the job ended with status \"aborted\"");
  EXPECT_EQ(diagnose(run)->answer.kind, AnswerKind::JobFailed);
}

TEST(Ending, TheRanksOwnEndsSayWhoWasFirst) {
  trace::Run run = ended_job(9);
  run.info.ends = {{.rank = 2, .exit_status = 9, .signal = 0, .realtime_ns = 5},
                   {.rank = 0, .exit_status = 143, .signal = 15, .realtime_ns = 6}};
  EXPECT_EQ(text_of(run), "the job ended with status 9; rank 2 ended first, with status 9");
}

TEST(Ending, ARankThatWasCutOffFirstIsSaidToBe) {
  trace::Run run = ended_job(9);
  run.info.ends = {{.rank = 1, .exit_status = -1, .realtime_ns = 5}};
  EXPECT_EQ(text_of(run),
            "the job ended with status 9; rank 1 ended first, without closing its record, as after a signal");
  EXPECT_TRUE(diagnose(run)->trouble.ending->first_cut);
}

TEST(Ending, OneThatAloneWasCutOffIsNamedAsThat) {
  trace::Run run = ended_job(137);
  run.world_size = 3;
  for (trace::RankTrack& track : run.ranks) track.state = trace::WriterState::Closed;
  run.ranks[1].state = trace::WriterState::Open;
  EXPECT_EQ(
      text_of(run),
      "the job ended with status 137 (as after SIGKILL); which rank ended first is not recorded; the record of rank 1 "
      "alone is not closed");
  run.info.exit_status = 3;  // some rank chose it, and the launcher may have cut off another
  EXPECT_EQ(text_of(run), "the job ended with status 3; which rank ended first is not recorded");
  run.info.exit_status = 137;
  run.world_size = 4;  // one left no file
  EXPECT_EQ(text_of(run),
            "the job ended with status 137 (as after SIGKILL); which rank ended first is not recorded");
}

/// A call that `waiting` never left and the others never entered.
Stall missing(const std::vector<std::pair<Rank, ProcessState>>& held_up_by, std::vector<Rank> waiting) {
  Stall s{.kind = StallKind::MissingRank, .calls = {{}}};
  s.calls[0].call = {.operation = model::Collective::AllReduce, .comm_name = "world", .seq = 35};
  s.calls[0].waiting = std::move(waiting);
  for (const auto& [rank, process] : held_up_by) {
    s.ranks.push_back(rank);
    s.last_seen.push_back({.rank = rank, .process = process});
  }
  return s;
}

// An exception outside of a call.
TEST(Ending, WhoEndedFirstAndInOrderBeforeACallOfTheOthersIsSaidTo) {
  Ending ending{.exit_status = 1, .first_in_order = Rank{2}};
  find_absent(ending, {missing({{Rank{2}, ProcessState::Ended}, {Rank{0}, ProcessState::Running}},
                               {Rank{1}, Rank{3}})});
  EXPECT_TRUE(ending.absent_from);
  EXPECT_EQ(ending.first, Rank{2});
}

TEST(Ending, NobodyIsAbsentWhereAnotherMayHaveEndedIt) {
  const auto absent = [](Ending ending, const std::vector<Stall>& stalls) {
    find_absent(ending, stalls);
    return ending.absent_from ? ending.first : std::nullopt;
  };
  const Stall alone = missing({{Rank{2}, ProcessState::Ended}}, {Rank{1}});
  const Ending seen{.exit_status = 1, .first_in_order = Rank{2}};
  EXPECT_EQ(absent(seen, {alone}), Rank{2});
  EXPECT_FALSE(absent({.exit_status = 1}, {alone})) << "told to end, a rank may end in order, too";
  EXPECT_FALSE(absent({.exit_status = 1, .first_in_order = Rank{1}}, {alone}));
  EXPECT_FALSE(absent({.exit_status = 143, .first_in_order = Rank{2}}, {alone})) << "SIGTERM";
  EXPECT_FALSE(absent({.exit_status = 1, .signal = 2, .first_in_order = Rank{2}}, {alone})) << "SIGINT";
  EXPECT_FALSE(absent(seen, {missing({{Rank{2}, ProcessState::Running}}, {Rank{1}})}));
  EXPECT_FALSE(
      absent(seen, {missing({{Rank{2}, ProcessState::Ended}, {Rank{0}, ProcessState::Ended}}, {Rank{1}})}));
  EXPECT_FALSE(absent(seen, {alone, missing({{Rank{0}, ProcessState::Ended}}, {Rank{1}})}));
  EXPECT_FALSE(absent(seen, {}));
  Stall other = alone;
  other.last_seen[0].inside = CallName{};
  EXPECT_FALSE(absent(seen, {other})) << "an error of the call may have ended it";
  other = alone;
  other.consequence = true;
  EXPECT_FALSE(absent(seen, {other}));
  other = alone;
  other.calls[0].not_recorded = {Rank{3}};
  EXPECT_FALSE(absent(seen, {other}));
}

TEST(Ending, WhoEndedFirstInOrderIsNamedByItsRecordAlone) {
  trace::Run run = ended_job(1);
  run.info.ends = {{.rank = 1, .exit_status = trace::RankEnd::kInOrder, .realtime_ns = 5}};
  EXPECT_EQ(text_of(run), "the job ended with status 1; which rank ended first is not recorded");
  run.ranks[1].samples.back().at = 7s;
  EXPECT_EQ(text_of(run), "the job ended with status 1; the record of rank 1 ends first");
  run.info.ends[0].rank = 2;  // it was seen that rank 1 was not the first
  EXPECT_EQ(text_of(run), "the job ended with status 1; which rank ended first is not recorded");
}

TEST(Ending, WhoIsToldToEndHasNotFailed) {
  trace::Run run = ended_job(130);
  run.info.told = 2;
  run.info.ends = {{.rank = 1, .exit_status = 1, .realtime_ns = 5}};
  EXPECT_EQ(text_of(run), "the job ended with status 130, after somebody sent SIGINT to cox observe");
  EXPECT_NE(diagnose(run)->answer.kind, AnswerKind::JobFailed);
  run.info.told = 0;
  EXPECT_EQ(diagnose(run)->answer.kind, AnswerKind::JobFailed);
}

TEST(Ending, ARankThatWasGoneWhenTheJobWasToldToEndIsNamed) {
  trace::Run run = ended_job(143);
  run.info.told = 15;
  run.info.told_before_s = 38;
  run.ranks[1].state = trace::WriterState::Open;
  run.ranks[1].samples.back().at = 7s;  // told, ranks end some seconds apart
  EXPECT_NE(diagnose(run)->answer.kind, AnswerKind::JobFailed);
  for (trace::RankTrack& track : run.ranks)
    if (track.rank != Rank{1}) track.samples.back().at = 70s;  // they waited for it, until the time limit
  EXPECT_EQ(
      text_of(run),
      "the job ended with status 143, 38 s after somebody sent SIGTERM to cox observe; the record of rank 1 ends before that");
  EXPECT_EQ(diagnose(run)->answer.kind, AnswerKind::JobFailed);
  run.info.told_before_s = 62;  // it took its time
  EXPECT_NE(diagnose(run)->answer.kind, AnswerKind::JobFailed);
  run.info.told_before_s = -1;  // as Runs of before say it
  EXPECT_NE(diagnose(run)->answer.kind, AnswerKind::JobFailed);
  run.info.told_before_s = 3;
  for (const auto state : {trace::WriterState::Closed, trace::WriterState::Disabled}) {
    run.ranks[1].state = state;  // ended in order and nobody waits for it; went on without a record
    EXPECT_NE(diagnose(run)->answer.kind, AnswerKind::JobFailed);
  }
}

TEST(Ending, ARecordThatEndsWellBeforeTheOthersIsNamed) {
  trace::Run run = ended_job(1);
  run.ranks[1].samples.back().at = 7s;
  EXPECT_EQ(text_of(run), "the job ended with status 1; the record of rank 1 ends first");
  run.ranks[1].samples.back().at = 9s;  // samples come a second apart
  EXPECT_EQ(text_of(run), "the job ended with status 1; which rank ended first is not recorded");
}

TEST(Ending, OneThatAloneEndedInOrderIsNamedAsThat) {
  trace::Run run = ended_job(1);
  run.ranks[2].state = trace::WriterState::Closed;
  EXPECT_EQ(
      text_of(run),
      "the job ended with status 1; which rank ended first is not recorded; rank 2 alone ended by itself, as "
      "after an exception or exit, and the others were cut off");
  for (trace::RankTrack& track : run.ranks) track.state = trace::WriterState::Closed;
  EXPECT_EQ(text_of(run), "the job ended with status 1; which rank ended first is not recorded");
}

}  // namespace
}  // namespace cox::diagnose
