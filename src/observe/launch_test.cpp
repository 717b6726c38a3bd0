// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/launch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cox/trace/raw_format.hpp"

namespace {

namespace fs = std::filesystem;
using cox::observe::launch;
using cox::observe::LaunchOptions;

class Launch : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cox-launch-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    // An empty file in the guest's place: the loader says that it cannot be preloaded, and the command runs.
    std::ofstream(dir_ / "libcox-preload.so");
  }
  void TearDown() override { fs::remove_all(dir_); }
  [[nodiscard]] LaunchOptions options(std::vector<std::string> command) const {
    return {.command = std::move(command), .out = dir_ / "run", .guest_dir = dir_};
  }
  fs::path dir_;
};

TEST_F(Launch, PassesTheExitStatusThrough) {
  const auto outcome = launch(options({"/bin/sh", "-c", "exit 7"}));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->exit_status, 7);
  EXPECT_TRUE(fs::exists(dir_ / "run" / "run.json"));
}

TEST_F(Launch, ReportsASignalAs128PlusItsNumber) {
  const auto outcome = launch(options({"/bin/sh", "-c", "kill -9 $$"}));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exit_status, 137);
  EXPECT_EQ(outcome->signal, 9);
}

TEST_F(Launch, ForwardsSignalsAndSurvivesThem) {
  // The child tells its parent (us, in the place of cox) to stop; the signal must come back to it.
  const auto outcome =
      launch(options({"/bin/sh", "-c", "trap 'exit 9' TERM; kill -TERM $PPID; while :; do :; done"}));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exit_status, 9);
}

TEST_F(Launch, SetsTheChildsEnvironmentAndKeepsTheUsers) {
  setenv("LD_PRELOAD", "/nonexistent/theirs.so", 1);
  const auto outcome =
      launch(options({"/bin/sh", "-c", "echo \"$LD_PRELOAD|$COX_DIR\" > " + (dir_ / "seen").string()}));
  unsetenv("LD_PRELOAD");
  ASSERT_TRUE(outcome);
  std::string line;
  std::ifstream in(dir_ / "seen");
  std::getline(in, line);
  EXPECT_NE(line.find("libcox-preload.so:/nonexistent/theirs.so|"), std::string::npos) << line;
  EXPECT_NE(line.find("|" + (dir_ / "run").string()), std::string::npos) << line;
  EXPECT_EQ(getenv("COX_DIR"), nullptr) << "our own environment is untouched";
}

TEST_F(Launch, ACommandThatIsNotThereLeavesNothingBehind) {
  const auto outcome = launch(options({"no-such-command-anywhere"}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "observe-003");
  EXPECT_FALSE(fs::exists(dir_ / "run"));
}

TEST_F(Launch, ACommandThatCannotRunIsToldApart) {
  const auto outcome = launch(options({(dir_ / "libcox-preload.so").string()}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "observe-004");
}

TEST_F(Launch, ReplacesOnlyARunAndOnlyWhenTold) {
  ASSERT_TRUE(launch(options({"/bin/true"})));
  const auto again = launch(options({"/bin/true"}));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().id, "observe-001");
  auto forced = options({"/bin/true"});
  forced.force = true;
  EXPECT_TRUE(launch(forced));
  fs::remove_all(dir_ / "run");
  fs::create_directory(dir_ / "run");
  std::ofstream(dir_ / "run" / "thesis.tex") << "precious";
  EXPECT_FALSE(launch(forced)) << "somebody's folder";
  EXPECT_TRUE(fs::exists(dir_ / "run" / "thesis.tex"));
}

/// A launch whose `cox` is started once per rank: the variables that a launcher would set.
class LaunchOncePerRank : public Launch {
 protected:
  void SetUp() override {
    Launch::SetUp();
    for (const char* name :
         {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "RANK", "TORCHELASTIC_RUN_ID"})
      unsetenv(name);
  }
  void TearDown() override {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMI_RANK",
                             "PMI_SIZE", "MPI_LOCALRANKID"})
      unsetenv(name);
    Launch::TearDown();
  }
  static void open_mpi(const char* rank, const char* size, const char* job) {
    setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    setenv("OMPI_COMM_WORLD_SIZE", size, 1);
    setenv("PMIX_NAMESPACE", job, 1);
  }
  static void mpich(const char* rank) {
    setenv("PMI_RANK", rank, 1);
    setenv("PMI_SIZE", "2", 1);
    setenv("MPI_LOCALRANKID", rank, 1);
  }
  /// What a process of that rank would have left.
  void leave_raw_file(std::int32_t rank, const char* launcher) const {
    cox::trace::RawHeader head{};
    head.rank = rank;
    std::snprintf(head.launcher, sizeof head.launcher, "%s", launcher);
    std::ofstream(dir_ / "run" / ("p" + std::to_string(rank) + ".coxraw"), std::ios::binary)
        .write(reinterpret_cast<const char*>(&head), sizeof head);
  }
};

TEST_F(LaunchOncePerRank, RanksOfOneLaunchShareTheFolder) {
  open_mpi("1", "2", "4711");
  const auto first = launch(options({"/bin/true"}));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->rank, 1);
  EXPECT_EQ(first->world_size, 2);
  const auto written = fs::last_write_time(dir_ / "run" / "run.json");
  open_mpi("0", "2", "4711");
  const auto second = launch(options({"/bin/sh", "-c", "exit 3"}));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->exit_status, 3);
  EXPECT_EQ(fs::last_write_time(dir_ / "run" / "run.json"), written) << "written by the first one only";
}

TEST_F(LaunchOncePerRank, AnotherLaunchIsRefused) {
  open_mpi("0", "2", "4711");
  ASSERT_TRUE(launch(options({"/bin/true"})));
  open_mpi("0", "2", "4712");
  const auto other = launch(options({"/bin/true"}));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().id, "observe-001");
}

TEST_F(LaunchOncePerRank, AnEarlierRunIsRefused) {
  ASSERT_TRUE(launch(options({"/bin/true"})));
  open_mpi("0", "2", "4711");
  ASSERT_FALSE(launch(options({"/bin/true"})));
  fs::remove(dir_ / "run" / "run.json");
  leave_raw_file(0, "openmpi");
  ASSERT_FALSE(launch(options({"/bin/true"}))) << "files, and no run.json";
  fs::remove(dir_ / "run" / "p0.coxraw");
  std::ofstream(dir_ / "run" / "thesis.tex") << "precious";
  ASSERT_FALSE(launch(options({"/bin/true"}))) << "somebody's folder";
  EXPECT_FALSE(fs::exists(dir_ / "run" / "run.json"));
}

TEST_F(LaunchOncePerRank, WithoutAnIdTheSameRankOrAnOldRunIsRefused) {
  mpich("0");
  ASSERT_TRUE(launch(options({"/bin/true"})));
  mpich("1");
  ASSERT_TRUE(launch(options({"/bin/true"})));
  leave_raw_file(1, "mpich");
  EXPECT_FALSE(launch(options({"/bin/true"}))) << "rank 1 was there: another launch";
  mpich("0");
  EXPECT_TRUE(launch(options({"/bin/true"})));
  fs::last_write_time(dir_ / "run" / "run.json", fs::file_time_type::clock::now() - std::chrono::minutes{10});
  EXPECT_FALSE(launch(options({"/bin/true"}))) << "begun ten minutes ago";
}

TEST_F(LaunchOncePerRank, NeedsANameThatAllRanksKnow) {
  mpich("0");
  LaunchOptions unnamed = options({"/bin/true"});
  unnamed.out.clear();
  const auto refused = launch(unnamed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "observe-006");
  LaunchOptions forced = options({"/bin/true"});
  forced.force = true;
  const auto never = launch(forced);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().id, "observe-006");
}

TEST_F(LaunchOncePerRank, OneRankAloneIsAnOrdinaryJob) {
  open_mpi("0", "1", "4711");
  const auto alone = launch(options({"/bin/true"}));
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->rank, -1);
  EXPECT_FALSE(launch(options({"/bin/true"})));
}

TEST_F(Launch, MissingGuestIsSaid) {
  auto o = options({"/bin/true"});
  o.guest_dir = dir_ / "nowhere";
  const auto outcome = launch(o);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "observe-002");
}

}  // namespace
