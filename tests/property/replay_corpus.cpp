// SPDX-License-Identifier: Apache-2.0
// Every input that a fuzzer once found interesting, and every seed, without the fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "fuzz/entries.hpp"
#include "support/make_run.hpp"

namespace cox::fuzz {
namespace {

int replay(const char* folder, void (*entry)(std::string_view)) {
  int inputs = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(COX_FUZZ_CORPUS) / folder)) {
    SCOPED_TRACE(file.path().string());
    entry(test::file_content(file.path()));
    ++inputs;
  }
  return inputs;
}

TEST(ReplayCorpus, Raw) {
  EXPECT_GE(replay("raw", raw), 3);
}
TEST(ReplayCorpus, Compact) {
  EXPECT_GE(replay("compact", compact), 3);
}
TEST(ReplayCorpus, RunInfo) {
  EXPECT_GE(replay("run_info", run_info), 3);
}
TEST(ReplayCorpus, GoalSchedules) {
  EXPECT_GE(replay("goal_text", goal_schedule), 3);
  EXPECT_GE(replay("goal_binary", goal_schedule), 3);
}

TEST(ReplayCorpus, MeasuredTimes) {
  EXPECT_GE(replay("measured", measured), 3);
}

TEST(ReplayCorpus, ForecastTables) {
  EXPECT_GE(replay("forecast_table", forecast_table), 5);
}

TEST(ReplayCorpus, Pacing) {
  EXPECT_GE(replay("pace_settings", pace_settings), 3);
  EXPECT_GE(replay("pace_observations", pace_observations), 3);
}

TEST(ReplayCorpus, Figures) {
  EXPECT_GE(replay("figures", figures), 10);
}

TEST(ReplayCorpus, Claims) {
  EXPECT_GE(replay("claim", claim), 5);
}

TEST(ReplayCorpus, Updates) {
  EXPECT_GE(replay("updates", updates), 5);
}

TEST(ReplayCorpus, Scenario) {
  EXPECT_GE(replay("scenario", scenario), 3);
}

/// The studies that are built in are the seeds.
TEST(ReplayCorpus, Studies) {
  int inputs = 0;
  for (const auto& file : std::filesystem::directory_iterator(COX_STUDIES)) {
    SCOPED_TRACE(file.path().string());
    study(test::file_content(file.path()));
    ++inputs;
  }
  EXPECT_GE(inputs, 20);
}

/// Corpora of imported formats are named after their readers.
TEST(ReplayCorpus, Imports) {
  for (const auto& folder : std::filesystem::directory_iterator(COX_FUZZ_CORPUS)) {
    const std::string name = folder.path().filename().string();
    if (!is_imported(name)) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      SCOPED_TRACE(file.path().string());
      import(name, test::file_content(file.path()));
    }
  }
}

/// Formats of several files, each input with all of them.
TEST(ReplayCorpus, ImportsWithCompanions) {
  int inputs = 0;
  for (const auto& folder : std::filesystem::directory_iterator(COX_FUZZ_CORPUS)) {
    const std::string name = folder.path().filename().string();
    if (!is_imported_with_companions(name)) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      SCOPED_TRACE(file.path().string());
      import_files(name.substr(0, name.find('_')), test::file_content(file.path()));
      ++inputs;
    }
  }
  EXPECT_GE(inputs, 6);
}

}  // namespace
}  // namespace cox::fuzz
