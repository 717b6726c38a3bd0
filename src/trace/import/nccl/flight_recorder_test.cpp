// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/flight_recorder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "trace/import/nccl/flight_recorder_entry.hpp"
#include "trace/import/nccl/flight_recorder_sample.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace cox::literals;
using namespace std::chrono_literals;
using namespace std::string_literals;

class FlightRecorder : public ::testing::Test {
 protected:
  fs::path folder_ = fs::path(::testing::TempDir()) / ("flight_recorder_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  Result<trace::Run> read(const Reader& reader, const std::string& bytes,
                          const std::string& name = "nccl_trace_rank_1") {
    return read_run(reader, write(name, bytes), {.threads = 1, .progress = {}});
  }
  trace::Run read(const sample::Value& dump, const std::string& name = "nccl_trace_rank_1") {
    auto run = read(kFlightRecorderPickleReader, sample::as_pickle(dump), name);
    EXPECT_TRUE(run) << run.error().message;
    return run ? *std::move(run) : trace::Run{};
  }
};

bool has_note(const trace::Run& run, const std::string& part) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

TEST_F(FlightRecorder, BothFormatsGiveTheSame) {
  const sample::Value dump =
      sample::dump({{.record = 0, .sequence = 1, .created = 0, .started = 100, .completed = 900},
                    {.record = 1,
                     .name = "nccl:_reduce_scatter_base",
                     .sequence = 2,
                     .created = 1000,
                     .started = 1500,
                     .completed = 2500}});
  const auto pickle = read(kFlightRecorderPickleReader, sample::as_pickle(dump));
  const auto json = read(kFlightRecorderJsonReader, dump.json);
  ASSERT_TRUE(pickle) << pickle.error().message;
  ASSERT_TRUE(json) << json.error().message;
  for (const trace::Run* run : {&*pickle, &*json}) {
    ASSERT_EQ(run->ranks.size(), 1U);
    const RankTrack& t = run->ranks.front();
    EXPECT_EQ(t.rank, Rank(1));
    EXPECT_EQ(run->world_size, 4);
    EXPECT_EQ(run->origin_realtime_ns, sample::kSampleStart);
    ASSERT_EQ(t.events.size(), 2U);
    EXPECT_EQ(t.events.begin[0], Duration(100ns));
    EXPECT_EQ(t.events.end[0], Duration(900ns));
    EXPECT_EQ(t.events.collective(1), model::Collective::ReduceScatter);
    EXPECT_EQ(t.events.seq[1], 2U);
    EXPECT_EQ(t.events.bytes[1], 48_B);
    EXPECT_EQ(t.events.flags[1], kTagged | kElement);
    EXPECT_EQ(t.events.aux[1], 4U);
    ASSERT_EQ(run->communicators.size(), 1U);
    EXPECT_EQ(run->communicators[0].ranks.size(), 4U);
    EXPECT_EQ(run->communicators[0].name, "0 default_pg");
    EXPECT_EQ(run->sources.front().used_records, 2);
  }
  EXPECT_EQ(pickle->communicators[0].identity, json->communicators[0].identity);
}

TEST_F(FlightRecorder, IsRecognisedByContent) {
  const sample::Value dump = sample::dump({{.completed = 5}});
  EXPECT_TRUE(kFlightRecorderPickleReader.recognises({.path = "x", .bytes = sample::as_pickle(dump)}));
  EXPECT_TRUE(kFlightRecorderJsonReader.recognises({.path = "x", .bytes = dump.json}));
  EXPECT_FALSE(
      kFlightRecorderJsonReader.recognises({.path = "x", .bytes = R"({"traceEvents":[],"pg_config":[]})"}));
  EXPECT_FALSE(kFlightRecorderPickleReader.recognises({.path = "x", .bytes = "\x80\x02\n\x05"}));
}

TEST_F(FlightRecorder, AnUnfinishedCallIsStillRunning) {
  const trace::Run run =
      read(sample::dump({{.record = 0, .sequence = 1, .created = 0, .completed = 500},
                         {.record = 1, .sequence = 2, .created = 600, .started = 700, .retired = false},
                         {.record = 2, .sequence = 3, .created = 800, .retired = false}}));
  const EventColumns& e = run.ranks.front().events;
  ASSERT_EQ(e.size(), 3U);
  EXPECT_EQ(e.begin[0], Duration(0ns));
  EXPECT_EQ(e.end[0], Duration(500ns));
  EXPECT_EQ(e.end[1], kStillRunning);
  EXPECT_EQ(e.begin[1], Duration(700ns));
  EXPECT_EQ(e.end[2], kStillRunning);
  EXPECT_EQ(run.ranks.front().state, WriterState::Open) << "a dump is of a process that is under way";
  EXPECT_TRUE(has_note(run, "1 call was on the queue"));
  EXPECT_TRUE(has_note(run, "1 call had started"));
  EXPECT_EQ(run.times, TimesKind::Clocked);
  EXPECT_TRUE(has_note(run, "1 call is timed from its enqueue: TORCH_NCCL"));
}

TEST_F(FlightRecorder, ADeviceTimeIsMoreExactThanTheWatchdogsClock) {
  const trace::Run run =
      read(sample::dump({{.created = 0, .started = 900'000, .completed = 1'000'000, .duration_ms = 0.25}}));
  const RankTrack& t = run.ranks.front();
  EXPECT_EQ(t.events.end[0], Duration(1ms));
  EXPECT_EQ(t.events.end[0] - t.events.begin[0], Duration(250us));
  EXPECT_EQ(t.timing, "collective=device time, placed where its end was seen");
}

TEST_F(FlightRecorder, SaysWhatTheRingOverwrote) {
  const trace::Run run =
      read(sample::dump({{.record = 100, .sequence = 61, .created = 0, .completed = 5},
                         {.record = 103, .sequence = 64, .created = 10, .completed = 15}}));
  EXPECT_EQ(run.ranks.front().recycled_records, 100U);
  EXPECT_TRUE(
      has_note(run, "ring wrapped: 100 entries before were overwritten; first kept seq 61 of group 0"));
  EXPECT_TRUE(has_note(run, "2 of the 4 entries between"));
}

TEST_F(FlightRecorder, RankComesFromMessagesThenGroupsThenName) {
  const trace::Run by_message =
      read(sample::dump({{.name = "nccl:send 2->3", .created = 0, .completed = 5, .message = true}}));
  EXPECT_EQ(by_message.ranks.front().rank, Rank(2));
  const EventColumns& e = by_message.ranks.front().events;
  EXPECT_EQ(e.kind[0], EventKind::PointToPoint);
  EXPECT_EQ(e.aux[0], 3U);
  EXPECT_EQ(e.bytes[0], 48_B);

  const sample::Value groups =
      sample::dict({{"entries", sample::list({sample::entry({.completed = 3})})},
                    {"pg_config", sample::dict({{"0", sample::group("0", "default_pg", "[0,1,2,3]")},
                                                {"1", sample::group("1", "tp", "[2,3]")},
                                                {"2", sample::group("2", "dp", "[1,3]")}})}});
  EXPECT_EQ(read(groups, "rank_0").ranks.front().rank, Rank(3));

  EXPECT_EQ(read(sample::dump({{.completed = 3}}), "nccl_trace_rank_2").ranks.front().rank, Rank(2));
  // 7 is no member of the world of four.
  const trace::Run unknown = read(sample::dump({{.completed = 3}}), "node_7");
  EXPECT_EQ(unknown.ranks.front().rank, Rank(-1));
  EXPECT_TRUE(has_note(unknown, "neither its groups nor its name"));
}

TEST_F(FlightRecorder, PartsOfACoalescedOperationAreOne) {
  const trace::Run run = read(sample::dump(
      {{.record = 0, .name = "nccl:reduce_scatter", .sequence = 4, .created = 0, .elements = 12},
       {.record = 1, .name = "nccl:reduce_scatter", .sequence = 4, .created = 10, .elements = 24},
       {.record = 2,
        .name = "nccl:coalesced",
        .sequence = 4,
        .created = 20,
        .started = 30,
        .completed = 90,
        .elements = 0},
       {.record = 3, .name = "nccl:send 1->0", .sequence = 1, .created = 100, .message = true},
       {.record = 4,
        .name = "nccl:coalesced",
        .sequence = 1,
        .created = 110,
        .started = 120,
        .completed = 150,
        .message = true}}));
  const EventColumns& e = run.ranks.front().events;
  ASSERT_EQ(e.size(), 2U);
  EXPECT_EQ(e.collective(0), model::Collective::ReduceScatter);
  EXPECT_EQ(e.bytes[0], 144_B);
  EXPECT_EQ(e.begin[0], Duration(30ns));
  EXPECT_EQ(e.end[0], Duration(90ns));
  EXPECT_EQ(e.kind[1], EventKind::PointToPoint);
  EXPECT_EQ(e.end[1], Duration(150ns));
}

TEST_F(FlightRecorder, GlooKeepsNoEnds) {
  const trace::Run run = read(sample::dump(
      {{.record = 0, .name = "gloo:all_reduce", .sequence = 1, .created = 0},
       {.record = 1, .name = "gloo:all_reduce", .sequence = 2, .created = 9, .retired = false}}));
  EXPECT_EQ(run.times, TimesKind::None);
  EXPECT_EQ(run.ranks.front().events.end[0], run.ranks.front().events.begin[0]);
  EXPECT_EQ(run.ranks.front().events.end[1], kStillRunning);
}

TEST_F(FlightRecorder, NamesOfCollectives) {
  using model::Collective;
  EXPECT_EQ(collective_of_c10d("all_reduce_barrier"), Collective::Barrier);
  EXPECT_EQ(collective_of_c10d("ALLGATHER_coalesced"), Collective::AllGather);
  EXPECT_EQ(collective_of_c10d("_broadcast_oop"), Collective::Broadcast);
  EXPECT_EQ(collective_of_c10d("all_to_all_v_single"), Collective::AllToAll);
  EXPECT_EQ(collective_of_c10d("_reduce_oop"), Collective::Reduce);
  EXPECT_EQ(collective_of_c10d("new_window"), Collective::Other);
}

TEST_F(FlightRecorder, HostileDumpsGiveAnErrorOrStayBounded) {
  const auto hostile =
      read(kFlightRecorderPickleReader, "\x80\x02}X\x07\0\0\0entriescos\nsystem\nX\x02\0\0\0id\x85Rs."s);
  ASSERT_FALSE(hostile);
  EXPECT_EQ(hostile.error().id, "import-005");
  EXPECT_NE(hostile.error().message.find("would execute"), std::string::npos);
  EXPECT_FALSE(read(kFlightRecorderPickleReader, "\x80\x02}."s));
  EXPECT_FALSE(read(kFlightRecorderJsonReader, "{}"));
  EXPECT_FALSE(read(kFlightRecorderJsonReader, "{\"entries\":" + std::string(5000, '[')));
  // One entry, referred to a hundred thousand times.
  const std::string one = sample::entry({.completed = 5}).pickle;
  std::string many = "\x80\x02}X\x07\0\0\0entries]("s + one + "q\0"s;
  for (int i = 0; i < 100000; ++i) many += "h\0"s;
  const auto run = read(kFlightRecorderPickleReader, many + "es.");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(has_note(*run, "entries without a name or a usable"));
}

TEST_F(FlightRecorder, CutsAndChangesNeverCrash) {
  const sample::Value dump =
      sample::dump({{.record = 0, .completed = 5}, {.record = 1, .sequence = 2, .created = 8}}, true);
  const auto map = [](const auto& parsed, std::size_t bytes) {
    return parsed && map_flight_recorder(*parsed, "rank_1", "flight-recorder", bytes);
  };
  const std::string pickle = sample::as_pickle(dump);
  for (std::size_t n = 0; n < pickle.size(); ++n) {
    EXPECT_FALSE(map(parse_pickle(pickle.substr(0, n)), n)) << n;
    std::string changed = pickle;
    changed[n] = static_cast<char>(changed[n] ^ 0x41);
    static_cast<void>(map(parse_pickle(changed), changed.size()));
  }
  for (std::size_t n = 0; n < dump.json.size(); ++n) {
    EXPECT_FALSE(map(parse_plain_json(dump.json.substr(0, n)), n)) << n;
    std::string changed = dump.json;
    changed[n] = '9';
    static_cast<void>(map(parse_plain_json(changed), changed.size()));
  }
}

}  // namespace
}  // namespace cox::trace
