// SPDX-License-Identifier: Apache-2.0
#include "cli/frame/error_reference.hpp"

#include <gtest/gtest.h>

#include <set>

namespace cox::cli {
namespace {

TEST(ErrorReference, EntriesEndWhereTheNextBegins) {
  const auto entries =
      parse_error_reference("# Errors\n\nintro\n\n## a-001: first\n\nbody\nmore\n\n## b-002: second\n");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].id, "a-001");
  EXPECT_EQ(entries[0].title, "first");
  EXPECT_EQ(entries[0].body, "body\nmore");
  EXPECT_EQ(entries[1].id, "b-002");
  EXPECT_EQ(entries[1].body, "");
}

TEST(ErrorReference, PagesWithoutEntriesAreEmpty) {
  EXPECT_TRUE(parse_error_reference("").empty());
  EXPECT_TRUE(parse_error_reference("## no newline before").empty());
  EXPECT_TRUE(parse_error_reference("\n## heading without colon\n").empty());
}

TEST(ErrorReference, EveryEntryOfThisBuildSaysWhatToDo) {
  std::set<std::string> ids;
  for (const ErrorEntry& entry : error_reference()) {
    EXPECT_TRUE(ids.insert(entry.id).second) << entry.id << " is there twice";
    EXPECT_FALSE(entry.title.empty()) << entry.id;
    EXPECT_NE(entry.body.find("What to do: "), std::string::npos) << entry.id;
  }
  EXPECT_GE(ids.size(), 20U);
}

}  // namespace
}  // namespace cox::cli
