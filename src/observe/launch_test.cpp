// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/launch.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cox/base/processes.h"
#include "cox/trace/raw_format.hpp"
#include "cox/trace/run_files.hpp"
#include "cox/trace/run_info.hpp"

#include "observe/launch_folder.hpp"

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
    // Something harmless in the guest's place.
    void* const math = dlopen("libm.so.6", RTLD_LAZY);
    link_map* map = nullptr;
    ASSERT_TRUE(math != nullptr && dlinfo(math, RTLD_DI_LINKMAP, &map) == 0);
    fs::copy_file(map->l_name, dir_ / "libcox-preload.so");
    dlclose(math);
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

TEST_F(Launch, AGuestThatDoesNotLoadIsNotPreloaded) {
  std::ofstream(dir_ / "libcox-preload.so", std::ios::trunc) << "no object";
  LaunchOptions o = options({"/bin/sh", "-c", "test -z \"$LD_PRELOAD$COX_DIR\""});
  const auto notes = cox::observe::start_notes(o);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("libcox-preload.so does not load here"), std::string::npos) << notes[0];
  const auto outcome = launch(o);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exit_status, 0);
  EXPECT_TRUE(outcome->untouched);
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

TEST_F(Launch, AForcedRunTakesThePlaceOfOneWithFoldersOfHosts) {
  ASSERT_TRUE(launch(options({"/bin/true"})));
  const fs::path host = dir_ / "run" / "n1";
  fs::create_directory(host);
  std::ofstream(host / "n1-7-a.coxraw") << "COXRAW1\n";
  std::ofstream(host / "n1-7-a.txt") << "precious";
  auto forced = options({"/bin/true"});
  forced.force = true;
  EXPECT_FALSE(launch(forced)) << "somebody's file";
  EXPECT_TRUE(fs::exists(host / "n1-7-a.coxraw"));
  fs::remove(host / "n1-7-a.txt");
  ASSERT_TRUE(launch(forced));
  EXPECT_FALSE(fs::exists(host));
  EXPECT_TRUE(fs::exists(dir_ / "run" / "run.json"));
}

TEST_F(Launch, WhatOnlyEndsLikeAFileOfOursIsSomebodys) {
  for (const char* name :
       {"backup.cox", "n1-7-keep this copy.cox", "n1-7-a.copy.coxraw", "notes.cox.tmp-1"}) {
    ASSERT_TRUE(launch(options({"/bin/true"}))) << name;
    std::ofstream(dir_ / "run" / name) << "COXRUN1\n";
    auto forced = options({"/bin/true"});
    forced.force = true;
    EXPECT_FALSE(launch(forced)) << name;
    EXPECT_TRUE(fs::exists(dir_ / "run" / name)) << name;
    fs::remove_all(dir_ / "run");
  }
}

TEST_F(Launch, WhatAFailedStartAndAnNfsClientLeaveStandsInNobodysWay) {
  ASSERT_TRUE(launch(options({"/bin/true"})));
  const fs::path run = dir_ / "run";
  fs::create_directory(
      run / "n1");  // a process on n1 could not begin its file, or somebody's checkpoints will be there
  std::ofstream(run / ".nfs0000000000a1") << "open somewhere";
  auto forced = options({"/bin/true"});
  forced.force = true;
  ASSERT_TRUE(launch(forced));
  EXPECT_TRUE(fs::exists(run / "n1")) << "nothing is removed that may be somebody's";
  EXPECT_TRUE(fs::exists(run / "run.json"));
}

TEST_F(Launch, AForcedRunThatCannotStartLeavesTheOldOne) {
  ASSERT_TRUE(launch(options({"/bin/sh", "-c", "exit 5"})));
  std::ofstream(dir_ / "run" / "n-1-a.coxraw") << "COXRAW1\n";
  auto forced = options({(dir_ / "no-such-program").string()});
  forced.force = true;
  EXPECT_EQ(launch(forced).error().id, "observe-003");
  EXPECT_TRUE(fs::exists(dir_ / "run" / "n-1-a.coxraw"));
  forced.command = {"/bin/true"};
  ASSERT_TRUE(launch(forced));
  EXPECT_FALSE(fs::exists(dir_ / "run" / "n-1-a.coxraw"));
  EXPECT_TRUE(fs::exists(dir_ / "run" / "run.json"));
}

TEST_F(Launch, AFolderThatWasThereEmptyStaysWhereNothingRan) {
  fs::create_directory(dir_ / "run");
  std::ofstream(dir_ / "bad") << "no program";
  ASSERT_FALSE(launch(options({(dir_ / "bad").string()})));
  EXPECT_TRUE(fs::exists(dir_ / "run"));
}

TEST_F(Launch, ThePolicyIsObeyed) {
  std::ofstream(dir_ / "policy.toml") << "pacing = true\n";
  auto asked = options({"/bin/true"});
  asked.policy_file = dir_ / "policy.toml";
  fs::permissions(asked.policy_file, fs::perms::others_write, fs::perm_options::add);
  const auto refused = launch(asked);
  ASSERT_FALSE(refused) << "anybody may have written that";
  EXPECT_EQ(refused.error().id, "observe-010");
  EXPECT_FALSE(fs::exists(dir_ / "run"));
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
    std::ofstream(dir_ / "run" / ("n-1-" + std::to_string(rank) + ".coxraw"), std::ios::binary)
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

// A rank of a loaded machine found that run.json was not there, then that it was, and took the Run for an older one: 1 in some 15,000
// of those that begin at once.
TEST_F(LaunchOncePerRank, RanksThatBeginAtOnceAllJoin) {
  open_mpi("1", "8", "4711");
  const cox::guest::Launcher* launcher = cox::guest::find_launcher();
  ASSERT_NE(launcher, nullptr);
  cox::trace::RunInfo info;
  info.launch = cox::observe::launch_key(*launcher);
  std::atomic<int> refused{0};
  for (int round = 0; round < 100; ++round) {
    const fs::path run = dir_ / std::to_string(round);
    std::barrier together(12);
    std::vector<std::jthread> ranks;
    ranks.reserve(12);
    for (int r = 0; r < 12; ++r)
      ranks.emplace_back([&] {
        together.arrive_and_wait();
        refused += !cox::observe::join_folder(run, info, *launcher, cox::Rights::Owner);
      });
  }
  EXPECT_EQ(refused, 0);
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
  fs::remove(dir_ / "run" / "n-1-0.coxraw");
  std::ofstream(dir_ / "run" / "thesis.tex") << "precious";
  ASSERT_FALSE(launch(options({"/bin/true"}))) << "somebody's folder";
  EXPECT_FALSE(fs::exists(dir_ / "run" / "run.json"));
}

TEST_F(LaunchOncePerRank, WithoutAnIdTheSameRankOrAnOldRunIsRefused) {
  mpich("0");
  ASSERT_TRUE(launch(options({"/bin/true"})));
  mpich("1");
  ASSERT_TRUE(launch(options({"/bin/true"})));
  EXPECT_FALSE(launch(options({"/bin/true"}))) << "rank 1 was there: another launch";
  mpich("0");
  EXPECT_FALSE(launch(options({"/bin/true"}))) << "and so was rank 0";
  mpich("2");
  EXPECT_TRUE(launch(options({"/bin/true"})));
  mpich("3");
  fs::last_write_time(dir_ / "run" / "run.json", fs::file_time_type::clock::now() - std::chrono::minutes{10});
  EXPECT_FALSE(launch(options({"/bin/true"}))) << "begun ten minutes ago";
}

TEST_F(LaunchOncePerRank, WhoeverHoldsTheClaimsHoldsNobodyUp) {
  mpich("0");
  ASSERT_TRUE(launch(options({"/bin/true"})));
  const fs::path claims = dir_ / "run" / cox::trace::kClaimsFile;
  const int held = ::open(claims.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(held, 0);
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(held, F_OFD_SETLK, &all), 0);
  mpich("1");
  EXPECT_TRUE(launch(options({"/bin/true"})));
  ::close(held);
  fs::remove(claims);
  ASSERT_EQ(::mkfifo(claims.c_str(), 0600), 0);
  EXPECT_TRUE(launch(options({"/bin/true"}))) << "what is no file says nothing";
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

TEST_F(Launch, AGuestWithoutThoseOfLibrariesIsSaidAtTheStart) {
  const auto o = options({"/bin/true"});
  const auto notes = [&] {
    std::string all;
    for (const std::string& note : cox::observe::start_notes(o)) all += note + "\n";
    return all;
  };
  EXPECT_NE(notes().find("without the objects for MPI and Gloo"), std::string::npos) << notes();
  std::ofstream(dir_ / "libcox-gloo.so") << "";
  EXPECT_EQ(notes(), "");
}

TEST_F(Launch, MissingGuestIsSaid) {
  auto o = options({"/bin/true"});
  o.guest_dir = dir_ / "nowhere";
  const auto outcome = launch(o);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "observe-002");
}

/// A host with one processor whose frequency can be capped.
class LaunchEnergy : public Launch {
 protected:
  void SetUp() override {
    Launch::SetUp();
    const fs::path policy = dir_ / "sys/devices/system/cpu/cpufreq/policy0";
    fs::create_directories(policy);
    fs::create_directories(dir_ / "run");
    limit_ = policy / "scaling_max_freq";
    std::ofstream(limit_) << 3000000;
    std::ofstream(policy / "scaling_min_freq") << 800000;
    std::ofstream(policy / "cpuinfo_min_freq") << 800000;
    std::ofstream(policy / "cpuinfo_max_freq") << 3000000;
  }
  [[nodiscard]] LaunchOptions capped(const std::string& script) const {
    LaunchOptions out = options({"/bin/sh", "-c", script});
    out.out = dir_ / "observed";
    out.energy_cap = 0.8;
    out.system_root = dir_;
    return out;
  }
  [[nodiscard]] std::string limit() const {
    std::string text;
    std::ifstream(limit_) >> text;
    return text;
  }
  fs::path limit_;
};

TEST_F(LaunchEnergy, CapsForTheJobAndRestoresAfterIt) {
  const auto outcome = launch(capped("test \"$(cat " + limit_.string() + ")\" = 2400000"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->exit_status, 0) << "the job saw another limit";
  EXPECT_EQ(outcome->energy, "1 frequency limit at 0.8 of what was found");
  EXPECT_FALSE(outcome->energy_problem);
  EXPECT_EQ(limit(), "3000000");
  EXPECT_FALSE(fs::exists(dir_ / "run/cox-energy-cap"));
}

TEST_F(LaunchEnergy, RestoresAfterASignalAndWhereNothingRan) {
  const auto ended = launch(capped("trap 'exit 9' TERM; kill -TERM $PPID; while :; do :; done"));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_status, 9);
  EXPECT_EQ(limit(), "3000000");
  LaunchOptions none = capped("");
  none.out = dir_ / "third";
  none.command = {dir_ / "no-such-program"};
  EXPECT_EQ(launch(none).error().id, "observe-003");
  EXPECT_EQ(limit(), "3000000");
  std::ofstream(limit_) << "garbage";
  EXPECT_EQ(launch(none).error().id, "observe-007");
  EXPECT_FALSE(fs::exists(dir_ / "third"));
}

TEST_F(LaunchEnergy, RestoresAfterEverySignalThatWouldEndUs) {
  for (const int number : {SIGABRT, SIGALRM, SIGIO, SIGPIPE, SIGPROF, SIGPWR, SIGSTKFLT, SIGVTALRM, SIGXCPU,
                           SIGXFSZ, SIGRTMIN, SIGRTMAX}) {
    ::signal(number, SIG_DFL);  // whatever the test was started with; the job inherits it
    const std::string name = std::to_string(number);
    LaunchOptions ended = capped("ulimit -c 0; kill -" + name + " $PPID; while :; do :; done");
    ended.out = dir_ / ("observed-" + name);
    const auto outcome = launch(ended);
    ASSERT_TRUE(outcome) << name;
    EXPECT_EQ(outcome->signal, number) << "it goes to the job";
    EXPECT_EQ(limit(), "3000000") << name;
    EXPECT_FALSE(fs::exists(dir_ / "run/cox-energy-cap")) << name;
  }
}

TEST_F(LaunchEnergy, TheJobInheritsNoneOfTheSignalsThatWeHold) {
  sigset_t before;
  sigprocmask(SIG_BLOCK, nullptr, &before);
  const auto outcome = launch(capped("grep ^SigBlk: /proc/self/status > " + (dir_ / "mask").string()));
  ASSERT_TRUE(outcome) << outcome.error().message;
  std::string word;
  std::string mask;
  std::ifstream(dir_ / "mask") >> word >> mask;
  std::uint64_t expected = 0;
  for (int number = 1; number <= 64; ++number)
    if (sigismember(&before, number) == 1) expected |= std::uint64_t{1} << (number - 1);
  EXPECT_EQ(std::strtoull(mask.c_str(), nullptr, 16), expected) << mask;
  sigset_t after;
  sigprocmask(SIG_BLOCK, nullptr, &after);
  for (const int number : {SIGTERM, SIGALRM, SIGPIPE, SIGXCPU, SIGRTMAX})
    EXPECT_EQ(sigismember(&after, number), sigismember(&before, number)) << number;
}

TEST_F(LaunchEnergy, ALimitThatIsGoneAtTheEndIsTold) {
  const auto outcome = launch(capped("rm " + limit_.string()));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exit_status, 0) << "the job's own";
  ASSERT_TRUE(outcome->energy_problem);
  EXPECT_EQ(outcome->energy_problem->id, "observe-009");
  EXPECT_TRUE(fs::exists(dir_ / "run/cox-energy-cap"));
}

TEST_F(LaunchEnergy, AKilledParentLeavesWhatTheNextRunPutsBack) {
  const pid_t parent = fork();
  if (parent == 0) {
    static_cast<void>(launch(capped("kill -KILL $PPID")));
    _exit(0);
  }
  int status = 0;
  cox_wait_process(parent, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(limit(), "2400000");
  EXPECT_TRUE(fs::exists(dir_ / "run/cox-energy-cap"));
  LaunchOptions again = capped("exit 0");
  again.out = dir_ / "again";
  ASSERT_TRUE(launch(again));
  EXPECT_EQ(limit(), "3000000");
}

TEST_F(Launch, ActuatorsAreSetOnlyWhereAskedForAndNotSetByTheUser) {
  // The words must not name the setting themselves: that would be the command's own choice.
  const auto sees = [](const std::string& priority, const std::string& yield) {
    return std::vector<std::string>{"/bin/sh", "-c",
                                    "test \"$COX_PACE_PRIORITY\" = '" + priority +
                                        "' && test \"$(env | sed -n s/.*yield_when_idle=//p)\" = '" + yield +
                                        "'"};
  };
  LaunchOptions plain = options(sees("", ""));
  plain.system_root = dir_;
  EXPECT_EQ(launch(plain)->exit_status, 0);
  LaunchOptions asked = options(sees("1", "1"));
  asked.out = dir_ / "asked";
  asked.system_root = dir_;
  asked.pace_priority = true;
  asked.wait_mode = cox::pace::WaitMode::Yield;
  EXPECT_EQ(launch(asked)->exit_status, 0);
  setenv("COX_PACE_PRIORITY", "0", 1);
  setenv("OMPI_MCA_mpi_yield_when_idle", "7", 1);
  asked.out = dir_ / "theirs";
  asked.command = sees("0", "7");
  EXPECT_EQ(launch(asked)->exit_status, 0);
  unsetenv("COX_PACE_PRIORITY");
  unsetenv("OMPI_MCA_mpi_yield_when_idle");
}

TEST_F(Launch, EveryJobTossesItsOwnCoinUnlessASeedIsNamed) {
  const auto seen = [&](const std::string& pace, const std::string& folder) {
    LaunchOptions o = options({"/bin/sh", "-c", "echo $COX_PACE > " + (dir_ / "seen").string()});
    o.out = dir_ / folder;
    o.pace = pace;
    EXPECT_TRUE(launch(o));
    std::string text;
    std::ifstream(dir_ / "seen") >> text;
    return text;
  };
  EXPECT_EQ(seen("auto,seed=7", "named"), "auto,seed=7");
  EXPECT_EQ(seen("seed=7,auto", "first"), "seed=7,auto");
  const std::string drawn = seen("auto,window=32", "drawn");
  EXPECT_TRUE(drawn.starts_with("auto,window=32,seed=")) << drawn;
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("SLURM_STEP_ID", "3", 1);
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_NTASKS", "2", 1);
  const std::string one = seen("auto", "ranks");
  setenv("SLURM_PROCID", "1", 1);
  EXPECT_EQ(seen("auto", "ranks"), one) << "every rank has a cox of its own";
  setenv("SLURM_STEP_ID", "4", 1);
  EXPECT_NE(seen("auto", "others"), one);
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS"}) unsetenv(name);
}

}  // namespace
