// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/doctor.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

/// A small tree that looks like a machine.
class FakeMachine {
 public:
  FakeMachine() {
    std::string name = (fs::temp_directory_path() / "cox-doctor-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    where_.root = root_;
    where_.work_dir = root_;
    where_.guest_dirs = {root_ / "opt/cox"};
    where_.environment = {{"PATH", "/usr/bin"}};
  }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;
  ~FakeMachine() { fs::remove_all(root_); }

  void file(const fs::path& path, const std::string& text = {}) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Check check(const std::string& key) const {
    for (const Check& c : examine(where_))
      if (c.key == key) return c;
    ADD_FAILURE() << "no check named " << key;
    return {};
  }
  Surroundings& where() { return where_; }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
  Surroundings where_;
};

TEST(Doctor, OfAProgramThatTheLoaderLeavesAloneItSaysWhy) {
  FakeMachine machine;
  const auto told = [&](const fs::path& program) {
    machine.where().program = program;
    const Check check = machine.check("program");
    return std::string(name_of(check.health)) + ": " + check.text;
  };
  const fs::path copy = machine.root() / "program";
  fs::copy_file("/proc/self/exe", copy);
  EXPECT_TRUE(told(copy).starts_with("ok: ")) << told(copy);
  ASSERT_EQ(::chmod(copy.c_str(), 04755), 0);
  EXPECT_TRUE(told(copy).starts_with("ok: ")) << "setuid to who runs it: " << told(copy);
  if (::getuid() == 0) {  // only root can give a file away
    ASSERT_EQ(::chown(copy.c_str(), 65534, 65534), 0);
    ASSERT_EQ(::chmod(copy.c_str(), 04755), 0);
    EXPECT_NE(told(copy).find("setuid"), std::string::npos);
  }
  ASSERT_EQ(::chmod(copy.c_str(), 0644), 0);
  EXPECT_NE(told(copy).find("not executable"), std::string::npos);
  machine.file("script", "#!/bin/sh\n");
  ASSERT_EQ(::chmod((machine.root() / "script").c_str(), 0755), 0);
  EXPECT_TRUE(told(machine.root() / "script").starts_with("note: ")) << told(machine.root() / "script");
  Elf64_Ehdr alone{};  // no part asks for an interpreter
  std::memcpy(alone.e_ident, ELFMAG, SELFMAG);
  alone.e_ident[EI_CLASS] = ELFCLASS64;
  alone.e_machine = EM_X86_64;
  machine.file("static", std::string(reinterpret_cast<const char*>(&alone), sizeof alone));
  ASSERT_EQ(::chmod((machine.root() / "static").c_str(), 0755), 0);
  EXPECT_NE(told(machine.root() / "static").find("linked statically"), std::string::npos);
  EXPECT_TRUE(told(machine.root() / "nowhere").starts_with("missing: "));
  fs::copy_file("/proc/self/exe", machine.root() / "cut");
  fs::resize_file(machine.root() / "cut", 4096);
  EXPECT_NE(told(machine.root() / "cut").find("damaged"), std::string::npos) << told(machine.root() / "cut");
  EXPECT_NE(told("no-such-program").find("not in PATH"), std::string::npos);
  machine.file("usr/bin/in-path", "#!/bin/sh\n");
  ASSERT_EQ(::chmod((machine.root() / "usr/bin/in-path").c_str(), 0755), 0);
  EXPECT_TRUE(told("in-path").starts_with("note: ")) << told("in-path");
}

TEST(Doctor, AnEmptyMachineCanObserveNothingAndSaysWhy) {
  const FakeMachine machine;
  EXPECT_EQ(machine.check("guest").health, Health::Missing);
  EXPECT_NE(machine.check("guest").text.find("libcox-preload.so is not in"), std::string::npos);
  EXPECT_EQ(machine.check("mpi.openmpi").health, Health::Missing);
  EXPECT_EQ(machine.check("mpi.openmpi").hint, "") << "installing it would not help";
  EXPECT_EQ(machine.check("torch").health, Health::Missing);
  EXPECT_EQ(machine.check("shm").health, Health::Limited);
  EXPECT_EQ(machine.check("clock").health, Health::Limited);
}

TEST(Doctor, LibrariesAreFoundThroughLdSoConf) {
  FakeMachine machine;
  machine.file("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  machine.file("etc/ld.so.conf.d/site.conf", "# ours\n/opt/mpi/lib  # here\n");
  machine.file("opt/mpi/lib/libmpi.so.40");
  machine.file("usr/bin/mpirun.openmpi");
  EXPECT_EQ(machine.check("mpi.openmpi").health, Health::Limited) << "found, but no guest object for it";
  machine.file("opt/cox/libcox-mpi-openmpi.so");
  const Check check = machine.check("mpi.openmpi");
  EXPECT_EQ(check.health, Health::Ok);
  EXPECT_EQ(check.text, "/opt/mpi/lib/libmpi.so.40, /usr/bin/mpirun.openmpi");
}

TEST(Doctor, WhatIsWorthInstallingIsNamed) {
  FakeMachine machine;
  machine.file("opt/cox/libcox-mpi-openmpi.so");
  EXPECT_EQ(machine.check("mpi.openmpi").hint, "apt-get install openmpi-bin");
}

TEST(Doctor, LdLibraryPathComesFirst) {
  FakeMachine machine;
  machine.file("usr/lib/libgloo.so.0");
  machine.file("home/me/lib/libgloo.so.0");
  machine.where().environment["LD_LIBRARY_PATH"] = "/home/me/lib";
  EXPECT_EQ(machine.check("gloo").text.rfind("/home/me/lib/libgloo.so.0", 0), 0U);
}

TEST(Doctor, ConfFilesThatIncludeThemselvesEnd) {
  FakeMachine machine;
  machine.file("etc/ld.so.conf", "include /etc/*.conf\n");
  EXPECT_EQ(machine.check("mpi.mpich").health, Health::Missing);
}

TEST(Doctor, TorchIsReadNotImported) {
  FakeMachine machine;
  machine.file("usr/lib/python3/dist-packages/torch/version.py", "__version__ = '1.13.0a0'\ncuda = None\n");
  const Check limited = machine.check("torch");
  EXPECT_EQ(limited.health, Health::Limited);
  EXPECT_EQ(limited.text.rfind("1.13.0a0 in /usr/lib/python3/dist-packages/torch", 0), 0U);
  machine.file("opt/cox/libcox-gloo.so");
  EXPECT_EQ(machine.check("torch").health, Health::Ok);
}

TEST(Doctor, TorchWithDamagedVersionFileIsStillFound) {
  FakeMachine machine;
  machine.file("usr/lib/python3/dist-packages/torch/version.py", "__version__ = 'never closed");
  EXPECT_EQ(machine.check("torch").text.rfind("never closed in ", 0), 0U);
}

TEST(Doctor, SetuidLauncherIsNamed) {
  FakeMachine machine;
  machine.file("usr/bin/srun");
  EXPECT_EQ(machine.check("secure").health, Health::Ok);
  const fs::path launcher = machine.root() / "usr/bin/srun";
  ASSERT_EQ(::chmod(launcher.c_str(), 04755), 0);
  EXPECT_EQ(machine.check("secure").health, Health::Ok) << "setuid to who runs it";
  if (::getuid() != 0) return;  // only root can give a file away
  ASSERT_EQ(::chown(launcher.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chmod(launcher.c_str(), 04755), 0);
  const Check check = machine.check("secure");
  EXPECT_EQ(check.health, Health::Limited);
  EXPECT_NE(check.text.find("/usr/bin/srun"), std::string::npos);
}

TEST(Doctor, InvariantCounterNeedsBothFlags) {
  FakeMachine machine;
  machine.file("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc constant_tsc\n");
  EXPECT_EQ(machine.check("clock").health, Health::Limited);
  machine.file("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n");
  EXPECT_EQ(machine.check("clock").health, Health::Limited) << "nobody knows what the kernel uses";
  const std::string source = "sys/devices/system/clocksource/clocksource0/current_clocksource";
  machine.file(source, "hpet\n");
  EXPECT_NE(machine.check("clock").text.find("tells the time by hpet: clock_gettime is used"),
            std::string::npos);
  machine.file(source, "tsc\n");
  EXPECT_EQ(machine.check("clock").health, Health::Ok);
}

TEST(Doctor, ControlGroupLimitsOfBothVersions) {
  FakeMachine machine;
  EXPECT_EQ(machine.check("limits").health, Health::Note);
  machine.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  machine.file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(machine.check("limits").health, Health::Note) << "-1 means no limit";
  machine.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  EXPECT_NE(machine.check("limits").text.find("limited to 1.5 cores"), std::string::npos);
  machine.file("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(machine.check("limits").health, Health::Note);
  machine.file("sys/fs/cgroup/cpu.max", "200000 100000\n");
  machine.file("sys/fs/cgroup/memory.max", "4000000000\n");
  const Check check = machine.check("limits");
  EXPECT_EQ(check.health, Health::Limited);
  EXPECT_NE(check.text.find("limited to 2 cores, memory limited to 4.00 GB"), std::string::npos)
      << check.text;
}

TEST(Doctor, DisabledByTheEnvironment) {
  FakeMachine machine;
  EXPECT_EQ(machine.check("environment").health, Health::Ok);
  machine.where().environment["LD_PRELOAD"] = "/usr/lib/theirs.so";
  EXPECT_EQ(machine.check("environment").health, Health::Note);
  machine.where().environment["COX_DISABLE"] = "1";
  EXPECT_EQ(machine.check("environment").health, Health::Missing);
}

TEST(Doctor, AVariableThatGuestsCannotReadIsNamed) {
  FakeMachine machine;
  const auto told = [&](const char* name, const char* text) {
    machine.where().environment[name] = text;
    const Check check = machine.check("environment");
    machine.where().environment.erase(name);
    return std::string(name_of(check.health)) + ": " + check.text;
  };
  EXPECT_EQ(told("COX_MAX_SIZE", "lots"),
            "limited: COX_MAX_SIZE=lots is no whole number: it counts as not set");
  EXPECT_EQ(told("COX_MAX_OVERHEAD", "5%"),
            "limited: COX_MAX_OVERHEAD=5% is no percentage: it counts as not set");
  EXPECT_EQ(told("COX_CLOCK", "hpet"),
            "limited: COX_CLOCK=hpet: expected tsc or monotonic; it counts as not set");
  EXPECT_TRUE(told("COX_MAX_SIZE", "8000000").starts_with("ok: "));
  EXPECT_TRUE(told("COX_MAX_OVERHEAD", "2.5").starts_with("ok: "));
  EXPECT_TRUE(told("COX_SHARE", "group").starts_with("ok: "));
}

TEST(Doctor, ThisMachineIsExaminedWithoutHarm) {
  const auto checks = examine(real_surroundings());
  EXPECT_GE(checks.size(), 10U);
  EXPECT_TRUE(std::all_of(checks.begin(), checks.end(), [](const Check& c) { return !c.text.empty(); }));
}

TEST(Doctor, EveryVariableSaysWhatItMeans) {
  for (const EnvVariable& v : environment_variables()) {
    EXPECT_EQ(std::string(v.name).rfind("COX_", 0), 0U);
    EXPECT_NE(std::string(v.meaning), "");
  }
}

}  // namespace
}  // namespace cox::observe
