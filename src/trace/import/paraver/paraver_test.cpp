// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "support/make_run.hpp"
#include "support/test_data.hpp"
#include "trace/import/paraver/header.hpp"
#include "trace/import/paraver/names.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

constexpr const char* kHeader = "#Paraver (09/10/2019 at 16:08):1000_ns:1(2):1:2(1:1,1:1),1\nc:1:1:2:1:2\n";

Result<trace::Run> read_text(const std::string& text) {
  const test::ScratchDir dir;
  const auto path = dir.path() / "t.prv";
  test::put_file(path, text);
  return read_run(kParaverReader, path, {.threads = 1});
}

trace::Run read_records(const std::string& records) {
  auto run = read_text(kHeader + records);
  EXPECT_TRUE(run) << (run ? "" : run.error().to_string());
  return run ? *std::move(run) : trace::Run{};
}

bool has_note(const trace::Run& run, std::string_view part) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

std::int64_t total(const std::vector<std::int64_t>& v) {
  return std::accumulate(v.begin(), v.end(), std::int64_t{0});
}

Duration useful_time(const RankTrack& track) {
  Duration sum{};
  for (std::size_t i = 0; i < track.useful.size(); ++i) sum += track.useful.end[i] - track.useful.begin[i];
  return sum;
}

TEST(ParaverHeader, TellsUnitTasksAndNodes) {
  const auto h = parse_paraver_header("#Paraver (01/02/2020 at 10:11):77_ns:2(4,8):2:2(1:1,3:2),4:1(1:2)");
  ASSERT_TRUE(h) << h.error().to_string();
  EXPECT_EQ(h->unit_ps, 1000);
  ASSERT_EQ(h->node_of_task.size(), 2U);
  EXPECT_EQ(h->node_of_task[0], (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(h->node_of_task[1], (std::vector<std::int32_t>{1}));
  EXPECT_EQ(parse_paraver_header("#Paraver (x):77:0:1:1(1:1)")->unit_ps, 1'000'000);
}

TEST(ParaverHeader, RefusesWhatIsCutOrDoesNotAddUp) {
  const std::string whole = "#Paraver (01/02/2020 at 10:11):77_ns:1(4):1:2(1:1,1:1),0";
  for (std::size_t n = 0; n < whole.size() - 2; ++n)
    EXPECT_FALSE(parse_paraver_header(whole.substr(0, n))) << whole.substr(0, n);
  EXPECT_FALSE(parse_paraver_header("#Paraver (x):7_ns:1(4):1:3(1:1,1:1),0"));
  EXPECT_FALSE(parse_paraver_header("#Paraver (x):7_ns:1(4):2:1(1:1),0"));
  EXPECT_FALSE(parse_paraver_header("#Paraver (x):7_ns:1(4):1:99999999999999999999(1:1)"));
}

TEST(ParaverHeader, TimesBeyondTheRangeAreNone) {
  ParaverHeader h;
  h.unit_ps = 1000;
  EXPECT_EQ(h.time(3), Duration(3000));
  EXPECT_FALSE(h.time(-1));
  EXPECT_FALSE(h.time(std::int64_t{1} << 60));
}

TEST(ParaverNames, PcfRenumbersCallsAndCounters) {
  ParaverNames names;
  EXPECT_EQ(names.call(10).collective, model::Collective::AllReduce);
  names.read_pcf(
      "EVENT_TYPE\n9   50000002    MPI Collective Comm\nVALUES\n10   MPI_Bcast\n0   Outside MPI\n\n"
      "EVENT_TYPE\n7  42000001 PAPI_TOT_INS [Instr completed]\n7 42000002 PAPI_TOT_CYC\n"
      "EVENT_TYPE\n6  12345 Other\nVALUES\n8  MPI_Bcast\n");
  EXPECT_EQ(names.call(10).collective, model::Collective::Broadcast);
  EXPECT_EQ(names.call(8).collective, model::Collective::Barrier);
  EXPECT_EQ(names.instructions, 42000001);
  EXPECT_EQ(names.cycles, 42000002);
  EXPECT_EQ(mpi_call_by_name("mpi_IALLGATHERV").role, MpiRole::CollectiveStart);
  EXPECT_EQ(mpi_call_by_name("MPI_Type_commit").role, MpiRole::Library);
}

TEST(ParaverNames, RowTellsNodes) {
  EXPECT_EQ(
      node_names_of_row("LEVEL CPU SIZE 1\n1.a\n\nLEVEL NODE SIZE 2\na\nb c\n\nLEVEL THREAD SIZE 1\nT\n"),
      (std::vector<std::string>{"a", "b c"}));
}

TEST(Paraver, CounterBelongsToTheStretchThatEndsAtItsTime) {
  const trace::Run run = read_records(
      "1:1:1:1:1:0:10:1\n"
      "1:1:1:1:1:10:15:12\n"
      "2:1:1:1:1:10:42000050:700:42000059:900\n"
      "1:1:1:1:1:15:20:1\n"
      "2:1:1:1:1:15:42000050:5:42000059:6\n"
      "2:1:1:1:1:20:42000050:300:42000059:100\n");
  const UsefulColumns& u = run.ranks.at(0).useful;
  ASSERT_EQ(u.size(), 2U);
  EXPECT_EQ(u.instructions, (std::vector<std::int64_t>{700, 300}));
  EXPECT_EQ(u.cycles, (std::vector<std::int64_t>{900, 100}));
  EXPECT_EQ(u.end[1], Duration(20'000));
  EXPECT_EQ(run.ranks.at(1).useful.size(), 0U);
  EXPECT_TRUE(run.notes.empty());
}

TEST(Paraver, ASecondCountAtTheSameTimeIsOfACallThatTookNone) {
  const trace::Run run = read_records(
      "1:1:1:1:1:0:10:1\n"
      "2:1:1:1:1:10:50000003:43:42000050:700\n"
      "1:1:1:1:1:10:20:1\n"
      "2:1:1:1:1:10:50000003:0:42000050:9000\n"
      "2:1:1:1:1:20:42000050:30\n");
  EXPECT_EQ(run.ranks.at(0).useful.instructions, (std::vector<std::int64_t>{700, 30}));
}

TEST(Paraver, NoCountersNoColumns) {
  const trace::Run run = read_records("1:1:1:1:1:0:10:1\n");
  EXPECT_EQ(run.ranks.at(0).useful.size(), 1U);
  EXPECT_TRUE(run.ranks.at(0).useful.instructions.empty());
}

TEST(Paraver, CollectivesAreNumberedPerCommunicatorAndKnowTheirRoot) {
  const trace::Run run = read_records(
      "2:1:1:1:1:5:50000003:31\n2:1:1:1:1:6:50000003:0\n"
      "2:1:1:1:1:10:50000002:7:50100001:64:50100002:0:50100004:1\n"
      "2:2:1:2:1:11:50100001:64:50100004:1:50100003:1:50000002:7\n"
      "2:1:1:1:1:20:50000002:0:50000002:10:50100001:8:50100004:1\n"
      "2:2:1:2:1:21:50000002:0\n"
      "2:1:1:1:1:30:50000002:0\n");
  const EventColumns& e = run.ranks.at(0).events;
  ASSERT_EQ(e.size(), 3U);
  EXPECT_EQ(e.kind[0], EventKind::Wait);
  EXPECT_EQ(e.op[0], static_cast<int>(WaitKind::Other));
  EXPECT_EQ(e.flags[0], kTagged);
  EXPECT_EQ(e.collective(1), model::Collective::Broadcast);
  EXPECT_EQ(e.bytes[1], Bytes(64));
  EXPECT_EQ(e.flags[1], kRooted);
  EXPECT_EQ(e.aux[1], 1U);
  EXPECT_EQ(e.collective(2), model::Collective::AllReduce);
  EXPECT_EQ(e.seq[2], 1U);
  EXPECT_EQ(e.begin[2], Duration(20'000));
  EXPECT_EQ(run.ranks.at(1).events.seq.at(0), 0U);
  ASSERT_EQ(run.communicators.size(), 1U);
  EXPECT_EQ(run.communicators[0].by_rank, (std::vector<Rank>{Rank(0), Rank(1)}));
}

TEST(Paraver, MessagesNameThePeersOfTheirCalls) {
  const trace::Run run = read_records(
      "2:1:1:1:1:10:50000001:3\n2:1:1:1:1:11:50000001:0\n"
      "2:2:1:2:1:12:50000001:2\n2:2:1:2:1:40:50000001:0\n"
      "3:1:1:1:1:10:10:2:1:2:1:12:40:4096:7\n");
  const EventColumns& send = run.ranks.at(0).events;
  ASSERT_EQ(send.size(), 1U);
  EXPECT_EQ(send.op[0], static_cast<int>(WaitKind::Peer));
  EXPECT_EQ(send.flags[0], kNonBlocking);
  EXPECT_EQ(send.aux[0], 1U);
  EXPECT_EQ(run.ranks.at(1).events.aux[0], 0U);
  ASSERT_EQ(run.messages.size(), 1U);
  EXPECT_EQ(run.messages.send_end[0], Duration(11'000));
  EXPECT_EQ(run.messages.receive_end[0], Duration(40'000));
  EXPECT_EQ(run.messages.bytes[0], Bytes(4096));
  EXPECT_EQ(run.messages.tag[0], 7);
}

TEST(Paraver, AWaitNamesTheCollectiveThatItCompletes) {
  const trace::Run run = read_records(
      "2:1:1:1:1:10:50000002:155:50100004:1\n2:1:1:1:1:11:50000002:0\n"
      "2:1:1:1:1:20:50000001:5\n2:1:1:1:1:30:50000001:0\n"
      "2:1:1:1:1:40:50000001:5\n2:1:1:1:1:50:50000001:0\n");
  const EventColumns& e = run.ranks.at(0).events;
  ASSERT_EQ(e.size(), 3U);
  EXPECT_EQ(e.flags[0], kNonBlocking);
  EXPECT_EQ(e.op[1], static_cast<int>(WaitKind::Request));
  EXPECT_EQ(e.comm[1], CommId(0));
  EXPECT_EQ(e.op[2], static_cast<int>(WaitKind::Peer));
}

TEST(Paraver, SaysWhatItCouldNotUse) {
  const trace::Run run = read_records(
      "1:1:1:1:1:0:10:1\n1:1:1:1:1:5:20:1\n1:1:1:9:1:0:10:1\n1:1:1:1:2:0:10:1\n1:1:1:1\nx\n7:1\n"
      "1:1:1:1:1:0:99999999999999999999:1\n2:1:1:1:1:30:50000002:0\n"
      "2:1:1:1:1:30:50000002:8:50100004:1\n2:1:1:1:1:40:50000002:8:50100004:1\n"
      "3:1:1:1:1:10:10:2:1:2:1:50:40:4096:7\n1:1:1:1:1:20:3");
  EXPECT_TRUE(has_note(run, "1 Running state that begins"));
  EXPECT_TRUE(has_note(run, "1 record of a task"));
  EXPECT_TRUE(has_note(run, "1 record of a thread"));
  EXPECT_TRUE(has_note(run, "2 records not the numbers"));
  EXPECT_TRUE(has_note(run, "2 records of no known kind"));
  EXPECT_TRUE(has_note(run, "1 end of a call"));
  EXPECT_TRUE(has_note(run, "1 call without an end"));
  EXPECT_TRUE(has_note(run, "1 message received before its"));
  EXPECT_TRUE(has_note(run, "the last line has no end"));
  ASSERT_EQ(run.ranks.at(0).events.size(), 1U);
  EXPECT_EQ(run.ranks.at(0).events.end[0], kStillRunning);
  EXPECT_EQ(run.sources.at(0).records, 13);
  EXPECT_EQ(run.sources.at(0).used_records, 3);
}

TEST(Paraver, EveryCutOfAFileIsReadOrRefused) {
  const std::string whole = std::string(kHeader) +
                            "1:1:1:1:1:0:10:1\n2:1:1:1:1:10:50000002:10:50100004:1\n"
                            "2:1:1:1:1:20:50000002:0\n3:1:1:1:1:10:10:2:1:2:1:12:40:4096:7\n";
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    const auto run = read_text(whole.substr(0, n));
    if (!run) {
      EXPECT_EQ(run.error().id, "import-005");
      EXPECT_TRUE(run.error().where && !run.error().where->file.empty());
    } else {
      EXPECT_EQ(run->ranks.size(), 2U);
    }
  }
}

TEST(Paraver, EpochHasTheCountsOfItsDescription) {
  COX_NEED_DATA(dir, "traces/epoch-paraver");
  const std::vector<std::pair<int, std::size_t>> expected{{1, 576}, {2, 1156}, {4, 2556}};
  for (const auto& [ranks, messages] : expected) {
    const auto path = dir / ("epoch_" + std::to_string(ranks) + "proc.prv.gz");
    ASSERT_EQ(kParaverReader.companions(path).size(), 2U);
    const auto run = read_run(kParaverReader, path, {.threads = 1});
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_TRUE(run->notes.empty()) << run->notes.front().text;
    EXPECT_EQ(run->ranks.size(), static_cast<std::size_t>(ranks));
    EXPECT_EQ(run->messages.size(), messages);
    EXPECT_EQ(run->nodes.size(), 1U);
    EXPECT_EQ(run->nodes.front().host.front(), 's');
    EXPECT_EQ(run->sources.front().records, run->sources.front().used_records);
    if (ranks != 1) continue;
    const RankTrack& track = run->ranks.front();
    EXPECT_EQ(useful_time(track), Duration(21'882'362'819'000));  // the published 21,882,362.82 us
    EXPECT_EQ(total(track.useful.instructions), 84'790'848'422);
    EXPECT_EQ(total(track.useful.cycles), 45'294'421'893);
    EXPECT_EQ(std::count(track.events.kind.begin(), track.events.kind.end(), EventKind::Collective), 443);
  }
}

}  // namespace
}  // namespace cox::trace
