// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/matched.hpp"

#include <gtest/gtest.h>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

trace::Run late_job() {
  testing::Job job;
  job.ranks = 6;
  job.steps = 40;
  job.work = [](int rank, int step) { return 10ms + (rank == 4 ? 3ms : 0ms) + Duration{step % 7 * 1'000}; };
  return testing::make_job(job);
}

TEST(Matched, IsTheSameForAnyNumberOfThreads) {
  const trace::Run run = late_job();
  const Matched one(run, {.threads = 1});
  const Matched four(run, {.threads = 4});
  EXPECT_EQ(one.operations().entry, four.operations().entry);
  EXPECT_EQ(one.operations().work, four.operations().work);
  for (const InStep what : {InStep::Delay, InStep::Work, InStep::Wait})
    EXPECT_EQ(one.by_step(what, 1), four.by_step(what, 4));
  EXPECT_EQ(one.skew().wait_total, four.skew().wait_total);
  EXPECT_EQ(one.skew().charged, four.skew().charged);
  EXPECT_EQ(one.skew().lost, four.skew().lost);
  EXPECT_EQ(one.steps().bounds, four.steps().bounds);
}

TEST(Matched, IsNotChangedByWhatIsAskedOfIt) {
  const trace::Run run = late_job();
  const Matched matched(run);
  const auto first = diagnose(matched);
  const auto second = diagnose(matched);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(to_json(*first, run, "x"), to_json(*second, run, "x"));
  EXPECT_EQ(to_json(*first, run, "x"), to_json(*diagnose(run), run, "x"));
}

TEST(Matched, CellsStayAsTheyWereRecordedAndDelaysFollowFromThem) {
  const trace::Run run = late_job();
  const Matched matched(run);
  const Matching& m = matched.operations();
  ASSERT_FALSE(matched.skew().ops.empty());
  for (const ComparedOp& op : matched.skew().ops) {
    const Group& group = m.groups[static_cast<std::size_t>(op.group)];
    for (std::size_t k = 0; k < group.members.size(); ++k) {
      const std::size_t cell = group.cell(op.op, k);
      EXPECT_EQ(m.entry[cell], run.ranks[k].events.begin[static_cast<std::size_t>(op.op)]);
      EXPECT_EQ(arrival_at(m, cell, true), m.entry[cell]) << "no rooted operation held it up";
      EXPECT_EQ(delay_at(m, op, cell), k == 4 ? Duration{3ms} : Duration::zero());
    }
  }
}

TEST(Matched, TellsInOnePassWhatAnalysesAskOfEveryEvent) {
  trace::Run run = testing::empty_run(2);
  testing::add_call(run.ranks[0].events, model::Collective::AllReduce, 1ms, 2ms, 8, 0);
  testing::add_event(run.ranks[0].events, trace::EventKind::Wait,
                     static_cast<std::uint8_t>(trace::WaitKind::Peer), 3ms, trace::kStillRunning, 0,
                     trace::kNoComm, 0);
  const Matched matched(run);
  const RankScan& scan = matched.scan(0);
  EXPECT_TRUE(scan.has_calls && scan.has_blocking && scan.stands_for_peer && scan.open_for_peer);
  EXPECT_FALSE(scan.has_phases || scan.has_pace_decisions || scan.only_starts());
  EXPECT_EQ(scan.first, Duration{1ms});
  EXPECT_EQ(scan.latest, Duration{3ms});
  EXPECT_FALSE(matched.scan(1).has_calls);
}

TEST(Matched, OfAnEmptyRunHasNothing) {
  const trace::Run none;
  const Matched matched(none);
  EXPECT_EQ(matched.ranks(), 0U);
  EXPECT_FALSE(matched.has_synchronisations());
  EXPECT_FALSE(diagnose(matched).has_value());
}

}  // namespace
}  // namespace cox::diagnose
