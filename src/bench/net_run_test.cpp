// SPDX-License-Identifier: Apache-2.0
#include "cox/bench/net_run.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/support/launcher_variables.hpp"

namespace cox::bench {
namespace {

namespace fs = std::filesystem;

class Probes : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("cox-probes-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    for (const char* name : {"cox-bench-net-openmpi", "cox-bench-net-gloo"}) {
      std::ofstream(folder_ / name) << "#!/bin/sh\necho \"$@\"\n[ \"$1\" != fail ]\n";
      fs::permissions(folder_ / name, fs::perms::owner_all);
    }
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

using Launched = test::LauncherVariables;

TEST_F(Launched, ReadsTheLaunchersInTheirOrder) {
  EXPECT_FALSE(launched_as());
  set({{"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "0"},
       {"SLURM_NTASKS", "1"},
       {"OMPI_COMM_WORLD_RANK", "3"},
       {"OMPI_COMM_WORLD_SIZE", "4"}});
  const auto open = launched_as();
  ASSERT_TRUE(open);
  EXPECT_EQ(open->rank, 3);
  EXPECT_EQ(open->library, ProbeLibrary::OpenMpi);
}

TEST_F(Launched, ARankIsANumberBelowTheSize) {
  for (const char* rank : {"x", "2", "-1"}) {
    set({{"PMI_RANK", rank}, {"PMI_SIZE", "2"}});
    EXPECT_FALSE(launched_as()) << rank;
  }
}

TEST_F(Launched, PmiIsMpichsOnlyWhereHydraSaysSo) {
  set({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(launched_as()->library, ProbeLibrary::Mpi);
  set({{"MPI_LOCALRANKID", "1"}});
  EXPECT_EQ(launched_as()->library, ProbeLibrary::Mpich);
  forget_all();
  set({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "2"}});
  EXPECT_EQ(launched_as()->library, ProbeLibrary::Mpi);
  forget_all();
  set({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(launched_as()->library, ProbeLibrary::Mpi);
}

TEST_F(Launched, ABatchScriptAndAPodAreNoRanks) {
  set({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}});
  EXPECT_FALSE(launched_as());
  set({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_FALSE(launched_as());
  set({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_EQ(launched_as()->rank, 3);
}

TEST_F(Probes, MpiGoesBehindTheLauncher) {
  const auto alone = probe_commands({.folder = folder_}, std::nullopt);
  ASSERT_TRUE(alone);
  const std::string program = (folder_ / "cox-bench-net-openmpi").string();
  ASSERT_EQ(alone->front().size(), 5U);
  EXPECT_TRUE(alone->front()[0].starts_with("mpirun"));
  EXPECT_EQ(alone->front()[2], "2");
  EXPECT_EQ(alone->front()[3], program);
  const auto rank = probe_commands({.folder = folder_}, LaunchedAs{.rank = 1, .ranks = 2});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->front(), (std::vector<std::string>{program, "pairs"}));
}

TEST_F(Probes, GlooStartsItsOwnRanks) {
  const auto two =
      probe_commands({.library = ProbeLibrary::Gloo, .folder = folder_, .store = "/s"}, std::nullopt);
  ASSERT_TRUE(two);
  ASSERT_EQ(two->size(), 2U);
  EXPECT_EQ((*two)[1][1], "1");
  EXPECT_EQ((*two)[1][2], "2");
  const auto lost =
      probe_commands({.library = ProbeLibrary::Gloo, .folder = folder_}, LaunchedAs{.rank = 1, .ranks = 2});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().id, "bench-007");
}

TEST_F(Probes, SaysWhatIsMissing) {
  const auto none = probe_commands({.library = ProbeLibrary::Mpich, .folder = folder_}, std::nullopt);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "bench-006");
}

TEST_F(Probes, FailuresAreSeen) {
  const auto fine =
      run_probe({.library = ProbeLibrary::OpenMpi, .folder = folder_, .request = {"good"}}, LaunchedAs{});
  ASSERT_TRUE(fine);
  EXPECT_EQ(*fine, "good\n");
  const auto bad =
      run_probe({.library = ProbeLibrary::OpenMpi, .folder = folder_, .request = {"fail"}}, LaunchedAs{});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("ended with status 1"), std::string::npos);
}

}  // namespace
}  // namespace cox::bench
