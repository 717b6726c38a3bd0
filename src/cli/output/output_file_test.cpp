// SPDX-License-Identifier: Apache-2.0
#include "cli/output/output_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>

namespace cox::cli {
namespace {

namespace fs = std::filesystem;

class OutputTest : public ::testing::Test {
 protected:
  OutputTest() {
    std::string name = (fs::temp_directory_path() / "cox-output-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  ~OutputTest() override { fs::remove_all(dir_); }
  std::string in_dir(const char* name) const { return (dir_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()));
  }
  static std::string content(const std::string& path) { return *read_file(path, 1000); }

  fs::path dir_;
  std::ostringstream standard_;
};

TEST_F(OutputTest, TheNameAppearsOnlyWithTheWholeContent) {
  auto output = Output::open(in_dir("x"), IfExists::Fail, standard_);
  ASSERT_TRUE(output);
  output->stream() << "hello";
  EXPECT_FALSE(fs::exists(in_dir("x")));
  ASSERT_TRUE(output->commit());
  EXPECT_EQ(content(in_dir("x")), "hello");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputTest, WithoutCommitNothingStays) {
  {
    auto output = Output::open(in_dir("x"), IfExists::Fail, standard_);
    ASSERT_TRUE(output);
    output->stream() << "half";
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(OutputTest, ExistingFilesAreReplacedOnlyOnDemand) {
  ASSERT_TRUE(write_file_atomically(in_dir("x"), "old", IfExists::Fail));
  const auto refused = Output::open(in_dir("x"), IfExists::Fail, standard_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "base-005");
  EXPECT_EQ(content(in_dir("x")), "old");
  auto forced = Output::open(in_dir("x"), IfExists::Replace, standard_);
  ASSERT_TRUE(forced);
  forced->stream() << "new";
  ASSERT_TRUE(forced->commit());
  EXPECT_EQ(content(in_dir("x")), "new");
}

TEST_F(OutputTest, DevicesAndFoldersAreNeverReplaced) {
  const auto device = Output::open("/dev/null", IfExists::Replace, standard_);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().id, "base-003");
  EXPECT_EQ(Output::open(dir_.string(), IfExists::Replace, standard_).error().id, "base-003");
}

TEST_F(OutputTest, MissingFolderIsAnError) {
  const auto output = Output::open(in_dir("no/such/x"), IfExists::Fail, standard_);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().id, "base-006");
}

TEST_F(OutputTest, NoNameAndDashMeanStandardOutput) {
  for (const char* name : {"", "-"}) {
    auto output = Output::open(name, IfExists::Fail, standard_);
    ASSERT_TRUE(output);
    EXPECT_FALSE(output->is_file());
    output->stream() << "x";
    EXPECT_TRUE(output->commit());
  }
  EXPECT_EQ(standard_.str(), "xx");
}

TEST_F(OutputTest, ClosedStandardOutputIsAnError) {
  standard_.setstate(std::ios::badbit);
  auto output = Output::open("", IfExists::Fail, standard_);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->commit().error().id, "cli-006");
}

}  // namespace
}  // namespace cox::cli
