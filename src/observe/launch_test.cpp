// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/launch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  EXPECT_EQ(line.rfind("/nonexistent/theirs.so:", 0), 0U) << line;
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

TEST_F(Launch, MissingGuestIsSaid) {
  auto o = options({"/bin/true"});
  o.guest_dir = dir_ / "nowhere";
  const auto outcome = launch(o);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "observe-002");
}

}  // namespace
