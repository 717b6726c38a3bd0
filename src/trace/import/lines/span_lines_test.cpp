// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "cox/trace/import.hpp"
#include "cox/trace/time_unit.hpp"

#include "trace/import/lines/span_keys.hpp"
#include "trace/import/lines/span_names.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class SpanLinesFile : public ::testing::Test {
 protected:
  fs::path folder_ = fs::path(::testing::TempDir()) / ("span_lines_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  Result<trace::Run> try_read(const std::string& text) {
    std::ofstream(folder_ / "t.jsonl", std::ios::binary) << text;
    return read_run(kSpanLinesReader, folder_ / "t.jsonl", {.threads = 1, .progress = {}});
  }
  trace::Run read(const std::string& text) {
    EXPECT_TRUE(recognises(text)) << text.substr(0, 120);
    auto run = try_read(text);
    EXPECT_TRUE(run) << run.error().message;
    return run ? *std::move(run) : trace::Run{};
  }
  static bool recognises(const std::string& text) {
    return kSpanLinesReader.recognises({.path = "t", .bytes = std::string_view(text).substr(0, kHeadBytes)});
  }
};

bool has_note(const Run& run, const std::string& part) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

TEST(SpanKeys, PartsAndUnitsBySpelling) {
  const auto is = [](const char* key, SpanPart part, const char* prefix, double unit) {
    const SpanKey k = span_key(key);
    EXPECT_EQ(k.part, part) << key;
    EXPECT_EQ(k.prefix, prefix) << key;
    EXPECT_EQ(k.unit ? k.unit->count() : 0, unit) << key;
  };
  is("start", SpanPart::Start, "", 0);
  is("startTimeUnixNano", SpanPart::Start, "", 1e-9);
  is("start_time_unix_nano", SpanPart::Start, "", 1e-9);
  is("begin_ts", SpanPart::Start, "", 0);
  is("ts_start_us", SpanPart::Start, "", 1e-6);
  is("t_end", SpanPart::End, "", 0);
  is("end_time_ms", SpanPart::End, "", 1e-3);
  is("coll_end", SpanPart::End, "coll", 0);
  is("comp_start_ns", SpanPart::Start, "comp", 1e-9);
  is("durationMs", SpanPart::Length, "", 1e-3);
  is("dur", SpanPart::Length, "", 0);
  is("elapsed_s", SpanPart::Length, "", 1);
  is("step_time_ms", SpanPart::Length, "step", 1e-3);
  is("timestamp", SpanPart::Stamp, "", 0);
  is("name", SpanPart::None, "", 0);
  is("loss", SpanPart::None, "", 0);
}

TEST(SpanKeys, TimesOfDayNeedAZone) {
  EXPECT_EQ(time_of_day("1970-01-01T00:00:01.5Z"), WidePs{1'500'000'000'000});
  EXPECT_EQ(time_of_day("1970-01-01 01:00:01+01:00"), WidePs{1'000'000'000'000});
  EXPECT_FALSE(time_of_day("2026-01-31T12:00:00"));
  EXPECT_FALSE(time_of_day("2026-02-31T12:00:00Z"));
  EXPECT_FALSE(time_of_day("12:00"));
  EXPECT_EQ(unit_since_1970(1.77e12)->count(), 1e-3);
  EXPECT_FALSE(unit_since_1970(1234.5));
}

TEST(SpanNames, CollectivesStepsAndPhases) {
  EXPECT_EQ(span_meaning("nccl:_all_gather_base").collective, model::Collective::AllGather);
  EXPECT_EQ(span_meaning("dist.broadcast").kind, SpanKind::Collective);
  EXPECT_EQ(span_meaning("reduce lr").kind, SpanKind::Other);
  EXPECT_EQ(span_meaning("all_reduce_launch").kind, SpanKind::Other);
  EXPECT_EQ(span_meaning("ProfilerStep#12").step, 12);
  EXPECT_EQ(span_meaning("optimizer.step").phase, PhaseKind::Optimizer);
  EXPECT_EQ(span_meaning("data_loader").phase, PhaseKind::Data);
  EXPECT_EQ(span_meaning("recv_forward").kind, SpanKind::Message);
}

TEST_F(SpanLinesFile, TheSameJobInManySpellings) {
  const std::string jobs[] = {
      R"({"rank":0,"step":1,"name":"all_reduce","start_ms":1000,"end_ms":1005,"host":"a"}
{"rank":1,"step":1,"name":"all_reduce","start_ms":1003,"end_ms":1005,"host":"b"}
)",
      R"({"name":"all_reduce","attributes":{"rank":0,"step":1,"host.name":"a"},"start_time":"2026-01-01T00:00:01.000Z","end_time":"2026-01-01T00:00:01.005Z"}
{"name":"all_reduce","attributes":{"rank":1,"step":1,"host.name":"b"},"start_time":"2026-01-01T00:00:01.003Z","end_time":"2026-01-01T00:00:01.005Z"}
)",
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"rank","value":{"intValue":"0"}},{"key":"host.name","value":{"stringValue":"a"}}]},"scopeSpans":[{"spans":[{"name":"all_reduce","attributes":[{"key":"step","value":{"intValue":"1"}}],"startTimeUnixNano":"1767225601000000000","endTimeUnixNano":"1767225601005000000"}]}]}]}
{"resourceSpans":[{"resource":{"attributes":[{"key":"rank","value":{"intValue":"1"}},{"key":"host.name","value":{"stringValue":"b"}}]},"scopeSpans":[{"spans":[{"name":"all_reduce","attributes":[{"key":"step","value":{"intValue":"1"}}],"startTimeUnixNano":"1767225601003000000","endTimeUnixNano":"1767225601005000000"}]}]}]}
)",
      R"({"process":"worker-0","iteration":1,"op":"allreduce","hostname":"a","begin_us":7000,"duration_us":5000}
{"process":"worker-1","iteration":1,"op":"allreduce","hostname":"b","begin_us":10000,"duration_us":2000}
)",
      R"({"rank":0,"step":1,"op":"AllReduce","host":"a","ts":50,"ph":"X","dur":5000}
{"rank":1,"step":1,"op":"AllReduce","host":"b","ts":3050,"ph":"X","dur":2000}
)"};
  for (const std::string& job : jobs) {
    const trace::Run run = read(job);
    ASSERT_EQ(run.ranks.size(), 2U) << job;
    EXPECT_EQ(run.times, TimesKind::Clocked);
    EXPECT_FALSE(unknown_unit(run.ranks)) << job;
    EXPECT_EQ(run.nodes.size(), 2U);
    for (std::size_t r = 0; r < 2; ++r) {
      const EventColumns& e = run.ranks[r].events;
      ASSERT_EQ(e.size(), 2U) << job;
      EXPECT_EQ(e.kind[0], EventKind::Step);
      EXPECT_EQ(e.step_number(0), 1);
      EXPECT_EQ(e.collective(1), model::Collective::AllReduce);
      EXPECT_EQ(e.begin[1], Duration(r == 0 ? 0ms : 3ms)) << job;
      EXPECT_EQ(e.end[1], Duration(5ms)) << job;
    }
  }
}

TEST_F(SpanLinesFile, SeveralSpansInALineAreToldApartByWhatStandsInFront) {
  const trace::Run run = read(
      R"({"rank":0,"step":0,"seq":0,"op":"all_reduce","bytes":4096,"comp_start":100000,"comp_end":200000,"coll_start":200000,"coll_end":300000}
{"rank":1,"step":0,"seq":0,"op":"all_reduce","bytes":4096,"comp_start":100000,"comp_end":290000,"coll_start":290000,"coll_end":300000}
)");
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.ranks[0].activities.size(), 1U);
  const EventColumns& e = run.ranks[1].events;
  ASSERT_EQ(e.size(), 2U);
  EXPECT_EQ(e.bytes[1], Bytes(4096));
  EXPECT_TRUE(e.flags[1] & kTagged);
  ASSERT_TRUE(unknown_unit(run.ranks));
  EXPECT_TRUE(has_note(run, "no unit"));
}

TEST_F(SpanLinesFile, FilesOfOneRankEachAreNotHeldAgainstEachOtherByClocksWithoutAZero) {
  const auto line = [](int rank, int at_us) {
    return "{\"rank\":" + std::to_string(rank) +
           ",\"host\":\"n\",\"name\":\"all_reduce\",\"start_us\":" + std::to_string(at_us) +
           ",\"end_us\":90005000}\n";
  };
  fs::create_directories(folder_ / "job");
  std::ofstream(folder_ / "job" / "rank0.jsonl") << line(0, 90000000);
  std::ofstream(folder_ / "job" / "rank1.jsonl") << line(1, 90003000);
  const auto imported = import_path(folder_ / "job", {.threads = 1});
  ASSERT_TRUE(imported) << imported.error().message;
  const trace::Run& run = imported->jobs.at(0).run;
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_NE(run.ranks[0].node, run.ranks[1].node) << "one clock each";
  EXPECT_TRUE(has_note(run, "a clock of its own"));
  for (const Note& note : run.notes)
    EXPECT_EQ(note.text.find("out of range"), std::string::npos) << note.text;
}

TEST_F(SpanLinesFile, ALineThatIsMissingMovesNothingOfTheNextStep) {
  std::string text;
  for (int step = 0; step < 4; ++step)
    for (int rank = 0; rank < 2; ++rank)
      for (int call = 0; call < 2; ++call)
        if (!(step == 1 && rank == 1 && call == 1))
          text += "{\"rank\":" + std::to_string(rank) + ",\"step\":" + std::to_string(step) +
                  ",\"name\":\"all_reduce\",\"start_us\":" + std::to_string(1000 * (step * 10 + call)) +
                  ",\"end_us\":" + std::to_string(1000 * (step * 10 + call) + 500) + "}\n";
  const trace::Run run = read(text);
  ASSERT_EQ(run.ranks.size(), 2U);
  for (const RankTrack& track : run.ranks)
    for (std::size_t i = 0; i < track.events.size(); ++i)
      if (track.events.kind[i] == EventKind::Collective) {
        const auto at_ms = track.events.begin[i] / Duration(1ms);
        EXPECT_EQ(track.events.seq[i], at_ms / 10 * 2 + at_ms % 10);
      }
}

TEST_F(SpanLinesFile, ARanksFileThatNobodyCanReadIsNotRead) {
  fs::create_directories(folder_ / "damaged");
  std::ofstream(folder_ / "damaged" / "rank0.jsonl")
      << "{\"rank\":0,\"name\":\"barrier\",\"start_us\":1,\"end_us\":2}\n";
  std::ofstream(folder_ / "damaged" / "rank1.jsonl") << "\x01\x02 nothing that anybody reads";
  std::ofstream(folder_ / "damaged" / "notes.jsonl") << "neither, but no rank's file";
  const auto imported = import_path(folder_ / "damaged", {.threads = 1});
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->unread.size(), 1U);
  EXPECT_EQ(imported->unread.front().file, "rank1.jsonl");
}

TEST_F(SpanLinesFile, FilesInDifferentUnitsAreNotJoined) {
  fs::create_directories(folder_ / "mixed");
  std::ofstream(folder_ / "mixed" / "rank0.jsonl")
      << "{\"rank\":0,\"name\":\"barrier\",\"start_us\":1,\"end_us\":2}\n";
  std::ofstream(folder_ / "mixed" / "rank1.jsonl")
      << "{\"rank\":1,\"name\":\"barrier\",\"start\":1,\"end\":2}\n";
  const auto imported = import_path(folder_ / "mixed", {.threads = 1});
  ASSERT_TRUE(imported) << imported.error().message;
  const trace::Run& run = imported->jobs.at(0).run;
  EXPECT_EQ(run.ranks.size(), 1U);
  EXPECT_TRUE(has_note(run, "not the one of the other files"));
}

TEST_F(SpanLinesFile, AUnitIsNotGuessed) {
  // A time of day says what it is in; the length beside it is told to be taken alike.
  const trace::Run day = read(
      "{\"rank\":0,\"name\":\"barrier\",\"start\":1767225601.5,\"duration\":0.25}\n"
      "{\"rank\":1,\"name\":\"barrier\",\"start\":1767225601.0,\"duration\":0.75}\n");
  EXPECT_FALSE(unknown_unit(day.ranks));
  EXPECT_TRUE(has_note(day, "lengths have no unit: taken as that of the begins"));
  EXPECT_EQ(day.ranks[0].events.end[0], Duration(750ms));
  // Beside a begin with a unit it is not.
  EXPECT_FALSE(try_read("{\"rank\":0,\"name\":\"barrier\",\"start_ms\":17,\"duration\":0.25}\n"));
  const trace::Run unknown = read(
      "{\"rank\":0,\"step\":1,\"name\":\"step\",\"duration\":250000}\n"
      "{\"rank\":1,\"step\":1,\"name\":\"step\",\"duration\":750000}\n");
  EXPECT_EQ(unknown.times, TimesKind::Steps);
  EXPECT_TRUE(unknown_unit(unknown.ranks));
}

TEST_F(SpanLinesFile, ALineThatStandsTwiceCountsOnceWhereItSaysWhichSpanItIs) {
  for (const std::string id : {R"("seq":)", R"("span_id":)", R"("index":)"}) {
    const auto line = [&](int rank, int seq, int begin) {
      return R"({"rank":)" + std::to_string(rank) + "," + id + std::to_string(seq) + R"(,"step":)" +
             std::to_string(seq) + R"(,"name":"all_reduce","start_ms":)" + std::to_string(begin) +
             R"(,"end_ms":)" + std::to_string(1005 + 10 * seq) + R"(,"host":"h"})" + "\n";
    };
    const std::string first = line(0, 0, 1000) + line(1, 0, 1003);
    const std::string second = line(0, 1, 1010) + line(1, 1, 1013);
    const trace::Run once = read(first + second);
    const trace::Run twice = read(first + second + first);
    ASSERT_EQ(twice.ranks.size(), 2U);
    const bool is_told = id != R"("index":)";
    for (std::size_t r = 0; r < 2; ++r)
      EXPECT_EQ(twice.ranks[r].events.size() == once.ranks[r].events.size(), is_told) << id;
    EXPECT_EQ(has_note(twice, "2 spans stand there before"), is_told) << id;
    EXPECT_FALSE(has_note(once, "stand there before"));
  }
}

TEST_F(SpanLinesFile, PointsInTimeThatAreCalledALengthAreRefused) {
  const auto log = [](double from) {
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += fmt::format("{{\"step\":{},\"loss\":1.0,\"elapsed\":{:.3f}}}\n", 10 * i, from + 0.25 * i);
    return text;
  };
  const auto refused = try_read(log(0.25));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("points in time"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(try_read(log(60))) << "a job that slows down, or a clock: lengths are what the key says";
}

TEST_F(SpanLinesFile, OfAMissingLineTheOthersKeepTheirPlaceByTheirEnds) {
  std::string text;
  for (int step = 0; step < 8; ++step)
    for (int call = 0; call < 3; ++call)
      for (int rank = 0; rank < 4; ++rank) {
        // Steps 2 and 5: another call is missing on two ranks each, so that nobody has all but two.
        if ((step == 2 && call == 0 && rank == 2) || (step == 2 && call == 1 && rank == 3)) continue;
        if (step == 5 && (rank + call) % 3 == 0) continue;
        const double end = step + 0.3 * call + 0.3 + 0.001 * rank;
        text +=
            "{\"rank\":" + std::to_string(rank) + ",\"step\":" + std::to_string(step) +
            ",\"name\":\"all_reduce\",\"host\":\"a\",\"start_s\":" + std::to_string(end - 0.05 * (4 - rank)) +
            ",\"end_s\":" + std::to_string(end) + "}\n";
      }
  const trace::Run run = read(text);
  ASSERT_EQ(run.ranks.size(), 4U);
  for (const RankTrack& track : run.ranks)
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      if (track.events.kind[i] != EventKind::Collective) continue;
      const double at = in_seconds(track.events.end[i] - run.ranks[0].events.begin[0]) + 0.099;
      const int step = static_cast<int>(at);
      const int call = static_cast<int>((at - step) / 0.3 + 0.05) - 1;
      EXPECT_EQ(track.events.seq[i], static_cast<std::uint32_t>(3 * step + call)) << step << " " << at;
    }
}

TEST_F(SpanLinesFile, DamagedFormsAreRefusedOrCounted) {
  const std::string good = "{\"rank\":0,\"name\":\"barrier\",\"start_s\":1,\"end_s\":2}\n";
  const trace::Run run =
      read(good +
           "{\"rank\":0,\"name\":\"barr\n{\"rank\":0,\"name\":\"barrier\",\"start_s\":9,\"end_s\":8}\n"
           "{\"level\":\"info\"}\n{\"name\":\"barrier\",\"start_s\":3,\"end_s\":4}\n");
  EXPECT_TRUE(has_note(run, "1 line is no JSON object: line 2"));
  EXPECT_TRUE(has_note(run, "1 span ends before it begins and is left out"));
  EXPECT_TRUE(has_note(run, "1 line tells no span"));
  EXPECT_TRUE(has_note(run, "1 span tells no rank"));
  for (const char* bad : {"{\"rank\":0,\"name\":\"forward\",\"start_s\":1,\"end_s\":2}\n", "{}\n",
                          "{\"rank\":0,\"name\":\"barrier\",\"start_s\":2,\"end_s\":1}\n"}) {
    const auto refused = try_read(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().id, "import-005");
  }
  EXPECT_FALSE(recognises("{\"a\":1}\n"));
  EXPECT_FALSE(recognises("{\n  \"name\": \"x\", \"start\": 1, \"end\": 2\n}\n"));
}

TEST_F(SpanLinesFile, AByteOrderMarkIsNoPartOfTheFirstLine) {
  const trace::Run run = read(
      "\xef\xbb\xbf{\"rank\":0,\"name\":\"barrier\",\"start_s\":1,\"end_s\":2}\n"
      "{\"rank\":0,\"name\":\"barrier\",\"start_s\":3,\"end_s\":4}\n");
  EXPECT_EQ(run.ranks.at(0).events.size(), 2U);
  EXPECT_FALSE(has_note(run, "no JSON object"));
}

}  // namespace
}  // namespace cox::trace
