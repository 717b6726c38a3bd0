// SPDX-License-Identifier: Apache-2.0
#include "cox/base/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cox {
namespace {

namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cox-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] fs::path at(const char* name) const { return folder_ / name; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

 private:
  fs::path folder_;
};

std::string text(const MappedFile& file) {
  std::string out;
  std::transform(file.bytes().begin(), file.bytes().end(), std::back_inserter(out),
                 [](std::byte b) { return static_cast<char>(b); });
  return out;
}

TEST_F(File, ComesBackAsWritten) {
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(write_file_atomically(at("x"), content, IfExists::Fail));
  EXPECT_EQ(read_file(at("x"), 100).value(), content);
  EXPECT_EQ(text(MappedFile::open(at("x")).value()), content);
  EXPECT_EQ(entries(), 1U) << "a temporary file was left";
}

TEST_F(File, AnEmptyFileIsAFile) {
  ASSERT_TRUE(write_file_atomically(at("x"), "", IfExists::Fail));
  EXPECT_EQ(read_file(at("x"), 0).value(), "");
  EXPECT_TRUE(MappedFile::open(at("x")).value().bytes().empty());
}

TEST_F(File, IsNotOverwrittenUnlessTold) {
  ASSERT_TRUE(write_file_atomically(at("x"), "old", IfExists::Fail));
  const auto again = write_file_atomically(at("x"), "new", IfExists::Fail);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().id, "base-005");
  EXPECT_NE(again.error().hint.find("--force"), std::string::npos);
  EXPECT_EQ(read_file(at("x"), 10).value(), "old");
  ASSERT_TRUE(write_file_atomically(at("x"), "new", IfExists::Replace));
  EXPECT_EQ(read_file(at("x"), 10).value(), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, OfSeveralWritersExactlyOneMakesIt) {
  for (int round = 0; round < 20; ++round) {
    const fs::path path = at(("r" + std::to_string(round)).c_str());
    std::atomic<int> made{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> writers;
    writers.reserve(8);
    for (int i = 0; i < 8; ++i)
      writers.emplace_back([&, i] {
        const Status done = write_file_atomically(path, std::to_string(i), IfExists::Fail);
        if (done) ++made;
        if (!done && done.error().id == "base-005") ++refused;
      });
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(refused, 7);
    EXPECT_EQ(read_file(path, 10).value().size(), 1U);
  }
  EXPECT_EQ(entries(), 20U) << "a temporary file was left";
}

TEST_F(File, AMappedFileOutlivesItsReplacement) {
  ASSERT_TRUE(write_file_atomically(at("x"), "old", IfExists::Fail));
  const MappedFile before = MappedFile::open(at("x")).value();
  ASSERT_TRUE(write_file_atomically(at("x"), "newer", IfExists::Replace));
  EXPECT_EQ(text(before), "old");
}

TEST_F(File, MovesLeaveNothingBehind) {
  ASSERT_TRUE(write_file_atomically(at("x"), "one", IfExists::Fail));
  ASSERT_TRUE(write_file_atomically(at("y"), "two", IfExists::Fail));
  MappedFile a = MappedFile::open(at("x")).value();
  MappedFile b = std::move(a);
  EXPECT_EQ(text(b), "one");
  b = MappedFile::open(at("y")).value();
  EXPECT_EQ(text(b), "two");
}

TEST_F(File, MissingIsNotFound) {
  const auto read = read_file(at("missing"), 10);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().id, "base-002");
  EXPECT_EQ(read.error().code, Errc::NotFound);
  EXPECT_NE(read.error().to_string().find("missing: "), std::string::npos);
  EXPECT_EQ(MappedFile::open(at("missing")).error().code, Errc::NotFound);
}

TEST_F(File, FoldersAndPipesAreRefusedWithoutBlocking) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const fs::path& path : {at("pipe"), at(".")}) {
    EXPECT_EQ(read_file(path, 10).error().id, "base-003");
    EXPECT_EQ(MappedFile::open(path).error().id, "base-003");
    EXPECT_EQ(write_file_atomically(path, "x", IfExists::Replace).error().id, "base-003");
  }
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

TEST_F(File, LongerThanTheLimitIsRefused) {
  ASSERT_TRUE(write_file_atomically(at("x"), "12345", IfExists::Fail));
  EXPECT_TRUE(read_file(at("x"), 5));
  const auto read = read_file(at("x"), 4);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().id, "base-004");
  EXPECT_EQ(read.error().message, "5 bytes long, expected at most 4");
}

TEST_F(File, AFolderThatIsNotThereCannotBeWrittenTo) {
  const auto written = write_file_atomically(at("nowhere") / "x", "x", IfExists::Fail);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().id, "base-006");
  EXPECT_EQ(entries(), 0U);
}

}  // namespace
}  // namespace cox
