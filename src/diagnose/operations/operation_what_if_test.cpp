// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/operation_what_if.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "cox/trace/import.hpp"

#include "diagnose/verdict/operation_what_if_json.hpp"
#include "diagnose/words/sentences.hpp"
#include "tests/support/test_data.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::diagnose {
namespace {

constexpr double kBar = 1e-4;

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

/// What the artifact published for the same table.
void expect_published(const OperationWhatIf& w, const std::filesystem::path& dir, const std::string& trial) {
  const nlohmann::json result = read_json(dir / ("result-" + trial + ".json"));
  EXPECT_NEAR(w.slowdown, result["blocking_slowdown"].get<double>(), kBar);
  EXPECT_NEAR(w.launch, result["launch_slowdown"].get<double>(), kBar);
  const auto expect_parts = [&](const char* key, const std::vector<PartEffect>& parts, bool by_name) {
    ASSERT_EQ(result[key].size(), parts.size()) << key;
    for (const PartEffect& p : parts) {
      const std::string name = by_name ? p.name : std::to_string(p.index);
      ASSERT_TRUE(result[key].contains(name)) << key << " " << name;
      EXPECT_NEAR(p.slowdown, result[key][name].get<double>(), kBar) << key << " " << name;
    }
  };
  expect_parts("blocking_decompose_by_optype", w.types, true);
  expect_parts("blocking_decompose_by_stage", w.stages, false);
  expect_parts("blocking_decompose_by_dp_rank", w.data_ranks, false);
  const nlohmann::json ms = read_json(dir / ("ms-" + trial + ".json"));
  EXPECT_NEAR(w.stages.back().removed, ms["rem"].get<double>(), kBar);
  EXPECT_NEAR(w.stages.back().added, ms["add"].get<double>(), kBar);
  EXPECT_NEAR(in_seconds(w.original), ms["tori"].get<double>(), kBar);
  EXPECT_NEAR(in_seconds(w.ideal), ms["tideal"].get<double>(), kBar);
  const nlohmann::json mw = read_json(dir / ("mw-" + trial + ".json"));
  EXPECT_NEAR(w.slowest_workers.removed, mw["rem"].get<double>(), kBar);
  EXPECT_NEAR(w.slowest_workers_added, mw["add"].get<double>(), kBar);
  for (const StepWhatIf& s : w.steps) {
    const std::string step = std::to_string(s.step);
    EXPECT_NEAR(in_seconds(s.original), result["step_t_nodelay"][step].get<double>(), kBar) << step;
  }
}

class Published : public ::testing::TestWithParam<const trace::Reader*> {};

TEST_P(Published, StIsMetFromOneFileAlone) {
  COX_NEED_DATA(dir, "traces/bytedance-st");
  const auto job = GetParam()->read(
      dir / (GetParam() == &trace::kOperationCsvReader ? "trace-ST.csv" : "trace-ST.parquet"),
      {.threads = 1});
  ASSERT_TRUE(job) << job.error().to_string();
  const auto w = what_if_operations(job->program);
  ASSERT_TRUE(w) << w.error().to_string();
  expect_published(*w, dir, "ST");
  EXPECT_NEAR(w->fabric.pipeline_free, 1.001252, kBar);
  EXPECT_NEAR(w->fabric.data_free, 1.039297, kBar);
  EXPECT_EQ(w->operations, 6784);
  EXPECT_TRUE(w->notes.empty()) << w->notes.front();
  EXPECT_EQ(w->finding.cause, OperationCause::StageImbalance) << sentence_of(w->finding);
  EXPECT_EQ(w->finding.stage, 3);
  EXPECT_EQ(w->culprits.ranks, (std::vector<Rank>{Rank(6), Rank(7)}));
}

INSTANTIATE_TEST_SUITE_P(OperationWhatIf, Published,
                         ::testing::Values(&trace::kOperationCsvReader, &trace::kOperationParquetReader));

/// A table of a pipeline of two stages on two data ranks: per step one forward and one backward compute each,
/// messages between, a gradient collective per stage, and an optimizer. Everything starts when it can, so
/// that simulating it again gives the table itself.
class SmallJob {
 public:
  struct Times {
    double forward = 1;
    double backward = 2;
    double message = 0.1;
    double scatter = 0.5;
    double optimizer = 0.25;
  };
  /// `times(step, data, stage)` says how long that rank's operations last.
  template <class F>
  SmallJob(int steps, int data_ranks, F&& times) {
    text_ = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
    for (int step = 0; step < steps; ++step) {
      std::vector<double> first_end;
      std::vector<double> last_end;
      for (int d = 0; d < data_ranks; ++d) {
        const Times a = times(step, d, 0);
        const Times b = times(step, d, 1);
        double t = 0;
        add(step, d, 0, "forward-compute", t, a.forward);
        t += a.forward;
        // The receiver is there from the start and waits.
        add(step, d, 0, "forward-send", t, a.message);
        add(step, d, 1, "forward-recv", 0, t + a.message);
        t += a.message;
        add(step, d, 1, "forward-compute", t, b.forward);
        add(step, d, 1, "backward-compute", t + b.forward, b.backward);
        t += b.forward + b.backward;
        add(step, d, 1, "backward-send", t, b.message);
        last_end.push_back(t);
        add(step, d, 0, "backward-recv", a.forward, t + b.message - a.forward);
        t += b.message;
        add(step, d, 0, "backward-compute", t, a.backward);
        first_end.push_back(t + a.backward);
      }
      end_stage(step, 0, first_end, times);
      end_stage(step, 1, last_end, times);
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <class F>
  void end_stage(int step, int stage, const std::vector<double>& ends, F&& times) {
    const double together = *std::max_element(ends.begin(), ends.end());
    for (int d = 0; d < static_cast<int>(ends.size()); ++d) {
      const Times t = times(step, d, stage);
      const double end = ends[static_cast<std::size_t>(d)];
      add(step, d, stage, "grads-reduce-scatter", end, together + t.scatter - end);
      add(step, d, stage, "optimizer", together + t.scatter, t.optimizer);
    }
  }
  void add(int step, int data, int stage, const char* type, double start, double duration) {
    text_ += fmt::format("{},{},{},{},{},{},{},0,0,0,{}\n", data, stage, stage * 100 + data, step, type,
                         start, duration, stage);
  }
  std::string text_;
};

Result<OperationWhatIf> what_if(const std::string& table, const OperationWhatIfOptions& options = {}) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const auto path =
      std::filesystem::path(::testing::TempDir()) / (std::string("cox-what-if-") + test->name());
  std::ofstream(path, std::ios::binary) << table;
  const auto job = trace::kOperationCsvReader.read(path, {.threads = 1});
  std::filesystem::remove(path);
  if (!job) return fail(job.error());
  return what_if_operations(job->program, options);
}

double share_of(const OperationWhatIf& w, const std::string& type) {
  for (const PartEffect& p : w.types)
    if (p.name == type) return p.slowdown;
  return 0;
}

TEST(OperationWhatIf, EvenJobIsAsUsual) {
  const auto w = what_if(SmallJob(3, 2, [](int, int, int) { return SmallJob::Times{}; }).text());
  ASSERT_TRUE(w) << w.error().to_string();
  // 1 + 0.1 + 1 + 2 + 0.1 + 2 + 0.5 + 0.25: through both stages and back.
  EXPECT_NEAR(in_seconds(w->original), 6.95, 1e-9);
  EXPECT_EQ(w->original, w->ideal);
  EXPECT_NEAR(w->fidelity, 0, 1e-9);
  EXPECT_EQ(w->finding.cause, OperationCause::None);
  EXPECT_TRUE(w->culprits.ranks.empty());
  // All of the path but the joins.
  double on_path = 0;
  for (const PartEffect& p : w->types) on_path += p.on_path;
  EXPECT_NEAR(on_path, 1, 1e-9);
  EXPECT_NEAR(w->fabric.pipeline_free, 6.95 / 6.75, 1e-6);
  EXPECT_NEAR(w->fabric.data_free, 6.95 / 6.45, 1e-6);
}

TEST(OperationWhatIf, WhereOneMicroBatchPassesAllStagesMovingWorkWinsNothing) {
  const auto w =
      what_if(SmallJob(3, 2, [](int, int, int stage) {
                return stage == 1 ? SmallJob::Times{.forward = 2, .backward = 4} : SmallJob::Times{};
              }).text());
  ASSERT_TRUE(w) << w.error().to_string();
  EXPECT_NEAR(in_seconds(w->original), 1 + 0.1 + 2 + 4 + 0.1 + 2 + 0.75, 1e-9);
  EXPECT_EQ(w->original, w->ideal);  // what one stage has more the other has less
  EXPECT_EQ(w->finding.cause, OperationCause::None);
}

TEST(OperationWhatIf, AStageThatIsTooLongIsNamedAsWork) {
  std::string text = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id\n";
  for (int d = 0; d < 2; ++d) {
    double done = 0;
    for (int k = 0; k < 4; ++k) {
      const double sent = k + 1;  // stage 0 needs 1 s for a micro-batch, stage 1 needs 2 s
      const double arrived = std::max(sent, done) + 0.1;
      text += fmt::format("{},0,{},0,forward-compute,{},1,{}\n", d, d, k, k);
      text += fmt::format("{},0,{},0,forward-send,{},{},{}\n", d, d, sent, arrived - sent, k);
      text += fmt::format("{},1,{},0,forward-recv,{},{},{}\n", d, 2 + d, done, arrived - done, k);
      text += fmt::format("{},1,{},0,forward-compute,{},2,{}\n", d, 2 + d, arrived, k);
      done = arrived + 2;
    }
  }
  const auto w = what_if(text);
  ASSERT_TRUE(w) << w.error().to_string();
  EXPECT_NEAR(in_seconds(w->original), 1 + 4 * 2.1, 1e-9);
  EXPECT_NEAR(in_seconds(w->ideal), 1.5 + 4 * 1.6, 1e-9);
  EXPECT_EQ(w->finding.cause, OperationCause::StageImbalance) << sentence_of(w->finding);
  EXPECT_EQ(w->finding.stage, 1);
  EXPECT_NEAR(w->finding.stage_share, (9.4 - 7.4) / (9.4 - 7.9), 1e-9);
  EXPECT_NEAR(w->finding.worker_share, 0, 1e-9);
  EXPECT_EQ(w->finding.ranks, (std::vector<Rank>{Rank(2), Rank(3)}));
}

TEST(OperationWhatIf, ASlowWorkerIsNamedAndNotItsStage) {
  const auto slow = [](int, int data, int stage) {
    return data == 2 && stage == 0 ? SmallJob::Times{.forward = 2, .backward = 4} : SmallJob::Times{};
  };
  const auto w = what_if(SmallJob(3, 4, slow).text());
  ASSERT_TRUE(w) << w.error().to_string();
  // Means over eight workers: forward 1.125, backward 2.25.
  EXPECT_NEAR(in_seconds(w->original), 9.95, 1e-9);
  EXPECT_NEAR(in_seconds(w->ideal), 1.125 * 2 + 2.25 * 2 + 0.95, 1e-9);
  EXPECT_EQ(w->finding.cause, OperationCause::SlowWorker) << sentence_of(w->finding);
  EXPECT_EQ(w->finding.ranks, std::vector<Rank>{Rank(2)});
  EXPECT_EQ(w->culprits.ranks, std::vector<Rank>{Rank(2)});
  EXPECT_EQ(w->workers.at(2).rank, Rank(2));
  EXPECT_GT(w->workers.at(2).slowdown, w->workers.at(1).slowdown);
  // Replaced by the mean it is as slow as the mean; the others are faster than that.
  EXPECT_NEAR(w->workers.at(2).removed, (9.95 - 7.325) / (9.95 - 7.7), 1e-6);
}

TEST(OperationWhatIf, TwoSlowWorkersOfOneStageShowOnlyTogether) {
  const auto slow = [](int, int data, int stage) {
    return data < 2 && stage == 1 ? SmallJob::Times{.forward = 2, .backward = 4} : SmallJob::Times{};
  };
  const auto w = what_if(SmallJob(2, 4, slow).text());
  ASSERT_TRUE(w) << w.error().to_string();
  ASSERT_GE(w->greedy.size(), 2U);
  EXPECT_NEAR(w->greedy[0].removed, 0, 1e-9);
  EXPECT_GT(w->greedy[1].removed, 1);
  EXPECT_EQ(w->greedy[1].ranks.size(), 2U);
  EXPECT_EQ(w->culprits.ranks, (std::vector<Rank>{Rank(100), Rank(101)}));
  EXPECT_NEAR(w->exhaustive.at(1).removed, w->greedy[1].removed, 1e-12);
}

TEST(OperationWhatIf, SlowTransfersAreCommunication) {
  // One step in three has slow collectives on all ranks.
  const auto slow = [](int step, int, int) {
    return step % 3 == 0 ? SmallJob::Times{.scatter = 5} : SmallJob::Times{};
  };
  const auto w = what_if(SmallJob(3, 2, slow).text());
  ASSERT_TRUE(w) << w.error().to_string();
  EXPECT_NEAR(w->slowdown, (6.95 + 1.5) / 6.95, 1e-6);
  EXPECT_NEAR(share_of(*w, "grads-reduce-scatter"), w->slowdown, 1e-9);
  EXPECT_EQ(w->finding.cause, OperationCause::Communication) << sentence_of(w->finding);
  EXPECT_NEAR(w->finding.communication_share, 1, 1e-9);
}

/// Ranks that compute and then reduce together, step by step; `more(step, rank)`: what a rank takes beyond 100 ms.
template <class F>
std::string even_table(int ranks, int steps, F&& more) {
  std::string text = "step,dp_rank,stage,optype,seq_id,mb_id,start_ts,duration\n";
  double start = 0;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> ends;
    for (int r = 0; r < ranks; ++r)
      ends.push_back(start + 0.1 + 1e-4 * ((7 * step + 3 * r) % 5) + more(step, r));
    const double last = *std::max_element(ends.begin(), ends.end());
    for (int r = 0; r < ranks; ++r) {
      const double end = ends[static_cast<std::size_t>(r)];
      text += fmt::format("{},{},0,forward-compute,0,0,{:.7f},{:.7f}\n", step, r, start, end - start);
      text +=
          fmt::format("{},{},0,grads-reduce-scatter,0,,{:.7f},{:.7f}\n", step, r, end, last + 0.002 - end);
    }
    start = last + 0.002;
  }
  return text;
}

TEST(OperationWhatIf, ASetWhoseMembersAreAllSlowerThanTheirLikeIsNamed) {
  const auto set = what_if(even_table(6, 20, [](int, int r) { return r == 1 || r == 4 ? 0.02 : 0.0; }));
  ASSERT_TRUE(set) << set.error().to_string();
  EXPECT_EQ(set->finding.cause, OperationCause::SlowWorker) << sentence_of(set->finding);
  EXPECT_EQ(set->finding.ranks, (std::vector<Rank>{Rank(1), Rank(4)}));
  const auto turns = what_if(even_table(6, 21, [](int s, int r) { return r == 2 * (s % 3) ? 0.02 : 0.0; }));
  ASSERT_TRUE(turns);
  EXPECT_EQ(turns->finding.cause, OperationCause::None) << "none is slower in most steps";
}

TEST(OperationWhatIf, TransfersAreNotJudgedWhereMembersAreMissing) {
  const auto slow = [](int step, int, int) {
    return step % 3 == 0 ? SmallJob::Times{.scatter = 5} : SmallJob::Times{};
  };
  std::string text = SmallJob(3, 2, slow).text();
  const std::size_t at = text.find("grads-reduce-scatter");
  ASSERT_NE(at, std::string::npos);
  const std::size_t begin = text.rfind('\n', at) + 1;
  text.erase(begin, text.find('\n', at) + 1 - begin);
  const auto w = what_if(text);
  ASSERT_TRUE(w) << w.error().to_string();
  EXPECT_NEAR(w->short_share, 1.0 / 6, 1e-9) << "three steps of two stages";
  EXPECT_EQ(w->finding.cause, OperationCause::None) << sentence_of(w->finding);
}

TEST(OperationWhatIf, UnknownTypesAreComputeAndSaidSo) {
  std::string text = SmallJob(2, 2, [](int, int, int) { return SmallJob::Times{}; }).text();
  for (int step = 0; step < 2; ++step) text += fmt::format("0,0,0,{},checkpoint,6.95,1.5,0,0,0,0\n", step);
  const auto w = what_if(text);
  ASSERT_TRUE(w) << w.error().to_string();
  EXPECT_NEAR(in_seconds(w->original), 6.95 + 1.5, 1e-9);
  ASSERT_EQ(w->notes.size(), 1U);
  EXPECT_EQ(w->notes[0], "2 operations of unknown type checkpoint: taken as compute of their rank");
}

TEST(OperationWhatIf, OtherNumbersOfRanksMoveTheAnswerWithThem) {
  const auto make = [](int slow_data) {
    return SmallJob(2, 3,
                    [=](int, int data, int stage) {
                      return data == slow_data && stage == 1 ? SmallJob::Times{.forward = 3}
                                                             : SmallJob::Times{};
                    })
        .text();
  };
  const auto a = what_if(make(0));
  const auto b = what_if(make(2));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->slowdown, b->slowdown);
  EXPECT_EQ(a->finding.ranks, std::vector<Rank>{Rank(100)});
  EXPECT_EQ(b->finding.ranks, std::vector<Rank>{Rank(102)});
}

TEST(OperationWhatIf, ACircleIsLeftOut) {
  // A send that waits for a compute that waits for its own message.
  const auto w = what_if(
      "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc\n"
      "0,0,0,0,forward-compute,0,1,0,0\n0,0,0,0,forward-recv,0,1,0,0\n0,0,0,0,forward-send,1,1,0,0\n"
      "0,1,1,0,forward-compute,0,1,0,1\n0,1,1,0,forward-recv,0,1,0,1\n0,1,1,0,forward-send,1,1,0,1\n");
  if (!w) {
    EXPECT_EQ(w.error().id, "diagnose-002");
  }
}

TEST(OperationWhatIf, AQuantileSeesWhatAMeanHides) {
  // Three of four workers are slow: the mean calls that nearly usual.
  const auto slow = [](int, int data, int stage) {
    return data + stage > 0 ? SmallJob::Times{.forward = 2} : SmallJob::Times{};
  };
  const std::string table = SmallJob(2, 2, slow).text();
  const auto mean = what_if(table);
  const auto fast = what_if(table, {.reference = {OperationReference::Kind::Quantile, 0}});
  ASSERT_TRUE(mean && fast);
  EXPECT_NEAR(in_seconds(mean->ideal), 6.95 + 2 * 0.75, 1e-9);
  EXPECT_NEAR(in_seconds(fast->ideal), 6.95, 1e-9);
  EXPECT_GT(fast->slowdown, mean->slowdown);
  ASSERT_EQ(mean->references.size(), 4U);
  EXPECT_EQ(mean->references[0].slowdown, mean->slowdown);
}

TEST(OperationWhatIf, ASmallBudgetLeavesSearchesOutAndSaysSo) {
  const auto slow = [](int, int data, int) {
    return data == 2 ? SmallJob::Times{.forward = 2} : SmallJob::Times{};
  };
  const auto w = what_if(SmallJob(2, 3, slow).text(), {.budget = 1});
  ASSERT_TRUE(w) << w.error().to_string();
  EXPECT_GT(w->slowdown, 1.03);
  EXPECT_TRUE(w->greedy.empty());
  EXPECT_TRUE(w->exhaustive.empty());
  EXPECT_TRUE(std::isnan(w->workers.at(0).removed));
  EXPECT_EQ(w->notes.size(), 4U);
  nlohmann::ordered_json j;
  write_json(*w, j);
  j = nlohmann::ordered_json::parse(j.dump());  // as it is read
  EXPECT_TRUE(j["workers"][0]["removed_ratio"].is_null());
}

TEST(OperationWhatIf, RanksWithoutAPlaceWorkSideBySideAndMeetInCollectives) {
  std::string text = "rank,step,optype,start_ts,duration\n";
  for (int rank = 0; rank < 4; ++rank) {
    const double work = rank == 3 ? 2 : 1;
    text += fmt::format("{},0,forward-compute,0,{}\n{},0,grads-reduce-scatter,{},{}\n", rank, work, rank,
                        work, 2.5 - work);
  }
  const auto w = what_if(text);
  ASSERT_TRUE(w) << w.error().to_string();
  EXPECT_NEAR(in_seconds(w->original), 2.5, 1e-9);
  EXPECT_NEAR(in_seconds(w->ideal), 1.75, 1e-9);
  EXPECT_TRUE(w->stages.empty());
  EXPECT_NEAR(w->workers.at(3).slowdown, 2.5 / 1.75, 1e-9);
  EXPECT_EQ(w->finding.cause, OperationCause::SlowWorker) << sentence_of(w->finding);
  EXPECT_EQ(w->finding.ranks, std::vector<Rank>{Rank(3)});
}

TEST(OperationWhatIf, NoTableIsAnError) {
  const auto w = what_if_operations(model::Program{});
  ASSERT_FALSE(w);
  EXPECT_EQ(w.error().id, "diagnose-002");
}

TEST(OperationWhatIf, JsonHoldsEveryNumber) {
  const auto w = what_if(SmallJob(2, 2, [](int, int data, int) {
                           return data == 1 ? SmallJob::Times{.forward = 2} : SmallJob::Times{};
                         }).text());
  ASSERT_TRUE(w);
  nlohmann::ordered_json j;
  write_json(*w, j);
  EXPECT_EQ(j["slowdown_ratio"], w->slowdown);
  EXPECT_EQ(j["finding"]["cause"], name_of(w->finding.cause));
  EXPECT_EQ(j["workers"].size(), 4U);
  EXPECT_EQ(j["types"].size(), w->types.size());
  EXPECT_EQ(j["steps"].size(), 2U);
  EXPECT_FALSE(describe(*w).empty());
}

}  // namespace
}  // namespace cox::diagnose
