// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/nccl_profiler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "support/test_data.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

using namespace cox::literals;
using namespace std::chrono_literals;

constexpr const char* kFixture = "traces/nccl-profiler/allreduce-1node-4ranks.jsonl";

ProfilerTrace parse(const std::string& text) {
  auto trace = parse_nccl_profiler(ByteSource::over(text, 1 << 30));
  EXPECT_TRUE(trace);
  return trace ? *std::move(trace) : ProfilerTrace{};
}

trace::Run map(const ProfilerTrace& trace) {
  PartBuilder part("f", "nccl-profiler");
  map_nccl_profiler(trace, part);
  return std::move(part).finish();
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Two ranks of one process: init, launch and collective of each, with a kernel or with channel timers.
std::string small_trace(bool kernels) {
  std::string out;
  for (const int rank : {0, 1}) {
    const std::string who =
        R"("gpuUuid":"g)" + std::to_string(rank) + R"(","commId":255,"rank":)" + std::to_string(rank);
    const auto span = [&](double from, double to) {
      return R"("start":{"ts":)" + std::to_string(1000 + 10 * rank + from) +
             R"(,"pid":7,"tid":1},"stop":{"ts":)" + std::to_string(1000 + 10 * rank + to) +
             R"(,"pid":7,"tid":1})";
    };
    const std::string n = std::to_string(rank);
    out += R"({"type":"ProfilerLifecycle","func":"ProfilerInit",)" + who + "," + span(0, 0) +
           R"(,"details":{"nranks":2,"commName":""}})"
           "\n";
    out += R"({"recordType":"event","type":"ncclProfileKernelLaunch",)" + who + "," + span(1, 3) +
           R"(,"extCorrId":)" + n +
           R"(,"eventAddr":"0xa","details":{}})"
           "\n";
    out +=
        R"({"recordType":"event","type":"ncclProfileColl",)" + who + "," + span(4, 5) +
        R"(,"eventAddr":"0xc)" + n +
        R"(","details":{"func":"AllGather","seq":3,"algo":"RING","proto":"LL","channels":1,"count":100,"root":0,"dtype":"ncclFloat32"}})"
        "\n";
    if (kernels) {
      out += R"({"recordType":"cuptiActivity","type":"KERNEL","extCorrId":)" + n + R"(,"deviceId":)" +
             std::to_string(5 - rank) + "," + span(3, 50 - 10 * rank) + "}\n";
    } else {
      out +=
          R"({"recordType":"state","eventAddr":"0xd","ts":1060,"name":"KernelChStop","id":22,"pTimer":5000040000})"
          "\n";
      out += R"({"recordType":"event","type":"ncclProfileKernelCh",)" + who + "," + span(6, 7) +
             R"(,"parentObj":"0xc)" + n + R"(","eventAddr":"0xd","details":{"channel":0,"pTimer":50000)" +
             (rank == 0 ? "0" : "2") +
             R"(0000}})"
             "\n";
    }
  }
  return out;
}

TEST(NcclProfiler, KernelsComeToTheirRankThroughTheLaunch) {
  const trace::Run run = map(parse(small_trace(true)));
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.world_size, 2);
  const RankTrack& one = run.ranks[1];
  EXPECT_EQ(one.rank, Rank(1));
  EXPECT_EQ(one.local_rank, LocalRank(4));
  ASSERT_EQ(one.events.size(), 1U);
  EXPECT_EQ(one.events.begin[0], Duration(12us));  // 1013, counted from the first launch at 1001
  EXPECT_EQ(one.events.end[0], Duration(49us));
  EXPECT_EQ(one.events.collective(0), model::Collective::AllGather);
  EXPECT_EQ(one.events.bytes[0], 800_B);
  EXPECT_EQ(one.events.seq[0], 3U);
  ASSERT_EQ(one.launches.size(), 1U);
  EXPECT_EQ(one.launches[0].begin, Duration(10us));
  EXPECT_EQ(run.communicators.front().name, "0xff AllGather");
  EXPECT_EQ(run.communicators.front().size, 2);
}

TEST(NcclProfiler, ChannelTimersStandInForKernels) {
  const trace::Run run = map(parse(small_trace(false)));
  ASSERT_EQ(run.ranks.size(), 2U);
  for (const RankTrack& t : run.ranks) ASSERT_EQ(t.events.size(), 1U);
  EXPECT_EQ(run.ranks[0].events.end[0] - run.ranks[0].events.begin[0], Duration(40us));
  EXPECT_EQ(run.ranks[1].events.end[0] - run.ranks[1].events.begin[0], Duration(20us));
  EXPECT_EQ(run.ranks[0].events.end[0], run.ranks[1].events.end[0]);
  EXPECT_EQ(run.ranks[0].timing, "collective=device timer of the channels");
}

TEST(NcclProfiler, CutsAndChangesNeverCrash) {
  const std::string whole = small_trace(true) + small_trace(false);
  for (std::size_t n = 0; n < whole.size(); n += 3) {
    static_cast<void>(map(parse(whole.substr(0, n))));
    std::string changed = whole;
    changed[n] = '9';
    static_cast<void>(map(parse(changed)));
  }
}

TEST(NcclProfiler, FixtureCountsAgreeWithAnIndependentCount) {
  COX_NEED_DATA(path, kFixture);
  const std::string text = text_of(path);
  std::map<std::string, std::int64_t> counted;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    ++counted[json.value("recordType", json.value("type", ""))];
  }
  const ProfilerTrace trace = parse(text);
  EXPECT_EQ(trace.states, counted["state"]);
  EXPECT_EQ(trace.events, counted["event"]);
  EXPECT_EQ(trace.lifecycle, counted["ProfilerLifecycle"]);
  EXPECT_EQ(trace.kernel_lines, counted["cuptiActivity"]);
  EXPECT_EQ(trace.states, 138);
  EXPECT_EQ(trace.events, 137);
  EXPECT_EQ(trace.lifecycle, 8);
  EXPECT_EQ(trace.unusable, 0);
  ASSERT_EQ(trace.collectives.size(), 4U);
  for (const ProfilerCollective& c : trace.collectives) {
    EXPECT_EQ(c.channels, 24);
    EXPECT_EQ(c.channels_seen, 24);
    EXPECT_EQ(c.algorithm, "RING");
    EXPECT_EQ(c.protocol, "SIMPLE");
  }
}

TEST(NcclProfiler, FixtureGivesFourRanksWithTheirKernels) {
  COX_NEED_DATA(path, kFixture);
  const auto run = read_run(kNcclProfilerReader, path, {.threads = 1, .progress = {}});
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 4U);
  EXPECT_EQ(run->world_size, 4);
  EXPECT_EQ(run->nodes.size(), 1U);
  EXPECT_EQ(run->times, TimesKind::Clocked);
  const double kernel_us[] = {625.50, 5141.50, 9597.50, 14163.25};
  const double launch_us[] = {4475, 4371, 4465, 4777};
  double first_us = 1e18, last_us = -1e18, first_end_us = 1e18, last_end_us = -1e18;
  for (int r = 0; r < 4; ++r) {
    const RankTrack& t = run->ranks[static_cast<std::size_t>(r)];
    EXPECT_EQ(t.rank, Rank(r));
    EXPECT_EQ(t.local_rank, LocalRank(r));
    EXPECT_EQ(t.pid, 503639);
    ASSERT_EQ(t.events.size(), 1U);
    EXPECT_EQ(t.events.bytes[0], Bytes(4 * std::int64_t{33'554'432}));
    const double begin = in_seconds(t.events.begin[0]) * 1e6;
    const double end = in_seconds(t.events.end[0]) * 1e6;
    EXPECT_NEAR(end - begin, kernel_us[r], 0.01);
    ASSERT_EQ(t.launches.size(), 1U);
    EXPECT_NEAR(in_seconds(t.launches[0].end - t.launches[0].begin) * 1e6, launch_us[r], 1);
    EXPECT_NEAR(begin, in_seconds(t.launches[0].end) * 1e6, 6);
    first_us = std::min(first_us, begin);
    last_us = std::max(last_us, begin);
    first_end_us = std::min(first_end_us, end);
    last_end_us = std::max(last_end_us, end);
  }
  EXPECT_NEAR(last_us - first_us, 13541.0, 0.1);
  EXPECT_NEAR(last_end_us - first_end_us, 21.25, 0.1);
  EXPECT_EQ(run->communicators.size(), 1U);
}

}  // namespace
}  // namespace cox::trace
