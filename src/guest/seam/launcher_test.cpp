// SPDX-License-Identifier: Apache-2.0
#include "cox/guest/launcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/launcher_variables.hpp"

namespace {

using namespace cox::guest;

using Launched = cox::test::LauncherVariables;

LauncherPlace place() {
  return place_of(find_launcher());
}
std::string job() {
  char text[64];
  write_job(find_launcher(), text, sizeof text);
  return text;
}

TEST_F(Launched, NoneSayNothing) {
  EXPECT_EQ(find_launcher(), nullptr);
  EXPECT_EQ(place().rank, -1);
  EXPECT_EQ(job(), "");
  set({{"COX_JOB", "mine"}});
  EXPECT_EQ(job(), "mine");
}

TEST_F(Launched, ABatchScriptIsNoRank) {
  set({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}});
  EXPECT_EQ(find_launcher(), nullptr);
  EXPECT_EQ(job(), "77");
}

TEST_F(Launched, TorchrunIsBelievedBeforeSlurm) {
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
  const LauncherPlace p = place();
  EXPECT_STREQ(p.launcher, "torchrun");
  EXPECT_EQ(p.rank, 5);
  EXPECT_EQ(p.world_size, 8);
  EXPECT_EQ(p.local_rank, 1);
  EXPECT_EQ(p.local_size, 4);
  EXPECT_EQ(p.node, 1);
  EXPECT_EQ(p.attempt, 2);
  EXPECT_EQ(job(), "77.job7");
}

TEST_F(Launched, MpirunIsBelievedBeforeTheSlurmThatItsDaemonInherited) {
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
  const LauncherPlace p = place();
  EXPECT_STREQ(p.launcher, "openmpi");
  EXPECT_EQ(p.rank, 3);
  EXPECT_EQ(p.world_size, 4);
  EXPECT_EQ(p.local_rank, 1);
  EXPECT_EQ(p.local_size, 2);
  EXPECT_EQ(p.node, -1) << "the daemon's";
  EXPECT_EQ(job(), "77.4711");
}

TEST_F(Launched, HydraUnderSlurmIsBelievedBeforeItsProxysRank) {
  set({{"SLURM_JOB_ID", "77"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "1"},
       {"PMIX_RANK", "1"},
       {"PMI_RANK", "6"},
       {"PMI_SIZE", "8"},
       {"MPI_LOCALRANKID", "2"},
       {"MPI_LOCALNRANKS", "4"}});
  const LauncherPlace p = place();
  EXPECT_STREQ(p.launcher, "mpich");
  EXPECT_EQ(p.rank, 6);
  EXPECT_EQ(p.world_size, 8);
  EXPECT_EQ(p.local_rank, 2);
  EXPECT_EQ(p.local_size, 4);
  EXPECT_EQ(job(), "77");
}

TEST_F(Launched, SlurmWithEachOfItsWaysToTellTheRank) {
  set({{"SLURM_JOB_ID", "77"},
       {"SLURM_STEP_ID", "3"},
       {"SLURM_PROCID", "2"},
       {"SLURM_NTASKS", "4"},
       {"SLURM_LOCALID", "0"},
       {"SLURM_NODEID", "1"},
       {"SLURM_TASKS_PER_NODE", "2(x2)"}});
  for (const char* extra : {"", "PMI_RANK", "PMIX_RANK"}) {
    if (*extra != 0) set({{extra, "2"}, {"PMI_SIZE", "4"}});
    const LauncherPlace p = place();
    EXPECT_STREQ(p.launcher, "slurm") << extra;
    EXPECT_EQ(p.rank, 2);
    EXPECT_EQ(p.world_size, 4);
    EXPECT_EQ(p.local_rank, 0);
    EXPECT_EQ(p.local_size, 2);
    EXPECT_EQ(p.node, 1);
    EXPECT_EQ(job(), "77.3");
  }
}

TEST_F(Launched, FluxIsBelievedBeforeItsPmi) {
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

TEST_F(Launched, PbsTellsTheJobAndTheNodeAndTheMpiTheRank) {
  set({{"PBS_JOBID", "9.server"},
       {"PBS_NODENUM", "1"},
       {"PMI_RANK", "1"},
       {"PMI_SIZE", "2"},
       {"MPI_LOCALRANKID", "0"}});
  EXPECT_STREQ(place().launcher, "mpich");
  EXPECT_EQ(place().node, 1);
  EXPECT_EQ(job(), "9.server");
}

TEST_F(Launched, WhatIsNoNumberIsNotBelieved) {
  for (const char* text : {"", "-1", "x", "1x", " 1", "99999999999999999999"})
    EXPECT_EQ(number_or(text, -1), -1) << text;
  EXPECT_EQ(number_or("0", -1), 0);
  EXPECT_EQ(number_or(nullptr, -7), -7);
}

TEST_F(Launched, EachBatchSystemNamesTheJob) {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID"}) {
    forget_all();
    set({{name, "4711"}, {"COX_JOB", "mine"}});
    EXPECT_EQ(job(), "4711") << name;
  }
  set({{"SLURM_JOB_ID", "77"}, {"JOB_ID", "anything"}});
  EXPECT_EQ(job(), "77");
}

TEST_F(Launched, OfEachBatchSystemTheJobOwnsWhatItStarts) {
  for (const char* name : {"SLURM_JOB_ID", "SLURM_HET_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"}) {
    forget_all();
    set({{name, "4711"}});
    EXPECT_STREQ(owning_batch_job(), "4711") << name;
  }
  set({{"SLURM_HET_JOB_ID", "7"}, {"SLURM_JOB_ID", "8"}, {"PBS_JOBID", "9"}});
  EXPECT_STREQ(owning_batch_job(), "7");
  forget_all();
  set({{"FLUX_JOB_ID", "f1"}});
  EXPECT_STREQ(owning_batch_job(), "") << "each launch has its own";
}

TEST_F(Launched, AJobThatAnObservedOneSubmittedIsAnotherOne) {
  EXPECT_FALSE(is_of_another_job()) << "nobody said whose this is";
  set({{"COX_BATCH_JOB", "77"}, {"SLURM_JOB_ID", "77"}});
  EXPECT_FALSE(is_of_another_job());
  set({{"SLURM_JOB_ID", "778"}});
  EXPECT_TRUE(is_of_another_job());
  set({{"COX_BATCH_JOB", "7789"}});
  EXPECT_TRUE(is_of_another_job());
  set({{"SLURM_HET_JOB_ID", "7789"}});
  EXPECT_FALSE(is_of_another_job()) << "a part of it has an id of its own";
  unsetenv("SLURM_HET_JOB_ID");
  unsetenv("SLURM_JOB_ID");
  EXPECT_FALSE(is_of_another_job()) << "a host that the launcher told nothing";
  set({{"COX_BATCH_JOB", ""}, {"SLURM_JOB_ID", "5"}});
  EXPECT_FALSE(is_of_another_job()) << "observed from a login node";
}

TEST_F(Launched, OnlyALauncherThatIsOneLibrarysSaysWhoseMpiItIs) {
  std::map<std::string, std::set<LaunchedMpi>> whose;
  for (const Launcher& l : kLaunchers) whose[l.name].insert(l.mpi);
  EXPECT_EQ(whose["openmpi"], std::set{LaunchedMpi::OpenMpi});
  EXPECT_EQ(whose["mpich"], std::set{LaunchedMpi::Mpich});
  for (const char* any : {"slurm", "pmix", "pmi", "flux"}) EXPECT_EQ(whose[any], std::set{LaunchedMpi::Any});
  for (const char* none : {"torchrun", "env"}) EXPECT_EQ(whose[none], std::set{LaunchedMpi::None});
}

/// Names in backquotes, with what `*` stands for.
std::set<std::string> variables_in(const std::string& text, const std::set<std::string>& known) {
  static const std::regex a_name("`([A-Z][A-Z_]*)(\\*?)`");
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), a_name), end; at != end; ++at) {
    if ((*at)[2].length() == 0) found.insert((*at)[1]);
    for (const std::string& name : known)
      if ((*at)[2].length() > 0 && name.starts_with((*at)[1].str())) found.insert(name);
  }
  return found;
}

TEST(LauncherTable, IsThatOfTheDocs) {
  const std::map<std::string, std::string> rows = {
      {"torchrun", "torchrun"}, {"by hand", "env"}, {"Open MPI", "openmpi"}, {"MPICH (hydra)", "mpich"},
      {"Slurm", "slurm"},       {"PMIx", "pmix"},   {"Flux", "flux"},        {"PMI", "pmi"}};
  std::map<std::string, std::set<std::string>> of_code;
  for (const Launcher& l : kLaunchers)
    for (const char* name : {l.sign[0], l.sign[1], l.rank, l.world_size, l.local_rank, l.local_size,
                             l.tasks_per_node, l.node, l.attempt, l.launch})
      if (name != nullptr) of_code[l.name].insert(name);
  of_code["torchrun"].erase("TORCHELASTIC_RESTART_COUNT");  // told below the table

  std::ifstream page(COX_SOURCE_DIR "/docs/concepts/launching.md");
  ASSERT_TRUE(page);
  std::set<std::string> seen;
  std::string batch_text;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("The job in a process's file")) {
      batch_text = line;
      std::getline(page, line);
      batch_text += ' ' + line;
    }
    const std::size_t end = line.starts_with("| ") ? line.find(" |", 2) : std::string::npos;
    if (end == std::string::npos) continue;
    const auto row = rows.find(line.substr(2, end - 2));
    if (row == rows.end()) continue;
    seen.insert(row->second);
    const std::set<std::string>& known = of_code[row->second];
    EXPECT_EQ(variables_in(line.substr(end), known), known) << row->first;
  }
  EXPECT_EQ(seen.size(), rows.size()) << "rows that are not there";
  std::set<std::string> batch;
  for (const BatchSystem& b : kBatchSystems) batch.insert(b.job);
  EXPECT_EQ(variables_in(batch_text.substr(0, batch_text.find(')')), {}), batch);
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

TEST_F(Launched, AJobsNameIsCutAndEnded) {
  set({{"PBS_JOBID", "0123456789"}});
  char text[8];
  write_job(nullptr, text, sizeof text);
  EXPECT_STREQ(text, "0123456");
}

}  // namespace
