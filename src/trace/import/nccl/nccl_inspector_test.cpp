// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "trace/import/nccl/nccl_ring.hpp"
#include "trace/import/nccl/nccl_world.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace cox::literals;
using namespace std::chrono_literals;

std::string header(const std::string& id, int rank, int ranks) {
  return R"("header":{"id":")" + id + R"(","rank":)" + std::to_string(rank) + R"(,"n_ranks":)" +
         std::to_string(ranks) + R"(,"nnodes":1})";
}
std::string metadata(const std::string& host, int pid, const char* version = "v4.0") {
  return R"("metadata":{"inspector_output_format_version":")" + std::string(version) +
         R"(","dump_timestamp_us":1752867229276385,"hostname":")" + host + R"(","pid":)" +
         std::to_string(pid) + "}";
}
std::string perf(const std::string& coll, int sn, int us, int bytes = 1000, const std::string& more = {}) {
  return R"("coll_perf":{"coll":")" + coll + R"(","coll_sn":)" + std::to_string(sn) +
         R"(,"coll_msg_size_bytes":)" + std::to_string(bytes) + R"(,"coll_exec_time_us":)" +
         std::to_string(us) + R"(,"coll_timing_source":"kernel_gpu")" + more + "}";
}
std::string line(const std::vector<std::string>& parts) {
  std::string out = "{";
  for (const std::string& p : parts) out += (out.size() > 1 ? "," : "") + p;
  return out + "}\n";
}

class NcclInspector : public ::testing::Test {
 protected:
  fs::path folder_ = fs::path(::testing::TempDir()) / ("nccl_inspector_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  Result<trace::Run> try_read(const std::string& text) {
    std::ofstream(folder_ / "dump.log", std::ios::binary) << text;
    return read_run(kNcclInspectorReader, folder_ / "dump.log", {.threads = 1, .progress = {}});
  }
  trace::Run read(const std::string& text) {
    auto run = try_read(text);
    EXPECT_TRUE(run) << run.error().message;
    return run ? *std::move(run) : trace::Run{};
  }
};

bool has_note(const trace::Run& run, const std::string& part) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

TEST_F(NcclInspector, HeaderPerLineAndHeaderPerDumpGiveTheSame) {
  const std::string h = header("0x7f", 2, 4);
  const std::string each = line({h, metadata("a", 5), perf("AllReduce", 1, 100)}) +
                           line({h, metadata("a", 5), perf("ReduceScatter", 1, 50)});
  const std::string once =
      line({h, metadata("a", 5), R"("dump_stats":{"coll_records":2,"coll_dropped_total":0})"}) +
      line({perf("AllReduce", 1, 100)}) + line({perf("ReduceScatter", 1, 50)});
  for (const std::string& text : {each, once}) {
    const trace::Run run = read(text);
    EXPECT_EQ(run.times, TimesKind::Durations);
    EXPECT_EQ(run.world_size, 4);
    ASSERT_EQ(run.ranks.size(), 1U);
    EXPECT_EQ(run.ranks[0].rank, Rank(2));
    EXPECT_EQ(run.ranks[0].timing, "collective=kernel_gpu");
    EXPECT_EQ(run.nodes.front().host, "a");
    const EventColumns& e = run.ranks[0].events;
    ASSERT_EQ(e.size(), 2U);
    EXPECT_EQ(e.begin[1], Duration(100us));
    EXPECT_EQ(e.end[1], Duration(150us));
    EXPECT_EQ(e.bytes[0], 1000_B);
    EXPECT_EQ(e.bytes[1], 4000_B);  // NCCL counts one rank's part
    EXPECT_NE(e.comm[0], e.comm[1]);
    EXPECT_EQ(run.find(e.comm[0])->name, "0x7f AllReduce");
    EXPECT_EQ(e.flags[0], kTagged);
  }
}

TEST_F(NcclInspector, VerboseRecordsAreOnTheClock) {
  const auto traced = [](int start) {
    return R"(,"event_trace_ts":{"coll_start_ts":)" + std::to_string(1'000'000 + start) +
           R"(,"coll_stop_ts":)" + std::to_string(1'000'005 + start) +
           R"(,"kernel_events":[{"channel_id":0,"kernel_start_ts":1,"kernel_stop_ts":)" +
           std::to_string(1'000'100 + start) + R"(},{"channel_id":1,"kernel_stop_ts":)" +
           std::to_string(1'000'090 + start) + "}]}";
  };
  const std::string h = header("9", 0, 2);
  const trace::Run run = read(line({h, metadata("a", 5), perf("AllReduce", 1, 80, 8, traced(0))}) +
                              line({h, metadata("a", 5), perf("AllReduce", 2, 30, 8, traced(500))}));
  EXPECT_EQ(run.times, TimesKind::Clocked);
  EXPECT_EQ(run.origin_realtime_ns, 1'000'020'000);
  const EventColumns& e = run.ranks[0].events;
  ASSERT_EQ(e.size(), 2U);
  EXPECT_EQ(e.begin[0], Duration(0us));
  EXPECT_EQ(e.end[0], Duration(80us));
  EXPECT_EQ(e.begin[1], Duration(550us));
}

TEST_F(NcclInspector, SmallerCommunicatorsOfAProcessShareItsWorldRank) {
  const trace::Run run = read(line({header("0x1", 3, 8), metadata("a", 5), perf("AllReduce", 1, 10)}) +
                              line({header("0x2", 1, 2), metadata("a", 5), perf("AllReduce", 1, 20)}) +
                              line({header("0x2", 0, 2), metadata("b", 6), perf("AllReduce", 1, 21)}));
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.ranks[0].rank, Rank(-1));  // host b has no rank in the large one
  EXPECT_EQ(run.ranks[1].rank, Rank(3));
  EXPECT_EQ(run.ranks[1].events.size(), 2U);
  EXPECT_TRUE(has_note(run, "1 process has no single rank"));
}

TEST_F(NcclInspector, AProcessWithSeveralGpusIsSeveralRanks) {
  std::string text;
  for (int r = 0; r < 4; ++r)
    text += line({header("0x1", r, 4), metadata("a", 5), perf("AllReduce", 1, 10 + r)});
  text += line({header("0x2", 0, 2), metadata("a", 5), perf("AllReduce", 1, 10)});
  const trace::Run run = read(text);
  ASSERT_EQ(run.ranks.size(), 4U);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(run.ranks[static_cast<std::size_t>(r)].rank, Rank(r));
    EXPECT_EQ(run.ranks[static_cast<std::size_t>(r)].events.size(), 1U);
  }
  EXPECT_TRUE(has_note(run, "1 operation of a process with several GPUs"));
}

TEST_F(NcclInspector, SaysWhatTheRingLost) {
  std::string text = line({header("0x1", 0, 2), metadata("a", 5, "v4.3"),
                           R"("dump_stats":{"coll_records":1024,"coll_dropped_total":976})"});
  for (int sn = 977; sn <= 2000; ++sn) text += line({perf("AllReduce", sn, 5)});
  const trace::Run run = read(text);
  EXPECT_EQ(run.ranks[0].recycled_records, 976U);
  EXPECT_TRUE(has_note(run, "976 of 2000 collectives are missing (last number 2000), kept exactly 1 x 1024"));
  EXPECT_TRUE(has_note(run, "976 records overwritten"));
}

TEST_F(NcclInspector, MessagesArePointToPoint) {
  const std::string p2p =
      R"("p2p_perf":{"p2p":"Recv","p2p_sn":1,"p2p_peer":3,"p2p_msg_size_bytes":64,"p2p_exec_time_us":7})";
  const trace::Run run = read(line({header("0x1", 0, 4), metadata("a", 5), p2p}));
  const EventColumns& e = run.ranks[0].events;
  ASSERT_EQ(e.size(), 1U);
  EXPECT_EQ(e.kind[0], EventKind::PointToPoint);
  EXPECT_EQ(e.op[0], static_cast<std::uint8_t>(PeerKind::Receive));
  EXPECT_EQ(e.aux[0], 3U);
}

TEST_F(NcclInspector, ACommunicatorKeepsItsName) {
  const std::string named = R"("header":{"id":"0x1","comm_name":"DP","rank":0,"n_ranks":2,"nnodes":1})";
  const trace::Run run = read(line({named, metadata("a", 5), perf("AlltoAll", 1, 5)}));
  EXPECT_EQ(run.communicators.front().name, "0x1 DP AllToAll");
}

TEST_F(NcclInspector, BadLinesAreCountedAndTheRestIsUsed) {
  const std::string good = line({header("0x1", 0, 2), metadata("a", 5), perf("AllReduce", 1, 5)});
  const trace::Run run =
      read("garbage\n" + good + "[1,2]\n\n" + line({R"("coll_perf":{"coll":"AllReduce"})"}) +
           good.substr(0, good.size() / 2));
  EXPECT_EQ(run.ranks[0].events.size(), 1U);
  EXPECT_TRUE(has_note(run, "3 lines are no JSON object, the first is line 1"));
  EXPECT_TRUE(has_note(run, "1 operation without a header"));
  const auto none = try_read(line({perf("AllReduce", 1, 5)}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "import-005");
}

TEST_F(NcclInspector, CutsAndChangesNeverCrash) {
  const std::string whole = line({header("0x1", 0, 2), metadata("a", 5), perf("AllReduce", 1, 5)}) +
                            line({R"("dump_stats":{"coll_dropped_total":5})"}) +
                            line({perf("AllGatherV", 2, 6)});
  for (std::size_t n = 0; n < whole.size(); n += 5) {
    static_cast<void>(try_read(whole.substr(0, n)));
    std::string changed = whole;
    changed[n] = '9';
    static_cast<void>(try_read(changed));
  }
}

TEST(NcclRing, OneCountForAllFunctionsIsToldFromTheNumbers) {
  NcclRing one_count;
  for (std::uint32_t n = 1; n <= 10; ++n)
    one_count.add(false, n % 2 == 0 ? model::Collective::AllReduce : model::Collective::AllGather, n);
  EXPECT_EQ(std::move(one_count).describe(), "");
  NcclRing each;
  for (std::uint32_t n = 0; n < 5; ++n) {
    each.add(false, model::Collective::AllReduce, n);
    if (n != 2) each.add(false, model::Collective::AllGather, n);
  }
  EXPECT_TRUE(std::move(each).describe().starts_with("1 of 10 collectives is missing"));
}

TEST(NcclWorld, ARankThatTwoProcessesClaimIsNobodys) {
  const NcclWorld world = find_nccl_world({{.process = 0, .communicator = 0, .rank = 1},
                                           {.process = 1, .communicator = 1, .rank = 1},
                                           {.process = 2, .communicator = 0, .rank = 0}},
                                          {2, 2}, 3);
  EXPECT_EQ(world.rank_of, (std::vector<Rank>{Rank(-1), Rank(-1), Rank(0)}));
  EXPECT_EQ(world.contradicting, 2U);
}

}  // namespace
}  // namespace cox::trace
