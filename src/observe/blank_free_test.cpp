// SPDX-License-Identifier: Apache-2.0
#include "observe/blank_free.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

class BlankFree : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cox-blank-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
    fs::create_directory(dir_ / "my tools");
    std::ofstream(guest_ = dir_ / "my tools" / "guest.so") << "guest";
  }
  void TearDown() override { fs::remove_all(dir_); }
  fs::path dir_;
  fs::path guest_;
};

TEST_F(BlankFree, APathWithoutStaysAsItIs) {
  EXPECT_EQ(loadable("/usr/lib/cox/guest.so", {}).value(), "/usr/lib/cox/guest.so");
}

TEST_F(BlankFree, OneWithABlankIsReachedThroughALinkThatIsMadeOnce) {
  const Environment environment{{"HOME", (dir_ / "home").string()}};
  const auto first = loadable(guest_, environment);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->string().find(' '), std::string::npos);
  EXPECT_EQ(fs::canonical(*first), fs::canonical(guest_));
  EXPECT_EQ(loadable(guest_, environment).value(), *first);
}

TEST_F(BlankFree, ALinkThatLeadsElsewhereIsNotFollowed) {
  const Environment environment{{"XDG_CACHE_HOME", (dir_ / "cache").string()}};
  const fs::path link = loadable(guest_, environment).value().parent_path();
  fs::remove(link);
  fs::create_directory_symlink(dir_, link);
  EXPECT_EQ(loadable(guest_, environment).error().id, "observe-002");
}

TEST_F(BlankFree, WhereNoPlaceIsWithoutBlankItSaysSo) {
  EXPECT_EQ(loadable(guest_, {{"HOME", (dir_ / "my tools").string()}}).error().id, "observe-002");
  EXPECT_EQ(loadable(guest_, {}).error().id, "observe-002");
}

}  // namespace
}  // namespace cox::observe
