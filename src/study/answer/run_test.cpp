// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "cox/study/computation.hpp"

namespace cox::study {
namespace {

Study study_of(const std::string& compute) {
  auto s = parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"" + compute +
          "\"\n[[input]]\nname = \"given\"\nvalue = \"28ms\"\nfrom = \"source\"\n"
          "[[printed]]\nname = \"p\"\nquantity = \"twice\"\nvalue = \"56ms\"\nline = 1\n",
      "one.toml");
  EXPECT_TRUE(s) << s.error().to_string();
  return *s;
}

Result<Computation> compute_twice(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const Seconds given, in.time("given"));
  Computation c;
  c.values = {{.name = "twice", .value = Quantity::of(2 * given), .engine = "by-hand"}};
  c.picture.series = {{.name = "ours", .x = {1}, .y = {(2 * given).count() * 1e3}, .of = {"twice"}}};
  return c;
}

constexpr std::array kOfAnotherRoom = {NamedComputation{"twice", compute_twice}};

TEST(RunStudy, AnotherRoomBringsItsOwnComputation) {
  ComputationTable table;
  table.add(engine_computations());
  table.add(kOfAnotherRoom);
  const auto a = run_study(study_of("twice"), table);
  ASSERT_TRUE(a) << a.error().to_string();
  EXPECT_EQ(a->verdict, Verdict::Follows);
  EXPECT_EQ(table.names().front(), engine_computations().front().name);
  EXPECT_EQ(table.names().back(), "twice");
  // The printed 56 ms stand beside ours, in the picture's unit.
  ASSERT_EQ(a->computation.picture.series.size(), 2U);
  EXPECT_EQ(a->computation.picture.series[1].name, "ours, printed");
  EXPECT_TRUE(a->computation.picture.series[1].is_printed);
  EXPECT_EQ(a->computation.picture.series[1].curve, 0) << "it has its curve's colour";
  EXPECT_DOUBLE_EQ(a->computation.picture.series[1].y.front(), 56);
}

TEST(RunStudy, OneThatNobodyBringsIsRefusedWithTheOthersNames) {
  ComputationTable table;
  table.add(kOfAnotherRoom);
  const auto a = run_study(study_of("thrice"), table);
  ASSERT_FALSE(a);
  EXPECT_EQ(a.error().id, "study-003");
  EXPECT_EQ(a.error().hint, "there are: twice");
}

Result<Computation> count_given(const Inputs& in, const ComputeOptions& /*options*/) {
  COX_TRY(const int given, in.count("given"));
  Computation c;
  c.values = {{.name = "given", .value = Quantity::count(given), .engine = "by-hand"}};
  return c;
}

// Half a device is none: a part is not cut off unsaid.
TEST(RunStudy, ACountThatIsNotWholeIsRefused) {
  constexpr std::array kCount = {NamedComputation{"count", count_given}};
  ComputationTable table;
  table.add(kCount);
  auto s = parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"count\"\n"
      "[[input]]\nname = \"given\"\nvalue = 8\nfrom = \"source\"\n",
      "one.toml");
  ASSERT_TRUE(s && run_study(*s, table));
  ASSERT_TRUE(set_input(*s, "given=8.9"));
  const auto a = run_study(*s, table);
  ASSERT_FALSE(a);
  EXPECT_EQ(a.error().message, "input 'given' is 8.900, expected a whole number");
}

TEST(ComputationTableDeathTest, ANameMeansOneComputation) {
  ComputationTable table;
  table.add(kOfAnotherRoom);
  EXPECT_DEATH(table.add(kOfAnotherRoom), "a name means one computation");
}

}  // namespace
}  // namespace cox::study
