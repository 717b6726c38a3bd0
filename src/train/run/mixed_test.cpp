// SPDX-License-Identifier: Apache-2.0
// Mixed precision on processes: the bits of the virtual driver, bytes and memory of formulas, skipped steps, checkpoints.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

#include "train/executor/value_hash.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/mixed_plan.hpp"
#include "train/run/mixed_shards.hpp"
#include "train/run/replica.hpp"
#include "train/run/shards.hpp"

namespace cox::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLayouts[] = {"data-parallel", "zero-1", "zero-2", "zero-3"};
constexpr const char* kScaled = "fp16,master=yes,loss-scale=65536,dynamic=yes,growth-interval=2000";

/// What the virtual driver's learner comes to: score by version, and the hash of the last master copy.
struct Virtual {
  std::vector<double> losses{};
  std::uint64_t hash = 0;
  learn::ScaledSteps scaled{};
  std::optional<learn::Divergence> diverged{};
};
Virtual learned(const TrainJob& job) {
  const auto problem = *problem_of(job);
  const auto way = *learn::read_way("synchronous+" + job.precision);
  learn::Learner learner(*problem, *learn::read_optimizer(job.optimizer), way,
                         {.leaves = 1, .samples = job.samples}, job.workers);
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
  made.scaled = learner.scaled_steps();
  return made;
}

TrainedRun ran(TrainJob job, int procs) {
  job.procs = procs;
  auto made = run_on_threads(job);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : TrainedRun{};
}

/// Bits of the learner, and bytes and memory of the formulas.
void expect_as_planned(TrainJob job, int procs, const Virtual& expected) {
  job.procs = procs;
  const TrainedRun run = ran(job, procs);
  const std::string what = job.problem + ", " + job.optimizer + ", " + job.precision + ", " + job.layout +
                           " on " + std::to_string(procs);
  ASSERT_EQ(run.versions, job.steps) << what;
  for (const TrainPoint& p : run.points)
    EXPECT_EQ(p.score.loss, expected.losses.at(static_cast<std::size_t>(p.version))) << what;
  for (const std::uint64_t hash : run.hashes) EXPECT_EQ(hash, expected.hash) << what;
  const std::int64_t skipped = run.scaled ? run.scaled->skipped : 0;
  EXPECT_EQ(skipped, expected.scaled.skipped) << what;
  EXPECT_EQ(run.scaled ? run.scaled->factor : 1, expected.scaled.factor) << what;
  const auto problem = *problem_of(job);
  const auto optimizer = *learn::read_optimizer(job.optimizer);
  const TrainLayout layout = *read_layout(job.layout);
  const auto moments = static_cast<std::int64_t>(learn::moments_of(optimizer.kind));
  for (int r = 0; r < procs; ++r) {
    const auto at = static_cast<std::size_t>(r);
    const std::int64_t held = layout == TrainLayout::DataParallel
                                  ? problem->parameters()
                                  : parting_of(*problem, layout, procs).kept(r);
    EXPECT_EQ(run.optimizer.at(at), Bytes{4 * moments * held}) << what;
    EXPECT_EQ(run.memory.at(at)[static_cast<std::size_t>(Use::Master)], Bytes{4 * held}) << what;
    const Bytes step = planned_mixed_bytes(job, layout, *problem, optimizer, r, false),
                skip = planned_mixed_bytes(job, layout, *problem, optimizer, r, true);
    EXPECT_EQ(sum_of(run.sent.at(at)), step * (job.steps - skipped) + skip * skipped)
        << what << ", rank " << r;
    EXPECT_EQ(sum_of(run.memory.at(at)), sum_of(planned_memory(job, layout, *problem, optimizer, r)))
        << what << ", rank " << r;
  }
}

std::vector<TrainJob> jobs() {
  const TrainJob base{.problem = "quadratic,dimension=37,condition=30,noise=0.2",
                      .optimizer = "sgd,rate=0.1",
                      .workers = 8,
                      .steps = 30,
                      .precision = "bf16,master=yes"};
  std::vector<TrainJob> all(6, base);
  all[1].problem = "least-squares,dimension=20,noise=0.1";
  all[1].optimizer = "nesterov,rate=0.01";
  all[1].workers = 13;
  all[2].problem = "embedding,keys=200";
  all[2].optimizer = "sgd,rate=0.5,warm-up=10";
  all[2].workers = 9;
  all[3].problem = "mlp,dimension=8,hidden=16,pairs=1";
  all[3].optimizer = "momentum,rate=0.1,clip=0.5";
  all[3].samples = 4;
  all[4].problem = "logistic,dimension=10";
  all[4].optimizer = "lamb,rate=0.01";
  all[5].problem = "convolution,group=4";
  all[5].optimizer = "momentum,rate=0.1,warm-up=5";
  all[5].samples = 2;
  const TrainJob network = all[3];
  for (const char* optimizer :
       {"sgd,rate=0.1,decay=0.01", "adam,rate=0.01,clip=0.1", "adamw,rate=0.05,decay=0.01",
        "lars,rate=0.1,decay=0.01", "lamb,rate=0.01,clip=1"}) {
    all.push_back(network);
    all.back().problem = "mlp,dimension=40,hidden=60,layers=3,pairs=1";
    all.back().optimizer = optimizer;
  }
  all.back().workers = 13;
  all.push_back(network);
  all.back().samples = 300;  // several passes
  all.back().steps = 5;
  return all;
}

TEST(Mixed, HasTheBitsOfTheVirtualDriverAndBytesAndMemoryOfItsFormulas) {
  for (TrainJob job : jobs())
    for (const bool scaled : {false, true}) {
      job.precision = scaled ? kScaled : "bf16,master=yes";
      const Virtual expected = learned(job);
      for (const char* layout : kLayouts)
        for (const int procs : scaled ? std::vector{2, 5} : std::vector{1, 3, 4, 8}) {
          job.layout = layout;
          expect_as_planned(job, procs, expected);
        }
    }
}

// Whatever travels in two bytes is half of what travels in four: sums and gathers. Beside them: 16 to each other about gradients.
TEST(Mixed, SendsHalfOfTheBytes) {
  TrainJob job{.problem = "mlp,dimension=16,hidden=32,layers=3,pairs=1",
               .optimizer = "adam,rate=0.01",
               .workers = 4,
               .steps = 3};
  for (const char* layout : kLayouts) {
    job.layout = layout;
    job.precision.clear();
    const TrainedRun whole = ran(job, 4);
    job.precision = "bf16,master=yes";
    const TrainedRun half = ran(job, 4);
    const Bytes said = vote_bytes(*read_layout(layout)) * 3 * job.steps;
    for (std::size_t r = 0; r < 4; ++r)
      EXPECT_EQ((sum_of(half.sent[r]) - Bytes{16} * 3 * job.steps) * 2, sum_of(whole.sent[r]) - said)
          << layout;
  }
}

// Gradients of about one: FP16 ends at 65,504, so factors above 2^15 overflow, and each halving is a version that nobody steps in.
TEST(Mixed, AnOverflowIsAStepThatAllSkip) {
  TrainJob job{.problem = "mlp,dimension=8,hidden=16,pairs=1",
               .optimizer = "adam,rate=0.01",
               .workers = 8,
               .samples = 4,
               .steps = 40};
  for (const char* scale : {"loss-scale=16777216,dynamic=yes,growth-interval=6", "loss-scale=1048576",
                            "loss-scale=1", "loss-scale=16777216"}) {
    job.precision = std::string("fp16,master=yes,") + scale;
    const Virtual expected = learned(job);
    if (job.precision.ends_with("=6")) {
      EXPECT_GT(expected.scaled.skipped, 3);
      EXPECT_LT(expected.scaled.skipped, 30);
      EXPECT_LT(expected.losses.back(), 0.95 * expected.losses.front());
    }
    for (const char* layout : kLayouts)
      for (const int procs : {1, 3, 4}) {
        job.layout = layout;
        expect_as_planned(job, procs, expected);
      }
  }
}

// Each leaf fits, their sum does not: nobody's gradient is at fault, and all skip.
TEST(Mixed, ASumThatOverflowsIsAnOverflow) {
  TrainJob job{.problem = "quadratic,dimension=5,condition=1",
               .optimizer = "sgd,rate=0.01",
               .workers = 8,
               .steps = 3,
               .precision = "fp16,master=yes,loss-scale=16384"};
  const auto problem = *problem_of(job);
  std::vector<float> x(5), g(5);
  problem->initial(x);
  problem->gradient(x, {}, g);
  for (float& v : g) v = std::abs(v);
  const float largest = std::ranges::max(g);
  ASSERT_LT(largest * 16384, 65504);
  ASSERT_GT(largest * 16384 * 8, 65520);
  const Virtual expected = learned(job);
  EXPECT_EQ(expected.scaled.skipped, 3);
  EXPECT_FALSE(expected.scaled.last_overflow);
  for (const char* layout : kLayouts) {
    job.layout = layout;
    expect_as_planned(job, 3, expected);
  }
}

TEST(Mixed, AGradientThatIsNoNumberIsNamedAndNotSkipped) {
  TrainJob job = jobs()[3];
  job.inject = "rank=1,nan=4";
  for (const char* precision : {"bf16,master=yes", kScaled})
    for (const char* layout : kLayouts) {
      job.precision = precision;
      job.layout = layout;
      const TrainedRun run = ran(job, 3);
      ASSERT_TRUE(run.diverged) << layout;
      EXPECT_EQ(run.diverged->place(), "worker 5, step 4, weights.1") << layout;
      EXPECT_EQ(run.versions, 4) << layout;
    }
}

TEST(Mixed, WhoeverDivergesIsTheOneThatTheVirtualDriverNames) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"sgd,rate=1e9", "bf16,master=yes"},
      {"sgd,rate=5", "bf16,master=yes"},
      {"sgd,rate=5", "fp16,master=yes"},  // without a scale the sum is spoiled, and all with it
  };
  for (const auto& [optimizer, precision] : cases) {
    TrainJob job{.problem = "least-squares,dimension=5,noise=0.1",
                 .optimizer = optimizer,
                 .workers = 8,
                 .steps = 200,
                 .precision = precision};
    const Virtual expected = learned(job);
    ASSERT_TRUE(expected.diverged) << optimizer;
    for (const char* layout : kLayouts)
      for (const int procs : {1, 3, 4}) {
        job.layout = layout;
        const TrainedRun run = ran(job, procs);
        ASSERT_TRUE(run.diverged) << optimizer << ", " << layout << " on " << procs;
        EXPECT_EQ(run.diverged->text(), expected.diverged->text()) << precision << layout << " on " << procs;
        for (const std::uint64_t hash : run.hashes) EXPECT_EQ(hash, expected.hash);
      }
  }
}

// 2 + 2 bytes of parameters and gradients, 12 of master copy and moments, by the stages of Rajbhandari et al. 2020; beside them the units that are
// worked with in FP32, their codes, and what is received.
TEST(Mixed, MemoryIsThatOfTheStagesFormula) {
  TrainJob job{.problem = "mlp,dimension=256,hidden=640,layers=3,pairs=2,held-out=10",
               .optimizer = "adam,rate=0.001",
               .workers = 4,
               .steps = 2,
               .procs = 4,
               .precision = "bf16,master=yes"};
  const auto problem = *problem_of(job);
  const auto p = static_cast<double>(problem->parameters());
  const double n = 4;
  const std::vector<Stretch> units = working_units(*problem);
  ASSERT_EQ(units.size(), 4U);
  const auto layer = static_cast<double>(units[1].count);  // as large as the one behind it
  // Parameters and gradient of the layer in FP32; from zero-2 on its gradient's codes instead of that, and what comes of three others.
  const std::vector<std::pair<std::string, double>> formulas = {
      {"data-parallel", 2 * p + 2 * p + 12 * p + std::max(8 * layer, 2 * p * (n - 1) / n)},
      {"zero-1", 2 * p + 2 * p + 12 * p / n + std::max(8 * layer, 2 * p * (n - 1) / n)},
      {"zero-2", 2 * p + 2 * p / n + 12 * p / n + 8 * layer},
      {"zero-3", 2 * p / n + 2 * p / n + 12 * p / n + 8 * layer + 2 * layer}};
  for (const auto& [layout, bytes] : formulas) {
    job.layout = layout;
    for (const BytesByUse& memory : ran(job, 4).memory)
      EXPECT_NEAR(static_cast<double>(sum_of(memory).count()), bytes, 0.02 * bytes) << layout;
  }
}

// The same rate, the same samples: two bytes cost less than a tenth of the way.
TEST(Mixed, ReachesWhatFp32Reaches) {
  for (const char* problem : {"mlp,dimension=8,hidden=16,pairs=1", "least-squares,dimension=20,noise=0.1"}) {
    TrainJob job{.problem = problem,
                 .optimizer = "adam,rate=0.01",
                 .workers = 8,
                 .samples = 16,
                 .steps = 400,
                 .procs = 4};
    const TrainedRun whole = ran(job, 4);
    const double way = whole.points.front().score.loss - whole.points.back().score.loss;
    ASSERT_GT(way, 0.5 * whole.points.front().score.loss) << problem;
    for (const char* precision : {"bf16,master=yes", kScaled}) {
      job.precision = precision;
      job.layout = "zero-3";
      const TrainedRun half = ran(job, 4);
      EXPECT_LT(half.points.back().score.loss, whole.points.back().score.loss + 0.1 * way)
          << problem << ", " << precision;
    }
  }
}

class MixedResume : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("mixed-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

// Saved in the middle of a row of good steps, behind overflows; on other numbers of processes, in other layouts.
TEST_F(MixedResume, HasTheBitsAndTheScaleOfAJobThatWasNotInterrupted) {
  for (const char* precision :
       {"bf16,master=yes", "fp16,master=yes,loss-scale=16777216,dynamic=yes,growth-interval=6"})
    for (const char* layout : kLayouts) {
      fs::remove_all(folder_);
      TrainJob whole{.problem = "mlp,dimension=8,hidden=16,pairs=1",
                     .optimizer = "adam,rate=0.01,warm-up=20",
                     .workers = 8,
                     .samples = 4,
                     .steps = 60,
                     .precision = precision};
      const TrainedRun expected = ran(whole, 1);
      TrainJob part = whole;
      part.layout = layout;
      part.checkpoint = folder_.string();
      part.every = "7";
      part.steps = 24;
      part.procs = 3;
      ASSERT_TRUE(run_on_threads(part));
      part.resume = true;
      for (const auto& [steps, procs, other] : {std::tuple{40, 2, "zero-1"}, {60, 5, layout}}) {
        part.steps = steps;
        part.procs = procs;
        part.layout = other;
        part.beside = procs != 2;
        const auto made = run_on_threads(part);
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(made->resumed, steps == 40 ? 24 : 40);
        if (steps < 60) continue;
        EXPECT_EQ(made->hashes.front(), expected.hashes.front()) << precision << ", " << layout;
        EXPECT_EQ(made->scaled.has_value(), expected.scaled.has_value());
        if (!expected.scaled) continue;
        EXPECT_GT(expected.scaled->skipped, 0);
        EXPECT_EQ(made->scaled->factor, expected.scaled->factor);
        EXPECT_EQ(made->scaled->skipped, expected.scaled->skipped);
        EXPECT_LT(made->scaled->skipped_now, expected.scaled->skipped);
      }
    }
}

TEST_F(MixedResume, AnotherPrecisionIsAnotherJob) {
  TrainJob job{.problem = "quadratic,dimension=37",
               .optimizer = "sgd,rate=0.1",
               .workers = 4,
               .steps = 10,
               .procs = 2,
               .precision = "bf16,master=yes",
               .checkpoint = folder_.string(),
               .every = "5"};
  ASSERT_TRUE(run_on_threads(job));
  job.resume = true;
  for (const char* other : {"", "fp16,master=yes"}) {
    job.precision = other;
    const auto made = run_on_threads(job);
    ASSERT_FALSE(made) << other;
    EXPECT_EQ(made.error().id, "train-008");
  }
}

TEST_F(MixedResume, TheCopyIsInTheMemoryAndInItsFormula) {
  for (const char* layout : kLayouts) {
    fs::remove_all(folder_);
    TrainJob job{.problem = "mlp,dimension=8,hidden=30,layers=2,pairs=1",
                 .optimizer = "adam,rate=0.01",
                 .workers = 8,
                 .steps = 20,
                 .procs = 3,
                 .precision = "bf16,master=yes",
                 .layout = layout,
                 .checkpoint = folder_.string(),
                 .every = "7"};
    const auto run = run_on_threads(job);
    ASSERT_TRUE(run) << run.error().message;
    const auto problem = *problem_of(job);
    for (int r = 0; r < 3; ++r)
      EXPECT_EQ(sum_of(run->memory.at(static_cast<std::size_t>(r))),
                sum_of(planned_memory(job, *read_layout(layout), *problem,
                                      *learn::read_optimizer(job.optimizer), r)))
          << layout;
  }
}

}  // namespace
}  // namespace cox::train
