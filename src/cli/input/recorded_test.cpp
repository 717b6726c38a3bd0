// SPDX-License-Identifier: Apache-2.0
#include "cli/input/recorded.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "cox/trace/raw_format.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;

class RecordedTest : public ::testing::Test {
 protected:
  RecordedTest() {
    std::string name = (fs::temp_directory_path() / "cox-recorded-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  ~RecordedTest() override { fs::remove_all(dir_); }

  static trace::RawHeader head(int rank) {
    trace::RawHeader h{};
    std::memcpy(h.magic, trace::kRawMagic, sizeof h.magic);
    h.version = trace::kRawVersion;
    h.endian = trace::kEndianMark;
    h.rank = rank;
    h.world_size = 4;
    h.ticks_per_second = 1e9;
    h.state = trace::WriterState::Closed;
    return h;
  }
  void write(const char* name, const trace::RawHeader& h,
             std::streamsize bytes = sizeof(trace::RawHeader)) const {
    std::ofstream(dir_ / name, std::ios::binary).write(reinterpret_cast<const char*>(&h), bytes);
  }
  fs::path dir_;
};

TEST_F(RecordedTest, SumsOverRanks) {
  trace::RawHeader a = head(0);
  a.dropped_records = 3;
  a.overhead_ticks = 20;
  trace::RawHeader b = head(2);
  b.dropped_records = 4;
  b.overhead_ticks = 35;
  b.recycled_records = 7;
  b.state = trace::WriterState::Disabled;
  write("a.coxraw", a);
  write("b.coxraw", b);
  const Recorded sum = read_heads(dir_);
  write("nobody.coxraw", head(-1));
  EXPECT_EQ(read_heads(dir_).ranks, sum.ranks);
  EXPECT_EQ(read_heads(dir_).files, 3);
  EXPECT_EQ(sum.files, 2);
  EXPECT_EQ(sum.ranks, (std::set<std::int32_t>{0, 2}));
  EXPECT_EQ(sum.world_size, 4);
  EXPECT_EQ(sum.dropped_records, 7U);
  EXPECT_EQ(sum.recycled_records, 7U);
  EXPECT_EQ(sum.overhead_per_event, Duration{35'000});
  EXPECT_EQ(sum.disabled, 1);
}

TEST_F(RecordedTest, WhatIsNotOursCountsAsNothing) {
  write("short.coxraw", head(1), 100);
  write("other.txt", head(1));
  trace::RawHeader foreign = head(1);
  foreign.magic[0] = 'X';
  write("foreign.coxraw", foreign);
  trace::RawHeader newer = head(1);
  newer.version = 99;
  write("newer.coxraw", newer);
  fs::create_directory(dir_ / "folder.coxraw");
  write("process-without-rank.coxraw", head(-1));
  EXPECT_TRUE(read_heads(dir_).ranks.empty());
  EXPECT_TRUE(read_heads(dir_ / "nowhere").ranks.empty());
}

TEST_F(RecordedTest, ADamagedClockRateGivesNoOverhead) {
  trace::RawHeader h = head(0);
  h.overhead_ticks = 20;
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    h.ticks_per_second = rate;
    write("a.coxraw", h);
    EXPECT_EQ(read_heads(dir_).overhead_per_event, Duration{});
  }
}

TEST_F(RecordedTest, ProcessesThatAreEachAloneAtOneTimeAreCounted) {
  const auto alone = [&](const char* name, std::int64_t from_s, std::int64_t to_s) {
    trace::RawHeader h = head(0);
    h.world_size = 1;
    h.pair_count = 2;
    h.pairs[0].realtime_ns = from_s * 1'000'000'000;
    h.pairs[1].realtime_ns = to_s * 1'000'000'000;
    write(name, h);
  };
  alone("a.coxraw", 10, 20);
  alone("b.coxraw", 21, 30);
  EXPECT_EQ(read_heads(dir_).alone, 2);
  EXPECT_EQ(read_heads(dir_).singletons, 1) << "one after the other";
  alone("c.coxraw", 15, 25);
  EXPECT_EQ(read_heads(dir_).alone, 3);
  EXPECT_EQ(read_heads(dir_).singletons, 2);
}

}  // namespace
}  // namespace cox::cli
