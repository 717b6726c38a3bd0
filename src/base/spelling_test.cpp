// SPDX-License-Identifier: Apache-2.0
#include "cox/base/spelling.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cox {
namespace {

TEST(Spelling, DistanceCountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2);
  EXPECT_EQ(edit_distance("dianose", "diagnose"), 1);
}

TEST(Spelling, SwappedNeighboursAreOneEdit) {
  EXPECT_EQ(edit_distance("reprot", "report"), 1);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
}

TEST(Spelling, DistanceIsSymmetric) {
  for (const auto* a : {"observe", "report", "x", ""})
    for (const auto* b : {"obsreve", "export", "xx", "doctor"})
      EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
}

TEST(Spelling, NearestIsATypoOrABeginning) {
  const std::vector<std::string> verbs = {"observe", "diagnose", "report", "export"};
  EXPECT_EQ(nearest("obsreve", verbs), "observe");
  EXPECT_EQ(nearest("diag", verbs), "diagnose");
  EXPECT_EQ(nearest("exprot", verbs), "export");
  EXPECT_EQ(nearest("simulate", verbs), std::nullopt);
  EXPECT_EQ(nearest("", verbs), std::nullopt);
  EXPECT_EQ(nearest(std::string(10000, 'a'), verbs), std::nullopt);
}

TEST(Spelling, NamesInCamelCaseGetHyphens) {
  EXPECT_EQ(hyphenated("AllReduce"), "all-reduce");
  EXPECT_EQ(hyphenated("Barrier"), "barrier");
  EXPECT_EQ(hyphenated(""), "");
}

TEST(Spelling, ShownTextIsPrintableAndShort) {
  EXPECT_EQ(shown("25us"), "25us");
  EXPECT_EQ(shown("a\x1b[31m\n\xc2\xb5"), "a?[31m???");
  EXPECT_EQ(shown(std::string(41, 'x')), std::string(40, 'x') + "...");
  EXPECT_EQ(shown("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace cox
