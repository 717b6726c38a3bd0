// SPDX-License-Identifier: Apache-2.0
#include "train/run/replica.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "cox/base/hash.hpp"
#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

#include "train/executor/ranks_for_tests.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/shards.hpp"

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

constexpr const char* kParted[] = {"zero-1", "zero-2", "zero-3"};

/// Everything that a layout may change nothing of, and what it says of itself against its formulas.
void expect_unsplit(const TrainJob& job, int procs, const Virtual& expected) {
  const TrainedRun run = ran(job, procs);
  const std::string what =
      job.problem + ", " + job.optimizer + ", " + job.layout + " on " + std::to_string(procs);
  const auto same = losses_of(run, expected);
  ASSERT_EQ(run.points.size(), 7U);
  for (std::size_t i = 0; i < run.points.size(); ++i)
    EXPECT_EQ(run.points[i].score.loss, same[i].second) << what;
  for (const std::uint64_t hash : run.hashes) EXPECT_EQ(hash, expected.hash) << what;
  const auto problem = *problem_of(job);
  const auto optimizer = *learn::read_optimizer(job.optimizer);
  const TrainLayout layout = *read_layout(job.layout);
  TrainJob on = job;
  on.procs = procs;
  const auto moments = static_cast<std::int64_t>(learn::moments_of(optimizer.kind));
  for (int r = 0; r < procs; ++r) {
    const auto at = static_cast<std::size_t>(r);
    EXPECT_EQ(run.optimizer.at(at), Bytes{4 * moments * parting_of(*problem, layout, procs).kept(r)});
    Bytes all{};
    for (const Bytes b : run.sent[at]) all += b;
    EXPECT_EQ(all, planned_bytes(on, layout, *problem, optimizer, r) * job.steps) << what << ", rank " << r;
    EXPECT_EQ(sum_of(run.memory.at(at)), sum_of(planned_memory(on, layout, *problem, optimizer, r)))
        << what << ", rank " << r;
  }
}

TEST(TrainReplica, PartedLayoutsHaveTheBitsBytesAndMemoryOfTheirFormulas) {
  std::vector<TrainJob> all = jobs();
  const TrainJob network = all[2];
  for (const char* optimizer :
       {"sgd,rate=0.1,decay=0.01", "nesterov,rate=0.01", "adam,rate=0.01,clip=0.1",
        "adamw,rate=0.05,decay=0.01", "lars,rate=0.1,decay=0.01", "lamb,rate=0.01,clip=1"}) {
    all.push_back(network);
    all.back().problem = "mlp,dimension=40,hidden=60,layers=3,pairs=1";
    all.back().optimizer = optimizer;
  }
  all.back().workers = 13;
  all.push_back(network);
  all.back().samples = 300;  // two passes
  all.back().steps = 30;
  for (TrainJob job : all) {
    const Virtual expected = learned(job);
    for (const char* layout : kParted)
      for (const int procs : {1, 2, 3, 4, 8}) {
        job.layout = layout;
        expect_unsplit(job, procs, expected);
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
    for (const char* layout : {"data-parallel", "zero-1", "zero-2", "zero-3"}) {
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

// One worker a process, Adam, a network of 1.3 million parameters in four layers. P parameters take 4 P bytes; beside the stage's
// formula (8 P + 8 P / n and so on) are pages, the largest layers and what came.
// Rank 2 of three was started with another number of steps.
TEST(TrainReplica, ARankThatWasToldSomethingElseIsNamedByAll) {
  TrainJob job = jobs()[0];
  job.procs = 3;
  on_ranks(3, [&](Transport& link) {
    TrainJob mine = job;
    if (link.rank() == 2) mine.steps = 31;
    Marks nobody;
    const auto made = run_replica(mine, link, nobody);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().id, "train-004");
    EXPECT_EQ(made.error().message, "rank 2 was told steps=31, rank 0 steps=30");
  });
}

// Three ranks with 3, 3 and 2 workers: the last of rank 1's is worker 5.
TEST(TrainReplica, AGradientThatIsMadeNoNumberIsNamedInEveryLayout) {
  TrainJob job = jobs()[2];
  job.inject = "rank=1,nan=4";
  for (const char* layout : {"data-parallel", "zero-1", "zero-2", "zero-3"}) {
    job.layout = layout;
    const TrainedRun run = ran(job, 3);
    ASSERT_TRUE(run.diverged) << layout;
    EXPECT_EQ(run.diverged->place(), "worker 5, step 4, weights.1") << layout;
    EXPECT_EQ(run.versions, 4) << layout;
  }
}

TEST(TrainReplica, ADelayIsTakenInEachStep) {
  TrainJob job = jobs()[0];
  job.steps = 5;
  job.inject = "rank=1,delay=0.01";
  const TrainedRun run = ran(job, 2);
  EXPECT_GE(run.steps_took, Seconds{0.05});
  job.inject.clear();
  EXPECT_EQ(run.hashes, ran(job, 2).hashes);
}

TEST(TrainReplica, MemoryIsThatOfTheStagesFormula) {
  TrainJob job{.problem = "mlp,dimension=256,hidden=640,layers=3,pairs=2,held-out=10",
               .optimizer = "adam,rate=0.001",
               .workers = 4,
               .steps = 2,
               .procs = 4};
  const auto problem = *problem_of(job);
  const double p = 4 * static_cast<double>(problem->parameters());  // bytes
  const double n = 4;
  std::vector<double> units;
  for (const learn::ParameterUnit& u : problem->units()) units.push_back(4 * static_cast<double>(u.count));
  ASSERT_EQ(units.size(), 4U);
  const double layer = units[1];  // as large as the one behind it
  const double came = (n - 1) / n;
  const std::vector<std::pair<std::string, double>> formulas = {
      {"data-parallel", 2 * p + 2 * p + came * p},
      {"zero-1", 2 * p + 2 * p / n + came * p},
      {"zero-2", p + 3 * p / n + layer + came * layer},
      {"zero-3", 4 * p / n + 2 * layer + layer}};
  for (const auto& [layout, bytes] : formulas) {
    job.layout = layout;
    const TrainedRun run = ran(job, 4);
    for (const BytesByUse& memory : run.memory)
      EXPECT_NEAR(static_cast<double>(sum_of(memory).count()), bytes, 0.02 * bytes) << layout;
  }
}

TEST(TrainReplica, BytesPerRankAreThoseOfTheSum) {
  const TrainJob job = jobs()[0];
  for (const int procs : {2, 3, 4}) {
    const TrainedRun run = ran(job, procs);
    const Parting parting({{.first = 0, .count = 37}}, procs);
    for (int r = 0; r < procs; ++r) {
      Bytes all{};
      for (const Bytes b : run.sent[static_cast<std::size_t>(r)]) all += b;
      EXPECT_EQ(all, (reduce_bytes(job.workers, parting, r) + gather_bytes(parting, r)) * job.steps);
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
