// SPDX-License-Identifier: Apache-2.0
// A job that is saved and goes on: the bits of one that was never interrupted.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "train/run/memory_plan.hpp"
#include "train/run/replica.hpp"
#include "train/run/shards.hpp"
#include "train/run/slice_plan.hpp"
#include "train/run/stage_plan.hpp"

namespace cox::train {
namespace {

namespace fs = std::filesystem;

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("resume-") + info->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] TrainJob job(const std::string& optimizer, int procs, std::int64_t steps) const {
    return {.problem = "quadratic,dimension=37,condition=30,noise=0.2",
            .optimizer = optimizer,
            .workers = 8,
            .steps = steps,
            .procs = procs,
            .checkpoint = folder_.string(),
            .every = "7"};
  }
  /// To the steps of a job that the folder already knows.
  static TrainedRun gone_on(TrainJob job) {
    job.resume = true;
    auto made = run_on_threads(job);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : TrainedRun{};
  }

  fs::path folder_;
};

TEST_F(Resume, HasTheBitsOfAJobThatWasNotInterruptedOnAnyNumberOfProcesses) {
  const std::vector<std::string> optimizers = {"sgd,rate=0.1,warm-up=20", "momentum,rate=0.05",
                                               "adam,rate=0.01,scaling=root,base-batch=4"};
  for (const std::string& optimizer : optimizers)
    for (const char* layout : {"data-parallel", "zero-1", "zero-2", "zero-3"})
      for (const int procs : {1, 3, 4}) {
        fs::remove_all(folder_);
        TrainJob whole = job(optimizer, 1, 40);
        whole.checkpoint.clear();
        const auto expected = run_on_threads(whole);
        ASSERT_TRUE(expected);
        // As far as version 17, saved at 7, 14 and 17; then, on other numbers of processes and in the other layout, to 30 and to 40.
        TrainJob part = job(optimizer, procs, 17);
        part.layout = layout;
        part.beside = procs != 3;
        const auto first = run_on_threads(part);
        ASSERT_TRUE(first) << first.error().message;
        EXPECT_EQ(first->saved.count, 3);
        EXPECT_FALSE(first->resumed);
        part.steps = 30;
        part.procs = 2;
        part.layout = "zero-1";
        EXPECT_EQ(gone_on(part).resumed, 17);
        part.steps = 40;
        part.procs = 5;
        part.layout = layout;
        const TrainedRun last = gone_on(part);
        EXPECT_EQ(last.resumed, 30);
        EXPECT_EQ(last.versions, 40);
        EXPECT_EQ(last.own_versions(), 10);
        EXPECT_EQ(last.hashes.front(), expected->hashes.front()) << optimizer << ", " << layout;
        EXPECT_EQ(last.points.back().score.loss, expected->points.back().score.loss);
      }
}

// Two pipelines of three stages, then one of two with chunks, then parts of everything, as long as each worker has one micro-batch.
TEST_F(Resume, StagesGoOnAsOtherStagesAndInOtherLayouts) {
  TrainJob whole = job("adam,rate=0.01", 1, 40);
  whole.problem = "mlp,dimension=6,hidden=7,layers=5,pairs=1,held-out=50";
  TrainJob begun = whole;
  whole.checkpoint.clear();
  const auto expected = run_on_threads(whole);
  ASSERT_TRUE(expected);
  begun.steps = 17;
  begun.procs = 6;
  begun.layout = "pipeline";
  begun.pipeline = {.stages = 3};
  ASSERT_TRUE(run_on_threads(begun));
  begun.steps = 30;
  begun.procs = 2;
  begun.pipeline = {.stages = 2, .schedule = model::PipelineSchedule::Interleaved, .chunks = 2};
  EXPECT_EQ(gone_on(begun).resumed, 17);
  begun.steps = 40;
  begun.procs = 3;
  begun.layout = "zero-3";
  begun.pipeline = {};
  const TrainedRun made = gone_on(begun);
  EXPECT_EQ(made.resumed, 30);
  EXPECT_EQ(made.hashes.front(), expected->hashes.front());
  // Two micro-batches are other leaves: another job.
  begun.layout = "pipeline";
  begun.pipeline = {.stages = 3, .micro_batches = 2};
  begun.samples = 2;
  begun.resume = true;
  EXPECT_FALSE(run_on_threads(begun));
}

// Three groups of two slices, then one of four, then parts of everything, then two groups of two.
TEST_F(Resume, SlicesGoOnAsOtherSlicesAndInOtherLayouts) {
  for (const char* optimizer : {"adam,rate=0.01", "sgd,rate=0.1"})
    for (const bool beside : {false, true}) {
      fs::remove_all(folder_);
      TrainJob whole = job(optimizer, 1, 40);
      whole.problem = "mlp,dimension=6,hidden=12,layers=3,pairs=1,held-out=50,blocks=4";
      whole.beside = beside;
      TrainJob begun = whole;
      whole.checkpoint.clear();
      const auto expected = run_on_threads(whole);
      ASSERT_TRUE(expected);
      begun.steps = 17;
      begun.procs = 6;
      begun.layout = "tensor";
      begun.tensor = 2;
      const auto first = run_on_threads(begun);
      ASSERT_TRUE(first) << first.error().message;
      EXPECT_EQ(first->saved.count, 3);
      for (int r = 0; r < begun.procs; ++r)
        EXPECT_EQ(sum_of(first->memory.at(static_cast<std::size_t>(r))),
                  sum_of(*planned_slice_memory(begun, *learn::read_optimizer(optimizer), r)))
            << optimizer << ", rank " << r;
      begun.steps = 24;
      begun.procs = begun.tensor = 4;
      EXPECT_EQ(gone_on(begun).resumed, 17);
      begun.steps = 30;
      begun.procs = 3;
      begun.layout = "zero-3";
      begun.tensor = 0;
      EXPECT_EQ(gone_on(begun).resumed, 24);
      begun.steps = 40;
      begun.procs = 4;
      begun.layout = "tensor";
      begun.tensor = 2;
      const TrainedRun made = gone_on(begun);
      EXPECT_EQ(made.resumed, 30);
      EXPECT_EQ(made.hashes.front(), expected->hashes.front()) << optimizer;
      // Twelve do not divide the blocks: other bits, another job.
      begun.procs = begun.tensor = 12;
      begun.resume = true;
      EXPECT_FALSE(run_on_threads(begun));
    }
}

// A round of five steps is a version; the outer optimizer's momentum and the inner schedules go on.
TEST_F(Resume, RoundsOfLocalStepsGoOnWithTheirBits) {
  TrainJob whole = job("sgd,rate=0.1,warm-up=60", 1, 200);
  whole.local = rounds_of(*learn::read_way("diloco,local-steps=5"));
  TrainJob part = whole;
  whole.checkpoint.clear();
  const auto expected = run_on_threads(whole);
  ASSERT_TRUE(expected) << expected.error().message;
  part.steps = 85;
  part.procs = 3;
  ASSERT_TRUE(run_on_threads(part));
  part.steps = 200;
  part.procs = 2;
  const TrainedRun last = gone_on(part);
  EXPECT_EQ(last.resumed, 17);
  EXPECT_EQ(last.versions, 40);
  EXPECT_EQ(last.hashes.front(), expected->hashes.front());
  // Another number of local steps is another job.
  part.local->steps = 4;
  part.resume = true;
  EXPECT_FALSE(run_on_threads(part));
}

// Each worker's own momentum and moments go to whoever holds it then; a damaged file of workers is one of the checkpoint.
TEST_F(Resume, RoundsOfLocalStepsGoOnWithEachWorkersOwnState) {
  for (const char* optimizer : {"momentum,rate=0.05", "adam,rate=0.01,warm-up=60", "lamb,rate=0.01"})
    for (const char* policy :
         {"diloco,local-steps=5", "fedprox,local-steps=5,proximal=0.3",
          "post-local,synchronous-steps=50,local-steps=5", "post-local,synchronous-steps=100,local-steps=5",
          "scaffold,local-steps=5", "scaffold,local-steps=5,reset=1", "local-sgd,local-steps=5,reset=1",
          "local-sgd,local-steps=5"}) {
      fs::remove_all(folder_);
      TrainJob whole = job(optimizer, 1, 200);
      whole.local = rounds_of(*learn::read_way(policy));
      TrainJob part = whole;
      whole.checkpoint.clear();
      const auto expected = run_on_threads(whole);
      ASSERT_TRUE(expected) << expected.error().message;
      part.steps = 85;
      const std::int64_t versions = part.versions();
      part.procs = 3;
      part.beside = false;
      ASSERT_TRUE(run_on_threads(part));
      part.beside = true;
      part.steps = 150;
      part.procs = 5;
      const auto problem = *problem_of(part);
      const auto spec = *learn::read_optimizer(part.optimizer);
      const TrainedRun second = gone_on(part);
      EXPECT_EQ(second.resumed, versions);
      for (int r = 0; r < part.procs; ++r)
        EXPECT_EQ(sum_of(second.memory.at(static_cast<std::size_t>(r))),
                  sum_of(planned_memory(part, TrainLayout::DataParallel, *problem, spec, r)));
      part.steps = 200;
      part.procs = 2;
      EXPECT_EQ(gone_on(part).hashes.front(), expected->hashes.front()) << optimizer << ", " << policy;
      if (part.local->after == 0) {
        EXPECT_EQ(fs::exists(folder_ / "00000040" / "part-3"),
                  part.local->state == learn::LocalState::Keep || part.local->variates);
      }
    }
  std::fstream(folder_ / "00000040" / "part-3", std::ios::out) << "damaged";
  TrainJob last = job("lamb,rate=0.01", 3, 200);
  last.local = rounds_of(*learn::read_way("local-sgd,local-steps=5"));
  const TrainedRun again = gone_on(last);
  ASSERT_EQ(again.refused.size(), 1U);
  EXPECT_NE(again.refused[0].find("part-3"), std::string::npos) << again.refused[0];
}

// Units of a network: a file for each unit and process, and norms over parts.
TEST_F(Resume, PartsOfUnitsAreReadByEveryLayout) {
  TrainJob small = job("lamb,rate=0.01,clip=1", 1, 20);
  small.problem = "mlp,dimension=8,hidden=30,layers=2,pairs=1";
  TrainJob whole = small;
  whole.checkpoint.clear();
  const auto expected = run_on_threads(whole);
  ASSERT_TRUE(expected);
  const std::vector<std::string> layouts = {"zero-3", "data-parallel", "zero-2", "zero-3", "zero-1"};
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    small.layout = layouts[i];
    small.procs = static_cast<int>(i + 2);
    small.steps = static_cast<std::int64_t>(4 * (i + 1));
    const TrainedRun run = gone_on(small);
    if (i > 0) {
      EXPECT_EQ(run.resumed, small.steps - 4) << layouts[i];
    }
    if (small.steps == 20) {
      EXPECT_EQ(run.hashes.front(), expected->hashes.front());
    }
  }
}

TEST_F(Resume, ADamagedOneIsNamedAndTheOneBeforeHasTheSameBits) {
  const auto expected = run_on_threads(job("adam,rate=0.01", 4, 20));
  ASSERT_TRUE(expected);
  for (int damaged = 0; damaged < 20; ++damaged) {
    fs::remove_all(folder_);
    ASSERT_TRUE(run_on_threads(job("adam,rate=0.01", 4, 14)));
    const fs::path file =
        folder_ / "00000014" / (damaged % 5 == 4 ? "manifest" : "part-" + std::to_string(damaged % 5));
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(damaged);
    const char was = static_cast<char>(bytes.get());
    bytes.seekp(damaged);
    bytes.put(static_cast<char>(was ^ 0x40));
    bytes.close();
    const TrainedRun run = gone_on(job("adam,rate=0.01", damaged % 3 + 1, 20));
    EXPECT_EQ(run.resumed, 7);
    ASSERT_EQ(run.refused.size(), 1U);
    EXPECT_NE(run.refused[0].find(file.filename().string()), std::string::npos) << run.refused[0];
    EXPECT_EQ(run.hashes.front(), expected->hashes.front());
    EXPECT_TRUE(fs::exists(folder_ / "00000014" / "manifest")) << "saved again";
    EXPECT_TRUE(fs::exists(folder_ / "00000014.refused"));
  }
}

TEST_F(Resume, NothingIsOverwrittenUnasked) {
  ASSERT_TRUE(run_on_threads(job("sgd,rate=0.1", 2, 10)));
  const auto again = run_on_threads(job("sgd,rate=0.1", 2, 10));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().id, "train-008");
  const auto other = [&] {
    TrainJob j = job("sgd,rate=0.2", 2, 10);
    j.resume = true;
    return run_on_threads(j);
  }();
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("rate=0.1"), std::string::npos) << other.error().message;
  EXPECT_EQ(gone_on(job("sgd,rate=0.1", 2, 10)).own_versions(), 0) << "it was done";
}

TEST_F(Resume, AFolderWithoutCheckpointsBeginsAnew) {
  const TrainedRun run = gone_on(job("sgd,rate=0.1", 2, 10));
  EXPECT_FALSE(run.resumed);
  EXPECT_EQ(run.versions, 10);
  EXPECT_EQ(run.saved.count, 2);
}

// As on a full device: files may have 80 bytes, and those of three ranks have 104 or 96.
TEST_F(Resume, WhatCannotBeSavedEndsTheJobOnAllRanksAndTheOneBeforeIsWhatItWas) {
  const TrainJob small = job("momentum,rate=0.1", 3, 21);
  const auto expected = [&] {
    TrainJob plain = small;
    plain.checkpoint.clear();
    return run_on_threads(plain);
  }();
  ASSERT_TRUE(expected);
  ASSERT_TRUE(run_on_threads(job("momentum,rate=0.1", 3, 7)));
  rlimit was{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &was), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{.rlim_cur = 80, .rlim_max = was.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  TrainJob on = small;
  on.resume = true;
  const auto made = run_on_threads(on);
  setrlimit(RLIMIT_FSIZE, &was);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "train-007");
  // The lowest of those that had failed when ranks asked each other.
  EXPECT_NE(made.error().message.find("cannot write part-"), std::string::npos) << made.error().message;
  EXPECT_NE(made.error().message.find(" of checkpoint 14 in "), std::string::npos) << made.error().message;
  EXPECT_NE(made.error().message.find("File too large"), std::string::npos) << made.error().message;
  const TrainedRun last = gone_on(small);
  EXPECT_EQ(last.resumed, 7);
  EXPECT_EQ(last.hashes.front(), expected->hashes.front());
}

TEST_F(Resume, AFolderThatCannotBeIsSaidBeforeTheFirstStep) {
  std::ofstream(folder_) << "a file";
  const auto made = run_on_threads(job("sgd,rate=0.1", 3, 10));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "train-007");
}

TEST_F(Resume, StepsThatWereTakenAreNotTakenBack) {
  ASSERT_TRUE(run_on_threads(job("sgd,rate=0.1", 2, 10)));
  TrainJob shorter = job("sgd,rate=0.1", 2, 8);
  shorter.resume = true;
  const auto made = run_on_threads(shorter);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("is that of version 10, and the job has 8 steps"), std::string::npos)
      << made.error().message;
}

// Another order of additions on another number of processes: other bits, so another job.
TEST_F(Resume, ANamedSumGoesOnOnAsManyProcesses) {
  TrainJob ring = job("sgd,rate=0.1", 4, 10);
  ring.sum = "ring";
  ASSERT_TRUE(run_on_threads(ring));
  ring.steps = 20;
  EXPECT_EQ(gone_on(ring).resumed, 10);
  ring.procs = 2;
  ring.resume = true;
  const auto made = run_on_threads(ring);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "train-008");
}

// The sum alone overflows: the parameters are no numbers, and the step after names the worker. They are not saved.
TEST_F(Resume, WhatIsNoNumberIsNotSaved) {
  TrainJob bad = job("momentum,rate=1e9", 2, 200);
  bad.problem = "least-squares,dimension=5,noise=0.1";
  bad.every = "1";
  const auto made = run_on_threads(bad);
  ASSERT_TRUE(made && made->diverged);
  TrainJob again = bad;
  again.resume = true;
  const auto once_more = run_on_threads(again);
  ASSERT_TRUE(once_more && once_more->diverged) << once_more.error().message;
  EXPECT_EQ(once_more->diverged->text(), made->diverged->text());
  EXPECT_GE(once_more->own_versions(), 1) << "from a version of numbers";
}

TEST_F(Resume, BytesOfStepsAreCountedWithoutThoseOfSaving) {
  TrainJob one = job("momentum,rate=0.1", 4, 20);
  one.every = "1";
  const auto saved = run_on_threads(one);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->saved.count, 20);
  one.checkpoint.clear();
  const auto plain = run_on_threads(one);
  ASSERT_TRUE(plain);
  EXPECT_EQ(saved->sent, plain->sent);
}

// What a rank saves, once more, and only where it is written beside the steps.
TEST_F(Resume, TheCopyIsInTheMemoryAndInItsFormula) {
  TrainJob one = job("adam,rate=0.01", 3, 20);
  one.problem = "mlp,dimension=8,hidden=30,layers=2,pairs=1";
  const auto problem = *problem_of(one);
  const auto optimizer = *learn::read_optimizer(one.optimizer);
  for (const auto& [layout, kind] : {std::pair{"data-parallel", TrainLayout::DataParallel},
                                     {"zero-1", TrainLayout::Zero1},
                                     {"zero-3", TrainLayout::Zero3}})
    for (const bool beside : {true, false}) {
      fs::remove_all(folder_);
      one.layout = layout;
      one.beside = beside;
      const auto run = run_on_threads(one);
      ASSERT_TRUE(run) << run.error().message;
      for (int r = 0; r < one.procs; ++r) {
        const BytesByUse& memory = run->memory.at(static_cast<std::size_t>(r));
        EXPECT_EQ(sum_of(memory), sum_of(planned_memory(one, kind, *problem, optimizer, r))) << layout << r;
        const Bytes copies = memory[static_cast<std::size_t>(Use::Copies)];
        EXPECT_EQ(copies,
                  beside ? Bytes{parting_of(*problem, kind, 3).kept(r)} * 3 * sizeof(float) : Bytes{});
      }
      EXPECT_EQ(run->saved.beside > Seconds{0}, true);
    }
}

// Of several pipelines the first one saves.
TEST_F(Resume, TheCopyOfStagesIsInTheirFormula) {
  TrainJob one = job("adam,rate=0.01", 3, 20);
  one.problem = "mlp,dimension=8,hidden=30,layers=3,pairs=1";
  one.layout = "pipeline";
  const auto problem = *problem_of(one);
  const auto optimizer = *learn::read_optimizer(one.optimizer);
  for (const int stages : {2, 3})
    for (const bool beside : {true, false}) {
      fs::remove_all(folder_);
      one.pipeline = {.stages = stages};
      one.procs = 6;
      one.beside = beside;
      const auto run = run_on_threads(one);
      ASSERT_TRUE(run) << run.error().message;
      Bytes copies{};
      for (int r = 0; r < one.procs; ++r) {
        const BytesByUse& memory = run->memory.at(static_cast<std::size_t>(r));
        EXPECT_EQ(sum_of(memory), sum_of(*planned_stage_memory(one, *problem, optimizer, r))) << stages << r;
        copies += memory[static_cast<std::size_t>(Use::Copies)];
      }
      EXPECT_EQ(copies, beside ? Bytes{problem->parameters()} * 3 * sizeof(float) : Bytes{});
    }
}

}  // namespace
}  // namespace cox::train
