// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/operation_what_if.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "cox/trace/import.hpp"

#include "diagnose/operation_what_if_json.hpp"
#include "tests/support/test_data.hpp"
#include "trace/import/reader.hpp"

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
  const auto run = GetParam()->read(
      dir / (GetParam() == &trace::kOperationCsvReader ? "trace-ST.csv" : "trace-ST.parquet"),
      {.threads = 1});
  ASSERT_TRUE(run) << run.error().to_string();
  const auto w = what_if_operations(*run);
  ASSERT_TRUE(w) << w.error().to_string();
  expect_published(*w, dir, "ST");
  EXPECT_NEAR(w->fabric.pipeline_free, 1.001252, kBar);
  EXPECT_NEAR(w->fabric.data_free, 1.039297, kBar);
  EXPECT_EQ(w->operations, 6784);
  EXPECT_TRUE(w->notes.empty()) << w->notes.front();
  EXPECT_EQ(w->finding.cause, OperationCause::StageImbalance) << w->finding.text;
  EXPECT_EQ(w->finding.stage, 3);
  EXPECT_EQ(w->culprits.ranks, (std::vector<Rank>{Rank(6), Rank(7)}));
}

INSTANTIATE_TEST_SUITE_P(OperationWhatIf, Published,
                         ::testing::Values(&trace::kOperationCsvReader, &trace::kOperationParquetReader));

/// The artifact's other two tables (one slow worker; uneven sequence lengths), for those who have them.
TEST(OperationWhatIfMore, OtherTablesOfTheArtifactAreMet) {
  COX_NEED_DATA(dir, "traces/bytedance-more");
  const std::map<std::string, OperationCause> causes{{"AR", OperationCause::SlowWorker},
                                                     {"SE", OperationCause::StageImbalance}};
  for (const auto& [trial, cause] : causes) {
    SCOPED_TRACE(trial);
    const auto run =
        trace::kOperationParquetReader.read(dir / ("trace-" + trial + ".parquet"), {.threads = 1});
    ASSERT_TRUE(run) << run.error().to_string();
    const auto w = what_if_operations(*run);
    ASSERT_TRUE(w) << w.error().to_string();
    expect_published(*w, dir, trial);
    EXPECT_EQ(w->finding.cause, cause) << w->finding.text;
  }
}

}  // namespace
}  // namespace cox::diagnose
