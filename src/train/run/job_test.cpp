// SPDX-License-Identifier: Apache-2.0
#include "train/run/job.hpp"

#include <gtest/gtest.h>

namespace cox::train {
namespace {

TEST(TrainJob, WordsSayAllOfIt) {
  const TrainJob job{.problem = "quadratic,dimension=3",
                     .optimizer = "sgd,rate=0.1",
                     .workers = 12,
                     .samples = 3,
                     .steps = 40,
                     .procs = 4,
                     .sum = "hierarchical,group=2",
                     .precision = "fp16,master=yes,loss-scale=8",
                     .layout = "zero-1",
                     .pipeline = PipelineShape{.stages = 3,
                                               .micro_batches = 4,
                                               .schedule = model::PipelineSchedule::Interleaved,
                                               .chunks = 2,
                                               .recompute = true},
                     .tensor = 4,
                     .patience = Seconds{0.1},
                     .times = true};
  const auto words = words_of(job);
  const auto back = read_words(words);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(words_of(*back), words);
  EXPECT_EQ(back->sum, job.sum);
  EXPECT_EQ(back->precision, job.precision);
  EXPECT_EQ(back->patience, job.patience);
  EXPECT_TRUE(back->times);
  EXPECT_EQ(back->pipeline, job.pipeline);
  EXPECT_EQ(back->tensor, 4);
  for (const char* wrong : {"workers=0", "workers=x", "steps=-1", "hello", "colour=red", "patience_s=nan",
                            "pipeline=2,1,9,1,0", "pipeline=2,1"}) {
    const std::vector<std::string> one{wrong};
    EXPECT_FALSE(read_words(one)) << wrong;
  }
}

TEST(TrainJob, RowsKeepEveryBit) {
  const TrainedRun run{
      .library = "a library 1.2",
      .parameters = 7,
      .versions = 3,
      .points = {{.version = 0, .at = Seconds{0.1}, .score = {.loss = 1.0 / 3, .accuracy = 0}},
                 {.version = 3, .at = Seconds{0.3}, .score = {.loss = 1e-300, .accuracy = 0.7}}},
      .diverged = learn::Divergence{.worker = 2, .step = 3, .tensor = "w1"},
      .sent = {{Bytes{0}, Bytes{12}}, {Bytes{8}, Bytes{0}}},
      .hashes = {~std::uint64_t{0}, 5},
      .optimizer = {Bytes{12}, Bytes{0}},
      .memory = {{Bytes{1}, Bytes{2}, Bytes{3}, Bytes{4}, Bytes{5}, Bytes{6}}, {}},
      .steps_took = Seconds{0.25},
      .times = {Seconds{0.1}, Seconds{0.2}, Seconds{1.0 / 7}},
      .saved_version = 7,
      .forecast = StepForecast{.from = 4,
                               .to = 9,
                               .mean = Seconds{0.1},
                               .low = Seconds{1.0 / 3},
                               .high = Seconds{0.3},
                               .measured = Seconds{0.7},
                               .rest = 5},
      .scaled = ScaledRun{.factor = 0x1p-24, .skipped = 9, .skipped_now = 4},
      .stopped = true};
  const auto back = read_rows(rows_of(run));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(rows_of(*back), rows_of(run));
  EXPECT_EQ(back->points[0].score.loss, 1.0 / 3);
  EXPECT_EQ(back->sent, run.sent);
  EXPECT_EQ(back->hashes, run.hashes);
  EXPECT_EQ(back->optimizer, run.optimizer);
  EXPECT_EQ(back->memory, run.memory);
  EXPECT_EQ(back->times, run.times);
  EXPECT_EQ(back->diverged->tensor, "w1");
  EXPECT_EQ(back->saved_version, 7);
  EXPECT_EQ(back->forecast->low, Seconds{1.0 / 3});
  EXPECT_EQ(back->forecast->rest, 5);
  EXPECT_EQ(back->scaled->factor, 0x1p-24);
  EXPECT_EQ(back->scaled->skipped, 9);
  EXPECT_EQ(back->scaled->skipped_now, 4);
  EXPECT_TRUE(back->stopped);
}

TEST(TrainJob, MixedPrecisionIsSaidWhole) {
  const auto word = [](const char* policy) { return precision_of(*learn::read_way(policy)); };
  EXPECT_EQ(word("synchronous"), "");
  EXPECT_EQ(word("synchronous+fp16,loss-scale=8"), "");
  EXPECT_EQ(word("synchronous+bf16,master=yes"), "bf16,master=yes");
  EXPECT_EQ(word("synchronous+fp16,loss-scale=8,master=yes"), "fp16,master=yes,loss-scale=8");
  for (const std::string all : {"fp16,master=yes,loss-scale=65536,dynamic=yes,growth-interval=2000",
                                "fp16,master=yes,loss-scale=5.960464477539063e-08"}) {
    EXPECT_EQ(word(("synchronous+" + all).c_str()), all);
    EXPECT_TRUE(read_precision(all));
  }
  for (const char* wrong : {"", "fp16", "bf16,master=no", "fp16,master=maybe"})
    EXPECT_FALSE(read_precision(wrong)) << wrong;
}

TEST(TrainJob, MomentsOnTheWayAreNoPartOfTheResult) {
  const TrainMoment moment{.version = 12, .loss = 1.0 / 3};
  const std::string row = row_of(moment);
  const auto back = read_moment(std::string_view(row).substr(0, row.size() - 1));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->version, 12);
  EXPECT_EQ(back->loss, 1.0 / 3);
  for (const char* other : {"", "at", "at\t1", "at\tx\t1", "took\t1\t2\t3"})
    EXPECT_FALSE(read_moment(other)) << other;
  EXPECT_TRUE(read_rows(row + rows_of({.library = "x"}) + row));
}

TEST(TrainJob, AnErrorOfARankIsTheAnswers) {
  const Error late{.code = Errc::Timeout,
                   .id = "train-003",
                   .message = "rank 1 waited\tlong",
                   .hint = "look",
                   .where = {}};
  const auto back = read_rows(row_of(late));
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Errc::Timeout);
  EXPECT_EQ(back.error().id, "train-003");
  EXPECT_EQ(back.error().message, "rank 1 waited long");
  // What two ranks say at once a launcher may put into one line.
  const auto mixed = read_rows("failed" + row_of(late));
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().message, "rank 1 waited long");
}

TEST(TrainJob, WhatIsNoResultIsQuoted) {
  for (const char* text :
       {"", "hello\n", "cox-train 1\nrank\tx\n", "cox-train 1\npoint\t1\t2\n", "took\t1\t2\t3\n"}) {
    const auto read = read_rows(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().id, "train-005") << text;
  }
}

TEST(TrainJob, FaultsAreReadOrRefused) {
  const auto slow = read_injected("rank=1,delay=0.02");
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->rank, 1);
  EXPECT_EQ(slow->delay, Seconds{0.02});
  EXPECT_EQ(slow->nan, -1);
  EXPECT_EQ(read_injected("rank=0,nan=5")->nan, 5);
  EXPECT_EQ(read_injected("")->rank, -1);
  for (const char* wrong : {"rank=1", "delay=1", "rank=-1,delay=1", "rank=1,delay=0", "rank=1,nan=x", "slow"})
    EXPECT_EQ(read_injected(wrong).error().id, "train-002") << wrong;
}

TEST(TrainJob, SumsAreNamedAsTheModelNamesThem) {
  const auto fixed = read_sum("fixed-order");
  ASSERT_TRUE(fixed);
  EXPECT_FALSE(fixed->algorithm);
  const auto grouped = read_sum("hierarchical,group=2");
  ASSERT_TRUE(grouped);
  EXPECT_EQ(grouped->algorithm, model::Algorithm::Hierarchical2);
  EXPECT_EQ(grouped->group, 2);
  for (const char* wrong : {"", "rings", "direct", "parameter-server", "ring,group=2", "hierarchical,group=0",
                            "hierarchical,size=2"}) {
    const auto read = read_sum(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().id, "train-002");
  }
  EXPECT_EQ(read_sum("rings").error().hint, "did you mean ring?");
  EXPECT_EQ(*read_layout("zero-1"), TrainLayout::Zero1);
  EXPECT_EQ(*read_layout("data-parallel"), TrainLayout::DataParallel);
  EXPECT_EQ(*read_layout("zero-3"), TrainLayout::Zero3);
  EXPECT_EQ(*read_layout("tensor"), TrainLayout::Tensor);
  EXPECT_EQ(read_layout("zero-4").error().id, "train-002");
}

}  // namespace
}  // namespace cox::train
