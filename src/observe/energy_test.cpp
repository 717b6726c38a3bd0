// SPDX-License-Identifier: Apache-2.0
#include "observe/energy.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "cox/base/processes.h"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPolicy = "sys/devices/system/cpu/cpufreq/policy";
constexpr const char* kZone = "sys/class/powercap/intel-rapl:";
constexpr const char* kState = "run/cox-energy-cap";

/// A host's limits as files, and a count of what is written to them.
class Energy : public testing::Test {
 protected:
  Energy() {
    std::string name = (fs::temp_directory_path() / "cox-energy-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ / "run");
    files_ = {.read = real_limit_files().read, .write = [this](const fs::path& path, std::int64_t value) {
                ++writes_;
                const auto fault = faults_.find(path.lexically_relative(root_).string());
                if (fault != faults_.end()) {
                  const Fault& f = fault->second;
                  if (f.below > 0 && value < f.below) return f.silent;
                  if (f.step > 0) value = (value + f.step - 1) / f.step * f.step;
                }
                return real_limit_files().write(path, value);
              }};
  }
  ~Energy() override { fs::remove_all(root_); }
  Energy(const Energy&) = delete;
  Energy& operator=(const Energy&) = delete;

  void file(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string text(const fs::path& path) const {
    std::ifstream in(root_ / path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::int64_t value(const fs::path& path) const { return std::strtoll(text(path).c_str(), nullptr, 10); }
  void processors(int count, std::int64_t khz = 3'000'000) {
    for (int i = 0; i < count; ++i) {
      const std::string policy = kPolicy + std::to_string(i) + "/";
      file(policy + "scaling_max_freq", std::to_string(khz) + "\n");
      file(policy + "scaling_min_freq", "800000\n");
      file(policy + "cpuinfo_min_freq", "800000\n");
      file(policy + "cpuinfo_max_freq", "3500000\n");
    }
  }
  void packages(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string zone = kZone + std::to_string(i) + "/";
      file(zone + "constraint_0_power_limit_uw", "200000000\n");
      file(zone + "constraint_0_max_power_uw", "205000000\n");
      file(zone + "constraint_1_power_limit_uw", "240000000\n");
      file(zone + ":0/constraint_0_power_limit_uw", "90000000\n");
    }
    file("sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw", "90000000\n");
  }
  std::int64_t frequency(int i) const { return value(kPolicy + std::to_string(i) + "/scaling_max_freq"); }
  /// What a killed process leaves.
  void left(const std::string& lines, const std::string& owner = "4000000 1") {
    file(kState, "cox-energy-cap 1\n" + owner + "\n" + lines);
  }

  struct Fault {
    std::int64_t below = 0;  // smaller values are not written
    bool silent = false;     // and that is not told
    std::int64_t step = 0;   // values are rounded up to multiples
  };
  std::map<std::string, Fault> faults_;
  int writes_ = 0;
  fs::path root_;
  LimitFiles files_;
};

TEST_F(Energy, CapsEveryProcessorAndPutsThemBack) {
  processors(12);
  {
    auto cap = EnergyCap::apply(root_, 0.8, files_);
    ASSERT_TRUE(cap) << cap.error().message;
    EXPECT_EQ(cap->limits().size(), 12U);
    EXPECT_EQ(cap->summary(), "12 frequency limits at 0.8 of what were found");
    for (int i = 0; i < 12; ++i) EXPECT_EQ(frequency(i), 2'400'000);
    EXPECT_TRUE(fs::exists(root_ / kState));
    EXPECT_TRUE(cap->restore());
    EXPECT_EQ(frequency(11), 3'000'000);
    EXPECT_FALSE(fs::exists(root_ / kState));
  }
  {
    const auto cap = EnergyCap::apply(root_, 0.5, files_);
    ASSERT_TRUE(cap);
    EXPECT_EQ(frequency(3), 1'500'000);
  }
  for (int i = 0; i < 12; ++i) EXPECT_EQ(frequency(i), 3'000'000) << "the destructor restores";
  EXPECT_FALSE(fs::exists(root_ / kState));
}

TEST_F(Energy, PowerLimitsOfPackagesWhereThereAreNoFrequencies) {
  packages(2);
  const auto cap = EnergyCap::apply(root_, 0.75, files_);
  ASSERT_TRUE(cap) << cap.error().message;
  EXPECT_EQ(cap->limits().size(), 4U) << "two packages, two constraints each, no zones inside";
  EXPECT_EQ(value(std::string(kZone) + "1/constraint_1_power_limit_uw"), 180'000'000);
  EXPECT_EQ(value("sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw"), 90'000'000);
}

TEST_F(Energy, PowerWhereFrequenciesCannotBePutBack) {
  processors(2);
  packages(1);
  faults_[std::string(kPolicy) + "1/scaling_max_freq"] = {.below = 9'000'000};  // refuses everything
  const auto cap = EnergyCap::apply(root_, 0.8, files_);
  ASSERT_TRUE(cap) << cap.error().message;
  EXPECT_EQ(frequency(0), 3'000'000);
  EXPECT_EQ(value(std::string(kZone) + "0/constraint_0_power_limit_uw"), 160'000'000);
}

TEST_F(Energy, NeverBelowTheLeastAndNeverAboveWhatWasFound) {
  processors(2);
  file(std::string(kPolicy) + "1/scaling_min_freq", "2900000\n");
  const auto cap = EnergyCap::apply(root_, 0.6, files_);
  ASSERT_TRUE(cap);
  EXPECT_EQ(frequency(0), 1'800'000);
  EXPECT_EQ(frequency(1), 2'900'000);
  for (const EnergyLimit& limit : cap->limits()) EXPECT_LE(limit.set, limit.found);
}

TEST_F(Energy, AWriteThatFailsTakesBackThoseBeforeIt) {
  for (const bool silent : {false, true}) {
    processors(4);
    faults_[std::string(kPolicy) + "2/scaling_max_freq"] = {.below = 3'000'000, .silent = silent};
    const auto cap = EnergyCap::apply(root_, 0.8, files_);
    ASSERT_FALSE(cap) << "silent " << silent;
    EXPECT_EQ(cap.error().id, "observe-007");
    EXPECT_NE(cap.error().message.find("policy2"), std::string::npos) << cap.error().message;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(frequency(i), 3'000'000);
    EXPECT_FALSE(fs::exists(root_ / kState));
  }
}

TEST_F(Energy, RoundingOfTheHardwareIsKeptInMind) {
  processors(1);
  faults_[std::string(kPolicy) + "0/scaling_max_freq"] = {.step = 25'000};
  auto cap = EnergyCap::apply(root_, 0.77, files_);
  ASSERT_TRUE(cap) << cap.error().message;
  EXPECT_EQ(frequency(0), 2'325'000);
  EXPECT_NE(text(kState).find(" 3000000 2325000"), std::string::npos) << text(kState);
  EXPECT_TRUE(cap->restore());
  EXPECT_EQ(frequency(0), 3'000'000);
}

TEST_F(Energy, KilledBeforeARoundedCapWasReadBackItIsStillOurs) {
  processors(3);
  for (int i = 0; i < 3; ++i) faults_[kPolicy + std::to_string(i) + "/scaling_max_freq"] = {.step = 25'000};
  const pid_t child = fork();
  if (child == 0) {
    int lowered = 0;
    LimitFiles mortal = files_;
    mortal.write = [&](const fs::path& path, std::int64_t value) {
      const bool written = files_.write(path, value);
      if (value < 3'000'000 && ++lowered == 2) ::raise(SIGKILL);
      return written;
    };
    static_cast<void>(EnergyCap::apply(root_, 0.77, mortal));
    _exit(0);
  }
  int status = 0;
  cox_wait_process(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(frequency(0), 2'325'000) << "2,310,000 was asked for";
  EXPECT_EQ(frequency(1), 2'325'000);
  EXPECT_EQ(frequency(2), 3'000'000);
  EXPECT_EQ(restore_left_caps(root_, files_).value_or(0), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(frequency(i), 3'000'000);
  EXPECT_FALSE(fs::exists(root_ / kState));
}

TEST_F(Energy, WhatOthersSetMeanwhileStays) {
  processors(3);
  {
    const auto cap = EnergyCap::apply(root_, 0.8, files_);
    ASSERT_TRUE(cap);
    file(std::string(kPolicy) + "1/scaling_max_freq", "2700000\n");  // raised by its administrator
    file(std::string(kPolicy) + "2/scaling_max_freq", "2000000\n");  // lowered by heat
  }
  EXPECT_EQ(frequency(0), 3'000'000);
  EXPECT_EQ(frequency(1), 2'700'000);
  EXPECT_EQ(frequency(2), 3'000'000);
}

TEST_F(Energy, NothingIsWrittenWhereNothingCanBePutBackOrRecorded) {
  EXPECT_EQ(EnergyCap::apply(root_, 0.8, files_).error().id, "observe-007") << "offers nothing";
  processors(2);
  for (const double ratio : {0.49, 1.0, 1.5, -1.0, 0.0, std::nan("")})
    EXPECT_EQ(EnergyCap::apply(root_, ratio, files_).error().id, "observe-007") << ratio;
  fs::remove_all(root_ / "run");
  EXPECT_EQ(EnergyCap::apply(root_, 0.8, files_).error().id, "observe-007") << "no place for the state";
  EXPECT_EQ(writes_, 0);
}

TEST_F(Energy, HostileLimitsAreLeftAlone) {
  for (const char* bad : {"", "\n", "garbage\n", "-1\n", "0\n", "3000000x\n", " 3000000\n", "0x1000\n",
                          "99999999999999999999999\n", "9000000000000\n", "3600000\n", "100\n"}) {
    processors(2);
    file(std::string(kPolicy) + "1/scaling_max_freq", bad);
    const auto cap = EnergyCap::apply(root_, 0.8, files_);
    ASSERT_FALSE(cap) << bad;
    EXPECT_EQ(cap.error().id, "observe-007");
    EXPECT_EQ(text(std::string(kPolicy) + "1/scaling_max_freq"), bad);
  }
  processors(2);
  fs::remove(root_ / (std::string(kPolicy) + "1/scaling_max_freq"));
  file("elsewhere", "3000000\n");
  fs::create_symlink(root_ / "elsewhere", root_ / (std::string(kPolicy) + "1/scaling_max_freq"));
  EXPECT_FALSE(EnergyCap::apply(root_, 0.8, files_)) << "no link is followed";
  EXPECT_EQ(writes_, 0);
}

TEST_F(Energy, WhatAKilledProcessLeftIsNamedAndUndone) {
  processors(2, 2'400'000);
  left(std::string(kPolicy) + "0/scaling_max_freq 3000000 2400000\n" + kPolicy +
       "1/scaling_max_freq 3000000 2400000\n");
  EnergyState state = energy_state(root_);
  EXPECT_TRUE(state.has_file);
  EXPECT_FALSE(state.running);
  EXPECT_EQ(state.process, 4000000);
  EXPECT_EQ(state.held, 2U);
  const auto back = restore_left_caps(root_, files_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, 2U);
  EXPECT_EQ(frequency(0), 3'000'000);
  EXPECT_EQ(frequency(1), 3'000'000);
  EXPECT_FALSE(energy_state(root_).has_file);
  EXPECT_EQ(restore_left_caps(root_, files_).value_or(9), 0U) << "nothing left";
}

TEST_F(Energy, TheNextJobStartsFromWhatWasFoundFirst) {
  processors(1, 2'400'000);
  left(std::string(kPolicy) + "0/scaling_max_freq 3000000 2400000\n");
  {
    const auto cap = EnergyCap::apply(root_, 0.8, files_);
    ASSERT_TRUE(cap) << cap.error().message;
    EXPECT_EQ(frequency(0), 2'400'000) << "0.8 of 3 GHz, not of 2.4";
  }
  EXPECT_EQ(frequency(0), 3'000'000);
}

TEST_F(Energy, CapsOfARunningProcessAreItsOwn) {
  processors(1, 2'400'000);
  left(std::string(kPolicy) + "0/scaling_max_freq 3000000 2400000\n", "77 12345");
  file("proc/77/stat", "77 (a) b) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1\n");
  EXPECT_TRUE(energy_state(root_).running);
  EXPECT_EQ(EnergyCap::apply(root_, 0.8, files_).error().id, "observe-008");
  EXPECT_EQ(restore_left_caps(root_, files_).error().id, "observe-008");
  EXPECT_EQ(writes_, 0);
  file("proc/77/stat", "77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 99999 1 1\n");
  EXPECT_TRUE(restore_left_caps(root_, files_)) << "the number was given to another process";
}

TEST_F(Energy, AHostileStateFileIsRefusedWhole) {
  processors(2, 2'400'000);
  const std::string good = std::string(kPolicy) + "0/scaling_max_freq 3000000 2400000\n";
  const std::string policy = std::string(kPolicy) + "1/";
  for (const std::string& bad :
       {policy + "scaling_max_freq 9000000 2400000\n",  // above the hardware
        policy + "scaling_max_freq 2400000 3000000\n", policy + "scaling_max_freq -3 -4\n",
        policy + "scaling_max_freq 3000000\n", policy + "scaling_max_freq 3000000 2400000 1\n",
        policy + "scaling_max_freq 3000000 2400000", policy + "scaling_min_freq 3000000 2400000\n",
        std::string("etc/passwd 3000000 2400000\n"), policy + "../../../../etc/passwd 3000000 2400000\n",
        std::string("/") + policy + "scaling_max_freq 3000000 2400000\n",
        std::string(kZone) + "0:0/constraint_0_power_limit_uw 3000000 2400000\n",
        std::string(kZone) + "0/constraint_x_power_limit_uw 3000000 2400000\n",
        policy + "scaling_max_freq 99999999999999999999 2400000\n", std::string("\n"), std::string("x\n")}) {
    left(good + bad);
    const auto back = restore_left_caps(root_, files_);
    ASSERT_FALSE(back) << bad;
    EXPECT_EQ(back.error().id, "observe-009") << bad;
    EXPECT_EQ(EnergyCap::apply(root_, 0.8, files_).error().id, "observe-009") << bad;
    EXPECT_TRUE(fs::exists(root_ / kState)) << bad;
  }
  for (const std::string& whole :
       {std::string(), std::string("cox-energy-cap 2\n1 1\n") + good, std::string("cox-energy-cap 1\n"),
        std::string("cox-energy-cap 1\n0 0\n") + good, std::string(3 << 20, 'x')}) {
    file(kState, whole);
    EXPECT_EQ(restore_left_caps(root_, files_).error().id, "observe-009");
    EXPECT_TRUE(energy_state(root_).unreadable);
  }
  fs::remove(root_ / kState);
  fs::create_symlink(root_ / "elsewhere", root_ / kState);
  EXPECT_EQ(restore_left_caps(root_, files_).error().id, "observe-009");
  EXPECT_EQ(writes_, 0);
}

TEST_F(Energy, ALimitThatCannotBePutBackKeepsTheFile) {
  processors(2);
  auto cap = EnergyCap::apply(root_, 0.8, files_);
  ASSERT_TRUE(cap);
  faults_[std::string(kPolicy) + "0/scaling_max_freq"] = {.below = 9'000'000};
  const Status back = cap->restore();
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().id, "observe-009");
  EXPECT_EQ(frequency(1), 3'000'000) << "the others are back";
  EXPECT_TRUE(fs::exists(root_ / kState));
  faults_.clear();
  EXPECT_EQ(restore_left_caps(root_, files_).value_or(0), 2U);
  EXPECT_EQ(frequency(0), 3'000'000);
}

}  // namespace
}  // namespace cox::observe
