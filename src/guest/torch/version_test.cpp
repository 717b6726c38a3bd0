// SPDX-License-Identifier: Apache-2.0
#include "guest/torch/version.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cox::guest::torch {
namespace {

namespace fs = std::filesystem;

TEST(TorchVersion, OnlyVersionsThatWereHeldAgainstTheirHeaders) {
  for (const char* file :
       {"libtorch_cpu.so.1.13", "/usr/lib/libtorch_cpu.so.1.13.0", "libtorch_cpu.so.2.0",
        "libtorch_cpu.so.2.6", "/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.2.14", "libtorch_cpu.so.2.14.1"})
    EXPECT_TRUE(knows_ranges(file)) << file;
  for (const char* file :
       {"libtorch_cpu.so.1.12", "libtorch_cpu.so.1.14", "libtorch_cpu.so.2.15", "libtorch_cpu.so.3.0",
        "libtorch_cpu.so.12.6", "libtorch_cpu.so.1.130", "libtorch_cpu.so", "libtorch_cpu.so.",
        "libtorch_cpu.so.2", "libtorch_cpu.so.2.", "libtorch_cpu.so.2.x", "libtorch_cpu.so.2.6rc",
        "libtorch.so.2.6", "libtorch_cpu.so.2.6/other.so", "libtorch_cpu.so.99999999999999999999.6", ""})
    EXPECT_FALSE(knows_ranges(file)) << file;
}

/// A folder laid out as a wheel's.
class Wheel : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cox-wheel-XXXXXX").string();
    root_ = mkdtemp(name.data());
    fs::create_directories(root_ / "torch" / "lib");
  }
  void TearDown() override { fs::remove_all(root_); }
  [[nodiscard]] bool is_known(const std::string& version) const {
    std::ofstream(beside()) << version;
    return knows_ranges(library().c_str());
  }
  [[nodiscard]] fs::path beside() const { return root_ / "torch" / "version.py"; }
  [[nodiscard]] std::string library() const { return (root_ / "torch" / "lib" / "libtorch_cpu.so").string(); }

  fs::path root_;
};

TEST_F(Wheel, SaysItsVersionInAFileBeside) {
  EXPECT_FALSE(knows_ranges(library().c_str())) << "there is none";
  EXPECT_TRUE(is_known("__version__ = '1.13.1+cu117'\ndebug = False\n"));
  EXPECT_TRUE(is_known(
      "from typing import Optional\n\n__all__ = ['__version__', 'cuda']\n__version__ = '2.6.0+cpu'\n"));
  EXPECT_FALSE(is_known("from typing import Optional\n\n__all__ = ['__version__', 'cuda']\n"));
  EXPECT_TRUE(is_known("__version__ = \"2.6.0+cpu\"\n"));
  EXPECT_TRUE(is_known("__version__: str = '2.14.1'\n"));
  for (const char* text :
       {"", "__version__", "__version__ =", "__version__ = '", "__version__ = '2'", "__version__ = '2.15.0'",
        "__version__ = '1.12.1'", "__version__ = 2.6", "__version__\n= '2.6.0'", "x__version__ = '2.6.0'",
        "# 2.6.0\n", "__version__ = '2.6rc1'"})
    EXPECT_FALSE(is_known(text)) << text;
}

TEST_F(Wheel, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(beside().c_str(), 0600), 0);
  EXPECT_FALSE(knows_ranges(library().c_str()));
  fs::remove(beside());
  fs::create_directory(beside());
  EXPECT_FALSE(knows_ranges(library().c_str()));
}

TEST_F(Wheel, APathThatIsTooLongIsNotKnown) {
  const std::string deep = "/" + std::string(5000, 'd') + "/libtorch_cpu.so";
  EXPECT_FALSE(knows_ranges(deep.c_str()));
}

}  // namespace
}  // namespace cox::guest::torch
