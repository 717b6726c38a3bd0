// SPDX-License-Identifier: Apache-2.0
#include "train/run/slices.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

#include "train/executor/value_hash.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/replica.hpp"
#include "train/run/slice_plan.hpp"

namespace cox::train {
namespace {

/// What the virtual driver's learner, which knows no slices, comes to.
struct Virtual {
  std::vector<double> losses;  ///< by version
  std::uint64_t hash = 0;
  std::optional<learn::Divergence> diverged;
};
Virtual learned(const TrainJob& job) {
  const auto problem = *learn::make_problem(*learn::read_problem(job.problem));
  learn::Learner learner(*problem, *learn::read_optimizer(job.optimizer), {}, job.share(), job.workers);
  Virtual made;
  made.losses.push_back(problem->score(learner.parameters()).loss);
  learn::stream_drawn({}, {.workers = job.workers, .law = learn::StepLaw::Exponential, .steps = job.steps},
                      [&](const sync::StreamEvent& e, Seconds) {
                        if (!learner.take(e)) return false;
                        if (e.kind == sync::StreamEvent::Kind::Advanced)
                          made.losses.push_back(problem->score(learner.parameters()).loss);
                        return true;
                      });
  made.diverged = learner.diverged();
  made.hash = hash_of(learner.parameters());
  return made;
}

TrainJob job_of(int tensor, int groups, int layers = 3, int blocks = 8) {
  return {.problem = "mlp,dimension=6,hidden=24,pairs=1,held-out=50,layers=" + std::to_string(layers) +
                     ",blocks=" + std::to_string(blocks),
          .optimizer = "adam,rate=0.01",
          .workers = 3,
          .samples = 5,
          .steps = 3,
          .procs = tensor * groups,
          .layout = "tensor",
          .tensor = tensor};
}

std::string said(const TrainJob& job) {
  return job.problem + ", " + job.optimizer + ", " + std::to_string(job.workers) + " workers, " +
         std::to_string(job.tensor) + " slices on " + std::to_string(job.procs);
}

/// Bytes and memory of the formulas, and parameters that are alike.
void expect_formulas(const TrainJob& job, const TrainedRun& made) {
  const auto optimizer = *learn::read_optimizer(job.optimizer);
  for (int r = 0; r < job.procs; ++r) {
    const auto at = static_cast<std::size_t>(r);
    EXPECT_EQ(made.hashes.at(at), made.hashes.front()) << said(job);
    EXPECT_EQ(sum_of(made.sent.at(at)), *planned_slice_bytes(job, optimizer, r) * job.steps)
        << said(job) << ", rank " << r;
    const BytesByUse planned = *planned_slice_memory(job, optimizer, r);
    for (std::size_t u = 0; u < kUses; ++u)
      EXPECT_EQ(made.memory.at(at)[u], planned[u])
          << said(job) << ", rank " << r << ", " << name_of(static_cast<Use>(u));
  }
}

void expect_unsplit(const TrainJob& job, const Virtual& expected) {
  const auto made = run_on_threads(job);
  ASSERT_TRUE(made) << made.error().message << said(job);
  ASSERT_EQ(made->versions, job.steps);
  for (const TrainPoint& p : made->points)
    EXPECT_EQ(p.score.loss, expected.losses.at(static_cast<std::size_t>(p.version))) << said(job);
  EXPECT_EQ(made->hashes.front(), expected.hash) << said(job);
  expect_formulas(job, *made);
}

TEST(Slices, BitsBytesAndMemoryOfTheUnsplitModel) {
  for (const int layers : {1, 2, 3, 4})
    for (const int workers : {1, 2, 3, 5, 8}) {
      TrainJob one = job_of(1, 1, layers);
      one.workers = workers;
      const Virtual expected = learned(one);
      for (const int tensor : {1, 2, 4, 8})
        for (const int groups : {1, 2, 3}) {
          if (groups > workers || tensor * groups > 16) continue;
          TrainJob job = job_of(tensor, groups, layers);
          job.workers = workers;
          expect_unsplit(job, expected);
        }
    }
}

TEST(Slices, EveryOptimizer) {
  for (const char* optimizer :
       {"sgd,rate=0.1", "momentum,rate=0.1,decay=0.01", "nesterov,rate=0.05", "adam,rate=0.01",
        "adamw,rate=0.01,decay=0.1", "sgd,rate=0.1,clip=0.1", "adam,rate=0.01,clip=0.05",
        "lars,rate=0.1,decay=0.01", "lamb,rate=0.01,clip=1"})
    for (const int tensor : {1, 2, 4}) {
      TrainJob job = job_of(tensor, 2);
      job.optimizer = optimizer;
      expect_unsplit(job, learned(job));
    }
}

// A slice's weights may be one column, which is no vector of biases.
TEST(Slices, OneColumnASlice) {
  TrainJob job = job_of(8, 1);
  job.problem = "mlp,dimension=6,hidden=8,pairs=1,held-out=50,layers=3,blocks=8";
  for (const char* optimizer : {"lars,rate=0.1,decay=0.01", "lamb,rate=0.01,decay=0.1"}) {
    job.optimizer = optimizer;
    expect_unsplit(job, learned(job));
  }
}

// Heads are columns; 20 samples go through in two passes, whose sums have two sizes.
TEST(Slices, HeadsOfATransformer) {
  TrainJob job = job_of(1, 1);
  job.problem = "text,hidden=8,heads=4,layers=2,context=6,held-out=4,blocks=4";
  job.samples = 20;
  job.steps = 2;
  const auto problem = problem_of(job);
  if (!problem && problem.error().id == "learn-003") GTEST_SKIP() << problem.error().message;
  const Virtual expected = learned(job);
  for (const int tensor : {1, 2, 4})
    for (const int groups : {1, 2}) {
      job.tensor = tensor;
      job.procs = tensor * groups;
      expect_unsplit(job, expected);
    }
}

// Of layers so wide that what every slice has is little: a slice keeps its part of all that is kept of parameters.
TEST(Slices, FourKeepAQuarter) {
  TrainJob job = job_of(4, 1, 3, 4);
  job.problem = "mlp,dimension=64,hidden=256,layers=3,pairs=1,held-out=2,blocks=4";
  job.steps = 1;
  const auto made = run_on_threads(job);
  ASSERT_TRUE(made) << made.error().message;
  const auto problem = *problem_of(job);
  for (const BytesByUse& memory : made->memory)
    for (const auto& [use, arrays] :
         {std::pair{Use::Parameters, 1}, {Use::Gradients, 1}, {Use::Optimizer, 2}}) {
      const auto quarter = static_cast<double>(problem->parameters() * arrays);
      const auto kept = static_cast<double>(memory[static_cast<std::size_t>(use)].count());
      EXPECT_GE(kept, quarter) << name_of(use);
      EXPECT_LE(kept, 1.01 * quarter) << name_of(use);
    }
}

// Two sums forth and one back for each of two pairs less the first: 4 b s log2 D each.
TEST(Slices, AGroupSendsWhatItsFormulaSays) {
  for (const auto& [tensor, rounds] : {std::pair{2, 1}, {4, 2}, {8, 3}}) {
    TrainJob job = job_of(tensor, 1);
    const auto made = run_on_threads(job);
    ASSERT_TRUE(made) << made.error().message;
    const Bytes sums = Bytes{4} * job.samples * (24 + 2 + 24) * rounds * job.workers;
    EXPECT_EQ(sum_of(made->sent.front()), (sums + kSliceVote * (tensor - 1)) * job.steps) << tensor;
  }
}

// Degrees that do not divide the blocks: ranks agree, bytes and memory are the formulas', the result is close by and not the same.
TEST(Slices, OtherDegreesComeCloseToTheUnsplitModel) {
  for (const auto& [tensor, groups, blocks] :
       {std::tuple{3, 1, 8}, {3, 2, 8}, {6, 1, 4}, {2, 2, 1}, {8, 1, 4}}) {
    const TrainJob job = job_of(tensor, groups, 3, blocks);
    EXPECT_FALSE(keeps_bits(job, *learn::read_problem(job.problem)));
    const Virtual expected = learned(job);
    const auto made = run_on_threads(job);
    ASSERT_TRUE(made) << made.error().message;
    expect_formulas(job, *made);
    EXPECT_NE(made->hashes.front(), expected.hash) << said(job);
    for (const TrainPoint& p : made->points)
      EXPECT_NEAR(p.score.loss, expected.losses.at(static_cast<std::size_t>(p.version)), 1e-4) << said(job);
  }
}

TEST(Slices, ADivergenceIsNamedAsTheLearnerDoes) {
  for (const int tensor : {1, 2, 4}) {
    TrainJob job = job_of(tensor, 1);
    job.optimizer = "momentum,rate=1e4";
    job.workers = 4;
    job.steps = 100;
    const Virtual expected = learned(job);
    ASSERT_TRUE(expected.diverged);
    for (const int groups : {1, 2, 4}) {
      job.procs = tensor * groups;
      const auto made = run_on_threads(job);
      ASSERT_TRUE(made && made->diverged) << said(job);
      EXPECT_EQ(made->diverged->text(), expected.diverged->text());
      EXPECT_EQ(made->versions, std::ssize(expected.losses) - 1);
      EXPECT_EQ(made->hashes.front(), expected.hash);
    }
  }
}

// Rank 5 is the second slice of the third group of two; its last leaf is worker 3's, its first element the 13th column of the first layer's weights.
TEST(Slices, AGradientThatIsMadeNoNumberIsNamed) {
  TrainJob job = job_of(2, 3);
  job.workers = 4;
  job.inject = "rank=5,nan=2";
  const auto made = run_on_threads(job);
  ASSERT_TRUE(made && made->diverged);
  EXPECT_EQ(made->diverged->place(), "worker 3, step 2, weights.1");
  EXPECT_EQ(made->versions, 2);
}

// What is told to change must be a problem that can be cut so, or nothing.
TEST(Slices, HintsOfUnequalPartsCanBeFollowed) {
  const auto hint_of = [](int tensor, const char* problem) {
    TrainJob job = job_of(tensor, 1);
    job.problem = problem;
    const Status checked = check_slices(job);
    EXPECT_FALSE(checked) << problem;
    return checked ? std::string() : checked.error().hint;
  };
  const std::string other = "another job.layout.tensor";
  EXPECT_EQ(hint_of(4, "mlp,hidden=30"), other + ", or --problem mlp,hidden=32");
  EXPECT_EQ(hint_of(5, "mlp,hidden=24,blocks=8"), other + ", or --problem mlp,hidden=40");
  EXPECT_EQ(hint_of(3, "text,heads=4,hidden=32"), other + ", or --problem text,heads=6,hidden=36");
  EXPECT_EQ(hint_of(3, "text,heads=4,hidden=48"), other + ", or --problem text,heads=6");
  EXPECT_EQ(hint_of(8, "text,heads=4,hidden=32"), other + ", or --problem text,heads=8");
  EXPECT_EQ(hint_of(32, "text,heads=4,hidden=32"), other);  // heads: 16 at most
}

TEST(Slices, MisuseIsSaid) {
  const auto said_of = [](TrainJob job) {
    const auto made = run_on_threads(job);
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().id + " " + made.error().message;
  };
  const TrainJob job = job_of(4, 2);
  TrainJob other = job;
  other.tensor = 5;
  other.procs = 5;
  EXPECT_EQ(said_of(other), "train-001 24 hidden cannot be cut into 5 equal slices");
  other = job;
  other.procs = 6;
  EXPECT_EQ(said_of(other), "train-001 6 processes are no whole groups of 4 slices");
  other.procs = 16;
  EXPECT_EQ(said_of(other), "train-001 4 groups for 3 workers: each takes one at least");
  other = job;
  other.problem = "text,heads=2,hidden=16";
  EXPECT_EQ(said_of(other), "train-001 2 heads cannot be cut into 4 equal slices");
  other.problem = "logistic";
  EXPECT_EQ(said_of(other), "train-001 logistic is not cut within its layers");
}

}  // namespace
}  // namespace cox::train
