// SPDX-License-Identifier: Apache-2.0
#include "observe/wait_mode.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace cox::observe {
namespace {

namespace fs = std::filesystem;
using pace::WaitMode;
using Variables = std::vector<std::pair<std::string, std::string>>;

const std::string kNemesis(
    "\x7f"
    "ELF\0ch3:nemesis\0",
    17);

class WaitModeTest : public testing::Test {
 protected:
  WaitModeTest() {
    std::string name = (fs::temp_directory_path() / "cox-wait-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ / "usr/lib");
  }
  ~WaitModeTest() override { fs::remove_all(root_); }
  WaitModeTest(const WaitModeTest&) = delete;
  WaitModeTest& operator=(const WaitModeTest&) = delete;

  WaitPlan plan(WaitMode mode, const Environment& environment = {}, std::string_view settings = {},
                const std::vector<std::string>& command = {"mpirun", "./train"}) const {
    return plan_wait_mode(mode, command, environment, settings, LibraryPaths(root_, {}));
  }
  static bool says(const WaitPlan& plan, std::string_view text) {
    return std::ranges::any_of(plan.notes,
                               [&](const std::string& n) { return n.find(text) != std::string::npos; });
  }
  void mpich(const std::string& content) { std::ofstream(root_ / "usr/lib/libmpich.so.12") << content; }
  fs::path root_;
};

TEST_F(WaitModeTest, SetsWhatLibrariesDocument) {
  mpich(kNemesis);
  EXPECT_EQ(plan(WaitMode::Yield).variables,
            (Variables{{"OMPI_MCA_mpi_yield_when_idle", "1"}, {"MPIR_CVAR_POLLS_BEFORE_YIELD", "1"}}));
  EXPECT_EQ(plan(WaitMode::Spin).variables,
            (Variables{{"OMPI_MCA_mpi_yield_when_idle", "0"}, {"MPIR_CVAR_POLLS_BEFORE_YIELD", "0"}}));
  EXPECT_TRUE(plan(WaitMode::Unknown).notes.empty());
}

TEST_F(WaitModeTest, SaysWhereItCannot) {
  const WaitPlan none = plan(WaitMode::Yield);
  EXPECT_EQ(none.variables, (Variables{{"OMPI_MCA_mpi_yield_when_idle", "1"}}));
  EXPECT_TRUE(says(none, "MPICH: not found here"));
  EXPECT_TRUE(says(none, "Gloo: blocks unless"));
  EXPECT_TRUE(says(none, "NCCL: no setting"));
  mpich(std::string("cvars of the ch3:nemesis channel\0ch4:ucx\0MPIR_CVAR_POLLS_BEFORE_YIELD", 69));
  EXPECT_TRUE(says(plan(WaitMode::Yield), "MPICH: no setting for it"));
  EXPECT_EQ(plan(WaitMode::Yield).variables, (Variables{{"OMPI_MCA_mpi_yield_when_idle", "1"}}));
  mpich(kNemesis);
  const WaitPlan block = plan(WaitMode::Block);
  EXPECT_EQ(block.variables, Variables{});
  EXPECT_TRUE(says(block, "Open MPI: has no setting to block"));
  EXPECT_TRUE(says(block, "MPICH: has no setting to block"));
}

TEST_F(WaitModeTest, WhatTheUserSetIsNeverReplaced) {
  mpich(kNemesis);
  const WaitPlan env =
      plan(WaitMode::Yield, {{"OMPI_MCA_mpi_yield_when_idle", "0"}, {"MPICH_POLLS_BEFORE_YIELD", "5"}});
  EXPECT_EQ(env.variables, Variables{});
  EXPECT_TRUE(says(env, "OMPI_MCA_mpi_yield_when_idle=0 stays"));
  EXPECT_TRUE(says(env, "MPICH_POLLS_BEFORE_YIELD=5 stays"));
  const WaitPlan file = plan(WaitMode::Yield, {}, "mpi_yield_when_idle = 0\n");
  EXPECT_EQ(file.variables, (Variables{{"MPIR_CVAR_POLLS_BEFORE_YIELD", "1"}}));
  EXPECT_TRUE(says(file, "parameter file"));
  const WaitPlan words =
      plan(WaitMode::Yield, {}, {}, {"mpirun", "--mca", "mpi_yield_when_idle", "0", "./train"});
  EXPECT_EQ(words.variables, (Variables{{"MPIR_CVAR_POLLS_BEFORE_YIELD", "1"}}));
  EXPECT_TRUE(says(words, "as the command sets it"));
}

}  // namespace
}  // namespace cox::observe
