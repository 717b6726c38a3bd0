// SPDX-License-Identifier: Apache-2.0
#include "train/run/replica.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "cox/base/hash.hpp"
#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

#include "train/executor/ordered_sum.hpp"

namespace cox::train {
namespace {

/// What the virtual driver's learner comes to: score by version, and the hash of the last parameters.
struct Virtual {
  std::vector<std::pair<std::int64_t, double>> losses;
  std::uint64_t hash = 0;
  std::optional<learn::Divergence> diverged;
};
Virtual learned(const TrainJob& job) {
  learn::ProblemSpec spec = *learn::read_problem(job.problem);
  if (spec.spread > 0) spec.workers = job.workers;
  const auto problem = *learn::make_problem(spec);
  learn::Learner learner(*problem, *learn::read_optimizer(job.optimizer), {},
                         {.leaves = 1, .samples = job.samples}, job.workers);
  Virtual made;
  made.losses.emplace_back(0, problem->score(learner.parameters()).loss);
  learn::stream_drawn({}, {.workers = job.workers, .law = learn::StepLaw::Exponential, .steps = job.steps},
                      [&](const sync::StreamEvent& e, Seconds) {
                        if (!learner.take(e)) return false;
                        if (e.kind == sync::StreamEvent::Kind::Advanced)
                          made.losses.emplace_back(learner.version(),
                                                   problem->score(learner.parameters()).loss);
                        return true;
                      });
  made.diverged = learner.diverged();
  Fnv1a hash;
  for (const float v : learner.parameters()) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    hash.add_number(bits, 4);
  }
  made.hash = hash.value();
  return made;
}

TrainedRun ran(TrainJob job, int procs) {
  job.procs = procs;
  auto made = run_on_threads(job);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : TrainedRun{};
}

std::vector<std::pair<std::int64_t, double>> losses_of(const TrainedRun& run, const Virtual& all) {
  std::vector<std::pair<std::int64_t, double>> same;
  for (const TrainPoint& p : run.points) same.push_back(all.losses.at(static_cast<std::size_t>(p.version)));
  return same;
}

std::vector<TrainJob> jobs() {
  const TrainJob base{.problem = "quadratic,dimension=37,condition=30,noise=0.2",
                      .optimizer = "sgd,rate=0.1",
                      .workers = 8,
                      .steps = 30};
  std::vector<TrainJob> all(8, base);
  all[1].problem = "quadratic,dimension=50,spread=0.5,reflections=2";
  all[1].optimizer = "adam,rate=0.01";
  all[2].problem = "mlp,dimension=8,hidden=16,pairs=1";
  all[2].optimizer = "momentum,rate=0.1,clip=0.5";
  all[2].samples = 4;
  all[3].problem = "least-squares,dimension=20,noise=0.1";
  all[3].optimizer = "nesterov,rate=0.01";
  all[3].workers = 13;
  all[4].problem = "logistic,dimension=10";
  all[4].optimizer = "lamb,rate=0.01";
  all[5].workers = 24;
  all[5].optimizer = "adamw,rate=0.05,decay=0.01";
  all[6].problem = "embedding,keys=200";
  all[6].optimizer = "sgd,rate=0.5,warm-up=10,scaling=linear,base-batch=4";
  all[7].problem = "convolution,group=4";
  all[7].optimizer = "momentum,rate=0.1,warm-up=5";
  all[7].samples = 2;
  return all;
}

TEST(TrainReplica, BitsAreThoseOfTheVirtualDriverOnAnyNumberOfProcesses) {
  for (const TrainJob& job : jobs()) {
    const Virtual expected = learned(job);
    for (const int procs : {1, 2, 3, 4, 8}) {
      const TrainedRun run = ran(job, procs);
      ASSERT_EQ(run.versions, job.steps);
      ASSERT_EQ(run.points.size(), 7U);  // 0, 1, 2, 4, 8, 16, 30
      const auto same = losses_of(run, expected);
      for (std::size_t i = 0; i < run.points.size(); ++i)
        EXPECT_EQ(run.points[i].score.loss, same[i].second)
            << job.problem << " on " << procs << ", version " << run.points[i].version;
      for (const std::uint64_t hash : run.hashes)
        EXPECT_EQ(hash, expected.hash) << job.problem << " on " << procs;
      EXPECT_LT(run.points.back().score.loss, run.points.front().score.loss) << job.problem;
    }
  }
}

TEST(TrainReplica, APartedOptimizerHasTheBitsOfAWholeOne) {
  const std::vector<std::pair<const char*, int>> optimizers = {{"sgd,rate=0.1,decay=0.01", 0},
                                                               {"momentum,rate=0.1", 1},
                                                               {"nesterov,rate=0.01", 1},
                                                               {"adam,rate=0.01", 2},
                                                               {"adamw,rate=0.05,decay=0.01", 2}};
  for (const auto& [optimizer, moments] : optimizers) {
    TrainJob job = jobs()[0];
    job.optimizer = optimizer;
    const Virtual expected = learned(job);
    job.layout = "zero-1";
    for (const int procs : {1, 2, 3, 4, 8}) {
      const TrainedRun run = ran(job, procs);
      const auto same = losses_of(run, expected);
      ASSERT_EQ(run.points.size(), 7U);
      for (std::size_t i = 0; i < run.points.size(); ++i)
        EXPECT_EQ(run.points[i].score.loss, same[i].second) << optimizer << " on " << procs;
      for (const std::uint64_t hash : run.hashes)
        EXPECT_EQ(hash, expected.hash) << optimizer << " on " << procs;
      for (int r = 0; r < procs; ++r) {
        const auto at = static_cast<std::size_t>(r);
        EXPECT_EQ(run.optimizer.at(at), Bytes{4 * moments * part_of(37, r, procs).count});
        Bytes all{};
        for (const Bytes b : run.sent[at]) all += b;
        EXPECT_EQ(all, ordered_bytes(job.workers, 37, r, procs) * job.steps);
      }
    }
  }
}

TEST(TrainReplica, ByASchedulePartsOfTheBitsAreItsOwn) {
  TrainJob job = jobs()[0];
  const Virtual expected = learned(job);
  for (const char* sum : {"ring", "bidirectional-ring", "binomial-tree", "binary-tree", "double-binary-tree",
                          "recursive-doubling", "halving-doubling", "hierarchical,group=2"}) {
    job.sum = sum;
    if (job.sum.find("group") == std::string::npos) {
      EXPECT_EQ(ran(job, 1).hashes.at(0), expected.hash) << sum;
    }
    const TrainedRun four = ran(job, 4);
    for (const std::uint64_t hash : four.hashes) EXPECT_EQ(hash, four.hashes.at(0)) << sum;
    EXPECT_NEAR(four.points.back().score.loss, expected.losses.back().second,
                1e-4 * expected.losses.back().second)
        << sum;
  }
  job.sum = "ring";
  EXPECT_NE(ran(job, 4).hashes.at(0), expected.hash);
  // Neighbours first: with aligned workers the same tree.
  job.sum = "recursive-doubling";
  EXPECT_EQ(ran(job, 4).hashes.at(0), expected.hash);
}

/// Jobs that diverge, and the lowest worker whose gradient is no number: not always the first rank's.
std::vector<std::pair<TrainJob, int>> diverging() {
  const TrainJob base{
      .problem = "least-squares,dimension=5,noise=0.1", .optimizer = "", .workers = 8, .steps = 200};
  std::vector<std::pair<TrainJob, int>> all(5, {base, 0});
  all[0].first.optimizer = "sgd,rate=1e9";
  all[1].first.optimizer = "sgd,rate=4";
  all[1].second = 4;
  all[2].first.optimizer = "sgd,rate=5";
  all[2].second = 7;
  all[3].first.problem = "mlp,dimension=4,hidden=4,pairs=1";
  all[3].first.optimizer = "momentum,rate=1e3";
  all[3].second = 6;
  all[4].first.optimizer = "momentum,rate=1e9";
  return all;
}

TEST(TrainReplica, TheLowestWorkerWhoseGradientIsNoNumberIsNamedOnAllRanks) {
  for (const auto& [made, worker] : diverging())
    for (const char* layout : {"data-parallel", "zero-1"}) {
      TrainJob job = made;
      job.layout = layout;
      const Virtual expected = learned(job);
      ASSERT_TRUE(expected.diverged);
      EXPECT_EQ(expected.diverged->worker, worker);
      for (const int procs : {1, 2, 3, 4, 8}) {
        const TrainedRun run = ran(job, procs);
        ASSERT_TRUE(run.diverged) << job.optimizer << ", " << layout << " on " << procs;
        EXPECT_EQ(run.diverged->text(), expected.diverged->text()) << layout << " on " << procs;
        EXPECT_EQ(run.versions, expected.losses.back().first);
        for (const std::uint64_t hash : run.hashes) EXPECT_EQ(hash, expected.hash);
      }
    }
}

TEST(TrainReplica, BytesPerRankAreThoseOfTheSum) {
  const TrainJob job = jobs()[0];
  for (const int procs : {2, 3, 4}) {
    const TrainedRun run = ran(job, procs);
    for (int r = 0; r < procs; ++r) {
      Bytes all{};
      for (const Bytes b : run.sent[static_cast<std::size_t>(r)]) all += b;
      EXPECT_EQ(all, ordered_bytes(job.workers, 37, r, procs) * job.steps);
    }
  }
}

TEST(TrainReplica, TimesOfVersionsAreKeptWhereTheyAreAskedFor) {
  TrainJob job = jobs()[0];
  EXPECT_TRUE(ran(job, 2).times.empty());
  job.times = true;
  const TrainedRun run = ran(job, 2);
  ASSERT_EQ(run.times.size(), 30U);
  EXPECT_TRUE(std::ranges::is_sorted(run.times));
  EXPECT_GT(run.times.front(), Seconds{0});
}

}  // namespace
}  // namespace cox::train
