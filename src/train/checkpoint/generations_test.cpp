// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/generations.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cox/base/file.hpp"

namespace cox::train {
namespace {

namespace fs = std::filesystem;

class GenerationsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("generations-") + info->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Ten parameters with one moment, by two ranks.
  void save(std::int64_t version) {
    Generations all(folder_);
    ASSERT_TRUE(all.open());
    ASSERT_EQ(all.prepare(version), 0);
    Manifest m = job_;
    m.version = version;
    m.parts = {{.elements = {.first = 0, .count = 6}, .hash = 0},
               {.elements = {.first = 6, .count = 4}, .hash = 0}};
    for (int r = 0; r < 2; ++r) {
      const auto at = static_cast<std::size_t>(r);
      std::vector<float> x, moment;
      for (std::int64_t i = m.parts[at].elements.first; i < m.parts[at].elements.end(); ++i) {
        x.push_back(static_cast<float>(version * 100 + i));
        moment.push_back(-x.back());
      }
      const std::span<const float> values[] = {x, moment};
      ASSERT_EQ(all.write_part(version, r, values, m.parts[at].hash), 0);
    }
    ASSERT_EQ(all.publish(m), 0);
  }
  [[nodiscard]] std::int64_t newest() const {
    const auto found = Generations(folder_).newest(job_);
    return found && found->state ? found->state->version : -1;
  }
  [[nodiscard]] static std::string read(const fs::path& file) { return *read_file(file, 1 << 20); }
  static void write(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  }

  fs::path folder_;
  Manifest job_{.version = 0, .job = "a job", .elements = 10, .moments = 1, .parts = {}};
};

TEST_F(GenerationsTest, TheNewestIsReadWithAllItsParts) {
  EXPECT_FALSE(*Generations(folder_).any());
  EXPECT_FALSE(Generations(folder_).newest(job_)->state);
  for (const std::int64_t version : {5, 9, 120}) save(version);
  EXPECT_TRUE(*Generations(folder_).any());
  const auto found = Generations(folder_).newest(job_);
  ASSERT_TRUE(found && found->state);
  EXPECT_EQ(found->state->version, 120);
  EXPECT_TRUE(found->refused.empty());
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(found->state->parameters[i], 12000.0F + static_cast<float>(i));
    EXPECT_EQ(found->state->moments[i], -12000.0F - static_cast<float>(i));
  }
  // the one before is there, the one before that is not
  EXPECT_TRUE(fs::exists(folder_ / "00000009" / "manifest"));
  EXPECT_FALSE(fs::exists(folder_ / "00000005"));
}

// Every file of it, each byte in turn changed, cut or gone: it is refused by name, and the one before is taken.
TEST_F(GenerationsTest, WhatIsNotAsItWasWrittenIsRefusedAndTheOneBeforeTaken) {
  save(7);
  save(8);
  int damaged = 0;
  for (const char* name : {"manifest", "part-0", "part-1"}) {
    const fs::path file = folder_ / "00000008" / name;
    const std::string whole = read(file);
    const auto refused = [&](const char* how) {
      const auto found = Generations(folder_).newest(job_);
      ASSERT_TRUE(found && found->state) << name << how;
      EXPECT_EQ(found->state->version, 7) << name << how;
      ASSERT_EQ(found->refused.size(), 1U);
      EXPECT_EQ(found->refused[0].version, 8);
      EXPECT_NE(found->refused[0].what.find(name), std::string::npos) << found->refused[0].what;
      ++damaged;
    };
    for (std::size_t i = 0; i < whole.size(); i += 3) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ 0x10);
      write(file, changed);
      refused(" changed");
      write(file, whole.substr(0, i));
      refused(" cut");
    }
    write(file, whole + "x");
    refused(" longer");
    fs::remove(file);
    refused(" gone");
    write(file, whole);
    EXPECT_EQ(newest(), 8);
  }
  EXPECT_GT(damaged, 20);
}

TEST_F(GenerationsTest, WhereNoneIsWholeNothingIsBegunAnew) {
  save(7);
  write(folder_ / "00000007" / "part-0", "");
  const auto found = Generations(folder_).newest(job_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().id, "train-008");
  EXPECT_NE(found.error().message.find("version 7: part-0 is not as it was written"), std::string::npos)
      << found.error().message;
}

TEST_F(GenerationsTest, HalfWrittenOnesAreNeverLooked) {
  save(7);
  const fs::path left = folder_ / "00000008.tmp-0123456789abcdef",
                 other = folder_ / "00000005.tmp-0000000000000000";
  fs::copy(folder_ / "00000007", left);
  fs::copy(folder_ / "00000007", other);
  fs::create_directory(folder_ / "00000005.tmp-mine");
  EXPECT_EQ(newest(), 7);
  save(8);  // beside what killed jobs left, which goes
  EXPECT_EQ(newest(), 8);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(other));
  EXPECT_TRUE(fs::exists(folder_ / "00000005.tmp-mine"));
}

TEST_F(GenerationsTest, OneJobAtATimeHasAFolder) {
  Generations one(folder_);
  ASSERT_TRUE(one.open());
  Generations two(folder_);
  const Status refused = two.open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "train-008");
  EXPECT_NE(refused.error().message.find("another job saves to"), std::string::npos);
}

// A folder that is newer by its name, of whomever: the one before is the one before what was published.
TEST_F(GenerationsTest, TheOneBeforeIsKeptWhateverElseIsThere) {
  save(7);
  fs::create_directory(folder_ / "20261130");
  write(folder_ / "20261130" / "thesis.tex", "mine");
  fs::create_directory(folder_ / "30000000");
  write(folder_ / "30000000" / "manifest", "of somebody");
  save(8);
  EXPECT_TRUE(fs::exists(folder_ / "00000007" / "manifest"));
  save(9);
  EXPECT_FALSE(fs::exists(folder_ / "00000007"));
  EXPECT_TRUE(fs::exists(folder_ / "00000008" / "manifest"));
  const auto found = Generations(folder_).newest(job_);
  ASSERT_TRUE(found && found->state);
  EXPECT_EQ(found->state->version, 9);
  ASSERT_EQ(found->refused.size(), 1U) << "a thesis is no checkpoint";
  EXPECT_EQ(Generations(folder_).set_aside(found->refused), 0);
  EXPECT_TRUE(fs::exists(folder_ / "30000000.refused" / "manifest"));
  EXPECT_TRUE(fs::exists(folder_ / "20261130" / "thesis.tex"));
}

// What is there and cannot be looked at may be whole: nothing begins anew, nothing is set aside.
TEST_F(GenerationsTest, WhatCannotBeReadIsNotTakenForDamaged) {
  save(7);
  save(8);
  fs::remove(folder_ / "00000008" / "part-1");
  fs::create_directory(folder_ / "00000008" / "part-1");
  const auto found = Generations(folder_).newest(job_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().id, "train-007");
  const fs::path file = folder_ / "00000007" / "manifest";
  const auto under = Generations(file).newest(job_);  // not a folder
  ASSERT_FALSE(under);
  EXPECT_EQ(under.error().id, "train-007");
  EXPECT_FALSE(Generations(file).any());
}

TEST_F(GenerationsTest, OfAnotherJobIsAnErrorWithBothJobs) {
  save(7);
  Manifest other = job_;
  other.job = "another";
  const auto found = Generations(folder_).newest(other);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("a job"), std::string::npos);
  EXPECT_NE(found.error().hint.find("another"), std::string::npos);
  other = job_;
  other.moments = 2;
  EXPECT_FALSE(Generations(folder_).newest(other));
}

TEST_F(GenerationsTest, ForeignFilesStay) {
  save(7);
  write(folder_ / "00000007" / "notes.txt", "mine");
  write(folder_ / "README", "mine");
  fs::create_directory(folder_ / "00000003");
  write(folder_ / "00000003" / "thesis.tex", "mine");
  fs::create_directory(folder_ / "00000009.tmp-0123456789abcdef");
  write(folder_ / "00000009.tmp-0123456789abcdef" / "part-x", "mine");
  for (const std::int64_t version : {8, 9, 10}) save(version);
  EXPECT_EQ(read(folder_ / "00000007" / "notes.txt"), "mine");
  EXPECT_EQ(read(folder_ / "00000003" / "thesis.tex"), "mine");
  EXPECT_EQ(read(folder_ / "README"), "mine");
  EXPECT_EQ(newest(), 10);
  EXPECT_EQ(read(folder_ / "00000009.tmp-0123456789abcdef" / "part-x"), "mine");
  // what was refused is set aside, and its place is free
  for (const char* name : {"00000010.refused", "00000010.refused-2"}) {
    write(folder_ / "00000010" / "part-0", "");
    EXPECT_EQ(newest(), 9);
    EXPECT_EQ(Generations(folder_).set_aside(Generations(folder_).newest(job_)->refused), 0);
    EXPECT_TRUE(fs::exists(folder_ / name / "manifest"));
    save(10);
    EXPECT_EQ(newest(), 10);
  }
}

// The cause comes back, and nothing has the name of a checkpoint.
TEST_F(GenerationsTest, WhatCannotBeWrittenSaysWhy) {
  write(folder_, "a file");
  EXPECT_FALSE(Generations(folder_).open());
  fs::remove(folder_);
  Generations all(folder_);
  ASSERT_TRUE(all.open());
  all.set_nonce(1);
  ASSERT_EQ(all.prepare(1), 0);
  const fs::path made = folder_ / "00000001.tmp-0000000000000001";
  fs::create_symlink("/dev/full", made / "part-0");
  const std::vector<float> x(10);
  const std::span<const float> values[] = {x};
  std::uint64_t hash = 0;
  EXPECT_EQ(all.write_part(1, 0, values, hash), ELOOP) << "links are not followed";
  fs::remove(made / "part-0");
  Manifest m = job_;
  m.version = 1;
  m.moments = 0;
  m.parts = {{.elements = {.first = 0, .count = 10}, .hash = 0}};
  EXPECT_EQ(all.publish(m), ENOENT) << "a part that nobody sees";
  ASSERT_EQ(all.write_part(1, 0, values, m.parts[0].hash), 0);
  write(made / "part-0", "short");
  EXPECT_EQ(all.publish(m), EIO);
  all.give_up(1);
  EXPECT_FALSE(fs::exists(made));
  EXPECT_EQ(all.write_part(1, 0, values, hash), ENOENT);
  EXPECT_FALSE(*all.any());
}

}  // namespace
}  // namespace cox::train
