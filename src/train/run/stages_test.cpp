// SPDX-License-Identifier: Apache-2.0
#include "train/run/stages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

#include "train/executor/value_hash.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/replica.hpp"
#include "train/run/stage_plan.hpp"

namespace cox::train {
namespace {

using Schedule = model::PipelineSchedule;

/// What the virtual driver's learner comes to with as many leaves a worker as there are micro-batches.
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

TrainJob job_of(const PipelineShape& shape, int pipelines, const std::string& optimizer = "adam,rate=0.01") {
  return {.problem = "mlp,dimension=6,hidden=7,layers=5,pairs=1,held-out=50",
          .optimizer = optimizer,
          .workers = 3,
          .samples = std::int64_t{2} * shape.micro_batches,
          .steps = 3,
          .procs = pipelines * shape.stages,
          .layout = "pipeline",
          .pipeline = shape};
}

std::string said(const TrainJob& job) {
  const PipelineShape& p = *job.pipeline;
  return std::string(name_of(p.schedule)) + ", " + std::to_string(job.procs) + " processes, " +
         std::to_string(p.stages) + " stages, " + std::to_string(p.micro_batches) + " micro-batches, " +
         std::to_string(p.chunks) + " chunks" + (p.recompute ? ", recomputing " : " ") + job.optimizer;
}

/// Bits of the learner, bytes and memory of the formulas.
void expect_unsplit(const TrainJob& job, const Virtual& expected) {
  const auto made = run_on_threads(job);
  ASSERT_TRUE(made) << made.error().message << said(job);
  ASSERT_EQ(made->versions, job.steps);
  for (const TrainPoint& p : made->points)
    EXPECT_EQ(p.score.loss, expected.losses.at(static_cast<std::size_t>(p.version))) << said(job);
  const auto problem = *problem_of(job);
  const auto optimizer = *learn::read_optimizer(job.optimizer);
  for (int r = 0; r < job.procs; ++r) {
    const auto at = static_cast<std::size_t>(r);
    EXPECT_EQ(made->hashes.at(at), expected.hash) << said(job);
    EXPECT_EQ(sum_of(made->sent.at(at)), *planned_stage_bytes(job, *problem, optimizer, r) * job.steps)
        << said(job) << ", rank " << r;
    EXPECT_EQ(sum_of(made->memory.at(at)), sum_of(*planned_stage_memory(job, *problem, optimizer, r)))
        << said(job) << ", rank " << r;
  }
}

/// Each with a number of stages and chunks that the six layers have.
std::vector<PipelineShape> shapes() {
  std::vector<PipelineShape> all;
  for (const int micro_batches : {1, 2, 5})
    for (const bool recompute : {false, true}) {
      for (const int stages : {1, 2, 4, 6})
        for (const Schedule s : {Schedule::GPipe, Schedule::OneForwardOneBackward, Schedule::ZeroBubble})
          all.push_back({stages, micro_batches, s, 1, recompute});
      for (const auto& [stages, chunks] : {std::pair{2, 2}, {2, 3}, {3, 2}})
        all.push_back({stages, micro_batches, Schedule::Interleaved, chunks, recompute});
    }
  return all;
}

TEST(Stages, BitsBytesAndMemoryUnderEverySchedule) {
  for (const PipelineShape& shape : shapes()) {
    const Virtual expected = learned(job_of(shape, 1));
    for (const int pipelines : shape.recompute ? std::vector{3} : std::vector{1, 2})
      expect_unsplit(job_of(shape, pipelines), expected);
  }
}

TEST(Stages, NormsAreTakenOverAllStages) {
  for (const char* optimizer : {"momentum,rate=0.1,clip=0.1", "adam,rate=0.01,clip=0.05",
                                "lars,rate=0.1,decay=0.01", "lamb,rate=0.01,clip=1"})
    for (const PipelineShape& shape : {PipelineShape{3, 4, Schedule::OneForwardOneBackward, 1, false},
                                       PipelineShape{2, 2, Schedule::Interleaved, 2, false},
                                       PipelineShape{4, 3, Schedule::GPipe, 1, false}}) {
      const TrainJob job = job_of(shape, 2, optimizer);
      expect_unsplit(job, learned(job));
    }
}

/// Live micro-batches of a stage at its most, by the memory that is counted: of equal layers in the middle.
TEST(Stages, ActivationsOfAStageAreThoseOfItsSchedule) {
  constexpr int kStages = 4;
  for (const int micro_batches : {2, 4, 8})
    for (const Schedule schedule : {Schedule::GPipe, Schedule::OneForwardOneBackward}) {
      TrainJob job = job_of({kStages, micro_batches, schedule, 1, false}, 1, "sgd,rate=0.1");
      job.problem = "mlp,dimension=64,hidden=64,layers=7,pairs=1,held-out=2";
      job.workers = 1;
      job.samples = std::int64_t{512} * micro_batches;
      job.steps = 1;
      const auto made = run_on_threads(job);
      ASSERT_TRUE(made) << made.error().message;
      // Two layers a stage: a micro-batch is one layer's values kept beside those that came; going back takes as much, and a message lies in each direction.
      const std::int64_t layer = std::int64_t{4} * 512 * 64;
      for (const int stage : {1, 2}) {
        const int live =
            schedule == Schedule::GPipe ? micro_batches : std::min(kStages - stage, micro_batches);
        EXPECT_EQ(
            made->memory.at(static_cast<std::size_t>(stage))[static_cast<std::size_t>(Use::Activations)],
            Bytes{layer * (2 * live + 2 + 2)})
            << name_of(schedule) << ", " << micro_batches << ", stage " << stage;
      }
    }
}

// Nearly all of the network's memory is activations; recomputing keeps what comes into a stage of each micro-batch.
TEST(Stages, RecomputingKeepsLess) {
  TrainJob job = job_of({2, 8, Schedule::GPipe, 1, false}, 1);
  job.samples = 256;
  const auto kept = run_on_threads(job);
  job.pipeline->recompute = true;
  const auto again = run_on_threads(job);
  ASSERT_TRUE(kept && again);
  EXPECT_EQ(kept->hashes, again->hashes);
  const auto activations = [](const TrainedRun& run, std::size_t rank) {
    return run.memory.at(rank)[static_cast<std::size_t>(Use::Activations)];
  };
  for (const std::size_t rank : {std::size_t{0}, std::size_t{1}})
    EXPECT_LT(activations(*again, rank) * 2, activations(*kept, rank)) << rank;
}

TEST(Stages, ADivergenceIsNamedAsTheLearnerDoes) {
  for (const Schedule schedule : {Schedule::GPipe, Schedule::OneForwardOneBackward, Schedule::ZeroBubble}) {
    TrainJob job = job_of({3, 4, schedule, 1, false}, 1, "momentum,rate=1e4");
    job.workers = 4;
    job.steps = 100;
    const Virtual expected = learned(job);
    ASSERT_TRUE(expected.diverged);
    for (const int pipelines : {1, 2, 4}) {
      job.procs = 3 * pipelines;
      const auto made = run_on_threads(job);
      ASSERT_TRUE(made && made->diverged) << pipelines;
      EXPECT_EQ(made->diverged->text(), expected.diverged->text());
      EXPECT_EQ(made->versions, std::ssize(expected.losses) - 1);
      EXPECT_EQ(made->hashes.front(), expected.hash);
    }
  }
}

// Two pipelines of three stages, four workers of two micro-batches: rank 4 is the middle of the second, whose last leaf is worker 3's.
TEST(Stages, AGradientThatIsMadeNoNumberIsNamed) {
  TrainJob job = job_of({3, 2, Schedule::OneForwardOneBackward, 1, false}, 2);
  job.workers = 4;
  job.inject = "rank=4,nan=2";
  const auto made = run_on_threads(job);
  ASSERT_TRUE(made && made->diverged);
  EXPECT_EQ(made->diverged->place(), "worker 3, step 2, weights.3");
  EXPECT_EQ(made->versions, 2);
}

TEST(Stages, MisuseIsSaid) {
  const auto said = [](TrainJob job) {
    const auto made = run_on_threads(job);
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().id + " " + made.error().message;
  };
  const TrainJob job = job_of({3, 2, Schedule::OneForwardOneBackward, 1, false}, 2);
  TrainJob other = job;
  other.pipeline->stages = 7;
  other.procs = 7;
  EXPECT_EQ(said(other), "train-001 6 layers cannot be cut into 7 stages of 1 chunks");
  other = job;
  other.procs = 4;
  EXPECT_EQ(said(other), "train-001 4 processes are no whole pipelines of 3 stages");
  other.procs = 12;
  EXPECT_EQ(said(other), "train-001 4 pipelines for 3 workers: each takes one at least");
  other = job;
  other.samples = 5;
  EXPECT_EQ(said(other), "train-001 5 samples of a worker are no 2 micro-batches");
  other = job;
  other.problem = "quadratic";
  EXPECT_EQ(said(other), "train-001 quadratic is not cut into stages");
}

}  // namespace
}  // namespace cox::train
