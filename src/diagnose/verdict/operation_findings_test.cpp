// SPDX-License-Identifier: Apache-2.0
// Whom a table of operations names: turns, stretches and pauses as those of any Run, and one stall as one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cox/diagnose/brief.hpp"
#include "cox/diagnose/diagnosis.hpp"

#include "trace/import/part/reader.hpp"

namespace cox::diagnose {
namespace {

constexpr int kRanks = 8;
constexpr double kUsual = 0.1;  // seconds of compute
/// What a rank computes beyond that in a step, in seconds.
using More = std::function<double(int step, int rank)>;

/// Ranks that compute (2 % of scatter) and then reduce together, step by step.
std::string table_of(int steps, unsigned seed, const More& more) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> noise(0, 0.02 * kUsual);
  std::string text = "step,dp_rank,stage,optype,seq_id,mb_id,start_ts,duration\n";
  double start = 0;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> ends;
    for (int r = 0; r < kRanks; ++r) ends.push_back(start + kUsual + noise(bits) + more(step, r));
    const double left = *std::max_element(ends.begin(), ends.end()) + 0.002;
    for (int r = 0; r < kRanks; ++r) {
      const double end = ends[static_cast<std::size_t>(r)];
      text += fmt::format("{},{},0,forward-compute,0,0,{:.7f},{:.7f}\n", step, r, start, end - start);
      text += fmt::format("{},{},0,grads-reduce-scatter,0,,{:.7f},{:.7f}\n", step, r, end, left - end);
    }
    start = left;
  }
  return text;
}

Diagnosis diagnosed_text(const std::string& text) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const auto path =
      std::filesystem::path(::testing::TempDir()) / (std::string("cox-operations-") + test->name());
  std::ofstream(path, std::ios::binary) << text;
  const auto job = trace::kOperationCsvReader.read(path, {.threads = 1});
  std::filesystem::remove(path);
  DiagnoseOptions options;
  options.program = &job.value().program;
  return diagnose(job.value().run, options).value();
}

Diagnosis diagnosed(int steps, unsigned seed, const More& more) {
  return diagnosed_text(table_of(steps, seed, more));
}

double even(int /*step*/, int /*rank*/) {
  return 0;
}

TEST(OperationFindings, EvenTablesNameNobodyAndSayWhatWouldHaveBeenSeen) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Diagnosis d = diagnosed(60, seed, even);
    EXPECT_EQ(d.answer.kind, AnswerKind::Nobody) << seed << d.verdict;
    ASSERT_TRUE(d.answer.least_effect_ratio) << d.verdict;
    EXPECT_LT(*d.answer.least_effect_ratio, 0.2);
    EXPECT_FALSE(d.single_stall);
  }
}

TEST(OperationFindings, TurnsAreNamedAsTurns) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Diagnosis d = diagnosed(60, seed, [](int s, int r) { return r == 1 + 2 * (s % 3) ? 0.03 : 0.0; });
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().kind, FindingKind::RotatingStraggler) << d.verdict;
    EXPECT_EQ(d.findings.front().ranks, (std::vector{Rank{1}, Rank{3}, Rank{5}}));
    EXPECT_NEAR(d.findings.front().gain_ratio, 0.03 / 0.135, 0.04) << d.verdict;
  }
}

TEST(OperationFindings, AStretchIsNamedWithItsSteps) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Diagnosis d =
        diagnosed(80, seed, [](int s, int r) { return r == 4 && s >= 30 && s < 50 ? 0.05 : 0.0; });
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().kind, FindingKind::TransientStraggler) << d.verdict;
    EXPECT_EQ(d.findings.front().rank, Rank{4});
    // Who is late by chance just before or after joins it.
    EXPECT_NEAR(static_cast<double>(d.findings.front().first_step->value()), 30, 4);
    EXPECT_NEAR(static_cast<double>(d.findings.front().last_step->value()), 49, 4);
  }
}

TEST(OperationFindings, PausesAreNamedWithTheirPeriod) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Diagnosis d = diagnosed(100, seed, [](int s, int r) { return r == 6 && s % 10 == 3 ? 0.1 : 0.0; });
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().kind, FindingKind::PeriodicPause) << d.verdict;
    EXPECT_EQ(d.findings.front().rank, Rank{6});
  }
}

TEST(OperationFindings, WhoIsSlowAllAlongIsNamedByTheReplay) {
  const Diagnosis d = diagnosed(60, 1, [](int, int r) { return r == 2 ? 0.03 : 0.0; });
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings.front().rank, Rank{2});
  EXPECT_EQ(d.findings.front().cause, Cause::SlowWorker);
}

TEST(OperationFindings, OneStallIsNoSlowWorker) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Diagnosis d = diagnosed(40, seed, [](int s, int r) { return s == 31 && r == 3 ? 2.0 : 0.0; });
    EXPECT_TRUE(d.findings.empty()) << seed << d.verdict;
    ASSERT_TRUE(d.single_stall) << d.verdict;
    EXPECT_EQ(d.single_stall->rank, Rank{3});
    EXPECT_EQ(d.single_stall->step, StepId{31});
    EXPECT_NEAR(in_seconds(d.single_stall->delay), 2, 0.1);
    EXPECT_NEAR(d.single_stall->gain_ratio, 2.0 / (2.0 + 40 * 0.104), 0.03);
    EXPECT_NE(d.verdict.find("Rank 3 was late once"), std::string::npos) << d.verdict;
    const Brief brief = brief_of(d);
    EXPECT_TRUE(std::any_of(brief.says.begin(), brief.says.end(),
                            [](const std::string& s) { return s.find("in step 31") != std::string::npos; }));
  }
}

TEST(OperationFindings, OneStepThatIsLongOnAllIsTold) {
  const Diagnosis d = diagnosed(40, 1, [](int s, int) { return s == 31 ? 2.0 : 0.0; });
  EXPECT_TRUE(d.findings.empty()) << d.verdict;
  EXPECT_FALSE(d.single_stall);
  const Brief brief = brief_of(d);
  EXPECT_TRUE(std::any_of(brief.says.begin(), brief.says.end(), [](const std::string& s) {
    return s.find("Step 31 is long, the only one, of all ranks alike") != std::string::npos;
  }));
}

// One name for all sizes: 60 ms are usual of the first of a step, 0.5 ms of those behind it.
TEST(OperationFindings, CollectivesOfOneNameAreUsualByTheirPlaceInTheStep) {
  const auto table = [](const More& more) {
    std::mt19937 bits(7);
    std::normal_distribution<double> noise(0, 0.02);
    std::string text = "step,rank,optype,seq_id,start_ts,duration\n";
    double start = 0;
    int seq = 0;
    for (int step = 0; step < 40; ++step) {
      double from = start;
      for (const double length : {0.06, 0.0005, 0.0005}) {
        std::vector<double> ends;
        for (int r = 0; r < kRanks; ++r) {
          const double work = 0.05 * (1 + noise(bits)) + more(step, r) / 3;
          ends.push_back(from + work);
          text += fmt::format("{},{},compute,{},{:.7f},{:.7f}\n", step, r, seq, from, work);
        }
        const double left = *std::max_element(ends.begin(), ends.end()) + length * (1 + noise(bits));
        for (int r = 0; r < kRanks; ++r) {
          const double end = ends[static_cast<std::size_t>(r)];
          text += fmt::format("{},{},all_reduce,{},{:.7f},{:.7f}\n", step, r, seq, end, left - end);
        }
        ++seq;
        from = left;
      }
      start = from;
    }
    return text;
  };
  const Diagnosis quiet = diagnosed_text(table(even));
  EXPECT_TRUE(quiet.findings.empty()) << quiet.verdict;
  const Diagnosis slow = diagnosed_text(table([](int, int r) { return r == 3 ? 0.06 : 0.0; }));
  ASSERT_EQ(slow.findings.size(), 1U) << slow.verdict;
  EXPECT_EQ(slow.findings.front().rank, Rank{3});
  EXPECT_NEAR(slow.findings.front().gain_ratio, 0.06 / 0.28, 0.06) << slow.verdict;
}

TEST(OperationFindings, FewStepsNameWhoStandsOutOverManyPasses) {
  const auto table = [](int steps, int passes, unsigned seed, double more) {
    std::mt19937 bits(seed);
    std::normal_distribution<double> noise(0, 0.1);
    std::string text = "step,rank,optype,mb_id,seq_id,start_ts,duration\n";
    double start = 0;
    for (int step = 0; step < steps; ++step) {
      std::vector<double> at(8, start);
      for (int m = 0; m < passes; ++m)
        for (int r = 0; r < 8; ++r)
          for (const char* type : {"forward-compute", "backward-compute"}) {
            double& now = at[static_cast<std::size_t>(r)];
            const double work = 0.05 * (1 + noise(bits) + (r == 2 ? more : 0));
            text += fmt::format("{},{},{},{},{},{:.7f},{:.7f}\n", step, r, type, m, m, now, work);
            now += work;
          }
      const double left = *std::max_element(at.begin(), at.end()) + 0.002;
      for (int r = 0; r < 8; ++r) {
        const double end = at[static_cast<std::size_t>(r)];
        text += fmt::format("{},{},grads-reduce-scatter,,0,{:.7f},{:.7f}\n", step, r, end, left - end);
      }
      start = left;
    }
    return text;
  };
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Diagnosis few = diagnosed_text(table(1, 1, seed, 0));
    EXPECT_EQ(few.answer.kind, AnswerKind::CannotTell) << seed << few.verdict;
    const Diagnosis even_one = diagnosed_text(table(2, 8, seed, 0));
    EXPECT_TRUE(even_one.findings.empty()) << seed << even_one.verdict;
    const Diagnosis slow = diagnosed_text(table(2, 8, seed, 0.3));
    ASSERT_EQ(slow.findings.size(), 1U) << seed << slow.verdict;
    EXPECT_EQ(slow.findings.front().rank, Rank{2});
    const Diagnosis twelve = diagnosed_text(table(12, 1, seed, 0.5));
    ASSERT_EQ(twelve.findings.size(), 1U) << "too few steps for a test over them" << twelve.verdict;
    EXPECT_EQ(twelve.findings.front().rank, Rank{2});
  }
}

// The mean of all holds the slow rank: of few ranks it says half of the truth.
TEST(OperationFindings, WhatFixingAFewRanksBringsIsAgainstTheOthers) {
  const Diagnosis d = diagnosed(60, 3, [](int, int r) { return r < 3 ? 0.04 : 0.0; });
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings.front().ranks, (std::vector{Rank{0}, Rank{1}, Rank{2}}));
  EXPECT_NEAR(d.findings.front().gain_ratio, 0.04 / 0.146, 0.03) << d.verdict;
}

}  // namespace
}  // namespace cox::diagnose
