// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "diagnose/figures/figures.hpp"
#include "support/figures_sample.hpp"

namespace cox::diagnose {
namespace {

using test::of_files;
using test::says;

TEST(CompareFiles, OfManyFilesTheOneThatLeavesTheMedianIsNamed) {
  std::mt19937_64 random(5);
  const FiguresAnswer a = understand_figures(of_files(8, 0.01, 3, 1.3, random));
  EXPECT_EQ(figure_lines(a).front(), "8 files: node3: test differs from the median.");
  EXPECT_TRUE(says(a, "node3: test against the median of 7 others: 30 % longer at every size."));
  EXPECT_TRUE(says(a, "7 do not differ from the median of the others that measure the same"));
  EXPECT_TRUE(a.has_trouble());
  const auto j = nlohmann::json::parse(to_json(a, "x"))["result"];
  EXPECT_EQ(j["files"], 8);
  EXPECT_EQ(j["comparisons"][3]["of_files"], 7);
  const FiguresAnswer two = understand_figures(of_files(2, 0.01, 1, 1.3, random));
  EXPECT_EQ(figure_lines(two).front(), "2 files: node1: test differs from node0: test.");
  trace::Figures other = of_files(2, 0.01, 1, 1.3, random);
  std::get<trace::SizeTable>(other.table).series[1].measures = "another";
  EXPECT_EQ(figure_lines(understand_figures(other)).front(), "2 files: no two of them can be compared.");
}

/// Files that a folder's comparisons name.
std::set<std::string> named_of(const trace::Figures& folder) {
  std::set<std::string> named;
  for (const SizeComparison& c : understand_figures(folder).comparisons)
    if (differs(c) || !c.outlying.empty()) named.insert(c.after);
  return named;
}

TEST(CompareFiles, QuietFoldersStayQuiet) {
  std::mt19937_64 random(41);
  int all = 0;
  for (const int files : {3, 4, 6, 16})
    for (const double noise : {0.01, 0.05, 0.1}) {
      int loud = 0;
      for (int i = 0; i < 40; ++i) loud += !named_of(of_files(files, noise, -1, 1, random)).empty();
      EXPECT_LE(loud, 2) << files << " files, noise " << noise;
      all += loud;
    }
  EXPECT_LE(all, 4) << "of 480";
}

TEST(CompareFiles, BesideOneBadFileNoGoodOneIsNamed) {
  std::mt19937_64 random(43);
  for (const int files : {3, 4, 6, 16})
    for (const double noise : {0.01, 0.05}) {
      int right = 0;
      for (int i = 0; i < 40; ++i) {
        const int bad = static_cast<int>(random() % static_cast<unsigned>(files));
        const std::set<std::string> named = named_of(of_files(files, noise, bad, 1.3, random));
        right += named == std::set<std::string>{"node" + std::to_string(bad) + ": test"};
      }
      EXPECT_GE(right, 38) << files << " files, noise " << noise;
    }
  // One size of one file of three: in the median of two others as well.
  trace::Figures folder = of_files(3, 0.01, -1, 1, random);
  trace::SizeTime& slow = std::get<trace::SizeTable>(folder.table).series[1].values[9];
  slow.time = Seconds(3 * slow.time.count());
  EXPECT_EQ(named_of(folder), std::set<std::string>{"node1: test"});
}

TEST(CompareFiles, TwoThatRemainAreComparedOnce) {
  std::mt19937_64 random(44);
  const FiguresAnswer a = understand_figures(of_files(3, 0.01, 0, 1.5, random));
  ASSERT_EQ(a.comparisons.size(), 2U);
  EXPECT_EQ(a.comparisons[0].after, "node0: test");
  EXPECT_EQ(a.comparisons[0].of_files, 2);
  EXPECT_EQ(a.comparisons[1].before, "node1: test");
  EXPECT_EQ(a.comparisons[1].after, "node2: test");
  EXPECT_EQ(a.comparisons[1].of_files, 0);
}

}  // namespace
}  // namespace cox::diagnose
