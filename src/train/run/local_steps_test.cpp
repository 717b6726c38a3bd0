// SPDX-License-Identifier: Apache-2.0
#include "train/run/local_steps.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cox/learn/learner.hpp"
#include "cox/sync/policy.hpp"

#include "train/executor/value_hash.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/replica.hpp"

namespace cox::train {
namespace {

/// The job along the stream that its policy makes, in virtual time.
struct Virtual {
  std::vector<double> losses;  ///< by version
  std::uint64_t hash = 0;
  std::optional<learn::Divergence> diverged;
};
Virtual learned(const TrainJob& job, const learn::Way& way) {
  const auto problem = *problem_of(job);
  learn::Learner learner(*problem, *learn::read_optimizer(job.optimizer), way,
                         {.leaves = 1, .samples = job.samples}, job.workers);
  Virtual made{.losses = {problem->score(learner.parameters()).loss}, .hash = 0, .diverged = {}};
  // Whoever meets in each step, and then in each round.
  sync::Policy policy(way.policy, job.workers);
  std::vector<int> released;
  for (std::int64_t k = 0; k < job.steps && !learner.diverged(); ++k) {
    policy.set_local_steps(k < way.synchronous_steps ? 1 : way.policy.local_steps);
    for (int w = 0; w < job.workers; ++w) {
      policy.delivered(w, released);
      for (const sync::StreamEvent& e : policy.events())
        if (learner.take(e) && e.kind == sync::StreamEvent::Kind::Advanced)
          made.losses.push_back(problem->score(learner.parameters()).loss);
    }
  }
  made.diverged = learner.diverged();
  made.hash = hash_of(learner.parameters());
  return made;
}

TrainedRun ran(TrainJob job, int procs) {
  job.procs = procs;
  auto made = run_on_threads(job);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : TrainedRun{};
}

struct Case {
  std::string way, problem, optimizer;
  int workers = 8;
};

std::pair<TrainJob, learn::Way> job_of(const Case& c) {
  const learn::Way way = *learn::read_way(c.way);
  return {TrainJob{.problem = c.problem,
                   .optimizer = c.optimizer,
                   .workers = c.workers,
                   .samples = 2,
                   .steps = 40,
                   .local = way.is_local() ? std::optional(rounds_of(way)) : std::nullopt},
          way};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"local-sgd,local-steps=4", "quadratic,dimension=37,condition=30,noise=0.2,spread=0.5", "sgd,rate=0.1"},
      {"local-sgd,local-steps=8", "mlp,dimension=8,hidden=16,pairs=1", "momentum,rate=0.1"},
      {"local-sgd,local-steps=5,reset=1", "mlp,dimension=8,hidden=16,pairs=1", "adam,rate=0.01", 13},
      {"local-sgd,local-steps=1", "logistic,dimension=10", "sgd,rate=0.5"},  // gradients: synchronous
      {"diloco,local-steps=10", "least-squares,dimension=20,noise=0.1", "sgd,rate=0.01"},
      {"diloco,local-steps=1,outer-rate=0.5,outer-momentum=0.5", "logistic,dimension=10", "sgd,rate=0.5"},
      {"fedprox,local-steps=4,proximal=0.3", "quadratic,dimension=20,spread=1", "lamb,rate=0.01", 3},
      {"local-sgd,local-steps=4", "mlp,dimension=8,hidden=16,pairs=1",
       "nesterov,rate=0.05,warm-up=10,scaling=linear,base-batch=1,clip=0.5"},
      {"post-local,synchronous-steps=12,local-steps=4", "mlp,dimension=8,hidden=16,pairs=1",
       "momentum,rate=0.1,warm-up=20,scaling=linear,base-batch=1"},
      {"post-local,synchronous-steps=15,local-steps=5,reset=1", "quadratic,dimension=20,spread=1",
       "adam,rate=0.05", 5},
      {"scaffold,local-steps=4", "quadratic,dimension=37,condition=30,noise=0.2,spread=0.5",
       "sgd,rate=0.1,warm-up=9"},
      {"scaffold,local-steps=8", "mlp,dimension=8,hidden=16,pairs=1", "momentum,rate=0.05", 13},
      {"scaffold,local-steps=1,reset=1", "logistic,dimension=10", "adam,rate=0.05", 3}};
  return all;
}

TEST(TrainLocalSteps, BitsBytesAndMemoryAreThoseOfLearnAndOfTheFormulas) {
  for (const Case& c : cases()) {
    const auto [job, way] = job_of(c);
    const Virtual expected = learned(job, way);
    const auto problem = *problem_of(job);
    const auto optimizer = *learn::read_optimizer(job.optimizer);
    EXPECT_LT(expected.losses.back(), expected.losses.front()) << c.way;
    for (const int procs : {1, 2, 3}) {
      const TrainedRun run = ran(job, procs);
      const std::string what = c.way + ", " + c.optimizer + " on " + std::to_string(procs);
      const std::int64_t single = way.is_local() ? way.synchronous_steps : 0;
      ASSERT_EQ(run.versions, single + (40 - single) / way.policy.local_steps) << what;
      ASSERT_EQ(expected.losses.size(), static_cast<std::size_t>(run.versions) + 1) << what;
      for (const TrainPoint& p : run.points)
        EXPECT_EQ(p.score.loss, expected.losses.at(static_cast<std::size_t>(p.version))) << what;
      for (const std::uint64_t hash : run.hashes) EXPECT_EQ(hash, expected.hash) << what;
      TrainJob on = job;
      on.procs = procs;
      for (int r = 0; r < procs; ++r) {
        const auto at = static_cast<std::size_t>(r);
        EXPECT_EQ(sum_of(run.sent.at(at)),
                  planned_bytes(on, TrainLayout::DataParallel, *problem, optimizer, r) * run.versions)
            << what << ", rank " << r;
        EXPECT_EQ(sum_of(run.memory.at(at)),
                  sum_of(planned_memory(on, TrainLayout::DataParallel, *problem, optimizer, r)))
            << what << ", rank " << r;
      }
    }
  }
}

TEST(TrainLocalSteps, MeansOfRoundsAreSummedByAnAlgorithmToo) {
  auto [job, way] = job_of(cases()[0]);
  const Virtual expected = learned(job, way);
  job.sum = "recursive-doubling";  // aligned workers: the same tree
  EXPECT_EQ(ran(job, 4).hashes.at(0), expected.hash);
  job.sum = "ring";
  const TrainedRun ring = ran(job, 4);
  EXPECT_NE(ring.hashes.at(0), expected.hash);
  EXPECT_NEAR(ring.points.back().score.loss, expected.losses.back(), 1e-4 * expected.losses.back());
}

TEST(TrainLocalSteps, VariatesAreSummedByAnAlgorithmToo) {
  auto [job, way] = job_of(
      {"scaffold,local-steps=4", "quadratic,dimension=37,condition=30,noise=0.2,spread=0.5", "sgd,rate=0.1"});
  const Virtual expected = learned(job, way);
  job.sum = "recursive-doubling";
  EXPECT_EQ(ran(job, 4).hashes.at(0), expected.hash);
}

// The step of a worker is named in steps that all take together, and in rounds behind them.
TEST(TrainLocalSteps, BehindStepsOfAllRoundsCountOn) {
  for (const int nan : {7, 21}) {
    auto [job, way] = job_of({"post-local,synchronous-steps=12,local-steps=4",
                              "mlp,dimension=8,hidden=16,pairs=1", "momentum,rate=0.1"});
    job.inject = "rank=1,nan=" + std::to_string(nan);
    const TrainedRun run = ran(job, 3);
    ASSERT_TRUE(run.diverged);
    EXPECT_EQ(run.diverged->step, nan);
    EXPECT_EQ(run.versions, nan == 7 ? 7 : 12 + 2);
  }
}

TEST(TrainLocalSteps, TheStepInsideARoundIsNamedWhoseGradientIsNoNumber) {
  for (const char* rate : {"sgd,rate=1e9", "sgd,rate=4", "sgd,rate=5"}) {
    auto [job, way] = job_of({"local-sgd,local-steps=20", "least-squares,dimension=5,noise=0.1", rate});
    job.steps = 400;
    const Virtual expected = learned(job, way);
    ASSERT_TRUE(expected.diverged) << rate;
    for (const int procs : {1, 2, 3, 8}) {
      const TrainedRun run = ran(job, procs);
      ASSERT_TRUE(run.diverged) << rate << " on " << procs;
      EXPECT_EQ(run.diverged->text(), expected.diverged->text()) << rate << " on " << procs;
    }
  }
  auto [job, way] = job_of(cases()[1]);
  job.inject = "rank=1,nan=11";
  const TrainedRun run = ran(job, 3);
  ASSERT_TRUE(run.diverged);
  EXPECT_EQ(run.diverged->place(), "worker 5, step 11, weights.1");
  EXPECT_EQ(run.versions, 1);
}

TEST(TrainLocalSteps, WordsOfRoundsComeBackAndDamagedOnesAreRefused) {
  for (const Case& c : cases()) {
    const auto [job, way] = job_of(c);
    const auto back = read_words(words_of(job));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(words_of(*back), words_of(job)) << c.way;
    EXPECT_EQ(identity_of(*back), identity_of(job)) << c.way;
  }
  for (const char* wrong :
       {"local=8", "local=0,keep,0,sgd,1,0", "local=8,kept,0,sgd,1,0", "local=8,keep,nan,sgd,1,0",
        "local=8,keep,0,adam,1,0", "local=8,keep,0,sgd,1,0,1", "local=8,keep,0,sgd,1,2"}) {
    const std::vector<std::string> one{wrong};
    EXPECT_FALSE(read_words(one)) << wrong;
  }
}

}  // namespace
}  // namespace cox::train
