// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "forecast/sample/read.hpp"

namespace cox::forecast {
namespace {

std::string complaint(std::string_view text) {
  const auto made = parse_table(text, "t.csv");
  return made ? "" : made.error().to_string();
}

TEST(Table, OwnWorkIsTakenByStepRankNodeAndPosition) {
  const auto made = parse_table(
      "# of Tuesday\nrank,step,position,compute_ms,node\n"
      "1,5,0,2,0\n0,5,0,1,0\n0,5,1,10,0\n1,5,1,20,0\n"
      "0,6,0,3,0\n1,6,0,4,0\n0,6,1,30,0\n1,6,1,40,0\n",
      "t.csv");
  ASSERT_TRUE(made && *made && (*made)->sample) << complaint("");
  const Sample& s = *(*made)->sample;
  ASSERT_EQ(s.positions.size(), 2U);
  EXPECT_EQ(s.steps[0].number, 5);
  EXPECT_EQ(s.ranks[1].node, 0);
  EXPECT_DOUBLE_EQ(s.positions[0].at(1, 1, 2).count(), 4e-3);
  EXPECT_DOUBLE_EQ(s.positions[1].at(0, 1, 2).count(), 20e-3);
  EXPECT_DOUBLE_EQ(s.steps[0].length.count(), 22e-3) << "the slowest of each position";
}

TEST(Table, SizesAndValuesAreOrderedAndRepetitionsKept) {
  const auto made = parse_table("gpus, step_ms\r\n32, 120\r\n8, 100\r\n8, 102\r\n", "t.csv");
  ASSERT_TRUE(made && *made && (*made)->curve);
  const Curve& c = *(*made)->curve;
  EXPECT_EQ(c.value, CurveValue::StepTime);
  ASSERT_EQ(c.points.size(), 3U);
  EXPECT_EQ(c.points[0].size, 8);
  EXPECT_DOUBLE_EQ(c.points[0].value, 0.1);
  EXPECT_EQ(c.points[2].size, 32);

  const auto rate = parse_table("nodes,throughput_per_s\n4,28100\n", "t.csv");
  ASSERT_TRUE(rate && *rate && (*rate)->curve);
  EXPECT_EQ((*rate)->curve->value, CurveValue::Throughput);
  EXPECT_DOUBLE_EQ((*rate)->curve->points[0].value, 28100);
}

TEST(Table, NamesThatOthersGiveAreReadWithTheirUnits) {
  const auto first = [](const char* text) {
    const auto made = parse_table(text, "t.csv");
    return made && *made && (*made)->curve ? (*made)->curve : std::nullopt;
  };
  for (const char* text : {"# of a paper\nworld_size,seconds\n96,61.5\n", "workers,time_ms\n96,61500\n",
                           "np,iteration_time_s\n96,61.5\n", "chips,iteration_us\n96,61500000\n"}) {
    const auto curve = first(text);
    ASSERT_TRUE(curve) << text;
    EXPECT_EQ(curve->value, CurveValue::StepTime) << text;
    EXPECT_EQ(curve->points[0].size, 96) << text;
    EXPECT_NEAR(curve->points[0].value, 61.5, 1e-9) << text;
  }
  for (const char* text : {"num_gpus,images_per_sec\n8,2900\n", "accelerators,steps_per_second\n8,2900\n"}) {
    const auto curve = first(text);
    ASSERT_TRUE(curve) << text;
    EXPECT_EQ(curve->value, CurveValue::Throughput) << text;
  }
  EXPECT_FALSE(first("gpus,tokens_per_gpu_per_s\n8,2900\n")) << "of one device";
}

TEST(Table, CellsAreBetweenSemicolonsOrTabsTooAndNamesInCapitals) {
  for (const char between : {',', ';', '\t'}) {
    std::string text = "Step,Rank,Node,Compute_ms\n0,0,3,9.5\n0,1,4,9.25\n1,0,3,9\n1,1,4,9\n";
    std::ranges::replace(text, ',', between);
    const auto made = parse_table(text, "t.csv");
    ASSERT_TRUE(made && *made && (*made)->sample) << text;
    EXPECT_EQ((*made)->sample->ranks[1].node, 4) << text;
    EXPECT_DOUBLE_EQ((*made)->sample->positions[0].own[1].count(), 9.25e-3) << text;
  }
  EXPECT_NE(complaint("ranks;step_ms\n4;100,5\n").find("t.csv:2"), std::string::npos) << "a decimal comma";
}

TEST(Table, WhatIsNoTableOfOursIsLeftToOtherReaders) {
  for (const char* text :
       {"", "\n", "{\"a\": 1}\n", "rank,step,time_s\n0,0,1\n", "dp_rank,stage,step,optype\n"}) {
    const auto made = parse_table(text, "t.csv");
    ASSERT_TRUE(made) << text;
    EXPECT_FALSE(made->has_value()) << text;
  }
}

TEST(Table, AValueWithoutUnitOrWithAnUnknownOneIsRefused) {
  for (const char* text :
       {"size,value\n8,1\n", "size,step\n8,1\n", "size,step_min\n8,1\n", "size,throughput\n8,1\n",
        "size,throughput_per_min\n8,1\n", "size,step_s,throughput_per_s\n8,1,1\n",
        "step,rank,compute\n0,0,1\n", "step,rank,compute_fortnights\n0,0,1\n"})
    EXPECT_NE(complaint(text).find("unit"), std::string::npos) << text << ": " << complaint(text);
}

TEST(Table, BadLinesAreToldByNumberAndContent) {
  EXPECT_NE(complaint("size,step_s\n8,1\n\n16,fast\n").find("t.csv:4"), std::string::npos);
  EXPECT_NE(complaint("size,step_s\n8,1\n16,fast\n").find("'16,fast'"), std::string::npos);
  for (const char* row : {"0,1", "-8,1", "8,0", "8,-1", "8,inf", "8,nan", "8", "8,1,1", "2000000,1", "8.5,1"})
    EXPECT_FALSE(complaint(std::string("size,step_s\n") + row + "\n").empty()) << row;
  for (const char* row : {"0,0,-1", "0,0,nan", "-1,0,1", "0,-1,1", "0,2000000,1", "0,0", "a,0,1"})
    EXPECT_FALSE(complaint(std::string("step,rank,compute_s\n") + row + "\n").empty()) << row;
  EXPECT_FALSE(complaint("size,step_s\n").empty()) << "no value at all";
  EXPECT_FALSE(complaint("step,rank,compute_s\n").empty());
}

TEST(Table, EveryRankIsInEveryStepOnceOnItsOneNode) {
  EXPECT_NE(complaint("step,rank,compute_s\n0,0,1\n0,1,1\n1,0,1\n").find("3 values, expected 4"),
            std::string::npos);
  EXPECT_NE(complaint("step,rank,compute_s\n0,0,1\n0,0,1\n0,1,1\n1,0,1\n").find("twice"), std::string::npos);
  EXPECT_NE(complaint("step,rank,compute_s,node\n0,0,1,0\n1,0,1,1\n").find("node"), std::string::npos);
}

TEST(Table, OtherColumnsBesideAreRefused) {
  EXPECT_NE(complaint("model,size,step_s\na,8,1\nb,8,2\n").find("column 1"), std::string::npos);
}

}  // namespace
}  // namespace cox::forecast
