// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cox/simulate/outcome.hpp"

#include "simulate/collective/measured.hpp"

namespace cox::simulate {
namespace {

std::string error_of(const std::string& text) {
  const auto read = parse_measured_times(text, "t.txt");
  return read ? "no error" : read.error().to_string();
}

TEST(MeasuredFile, IsLinesOfCollectiveRanksSizeTime) {
  const auto read = parse_measured_times(
      "# of our machine\n"
      "all-reduce * 1KiB 12us\n"
      "all-reduce * 1MiB 61us 400us 0.01  # retransmitted\n\n"
      "all-gather, 16, 1MB, 1ms\r\n",
      "t.txt");
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_EQ(read->curves.size(), 2U);
  EXPECT_EQ(read->curves[0].ranks, 0);
  EXPECT_EQ(read->curves[0].rows[1].bytes, Bytes{1 << 20});
  EXPECT_EQ(read->curves[0].rows[1].slow, Seconds{400e-6});
  EXPECT_EQ(read->curves[0].rows[1].probability, 0.01);
  EXPECT_EQ(read->curves[1].kind, model::Collective::AllGather);
  EXPECT_EQ(read->curves[1].ranks, 16);
}

TEST(MeasuredFile, WhatIsWrongHasItsLine) {
  EXPECT_EQ(error_of("all-reduce 8 1MiB\n"), "t.txt:1: 3 words, expected 4 or 6");
  EXPECT_NE(
      error_of("\nallreduce 8 1MiB 1us\n").find("t.txt:2: the collective is 'allreduce', expected all-"),
      std::string::npos);
  EXPECT_NE(error_of("all-reduce 1 1MiB 1us\n").find("ranks is '1'"), std::string::npos);
  EXPECT_NE(error_of("all-reduce 8 1 1us\n").find("the size is '1'"), std::string::npos);
  EXPECT_NE(error_of("all-reduce 8 1MiB 0us\n").find("the time is '0us'"), std::string::npos);
  EXPECT_NE(error_of("all-reduce 8 1MiB 9us 8us 0.1\n").find("expected at least 9us"), std::string::npos);
  EXPECT_NE(error_of("all-reduce 8 1MiB 9us 18us 1.1\n").find("the probability is '1.1'"), std::string::npos);
  EXPECT_NE(
      error_of("all-reduce 8 1MiB 9us\nall-reduce 8 1MiB 9us\n").find("t.txt:2: the size is not larger"),
      std::string::npos);
  EXPECT_NE(error_of("all-reduce 8 1MiB 9us\nreduce 8 1MiB 9us\nall-reduce 8 2MiB 9us\n").find("lie apart"),
            std::string::npos);
  EXPECT_NE(error_of("# nothing\n").find("there is no row"), std::string::npos);
  EXPECT_NE(error_of("").find("there is no row"), std::string::npos);
  EXPECT_NE(error_of(std::string("all-reduce 8 1MiB \x1b[31m\n")).find("the time is '?[31m'"),
            std::string::npos);
  std::string many;
  for (int i = 1; i <= 100'001; ++i) many += "all-reduce 8 " + std::to_string(i) + "B 1us\n";
  EXPECT_NE(error_of(many).find("more than 100000 rows"), std::string::npos);
}

model::Scenario measured(double probability) {
  model::Scenario s;
  s.cluster.nodes = 16;
  s.job.steps = 4000;
  s.job.work = model::CollectiveJob{
      .collective = {.kind = model::Collective::AllReduce, .bytes = Bytes{10'000}}, .compute = Seconds{1e-3}};
  s.price = model::CollectivePrice::Table;
  s.table.curves = {{.kind = model::Collective::AllReduce,
                     .ranks = 0,
                     .rows = {{.bytes = Bytes{1'000}, .time = Seconds{1e-3}},
                              {.bytes = Bytes{10'000},
                               .time = Seconds{2e-3},
                               .slow = Seconds{12e-3},
                               .probability = probability}}}};
  return s;
}

TEST(MeasuredFile, ACollectiveTakesItsTimeAndDipsAsOftenAsSaid) {
  const auto plain = simulate(measured(0), {});
  ASSERT_TRUE(plain) << plain.error().to_string();
  EXPECT_NEAR(plain->total.count(), 4000 * 3e-3, 1e-9);
  const auto dips = simulate(measured(0.1), {});
  ASSERT_TRUE(dips);
  // 400 of 4000 steps, 19 more or less: 4 standard deviations.
  EXPECT_NEAR(dips->total.count(), 4000 * 3e-3 + 400 * 10e-3, 4 * 19 * 10e-3);
  EXPECT_EQ(simulate(measured(0.1), {})->total, dips->total);
  model::Scenario other = measured(0.1);
  other.job.as<model::CollectiveJob>().collective.kind = model::Collective::AllGather;
  const auto none = simulate(other, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "simulate-008");
  EXPECT_TRUE(none.error().where);
}

}  // namespace
}  // namespace cox::simulate
