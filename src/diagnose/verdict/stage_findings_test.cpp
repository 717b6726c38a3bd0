// SPDX-License-Identifier: Apache-2.0
// Whom a table of a pipeline names beside its stages: stretches, pauses and turns of single ranks, and one stall.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/verdict/analyses.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::diagnose {
namespace {

constexpr int kReplicas = 5;
constexpr int kStages = 3;
constexpr int kMicroBatches = 2;
constexpr double kForward = 0.02;  // seconds; backward takes twice as long
constexpr double kMessage = 1e-4;
/// What a rank computes beyond the usual in a step, as part of that.
using More = std::function<double(int step, int replica, int stage)>;

/// A pipeline in which all forward passes come before the backward ones, on five replicas that reduce together after each
/// step. Nothing waits but for its neighbour or the reduction.
class Pipeline {
 public:
  /// Reductions of `slow_stage` take 200 ms instead of 2.
  Pipeline(int steps, unsigned seed, More more, int slow_stage, More optimizer = {}, int replicas = kReplicas)
      : more_(std::move(more)),
        optimizer_(std::move(optimizer)),
        slow_stage_(slow_stage),
        replicas_(replicas),
        bits_(seed) {
    text_ = "step,dp_rank,stage,optype,seq_id,mb_id,start_ts,duration\n";
    for (int step = 0; step < steps; ++step) run(step);
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] double seconds() const { return now_; }

 private:
  void row(int step, int d, int p, const char* type, int m, double begin, double end) {
    text_ += fmt::format("{},{},{},{},{},{},{:.7f},{:.7f}\n", step, d, p, type, m, m, begin,
                         std::max(0.0, end - begin));
  }

  void run(int step) {
    std::normal_distribution<double> noise(0, 0.02);
    double next = now_;
    std::vector<std::vector<double>> free(static_cast<std::size_t>(replicas_),
                                          std::vector<double>(kStages, now_));
    for (int d = 0; d < replicas_; ++d) {
      std::vector<double> pass(kStages);
      for (int p = 0; p < kStages; ++p)
        pass[static_cast<std::size_t>(p)] = kForward * (1 + noise(bits_) + more_(step, d, p));
      passes(step, d, pass, free[static_cast<std::size_t>(d)], true);
      passes(step, d, pass, free[static_cast<std::size_t>(d)], false);
    }
    for (int p = 0; p < kStages; ++p) {
      double last = 0;
      const double length = p == slow_stage_ ? 0.2 : 0.002;
      for (const auto& ends : free) last = std::max(last, ends[static_cast<std::size_t>(p)]);
      for (int d = 0; d < replicas_; ++d)
        row(step, d, p, "grads-reduce-scatter", 0,
            free[static_cast<std::size_t>(d)][static_cast<std::size_t>(p)], last + length);
      next = std::max(next, last + length);
      for (int d = 0; optimizer_ && d < replicas_; ++d) {
        const double end = last + length + kForward * optimizer_(step, d, p);
        row(step, d, p, "optimizer", 0, last + length, end);
        next = std::max(next, end);
      }
    }
    now_ = next;
  }

  /// Each micro-batch through all stages, first to last or back.
  void passes(int step, int d, const std::vector<double>& pass, std::vector<double>& free, bool forward) {
    for (int m = 0; m < kMicroBatches; ++m) {
      double arrived = now_;
      for (int k = 0; k < kStages; ++k) {
        const int p = forward ? k : kStages - 1 - k;
        double& mine = free[static_cast<std::size_t>(p)];
        const double length = pass[static_cast<std::size_t>(p)] * (forward ? 1 : 2);
        if (k > 0)
          row(step, d, p, forward ? "forward-recv" : "backward-recv", m, mine, std::max(arrived, mine));
        const double begin = std::max(mine, arrived);
        mine = begin + length;
        row(step, d, p, forward ? "forward-compute" : "backward-compute", m, begin, mine);
        if (k + 1 == kStages) continue;
        arrived = mine + kMessage;
        row(step, d, p, forward ? "forward-send" : "backward-send", m, mine, arrived);
      }
    }
  }

  More more_;
  More optimizer_;  ///< in units of a forward pass, behind the reduction
  int slow_stage_;
  int replicas_;
  std::mt19937 bits_;
  double now_ = 0;
  std::string text_;
};

/// Rank of a replica's stage: in Megatron's order, where the table does not say.
Rank rank_of(int replica, int stage) {
  return Rank{stage * kReplicas + replica};
}

Diagnosis diagnosed_text(const std::string& text) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const auto path = std::filesystem::path(::testing::TempDir()) / (std::string("cox-stages-") + test->name());
  std::ofstream(path, std::ios::binary) << text;
  const auto job = trace::kOperationCsvReader.read(path, {.threads = 1});
  std::filesystem::remove(path);
  DiagnoseOptions options;
  options.program = &job.value().program;
  return diagnose(job.value().run, options).value();
}

Diagnosis diagnosed(int steps, unsigned seed, const More& more, int slow_stage = -1) {
  return diagnosed_text(Pipeline(steps, seed, more, slow_stage).text());
}

TEST(StageFindings, EvenPipelinesNameNobody) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Diagnosis d = diagnosed(60, seed, [](int, int, int) { return 0.0; });
    EXPECT_EQ(d.answer.kind, AnswerKind::Nobody) << seed << d.verdict;
    EXPECT_FALSE(d.single_stall);
  }
}

TEST(StageFindings, AStretchOfOneRankIsNoImbalanceOfItsStage) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Diagnosis d = diagnosed(
        80, seed, [](int s, int r, int p) { return r == 2 && p == 1 && s >= 30 && s < 50 ? 0.4 : 0.0; });
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    const Finding& f = d.findings.front();
    EXPECT_EQ(f.kind, FindingKind::TransientStraggler) << d.verdict;
    EXPECT_EQ(f.rank, rank_of(2, 1));
    EXPECT_NEAR(static_cast<double>(f.first_step->value()), 30, 4);
    EXPECT_NEAR(static_cast<double>(f.last_step->value()), 49, 4);
    // Both micro-batches pass through it, in both directions: 6 x 0.02 x 0.4 s of 20 steps.
    EXPECT_NEAR(f.gain_ratio, 20 * 6 * kForward * 0.4 / in_seconds(d.run_time), 0.02) << d.verdict;
  }
}

TEST(StageFindings, PausesAreNamedWithTheirPeriod) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Diagnosis d =
        diagnosed(100, seed, [](int s, int r, int p) { return r == 3 && p == 0 && s % 10 == 3 ? 0.6 : 0.0; });
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().kind, FindingKind::PeriodicPause) << d.verdict;
    EXPECT_EQ(d.findings.front().rank, rank_of(3, 0));
  }
}

TEST(StageFindings, TurnsOfRanksOfAStageAreTurns) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Diagnosis d = diagnosed(
        80, seed, [](int s, int r, int p) { return p == 1 && r == (s % 2 == 0 ? 0 : 3) ? 0.3 : 0.0; });
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().kind, FindingKind::RotatingStraggler) << d.verdict;
    EXPECT_EQ(d.findings.front().ranks, (std::vector{rank_of(0, 1), rank_of(3, 1)}));
  }
}

TEST(StageFindings, ALongerStageIsNamedAndAStretchBesideIt) {
  const Diagnosis d = diagnosed(80, 1, [](int s, int r, int p) {
    return (p == 1 ? 0.3 : 0.0) + (r == 2 && p == 1 && s >= 30 && s < 50 ? 0.5 : 0.0);
  });
  ASSERT_EQ(d.findings.size(), 2U) << d.verdict;
  const bool stage_first = d.findings.front().cause == Cause::StageImbalance;
  const Finding& stage = stage_first ? d.findings.front() : d.findings.back();
  const Finding& stretch = stage_first ? d.findings.back() : d.findings.front();
  EXPECT_EQ(stage.cause, Cause::StageImbalance) << d.verdict;
  EXPECT_EQ(stretch.kind, FindingKind::TransientStraggler);
}

/// By which part the job is shorter with other work.
double shorter(unsigned seed, const More& recorded, const More& put_right) {
  return 1 - Pipeline(80, seed, put_right, -1).seconds() / Pipeline(80, seed, recorded, -1).seconds();
}

TEST(StageFindings, GainsAreWhatPuttingRightBringsAloneAndTogether) {
  constexpr double kStage = 0.3;
  constexpr double kWorker = 0.4;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const auto work = [](bool balanced, bool mended) -> More {
      return [=](int, int r, int p) {
        const double stage = balanced ? kStage / kStages : p == 1 ? kStage : 0;
        // Slower than its like by the same factor, wherever work is dealt out.
        return stage + (!mended && r == 2 && p == 1 ? kWorker / (1 + kStage) * (1 + stage) : 0);
      };
    };
    const More recorded = work(false, false);
    const Diagnosis d = diagnosed(80, seed, recorded);
    ASSERT_EQ(d.findings.size(), 2U) << seed << d.verdict;
    for (const Finding& f : d.findings) {
      const bool stage = f.cause == Cause::StageImbalance;
      EXPECT_TRUE(stage || (f.cause == Cause::SlowWorker && f.rank == rank_of(2, 1))) << d.verdict;
      EXPECT_NEAR(f.gain_ratio, shorter(seed, recorded, work(stage, !stage)), 0.01) << seed << d.verdict;
    }
    ASSERT_TRUE(d.joint_gain_ratio);
    EXPECT_NEAR(*d.joint_gain_ratio, shorter(seed, recorded, work(true, true)), 0.01) << seed << d.verdict;
  }
}

TEST(StageFindings, BesideAWorkerOfAnotherStageTheLongStageIsNamed) {
  const Diagnosis d = diagnosed(
      80, 1, [](int, int r, int p) { return (p == 1 ? 0.3 : 0.0) + (r == 2 && p == 0 ? 0.6 : 0.0); });
  ASSERT_EQ(d.findings.size(), 2U) << d.verdict;
  EXPECT_EQ(d.findings.front().rank, rank_of(2, 0)) << d.verdict;
  EXPECT_EQ(d.findings.back().cause, Cause::StageImbalance) << d.verdict;
}

TEST(StageFindings, TurnsInTwoStagesHideEachOther) {
  const More none = [](int, int, int) { return 0.0; };
  const More turns = [](int s, int r, int p) {
    const bool first = p == 1 && r == (s % 2 == 0 ? 0 : 3);
    const bool second = p == 2 && r == (s % 2 == 0 ? 1 : 4);
    return first || second ? 0.4 : 0.0;
  };
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Diagnosis d = diagnosed(80, seed, turns);
    ASSERT_EQ(d.findings.size(), 2U) << seed << d.verdict;
    for (const Finding& f : d.findings) EXPECT_EQ(f.kind, FindingKind::RotatingStraggler) << d.verdict;
    ASSERT_TRUE(d.joint_gain_ratio);
    EXPECT_NEAR(*d.joint_gain_ratio, shorter(seed, turns, none), 0.02) << d.verdict;
  }
}

TEST(StageFindings, AReplicaThatIsSlowThroughoutIsOneFinding) {
  const More none = [](int, int, int) { return 0.0; };
  const More slow = [](int, int r, int) { return r == 3 ? 0.3 : 0.0; };
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Diagnosis d = diagnosed(80, seed, slow);
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().ranks, (std::vector{rank_of(3, 0), rank_of(3, 1), rank_of(3, 2)}))
        << d.verdict;
    EXPECT_NEAR(d.findings.front().gain_ratio, shorter(seed, slow, none), 0.01) << d.verdict;
  }
}

TEST(StageFindings, WhatIsSlowInPartOfTheRunIsMendedThere) {
  const More none = [](int, int, int) { return 0.0; };
  const More late = [](int s, int r, int p) { return r == 2 && p == 1 && s >= 40 ? 0.5 : 0.0; };
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Diagnosis d = diagnosed(80, seed, late);
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().rank, rank_of(2, 1)) << d.verdict;
    EXPECT_EQ(d.findings.front().kind, FindingKind::TransientStraggler) << "and from when on is told";
    EXPECT_NEAR(static_cast<double>(d.findings.front().first_step.value_or(StepId{0}).value()), 40, 2);
    EXPECT_NEAR(d.findings.front().gain_ratio, shorter(seed, late, none), 0.01) << d.verdict;
  }
}

/// Of more than 33 ranks the slowest 3 % are two: who is as fast as its like is not named beside the slow one.
TEST(StageFindings, OfManyRanksOneThatIsSlowFromAStepOnIsNamedAlone) {
  constexpr int kMany = 16;
  int named = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    const More late = [](int s, int r, int p) { return r == 2 && p == 1 && s >= 16 ? 0.4 : 0.0; };
    const Diagnosis d = diagnosed_text(Pipeline(40, seed, late, -1, {}, kMany).text());
    for (const Finding& f : d.findings)
      EXPECT_EQ(f.ranks, (std::vector{Rank{kMany + 2}})) << seed << d.verdict;
    named += static_cast<int>(d.findings.size());
  }
  EXPECT_GE(named, 8);
}

/// A stage that is long behind a slower worker of another one saves nothing alone, and is what to do next all the same.
TEST(StageFindings, WhatSavesOnlyBesideAnotherIsAdvised) {
  const Diagnosis d = diagnosed(
      80, 1, [](int, int r, int p) { return (p == 1 ? 0.6 : 0.0) + (r == 2 && p == 0 ? 0.66 : 0.0); });
  ASSERT_EQ(d.findings.size(), 2U) << d.verdict;
  const Finding& stage = d.findings.back();
  ASSERT_EQ(stage.cause, Cause::StageImbalance) << d.verdict;
  ASSERT_TRUE(gain_beside(stage)) << gain_alone(stage);
  EXPECT_NEAR(*gain_beside(stage), *d.joint_gain_ratio - d.findings.front().gain_ratio, 0.01);
  const auto advice = std::find_if(d.remedies.begin(), d.remedies.end(),
                                   [](const Remedy& r) { return r.lever == "balance_stages"; });
  ASSERT_NE(advice, d.remedies.end());
  EXPECT_EQ(advice->gain_ratio, gain_beside(stage));
}

TEST(StageFindings, AChangeOfLevelIsNeitherUnevenMicroBatchesNorAnImbalance) {
  const Diagnosis all = diagnosed(80, 1, [](int s, int, int) { return s >= 40 ? 0.3 : 0.0; });
  EXPECT_TRUE(all.findings.empty()) << all.verdict;
  EXPECT_FALSE(analyses_of(all).what_if_operations->patterns.micro_batches);
  const Diagnosis stage = diagnosed(80, 1, [](int s, int, int p) { return p == 1 && s >= 30 ? 0.5 : 0.0; });
  EXPECT_TRUE(stage.findings.empty()) << stage.verdict;
  ASSERT_TRUE(analyses_of(stage).time_structure);
  EXPECT_EQ(analyses_of(stage).time_structure->change_ranks.size(), 5U);
  EXPECT_EQ(analyses_of(stage).time_structure->change_ranks.front(), rank_of(0, 1));
}

/// Three kinds of rows for each rank and step; nothing else is in the table.
Diagnosis diagnosed_table(const std::string& name, int first_rank, int slow) {
  std::mt19937 bits(1);
  std::normal_distribution<double> noise(0, 0.01);
  std::string text = "step,rank,optype,seq_id,start_ts,duration\n";
  double now = 0;
  for (int step = 0; step < 40; ++step) {
    std::vector<double> ends;
    for (int r = 0; r < 6; ++r) ends.push_back(now + 0.1 * (1 + noise(bits) + (r == slow ? 0.3 : 0)));
    const double left = *std::max_element(ends.begin(), ends.end()) + 0.002;
    for (int r = 0; r < 6; ++r) {
      const double end = ends[static_cast<std::size_t>(r)];
      text += fmt::format("{},{},forward-compute,0,{:.6f},{:.6f}\n", step, r + first_rank, now, end - now);
      text += fmt::format("{},{},{},0,{:.6f},{:.6f}\n", step, r + first_rank, name, end, left - end);
    }
    now = left;
  }
  return diagnosed_text(text);
}

TEST(StageFindings, SlowTransfersOfAStageAreNoSlowCompute) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Diagnosis d = diagnosed(
        60, seed, [](int, int, int) { return 0.0; }, 1);
    ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
    const Finding& f = d.findings.front();
    EXPECT_EQ(f.cause, Cause::Communication) << d.verdict;
    ASSERT_EQ(f.ranks.size(), 5U);
    EXPECT_EQ(f.ranks.front(), rank_of(0, 1));
    EXPECT_EQ(f.ranks.back(), rank_of(4, 1));
    EXPECT_NE(d.verdict.find("ransfers of stage 1 are slow"), std::string::npos) << d.verdict;
  }
}

TEST(OperationTables, CollectivesAreKnownByTheirUsualNames) {
  for (const char* name :
       {"all_reduce", "AllReduce", "nccl:all_reduce", "reduce_scatter_tensor", "barrier"}) {
    const Diagnosis d = diagnosed_table(name, 0, 4);
    ASSERT_EQ(d.findings.size(), 1U) << name << d.verdict;
    EXPECT_EQ(d.findings.front().rank, Rank{4}) << name;
    EXPECT_NEAR(d.findings.front().gain_ratio, 0.028 / 0.132, 0.03) << name;
    EXPECT_EQ(diagnosed_table(name, 0, -1).answer.kind, AnswerKind::Nobody) << name;
  }
}

TEST(OperationTables, WhereNothingMeetsNobodyIsTested) {
  const Diagnosis d = diagnosed_table("update", 0, -1);
  EXPECT_EQ(d.answer.kind, AnswerKind::CannotTell) << d.verdict;
  ASSERT_FALSE(d.answer.reasons.empty());
  EXPECT_EQ(d.answer.reasons.front().reason, AnswerReason::NothingMeets);
}

TEST(OperationTables, RanksThatAreCountedFromOneAreAllThere) {
  const Diagnosis d = diagnosed_table("all_reduce", 1, -1);
  EXPECT_EQ(d.coverage.ranks_expected, 6);
  EXPECT_TRUE(d.coverage.missing_ranks.empty());
  EXPECT_EQ(d.answer.kind, AnswerKind::Nobody) << d.verdict;
}

TEST(StageFindings, OneStallIsOneStall) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Diagnosis d =
        diagnosed(40, seed, [](int s, int r, int p) { return s == 31 && r == 1 && p == 1 ? 20.0 : 0.0; });
    EXPECT_TRUE(d.findings.empty()) << seed << d.verdict;
    ASSERT_TRUE(d.single_stall) << d.verdict;
    EXPECT_EQ(d.single_stall->rank, rank_of(1, 1));
    EXPECT_EQ(d.single_stall->step, StepId{31});
  }
}

TEST(StageFindings, WhoIsSlowBesideItsPassesIsNamed) {
  // Of the first stage, whose backward passes are the last.
  const More none = [](int, int, int) { return 0.0; };
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Pipeline slow(60, seed, none, -1, [](int, int d, int p) { return d == 2 && p == 0 ? 3.0 : 1.0; });
    const Diagnosis d = diagnosed_text(slow.text());
    ASSERT_FALSE(d.findings.empty()) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().rank, rank_of(2, 0)) << d.verdict;
    const Pipeline pauses(60, seed, none, -1,
                          [](int s, int d, int p) { return d == 2 && p == 0 && s % 10 == 3 ? 8.0 : 1.0; });
    const Diagnosis p = diagnosed_text(pauses.text());
    ASSERT_EQ(p.findings.size(), 1U) << seed << p.verdict;
    EXPECT_EQ(p.findings.front().kind, FindingKind::PeriodicPause) << p.verdict;
    EXPECT_EQ(p.findings.front().rank, rank_of(2, 0));
  }
}

}  // namespace
}  // namespace cox::diagnose
