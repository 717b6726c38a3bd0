// SPDX-License-Identifier: Apache-2.0
#include "guest/seam/launcher.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cox::observe::guest;

/// The environment of a process as some launcher leaves it; the test's own is put back.
class LauncherVariables : public testing::Test {
 protected:
  void SetUp() override {
    clear("COX_JOB");
    for (const char* name : kBatchJobs) clear(name);
    for (const Launcher& l : kLaunchers)
      for (const char* name : {l.sign[0], l.sign[1], l.rank, l.world_size, l.local_rank, l.local_size,
                               l.tasks_per_node, l.node, l.attempt, l.launch})
        if (name != nullptr) clear(name);
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  void set(std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const auto& [name, value] : variables) {
      setenv(name, value, 1);
      set_.emplace_back(name);
    }
  }
  static Place place() { return place_of(find_launcher()); }
  static std::string job() {
    char text[64];
    write_job(find_launcher(), text, sizeof text);
    return text;
  }

 private:
  void clear(const char* name) {
    if (const char* value = getenv(name)) before_.emplace_back(name, value);
    unsetenv(name);
  }
  std::vector<std::string> set_;
  std::vector<std::pair<std::string, std::string>> before_;
};

TEST_F(LauncherVariables, NoneSayNothing) {
  EXPECT_EQ(find_launcher(), nullptr);
  EXPECT_EQ(place().rank, -1);
  EXPECT_EQ(job(), "");
  set({{"COX_JOB", "mine"}});
  EXPECT_EQ(job(), "mine");
}

TEST_F(LauncherVariables, ABatchScriptIsNoRank) {
  set({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}});
  EXPECT_EQ(find_launcher(), nullptr);
  EXPECT_EQ(job(), "77");
}

TEST_F(LauncherVariables, TorchrunIsBelievedBeforeSlurm) {
  set({{"SLURM_JOB_ID", "77"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "1"},
       {"SLURM_NTASKS", "2"},
       {"TORCHELASTIC_RUN_ID", "job7"},
       {"TORCHELASTIC_RESTART_COUNT", "2"},
       {"RANK", "5"},
       {"WORLD_SIZE", "8"},
       {"LOCAL_RANK", "1"},
       {"LOCAL_WORLD_SIZE", "4"},
       {"GROUP_RANK", "1"}});
  const Place p = place();
  EXPECT_STREQ(p.launcher, "torchrun");
  EXPECT_EQ(p.rank, 5);
  EXPECT_EQ(p.world_size, 8);
  EXPECT_EQ(p.local_rank, 1);
  EXPECT_EQ(p.local_size, 4);
  EXPECT_EQ(p.node, 1);
  EXPECT_EQ(p.attempt, 2);
  EXPECT_EQ(job(), "77.job7");
}

TEST_F(LauncherVariables, MpirunIsBelievedBeforeTheSlurmThatItsDaemonInherited) {
  set({{"SLURM_JOB_ID", "77"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "1"},
       {"SLURM_LOCALID", "0"},
       {"SLURM_NTASKS", "2"},
       {"SLURM_NODEID", "1"},
       {"PMIX_RANK", "3"},
       {"PMIX_NAMESPACE", "4711"},
       {"OMPI_COMM_WORLD_RANK", "3"},
       {"OMPI_COMM_WORLD_SIZE", "4"},
       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  const Place p = place();
  EXPECT_STREQ(p.launcher, "openmpi");
  EXPECT_EQ(p.rank, 3);
  EXPECT_EQ(p.world_size, 4);
  EXPECT_EQ(p.local_rank, 1);
  EXPECT_EQ(p.local_size, 2);
  EXPECT_EQ(p.node, -1) << "the daemon's";
  EXPECT_EQ(job(), "77.4711");
}

TEST_F(LauncherVariables, HydraUnderSlurmIsBelievedBeforeItsProxysRank) {
  set({{"SLURM_JOB_ID", "77"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "1"},
       {"PMIX_RANK", "1"},
       {"PMI_RANK", "6"},
       {"PMI_SIZE", "8"},
       {"MPI_LOCALRANKID", "2"},
       {"MPI_LOCALNRANKS", "4"}});
  const Place p = place();
  EXPECT_STREQ(p.launcher, "mpich");
  EXPECT_EQ(p.rank, 6);
  EXPECT_EQ(p.world_size, 8);
  EXPECT_EQ(p.local_rank, 2);
  EXPECT_EQ(p.local_size, 4);
  EXPECT_EQ(job(), "77");
}

TEST_F(LauncherVariables, SlurmWithEachOfItsWaysToTellTheRank) {
  set({{"SLURM_JOB_ID", "77"},
       {"SLURM_STEP_ID", "3"},
       {"SLURM_PROCID", "2"},
       {"SLURM_NTASKS", "4"},
       {"SLURM_LOCALID", "0"},
       {"SLURM_NODEID", "1"},
       {"SLURM_TASKS_PER_NODE", "2(x2)"}});
  for (const char* extra : {"", "PMI_RANK", "PMIX_RANK"}) {
    if (*extra != 0) set({{extra, "2"}, {"PMI_SIZE", "4"}});
    const Place p = place();
    EXPECT_STREQ(p.launcher, "slurm") << extra;
    EXPECT_EQ(p.rank, 2);
    EXPECT_EQ(p.world_size, 4);
    EXPECT_EQ(p.local_rank, 0);
    EXPECT_EQ(p.local_size, 2);
    EXPECT_EQ(p.node, 1);
    EXPECT_EQ(job(), "77.3");
  }
}

TEST_F(LauncherVariables, FluxIsBelievedBeforeItsPmi) {
  set({{"FLUX_JOB_ID", "f23"},
       {"FLUX_TASK_RANK", "1"},
       {"FLUX_JOB_SIZE", "2"},
       {"FLUX_TASK_LOCAL_ID", "1"},
       {"PMI_RANK", "1"},
       {"PMI_SIZE", "2"}});
  EXPECT_STREQ(place().launcher, "flux");
  EXPECT_EQ(place().local_rank, 1);
  EXPECT_EQ(job(), "f23");
}

TEST_F(LauncherVariables, PbsTellsTheJobAndTheNodeAndTheMpiTheRank) {
  set({{"PBS_JOBID", "9.server"},
       {"PBS_NODENUM", "1"},
       {"PMI_RANK", "1"},
       {"PMI_SIZE", "2"},
       {"MPI_LOCALRANKID", "0"}});
  EXPECT_STREQ(place().launcher, "mpich");
  EXPECT_EQ(place().node, 1);
  EXPECT_EQ(job(), "9.server");
}

TEST_F(LauncherVariables, WhatIsNoNumberIsNotBelieved) {
  for (const char* text : {"", "-1", "x", "1x", " 1", "99999999999999999999"})
    EXPECT_EQ(number_or(text, -1), -1) << text;
  EXPECT_EQ(number_or("0", -1), 0);
  EXPECT_EQ(number_or(nullptr, -7), -7);
}

TEST(TasksOfNode, ReadsSlurmsList) {
  EXPECT_EQ(tasks_of_node("2(x2)", 0), 2);
  EXPECT_EQ(tasks_of_node("2(x2)", 1), 2);
  EXPECT_EQ(tasks_of_node("2(x2)", 2), -1);
  EXPECT_EQ(tasks_of_node("3,1", 1), 1);
  EXPECT_EQ(tasks_of_node("4(x3),2,7(x1000)", 3), 2);
  EXPECT_EQ(tasks_of_node("4(x3),2,7(x1000)", 900), 7);
  for (const char* bad : {"", "x", "2(x", "2(x0)", "2(x99999999999)", "2(3)", "99999999999", "2,,3"})
    EXPECT_EQ(tasks_of_node(bad, 1), -1) << bad;
  EXPECT_EQ(tasks_of_node(nullptr, 0), -1);
}

TEST_F(LauncherVariables, AJobsNameIsCutAndEnded) {
  set({{"PBS_JOBID", "0123456789"}});
  char text[8];
  write_job(nullptr, text, sizeof text);
  EXPECT_STREQ(text, "0123456");
}

}  // namespace
