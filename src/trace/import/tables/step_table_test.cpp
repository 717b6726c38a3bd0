// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/step_table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cox/trace/import.hpp"
#include "cox/trace/time_unit.hpp"

#include "support/test_data.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class StepTable : public ::testing::Test {
 protected:
  fs::path folder_ = fs::path(::testing::TempDir()) / ("step_table_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  Result<trace::Run> try_read(const std::string& text) {
    std::ofstream(folder_ / "t.csv", std::ios::binary) << text;
    return read_run(kStepTableReader, folder_ / "t.csv", {.threads = 1, .progress = {}});
  }
  trace::Run read(const std::string& text) {
    EXPECT_TRUE(recognises(text)) << text.substr(0, 80);
    auto run = try_read(text);
    EXPECT_TRUE(run) << run.error().message;
    return run ? *std::move(run) : trace::Run{};
  }
  static bool recognises(const std::string& text) {
    return kStepTableReader.recognises(
        {.path = "t.csv", .bytes = std::string_view(text).substr(0, kHeadBytes)});
  }
};

bool has_note(const trace::Run& run, const std::string& part) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

/// Own work of each used step, from the marks and the implied synchronisations.
std::vector<Duration> own_work(const trace::Run& run, std::size_t rank) {
  std::vector<Duration> out;
  const EventColumns& e = run.ranks[rank].events;
  for (std::size_t i = 0; i + 1 < e.size(); i += 2) {
    EXPECT_EQ(e.kind[i], EventKind::Step);
    EXPECT_EQ(e.collective(i + 1), model::Collective::Barrier);
    out.push_back(e.begin[i + 1] - e.begin[i]);
  }
  return out;
}

TEST_F(StepTable, LongAndWideFormsGiveTheSame) {
  const std::string tables[] = {
      "rank,step,step_time_ms\n0,10,5\n1,10,7\n0,11,6\n1,11,4.5\n",
      "Iteration;Worker;Duration (us)\n10;w0;5000\n10;w1;7000,0\n11;w0;6000\n11;w1;4500\n",
      "# a comment\r\n\r\nstep\trank0_ms\trank1_ms\r\n10\t5\t7\r\n11\t6\t4.5\r\n",
      "\xef\xbb\xbf\"step\",\"rank\",\"time_s\"\n10,\"0\",0.005\n10,1,7e-3\n11,1,.0045\n11,0,0.006\n"};
  for (const std::string& table : tables) {
    const trace::Run run = read(table);
    EXPECT_EQ(run.times, TimesKind::Steps);
    EXPECT_EQ(run.world_size, 2);
    ASSERT_EQ(run.ranks.size(), 2U) << table;
    EXPECT_EQ(own_work(run, 0), (std::vector<Duration>{5ms, 6ms})) << table;
    EXPECT_EQ(own_work(run, 1), (std::vector<Duration>{7ms, 4500us})) << table;
    const EventColumns& a = run.ranks[0].events;
    const EventColumns& b = run.ranks[1].events;
    EXPECT_EQ(a.step_number(0), 10);
    EXPECT_EQ(a.end[1], Duration(7ms) + Duration(1ns));
    EXPECT_EQ(a.end, b.end);
    EXPECT_EQ(a.begin[2], a.end[1]);
    EXPECT_EQ(a.seq[3], 1U);
    EXPECT_EQ(run.find(a.comm[1])->name, "implied");
    EXPECT_FALSE(has_note(run, "no unit"));
    EXPECT_EQ(run.sources.front().used_records, 4);
  }
}

/// `head` and a row for each of 40 steps; a row is made of its number.
template <class Row>
std::string table_of(const std::string& head, const Row& row) {
  std::string table = head + "\n";
  for (int i = 0; i < 40; ++i) table += row(i) + "\n";
  return table;
}
constexpr double kStepS = 0.2513;

TEST_F(StepTable, PointsInTimeAreNoLengths) {
  const auto number = [](double origin) {
    return [=](int i) { return fmt::format("{},{:.4f}", 5 + i, origin + kStepS * i); };
  };
  const std::string tables[] = {
      table_of("step,time_s", number(0)), table_of("step,seconds", number(0.5)),
      table_of("step,elapsed_s", number(1)), table_of("step,wall_time", number(1.77e9)),
      table_of("step,step_seen_timestamp", number(1.77e9)), table_of("step,time_since_start_s", number(60)),
      table_of("Wall time,Step,Value",
               [](int i) { return fmt::format("{:.4f},{},3.1", 1.77e9 + kStepS * i, 5 + i); }),
      table_of("step,timestamp",
               [](int i) { return fmt::format("{},2026-11-28 14:00:{:07.4f}", 5 + i, kStepS * i); }),
      table_of("step,time",
               [](int i) { return fmt::format("{},{}", 5 + i, 1'770'000'000'000 + 2513 * i / 10); }),
      table_of("step,elapsed_s",
               [](int i) { return fmt::format("{},{:.4f}", 5 + i * 17 % 40, kStepS * (i * 17 % 40)); }),
      // the file is cut inside of its last number
      table_of("step,elapsed_s",
               [](int i) { return fmt::format("{},{:.4f}", 5 + i, i == 39 ? 9 : kStepS * i); })};
  for (const std::string& table : tables) {
    const trace::Run run = read(table);
    const std::vector<Duration> work = own_work(run, 0);
    ASSERT_GE(work.size(), 38U) << table;
    for (const Duration w : work) EXPECT_NEAR(in_seconds(w), kStepS, 0.8e-3) << table;
    EXPECT_EQ(run.ranks[0].events.step_number(0), 6) << table;
    EXPECT_TRUE(has_note(run, "points in time: a step is the time since the row before")) << table;
    EXPECT_FALSE(has_note(run, "no unit")) << table;
  }
}

TEST_F(StepTable, RowsOfAClockMayStandForSeveralStepsOrBeTakenTogether) {
  const trace::Run run =
      read(table_of("step,elapsed_s", [](int i) { return fmt::format("{},{:.3f}", 10 * i, 3.001 * i); }));
  EXPECT_EQ(own_work(run, 0), std::vector<Duration>(39, 300'100us));
  EXPECT_TRUE(has_note(run, "a row stands for 10 steps"));
  const trace::Run whole =
      read(table_of("step,elapsed_s", [](int i) { return fmt::format("{},{}", i, 12 * i + i * i % 2); }));
  EXPECT_EQ(own_work(whole, 0).size(), 2U);
  EXPECT_TRUE(has_note(whole, "17 rows are taken together"));
}

TEST_F(StepTable, WhatMayBeEitherIsRefused) {
  const auto why = [&](const std::string& table) {
    const auto run = try_read(table);
    EXPECT_FALSE(run) << table;
    return run ? std::string() : run.error().id + ": " + run.error().message;
  };
  const auto slower = [](int i) { return fmt::format("{},{:.3f}", i, 0.5 + 0.02 * i); };
  EXPECT_THAT(why(table_of("step,time_s", slower)), testing::HasSubstr("import-005: time_s only grows"));
  EXPECT_EQ(own_work(read(table_of("step,step_time_s", slower)), 0).back(), 1280ms);
  EXPECT_EQ(own_work(read(table_of("step,forward_time_s", slower)), 0).back(), 1280ms);
  EXPECT_THAT(why(table_of("step,step_time_s", [](int i) { return fmt::format("{},{}", i, 3.5 * i); })),
              testing::HasSubstr("from about zero"));
  EXPECT_THAT(why(table_of("step,step_time", [](int i) { return fmt::format("{},{}", i, 1.77e9 + i % 3); })),
              testing::HasSubstr("points in time"));
  EXPECT_THAT(why(table_of("step,timestamp", [](int i) { return fmt::format("{},{}", i / 2, 7 * (i % 5)); })),
              testing::HasSubstr("do not go on"));
  EXPECT_THAT(why("step,time\n1,2026-11-28 14:00:00.5\n2,2026-11-28 14:00:01.7\n3,2026-11-28 14:00:02.9\n"),
              testing::HasSubstr("in ten rows or more"))
      << "dates are no lengths, however few";
  EXPECT_THAT(why(table_of("step,elapsed_s", [](int i) { return fmt::format("{},{:.4f}", 7, kStepS * i); })),
              testing::HasSubstr("do not go on from row to row and step to step"));
  EXPECT_THAT(why(table_of("step,elapsed_s", [](int i) { return fmt::format("{},{}", i, i); })),
              testing::HasSubstr("too few digits"));
  EXPECT_THAT(
      why(table_of("step,wall_time",
                   [](int i) { return fmt::format("{},{:.4f}", i, 1.77e9 + 7.5003 * std::floor(i / 2.0)); })),
      testing::HasSubstr("stands still"));
  for (const std::string head : {"rank,step,time_s", "rank,step,step_time_s", "step,rank0,rank1"}) {
    const bool is_wide = head.starts_with("step");
    std::string table = head + "\n";
    for (int i = 0; i < 40; ++i)
      table += is_wide ? fmt::format("{0},{0}.2,{0}.3\n", i) : fmt::format("0,{0},{0}.5\n1,{0},{0}.7\n", i);
    EXPECT_THAT(why(table), testing::HasSubstr("points in time of ranks")) << head;
  }
  EXPECT_THAT(why(table_of("host,step,step_time_s",
                           [](int i) { return fmt::format("n{},{},1.{}", i % 4, i / 4, i); })),
              testing::HasSubstr("repeats the step of a rank"));
}

TEST_F(StepTable, RanksAreFoundInWhatStandsForThem) {
  const std::string tables[] = {"rank,step,step_time_ms\n0.0,1,5\n1.0,1,7\n",
                                "rank,step,step_time_ms\n0/2,1,5\n1/2,1,7\n",
                                "worker,step,step_time_ms\nn0:29500,1,5\nn1:29500,1,7\n",
                                "step,rank0_step_time_ms,rank1_step_time_ms\n1,5,7\n",
                                "step,rank 0 time (ms),rank 1 time (ms)\n1,5,7\n",
                                "step,step_time_rank0_ms,step_time_rank1_ms\n1,5,7\n",
                                "rank,step,comm_time_ms,compute_time_ms\n0,1,9,5\n1,1,9,7\n"};
  for (const std::string& table : tables) {
    const trace::Run run = read(table);
    ASSERT_EQ(run.ranks.size(), 2U) << table;
    EXPECT_EQ(own_work(run, 0), std::vector<Duration>{5ms}) << table;
    EXPECT_EQ(own_work(run, 1), std::vector<Duration>{7ms}) << table;
  }
  const trace::Run brackets = read("step,rank[0],rank[1]\n1,5,7\n");
  ASSERT_EQ(brackets.ranks.size(), 2U);
  EXPECT_EQ(own_work(brackets, 1), std::vector<Duration>{7s});
  EXPECT_FALSE(recognises("rank,step,wait_time_ms\n0,1,9\n1,1,9\n"));
  EXPECT_FALSE(recognises("step,allreduce_time_rank0,allreduce_time_rank1\n1,9,9\n"));
}

TEST_F(StepTable, IncompleteStepsAreLeftOutAndSaid) {
  const trace::Run run = read(
      "worker,gpu,time,batch_time_norm\n0,0,0,1\n1,0,0,1.1\n0,0,1,nan\n1,0,1,1.2\n0,0,2,1\n1,0,2,2\n1,0,2,9\nx,0,2,9\n");
  EXPECT_EQ(own_work(run, 1), (std::vector<Duration>{1100ms, 2s}));
  EXPECT_TRUE(has_note(run, "1 step misses a rank"));
  EXPECT_TRUE(has_note(run, "1 value is missing"));
  EXPECT_TRUE(has_note(run, "1 value repeats"));
  EXPECT_TRUE(has_note(run, "1 value or rank cannot be read"));
  EXPECT_TRUE(has_note(run, "no unit in batch_time_norm: only ratios"));
}

TEST_F(StepTable, RowsAreTheStepsWhereThereIsNoNumber) {
  const trace::Run run = read("rank,duration_s\n0,1\n0,2\n1,3\n1,4\n");
  EXPECT_EQ(own_work(run, 0), (std::vector<Duration>{1s, 2s}));
  EXPECT_EQ(own_work(run, 1), (std::vector<Duration>{3s, 4s}));
}

TEST_F(StepTable, OneSeriesIsTheJob) {
  const trace::Run run = read("step,iteration_time_s\n100,3.5\n200,3.25\n");
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_EQ(run.world_size, 1);
  EXPECT_EQ(own_work(run, 0), (std::vector<Duration>{3500ms, 3250ms}));
  EXPECT_TRUE(has_note(run, "no rank can be named"));
}

TEST_F(StepTable, SeveralRunsAreSeveralJobs) {
  std::ofstream(folder_ / "t.csv")
      << "run,gpus,job,step,step_time_s\n0,8,a,1,1\n0,8,a,2,2\n1,8,a,1,5\n1,8,b,1,\n";
  const auto job = kStepTableReader.read(folder_ / "t.csv", {.threads = 1, .progress = {}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(own_work(job->run, 0), (std::vector<Duration>{1s, 2s}));
  EXPECT_EQ(job->run.info.name, "a/0") << "the repetition comes last";
  ASSERT_EQ(job->further_runs.size(), 1U) << "a run without a value is none";
  EXPECT_EQ(job->further_runs[0].info.name, "a/1");
  EXPECT_EQ(own_work(job->further_runs[0], 0), (std::vector<Duration>{5s}));

  const auto imported = import_path(folder_ / "t.csv", {.threads = 1, .progress = {}});
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->jobs.size(), 2U);
  EXPECT_EQ(imported->jobs[1].run.info.name.substr(imported->jobs[1].run.info.name.size() - 4), "/a/1");
}

TEST_F(StepTable, OtherTablesAreNotTaken) {
  for (const char* table : {"dp_rank,stage,rank,step,optype,start_ts,duration\n0,0,0,1,a,0,1\n",
                            "nodes,gpus,bytes,time_us,busbw\n1,4,8,7.84,0\n", "world_size,seconds\n96,61\n",
                            ",1,2,4\nload balance,1,0.9,0.8\n", "size,1,2\n3,4,5\n", "step,loss\n1,2.5\n",
                            "rank,start_time\n0,5\n", "rank,time_s\n0,hello\n", "rank,time_s", "", "a\n",
                            "{\"rank\":1,\"time\":2}\n"})
    EXPECT_FALSE(recognises(table)) << table;
}

TEST_F(StepTable, NothingToReadIsAnError) {
  for (const char* text : {"rank,time_s\n0,nan\n", "rank,time_s\n", "", "x"}) {
    const auto run = try_read(text);
    ASSERT_FALSE(run) << text;
    EXPECT_EQ(run.error().id, "import-005");
  }
}

TEST_F(StepTable, LongRunsStayInRange) {
  const trace::Run run = read("rank,step,time_s\n0,1,8e6\n0,2,8e6\n0,3,1\n0,4,1e300\n0,5,-1\n");
  EXPECT_EQ(own_work(run, 0).size(), 2U);
  EXPECT_TRUE(has_note(run, "1 step lies beyond"));
  EXPECT_TRUE(has_note(run, "2 values or ranks cannot be read"));
}

TEST_F(StepTable, CutsAndChangesNeverCrash) {
  const std::string whole = "rank,step,step_time_ms\n0,10,5\n1,10,7\n\"0\",11,6\n1,11,nan\n";
  for (std::size_t n = 0; n < whole.size(); ++n) {
    static_cast<void>(try_read(whole.substr(0, n)));
    for (const char c : {'9', ',', '"', '\n', '\0'}) {
      std::string changed = whole;
      changed[n] = c;
      static_cast<void>(recognises(changed));
      static_cast<void>(try_read(changed));
    }
  }
}

TEST_F(StepTable, ReadsTheMegatronSteps) {
  COX_NEED_DATA(path, "traces/megatron-steps/gpt3_15b_8t_a100_iteration_time.csv");
  const auto run = read_run(kStepTableReader, path, {.threads = 1, .progress = {}});
  ASSERT_TRUE(run) << run.error().message;
  std::vector<Duration> own = own_work(*run, 0);
  ASSERT_EQ(own.size(), 508U);
  std::sort(own.begin(), own.end());
  EXPECT_NEAR((in_seconds(own[253]) + in_seconds(own[254])) / 2, 3.39001, 1e-5);
  EXPECT_NEAR(in_seconds(own.back()) / 3.39001, 1.2649, 1e-4);
}

TEST_F(StepTable, ReadsAllRunsOfTheMlperfSteps) {
  COX_NEED_DATA(path, "traces/mlperf-steps/step_blocks_dev.csv");
  const auto job = kStepTableReader.read(path, {.threads = 1, .progress = {}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->run.ranks.size(), 1U);
  EXPECT_GT(own_work(job->run, 0).size(), 10U);
  EXPECT_EQ(job->further_runs.size(), 11U);
}

TEST_F(StepTable, TablesOfFactsAreNotStepTimes) {
  COX_NEED_DATA(folder, "traces/facts");
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    EXPECT_FALSE(recognises({std::istreambuf_iterator<char>(in), {}})) << entry.path();
  }
}

TEST_F(StepTable, JobsWithoutRanksAreSeries) {
  for (const char* table :
       {"job,iteration,step_time_s\na,0,1\na,1,2\nb,0,3\nb,1,4\n", "job,step_time_s\na,1\na,2\nb,3\nb,4\n",
        "job_id,step,min_s,median_s,max_s\na,0,0.5,0.7,1\na,1,0.5,0.7,2\nb,0,1,1,3\nb,1,1,1,4\n"}) {
    std::ofstream(folder_ / "t.csv", std::ios::binary) << table;
    EXPECT_TRUE(recognises(table)) << table;
    const auto job = kStepTableReader.read(folder_ / "t.csv", {.threads = 1, .progress = {}});
    ASSERT_TRUE(job) << table;
    ASSERT_EQ(job->further_runs.size(), 1U) << table;
    EXPECT_EQ(own_work(job->run, 0), (std::vector<Duration>{1s, 2s})) << table;
    EXPECT_EQ(own_work(job->further_runs[0], 0), (std::vector<Duration>{3s, 4s})) << table;
    EXPECT_TRUE(has_note(job->run, "no rank can be named"));
  }
  EXPECT_TRUE(has_note(read("job,iteration,spread\na,0,0.1\na,1,0.2\n"), "told by spread"));
  EXPECT_FALSE(recognises("job,duration_s\na,1\nb,2\n")) << "a list of jobs is no series of steps";
}

TEST_F(StepTable, PartsOfAStepAddUpWhereNothingHoldsTheWhole) {
  const trace::Run ranks = read(
      "rank,step,compute_ms,data_ms,comm_ms\n0,0,100,20,30\n1,0,130,10,1\n0,1,100,20,30\n1,1,130,10,1\n");
  EXPECT_EQ(own_work(ranks, 0), (std::vector<Duration>{120ms, 120ms}));
  EXPECT_EQ(own_work(ranks, 1), (std::vector<Duration>{140ms, 140ms}));
  EXPECT_TRUE(has_note(ranks, "a step is compute_ms + data_ms"));
  EXPECT_TRUE(has_note(ranks, "comm_ms is not used: it holds waiting"));
  const trace::Run more =
      read("rank,step,forward_ms,opt_ms,misc_ms\n1,0,9,2,1\n2,0,9,1,1\n1,1,9,2,1\n2,1,9,1,1\n");
  EXPECT_EQ(own_work(more, 0), (std::vector<Duration>{11ms, 11ms})) << "opt is the update";
  EXPECT_TRUE(has_note(more, "misc_ms is not used: nothing says whether that is a part"));
  EXPECT_TRUE(has_note(more, "ranks are taken as counted from 1"));
  const trace::Run series = read("step,forward_time,backward_time\n0,1,2\n1,1,3\n");
  EXPECT_TRUE(has_note(series, "a step is forward_time + backward_time"));
  const trace::Run held =
      read("rank,step,compute_s,forward_s,backward_s\n0,0,3,1,2\n1,0,3,1,2\n0,1,3,1,2\n1,1,3,1,2\n");
  EXPECT_EQ(own_work(held, 0), (std::vector<Duration>{3s, 3s})) << "forward and backward lie in it";
  EXPECT_TRUE(has_note(held, "compute_s is a part of a step"));
  const trace::Run whole =
      read("rank,step,step_ms,forward_ms,backward_ms\n0,0,9,1,2\n1,0,9,1,2\n0,1,9,1,2\n1,1,9,1,2\n");
  EXPECT_EQ(own_work(whole, 0), (std::vector<Duration>{9ms, 9ms}));
  EXPECT_FALSE(recognises("rank,step,forward_ms,backward_us\n0,0,1,2\n")) << "of two units nothing is added";
  EXPECT_FALSE(recognises("rank,compute_ms\n0,1\n")) << "one value per rank is another table";
  EXPECT_FALSE(recognises("step,data,load\n0,1,2\n")) << "words that may be anything";
}

TEST_F(StepTable, AStepIsNamedByItsUnit) {
  for (const char* name : {"step_ms", "ms_per_step", "iteration_ms", "ms/it"})
    EXPECT_EQ(own_work(read(fmt::format("rank,step,{}\n0,0,7\n1,0,7\n0,1,7\n1,1,7\n", name)), 0),
              (std::vector<Duration>{7ms, 7ms}))
        << name;
  EXPECT_TRUE(recognises("_step,_runtime,_timestamp,train/loss\n0,0.5,1700000000.5,3\n1,1,1700000001,2\n"));
}

TEST_F(StepTable, AnUnknownUnitIsTakenSoThatTheRunFits) {
  const trace::Run small = read("rank,step,time\n0,0,130\n1,0,100\n");
  EXPECT_EQ(unknown_unit(small.ranks), Seconds(1));
  // Microseconds of an hour: as seconds they would be a century.
  const trace::Run large = read("rank,step,time\n0,0,3600000000\n1,0,100\n0,1,1\n1,1,1\n");
  EXPECT_EQ(unknown_unit(large.ranks), Seconds(1e-3));
  EXPECT_EQ(own_work(large, 0).size(), 2U) << "no step is left out";
  EXPECT_FALSE(unknown_unit(read("rank,step,time_s\n0,0,130\n1,0,100\n").ranks));
  // The runs of one table are comparable.
  std::ofstream(folder_ / "t.csv", std::ios::binary)
      << "run,step,step_time\na,0,1\na,1,1\nb,0,1e9\nb,1,1e9\n";
  const auto job = kStepTableReader.read(folder_ / "t.csv", {.threads = 1, .progress = {}});
  ASSERT_TRUE(job);
  EXPECT_EQ(unknown_unit(job->run.ranks), unknown_unit(job->further_runs.at(0).ranks));
}

TEST_F(StepTable, ItsLastDigitIsTheResolution) {
  EXPECT_EQ(read("rank,step,time_ms\n0,0,101\n1,0,100\n").resolution, 1ms);
  EXPECT_EQ(read("rank,step,time_ms\n0,0,101.25\n1,0,100\n").resolution, 10us);
  EXPECT_EQ(read("rank,step,time_ms\n0,0,101.0\n1,0,100.000\n").resolution, 1ms) << "zeros say nothing";
  EXPECT_EQ(read("rank;step;time_ms\n0;0;101,5\n1;0;100\n").resolution, 100us);
  EXPECT_EQ(read("rank,step,time_s\n0,0,1.01e2\n1,0,100\n").resolution, 0ns) << "written by a program";
  EXPECT_EQ(read("rank,step,time_s\n0,0,2\n1,0,1\n").resolution, 0ns) << "small numbers are exact";
  EXPECT_EQ(read("rank,step,time\n0,0,130\n1,0,100\n").resolution, 1s) << "of whatever unit";
  // An hour of compilation, and a number that another program wrote.
  const auto table = [](const std::string& usual) {
    std::string text = "rank,step,time_s\n0,0,3600\n1,0,20.25\n";
    for (int s = 1; s < 100; ++s) text += fmt::format("0,{0},{1}\n1,{0},{1}\n", s, usual);
    return text;
  };
  EXPECT_EQ(read(table("2")).resolution, 0ns);
  EXPECT_EQ(read(table("8")).resolution, 1s);
}

}  // namespace
}  // namespace cox::trace
