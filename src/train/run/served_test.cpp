// SPDX-License-Identifier: Apache-2.0
#include "train/run/served.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cox/learn/learner.hpp"
#include "cox/sync/stream_file.hpp"

#include "train/executor/value_hash.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/replica.hpp"

namespace cox::train {
namespace {

TrainJob job_under(const std::string& policy, int procs, int workers = 6) {
  return {.problem = "quadratic,dimension=37,condition=30,noise=0.2",
          .optimizer = "momentum,rate=0.02",
          .workers = workers,
          .samples = 2,
          .steps = 40,
          .procs = procs,
          .served = policy,
          .times = true};
}

TrainedRun ran(const TrainJob& job) {
  auto made = run_on_threads(job);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : TrainedRun{};
}

/// Along the job's stream: what learn::Learner comes to, and what the ledger says.
struct Along {
  std::vector<double> losses;  ///< by version
  std::uint64_t hash = 0;
  std::optional<learn::Divergence> diverged;
  std::int64_t updates = 0, applied = 0, largest_age = 0;
  std::vector<std::int64_t> steps;  ///< of each worker
};
Along along(const TrainedRun& run, const TrainJob& job) {
  const auto problem = *problem_of(job);
  learn::Learner learner(*problem, *learn::read_optimizer(job.optimizer), *learn::read_way(job.served),
                         {.leaves = 1, .samples = job.samples}, job.workers);
  Along made{.losses = {problem->score(learner.parameters()).loss}, .diverged = {}, .steps = {}};
  made.steps.resize(static_cast<std::size_t>(job.workers));
  std::istringstream from(run.stream);
  const Status read = sync::read_stream(
      from, "stream",
      [&](int workers) -> Status {
        EXPECT_EQ(workers, job.workers);
        return {};
      },
      [&](const sync::StreamEvent& e, Seconds) -> Result<bool> {
        if (e.kind == sync::StreamEvent::Kind::Delivered) {
          ++made.updates;
          ++made.steps[static_cast<std::size_t>(e.update.worker)];
          made.applied += e.update.applied ? 1 : 0;
          if (e.update.applied) made.largest_age = std::max(made.largest_age, e.update.age());
        }
        if (!learner.take(e)) return false;
        if (e.kind == sync::StreamEvent::Kind::Advanced)
          made.losses.push_back(problem->score(learner.parameters()).loss);
        return true;
      });
  EXPECT_TRUE(read) << read.error().message;
  made.diverged = learner.diverged();
  made.hash = hash_of(learner.parameters());
  return made;
}

TEST(TrainServed, EveryJobHasTheBitsOfLearnAlongItsStream) {
  for (const char* policy :
       {"asynchronous", "age-weighted", "age-weighted,decay=0.5", "bounded-wait,staleness=0",
        "bounded-wait,staleness=2", "bounded-discard,staleness=3", "backup,backups=2"})
    for (const int procs : {2, 3, 5, 7}) {
      const TrainJob job = job_under(policy, procs);
      const TrainedRun run = ran(job);
      const std::string what = std::string(policy) + " on " + std::to_string(procs);
      const Along expected = along(run, job);
      ASSERT_EQ(static_cast<std::int64_t>(expected.losses.size()), run.versions + 1) << what;
      for (const TrainPoint& p : run.points)
        EXPECT_EQ(p.score.loss, expected.losses.at(static_cast<std::size_t>(p.version))) << what;
      ASSERT_EQ(run.hashes.size(), static_cast<std::size_t>(procs)) << what;
      for (const std::uint64_t hash : run.hashes) EXPECT_EQ(hash, expected.hash) << what;
      EXPECT_LT(run.points.back().score.loss, run.points.front().score.loss) << what;
      // What is told is what happened; bytes are those of the messages.
      ASSERT_TRUE(run.served) << what;
      EXPECT_EQ(run.served->applied, expected.applied) << what;
      EXPECT_EQ(run.served->applied + run.served->discarded, expected.updates) << what;
      EXPECT_EQ(run.served->largest_age, expected.largest_age) << what;
      EXPECT_EQ(run.points.back().samples, expected.applied * job.samples) << what;
      for (std::size_t r = 0; r < run.sent.size(); ++r)
        EXPECT_EQ(sum_of(run.sent[r]), served_message(37) * run.served->messages[r])
            << what << ", rank " << r;
    }
}

TEST(TrainServed, BoundsAreKeptAndEveryWorkerTakesItsSteps) {
  for (const int staleness : {0, 1, 3}) {
    const TrainJob job = job_under("bounded-wait,staleness=" + std::to_string(staleness), 4);
    const Along made = along(ran(job), job);
    EXPECT_EQ(made.updates, 6 * 40);
    EXPECT_EQ(made.steps, std::vector<std::int64_t>(6, 40));
    EXPECT_LE(made.largest_age, (6 - 1) * (2 * staleness + 1));
  }
  const TrainJob discards = job_under("bounded-discard,staleness=1", 7);
  EXPECT_LE(along(ran(discards), discards).largest_age, 1);
}

// One process that computes: its workers come one after the other, so the stream is the same each time.
TEST(TrainServed, OneProcessThatComputesMakesTheSameEachTime) {
  const TrainJob job = job_under("asynchronous", 2);
  const TrainedRun first = ran(job), second = ran(job);
  EXPECT_EQ(first.hashes, second.hashes);
  EXPECT_EQ(first.served->largest_age, second.served->largest_age);
  EXPECT_EQ(first.versions, 6 * 40);
}

TEST(TrainServed, AGradientThatIsNoNumberEndsTheJobAndIsNamed) {
  for (const char* policy : {"asynchronous", "bounded-wait,staleness=1"}) {
    TrainJob job = job_under(policy, 4);
    job.inject = "rank=3,nan=7";
    const TrainedRun run = ran(job);
    ASSERT_TRUE(run.diverged) << policy;
    EXPECT_EQ(run.diverged->worker, 5) << policy;
    EXPECT_EQ(run.diverged->step, 7) << policy;
    EXPECT_EQ(run.served->applied, run.versions) << policy << ": it does not count";
    EXPECT_EQ(run.served->samples, run.versions * job.samples) << policy;
    const Along expected = along(run, [&] {
      TrainJob clean = job;
      clean.inject.clear();
      return clean;
    }());
    EXPECT_FALSE(expected.diverged) << policy;  // the stream has the update, and its gradient is a number
  }
  TrainJob job = job_under("asynchronous", 3);
  job.problem = "least-squares,dimension=5,noise=0.1";
  job.optimizer = "sgd,rate=1e9";
  const TrainedRun run = ran(job);
  ASSERT_TRUE(run.diverged);
  EXPECT_EQ(run.diverged->text(), along(run, job).diverged->text());
}

// Its workers take turns: each is a version old for each of the others.
TEST(TrainServed, WorkersOfOneProcessTakeTurns) {
  const TrainJob job = job_under("asynchronous", 2);
  const TrainedRun run = ran(job);
  EXPECT_EQ(run.served->largest_age, 5);
  EXPECT_NEAR(run.served->mean_age, 5, 0.1);
}

// The server, or a process, that is slow: nothing but time changes where one process computes.
TEST(TrainServed, ASlowServerChangesTimesAlone) {
  TrainJob job = job_under("asynchronous", 2, 2);
  job.steps = 5;
  const TrainedRun quick = ran(job);
  for (const char* fault : {"rank=0,delay=0.005", "rank=1,delay=0.005"}) {
    job.inject = fault;
    const TrainedRun slow = ran(job);
    EXPECT_EQ(slow.hashes, quick.hashes) << fault;
    EXPECT_GE(slow.steps_took, Seconds{0.05}) << fault;
  }
}

// Two workers are alone on their process, three on the other: who is done waits longer than its patience, and hears that the server is there.
TEST(TrainServed, WhoIsDoneWaitsForTheOthers) {
  TrainJob job = job_under("asynchronous", 3, 5);
  job.steps = 12;
  job.patience = Seconds{0.5};
  job.inject = "rank=2,delay=0.08";
  const TrainedRun run = ran(job);
  EXPECT_EQ(run.versions, 5 * 12);
  EXPECT_GT(run.steps_took, Seconds{1.6});  // more than three times the patience
}

// Others go on, and all the same it is named.
TEST(TrainServed, AProcessThatBringsNothingIsNamedWhileOthersGoOn) {
  TrainJob job = job_under("asynchronous", 4);
  job.steps = 1'000'000;
  job.times = false;
  job.patience = Seconds{0.5};
  job.inject = "rank=2,delay=5";
  const auto made = run_on_threads(job);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "train-003");
  EXPECT_NE(made.error().message.find("for rank 2 to bring a gradient of worker 2"), std::string::npos)
      << made.error().message;
}

// A gradient lies at the server for longer than the patience, since that is busy with others': nobody is at fault.
TEST(TrainServed, WhatASlowServerTakesIsNobodyElses) {
  TrainJob job = job_under("asynchronous", 5, 4);
  job.steps = 3;
  job.patience = Seconds{0.5};
  job.inject = "rank=0,delay=0.3";
  EXPECT_EQ(ran(job).versions, 4 * 3);
}

TEST(TrainServed, WhatWasLeftWaitingIsCounted) {
  const TrainJob job = job_under("backup,backups=2", 4, 5);
  const TrainedRun run = ran(job);
  std::int64_t brought = 0;
  for (std::size_t r = 1; r < run.served->messages.size(); ++r) brought += run.served->messages[r];
  EXPECT_EQ(run.served->applied + run.served->discarded + run.served->left, brought);
  EXPECT_EQ(run.served->samples, run.served->applied * job.samples);
}

TEST(TrainServed, WordsAreThoseThatAreReadBack) {
  for (const char* policy : {"asynchronous", "age-weighted", "age-weighted,decay=0.25",
                             "bounded-wait,staleness=2", "bounded-discard,staleness=0", "backup,backups=3"})
    EXPECT_EQ(served_word(*learn::read_way(policy)), policy);
  for (const char* policy : {"synchronous", "local-sgd,local-steps=3", "gossip-ring", "hogwild",
                             "curvature-bound", "groups-asynchronous,group=2", "drop,k=1"})
    EXPECT_FALSE(served_word(*learn::read_way(policy))) << policy;
}

TEST(TrainServed, RowsKeepWhatCameOfIt) {
  const TrainedRun run = ran(job_under("bounded-discard,staleness=1", 3));
  const auto back = read_rows(rows_of(run));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(rows_of(*back), rows_of(run));
  EXPECT_EQ(back->stream, run.stream);
  EXPECT_EQ(back->served->messages, run.served->messages);
}

}  // namespace
}  // namespace cox::train
