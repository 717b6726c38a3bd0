// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/read.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "cox/trace/compact.hpp"

#include "support/make_run.hpp"
#include "trace/store/run_folder.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using test::RawShape;
using test::ScratchDir;

/// The raw file of one rank after `change` had its way with the header.
std::string raw_with(const trace::Run& run, std::size_t rank, const std::function<void(RawHeader&)>& change,
                     const RawShape& shape = {}) {
  std::string file = test::raw_file(run, run.ranks[rank], shape);
  RawHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  change(header);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

/// Overwrites a field of the i-th record (raw files of `make_run` hold them in order,
/// 100 to a chunk of 4096).
template <class T>
void change_record(std::string& file, std::size_t i, std::size_t field, T value) {
  const std::size_t at =
      kHeaderBytes + 4096 * (1 + i / 100) + sizeof(ChunkHeader) + i % 100 * sizeof(RawRecord);
  std::memcpy(file.data() + at + field, &value, sizeof value);
}

bool has_note(const trace::Run& run, const std::string& part) {
  for (const Note& note : run.notes)
    if (note.text.find(part) != std::string::npos) return true;
  return false;
}

TEST(OpenRun, RawFilesOfNanosecondClocksGiveTheRunBack) {
  const ScratchDir dir;
  trace::Run run = test::make_run({.ranks = 4, .steps = 60, .collectives = 3, .nodes = 2});
  for (RankTrack& t : run.ranks) {
    t.overhead_per_event = std::chrono::nanoseconds{25};  // as raw_file states it
    for (std::size_t i = 0; i < t.events.size(); ++i) {   // times that nanosecond ticks can hold
      t.events.begin[i] -= t.events.begin[i] % std::chrono::nanoseconds{1};
      t.events.end[i] -= t.events.end[i] % std::chrono::nanoseconds{1};
    }
  }
  ASSERT_TRUE(test::write_raw_files(run, dir.path()));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back) << back.error().to_string();
  run.info.provenance = Provenance::Observed;
  EXPECT_EQ(test::difference(run, *back), "");
  EXPECT_TRUE(back->notes.empty());
  EXPECT_EQ(back->info.job, "synthetic-1");
  EXPECT_EQ(back->info.name, dir.path().filename().string());
  EXPECT_EQ(back->ranks[0].clock.residual, Duration::zero());
}

TEST(OpenRun, CounterTicksAreWithinATick) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 100});
  ASSERT_TRUE(test::write_raw_files(run, dir.path(), {.ticks_per_second = 2.6e9}));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  for (std::size_t r = 0; r < 2; ++r) {
    ASSERT_EQ(back->ranks[r].events.size(), 200U);
    for (std::size_t i = 0; i < 200; ++i) {
      const Duration error = back->ranks[r].events.end[i] - run.ranks[r].events.end[i];
      EXPECT_LE(std::chrono::abs(error), std::chrono::nanoseconds{2});
    }
  }
}

TEST(OpenRun, DoesNotDependOnTheNumberOfThreads) {
  const ScratchDir dir;
  ASSERT_TRUE(test::write_raw_files(test::make_run({.ranks = 9, .steps = 50, .nodes = 3}), dir.path()));
  const auto one = open_run(dir.path(), {.threads = 1});
  std::int64_t last = 0;
  const auto many =
      open_run(dir.path(), {.threads = 7, .progress = [&](std::int64_t done, std::int64_t total) {
                              EXPECT_EQ(total, 9);
                              EXPECT_EQ(done, ++last);
                            }});
  ASSERT_TRUE(one && many);
  EXPECT_EQ(test::difference(*one, *many), "");
  EXPECT_EQ(last, 9);
}

TEST(OpenRun, NodesAreAlignedByTheirRealtimeClocks) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 10, .nodes = 2});
  // The second machine was started at another time: its monotonic clock differs, its realtime clock does not.
  test::put_file(dir.path() / "0.coxraw", test::raw_file(run, run.ranks[0], {.boot_ns = 5'000'000'000'000}));
  test::put_file(dir.path() / "1.coxraw", test::raw_file(run, run.ranks[1], {.boot_ns = 777'000'000'123}));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  ASSERT_EQ(back->nodes.size(), 2U);
  EXPECT_NE(back->ranks[0].node, back->ranks[1].node);
  EXPECT_LE(std::chrono::abs(back->ranks[0].events.end.back() - back->ranks[1].events.end.back()),
            std::chrono::nanoseconds{2});
  EXPECT_EQ(back->origin_realtime_ns, run.origin_realtime_ns);
}

TEST(OpenRun, UnusableRecordsAreCounted) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 20});
  std::string file = test::raw_file(run, run.ranks[0]);
  change_record<std::uint8_t>(file, 3, offsetof(RawRecord, kind), 99);
  change_record<std::uint64_t>(file, 5, offsetof(RawRecord, end), 7);
  change_record<std::uint64_t>(file, 7, offsetof(RawRecord, begin), 0);
  change_record<std::uint64_t>(file, 9, offsetof(RawRecord, begin), 12);
  change_record<std::uint32_t>(file, 11, offsetof(RawRecord, comm), 42);
  change_record<std::uint64_t>(file, 39, offsetof(RawRecord, end), 0);
  test::put_file(dir.path() / "a.coxraw", file);
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->event_count(), 36U);
  EXPECT_TRUE(has_note(*back, "1 record is of a kind"));
  EXPECT_TRUE(has_note(*back, "1 record ends before it begins"));
  EXPECT_TRUE(has_note(*back, "1 record was announced and never written"));
  EXPECT_TRUE(has_note(*back, "1 record lies more than 10 s before"));
  EXPECT_TRUE(has_note(*back, "1 event names a communicator that is not described"));
  EXPECT_EQ(back->ranks[0].events.end.back(), kStillRunning);
}

TEST(OpenRun, OnlyTheLastAttemptOfARankCounts) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 4});
  test::put_file(dir.path() / "a.coxraw", raw_with(run, 0, [](RawHeader& h) { h.attempt = 1; }));
  test::put_file(dir.path() / "b.coxraw", raw_with(run, 0, [](RawHeader& h) { h.attempt = 0; }));
  test::put_file(dir.path() / "c.coxraw", test::raw_file(run, run.ranks[1], {.boot_ns = 9'000'000'000'000}));
  test::put_file(dir.path() / "d.coxraw", test::raw_file(run, run.ranks[1]));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  ASSERT_EQ(back->ranks.size(), 2U);
  EXPECT_EQ(back->ranks[0].attempt, 1);
  ASSERT_EQ(back->notes.size(), 2U);
  EXPECT_EQ(back->notes[0].file, "b.coxraw");
  EXPECT_TRUE(has_note(*back, "an earlier attempt of rank 0"));
}

template <std::size_t N>
void set_field(char (&field)[N], const char* text) {
  std::memset(field, 0, N);
  std::strncpy(field, text, N - 1);
}

/// Writes ranks 0 to `ranks` - 1 of a job that begins `after` the synthetic job's begin.
void put_job(
    const fs::path& dir, const trace::Run& run, int ranks, const char* job, std::chrono::seconds after,
    const std::function<void(RawHeader&)>& change = [](RawHeader&) {}) {
  for (int r = 0; r < ranks; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    const std::string file = raw_with(run, rank, [&](RawHeader& h) {
      set_field(h.job, job);
      for (std::uint64_t i = 0; i < h.pair_count; ++i)
        h.pairs[i].realtime_ns += std::chrono::nanoseconds{after}.count();
      change(h);
    });
    test::put_file(
        dir / (std::string(job) + "-" + std::to_string(after.count()) + "-" + std::to_string(r) + ".coxraw"),
        file);
  }
}

std::size_t notes_with(const trace::Run& run, const std::string& part) {
  return static_cast<std::size_t>(std::count_if(run.notes.begin(), run.notes.end(), [&](const Note& note) {
    return note.text.find(part) != std::string::npos;
  }));
}

TEST(OpenRun, ARestartWithoutAnAttemptNumberIsToldByItsTime) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 3, .steps = 4});
  put_job(dir.path(), run, 3, "7", std::chrono::seconds{0});
  put_job(dir.path(), run, 3, "7", std::chrono::seconds{100}, [](RawHeader& h) { h.pid += 500; });
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  ASSERT_EQ(back->ranks.size(), 3U);
  for (const RankTrack& t : back->ranks) EXPECT_GE(t.pid, 1500);
  EXPECT_EQ(notes_with(*back, "an earlier attempt of rank"), 3U);
}

TEST(OpenRun, AJobThatCameBackSmallerDoesNotKeepItsLostRanks) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 4, .steps = 4});
  put_job(dir.path(), run, 4, "7", std::chrono::seconds{0});
  put_job(dir.path(), run, 3, "7", std::chrono::seconds{100}, [](RawHeader& h) { h.world_size = 3; });
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks.size(), 3U);
  EXPECT_EQ(back->world_size, 3);
  EXPECT_TRUE(has_note(*back, "an earlier attempt of rank 3"));
}

TEST(OpenRun, TwoJobsInOneFolderAreSaidAndNotMixed) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 4, .steps = 4});
  put_job(dir.path(), run, 4, "7", std::chrono::seconds{0});
  put_job(dir.path(), run, 2, "8", std::chrono::seconds{100});
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks.size(), 2U);
  EXPECT_EQ(back->info.job, "8");
  EXPECT_EQ(notes_with(*back, "the folder holds 2 jobs; only the last one, 8, is used"), 1U);
  EXPECT_EQ(notes_with(*back, "is of job 7: its 8 events are not used"), 4U);
}

TEST(OpenRun, AJobThatBeganWhileAnotherRanIsNotTheNextOne) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 400});  // 4 s
  put_job(dir.path(), run, 2, "7", std::chrono::seconds{0});
  put_job(dir.path(), run, 1, "8", std::chrono::seconds{1});
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->info.job, "7");
  EXPECT_EQ(back->ranks.size(), 2U);
}

TEST(OpenRun, AProcessWithoutAJobIdBelongsToTheOneThatIsThere) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 4});
  test::put_file(dir.path() / "a.coxraw", raw_with(run, 0, [](RawHeader& h) { set_field(h.job, ""); }));
  test::put_file(dir.path() / "b.coxraw", test::raw_file(run, run.ranks[1]));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks.size(), 2U);
  EXPECT_TRUE(back->notes.empty());
}

TEST(OpenRun, ManyThatEachCallThemselvesTheOnlyRankAreSaid) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 4, .steps = 4});
  const auto alone = [](RawHeader& h) {
    h.rank = 0;
    h.world_size = 1;
  };
  put_job(dir.path(), run, 4, "7", std::chrono::seconds{0}, alone);
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks.size(), 1U);
  EXPECT_TRUE(has_note(*back, "4 processes that ran at the same time each say that they are rank 0 of 1"));
  EXPECT_EQ(notes_with(*back, "one more rank 0 of 1"), 3U);
}

TEST(OpenRun, SingleProcessesOneAfterAnotherAreNoMismatch) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 4});
  for (const int start : {0, 10, 20}) put_job(dir.path(), run, 1, "7", std::chrono::seconds{start});
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_FALSE(has_note(*back, "rank 0 of 1"));
  EXPECT_EQ(notes_with(*back, "an earlier attempt of rank 0"), 2U);
}

TEST(OpenRun, ProcessesWithoutRankAreNotUsed) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 4});
  test::put_file(dir.path() / "a.coxraw", test::raw_file(run, run.ranks[0]));
  test::put_file(dir.path() / "b.coxraw", raw_with(run, 1, [](RawHeader& h) { h.rank = -1; }));
  test::put_file(dir.path() / "c.coxraw", raw_with(run, 1, [](RawHeader& h) { h.rank = INT32_MAX; }));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks.size(), 1U);
  EXPECT_TRUE(has_note(*back, "process 1001 never became a rank: its 8 events are not used"));
  EXPECT_TRUE(has_note(*back, "claims rank 2147483647"));
}

TEST(OpenRun, OneFileOfAFolder) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 3, .steps = 4});
  ASSERT_TRUE(test::write_raw_files(run, dir.path()));
  const auto back = open_run(dir.path() / "rank-000002.coxraw");
  ASSERT_TRUE(back);
  ASSERT_EQ(back->ranks.size(), 1U);
  EXPECT_EQ(back->ranks[0].rank, Rank{2});
}

TEST(OpenRun, PrefersTheCompactFileOfAProcess) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 30});
  const std::string raw = test::raw_file(run, run.ranks[0]);
  test::put_file(dir.path() / "a.coxraw", raw);
  ASSERT_TRUE(compact_run(dir.path()));
  test::put_file(dir.path() / "a.coxraw", raw);
  const auto both = open_run(dir.path());
  ASSERT_TRUE(both);
  EXPECT_EQ(both->event_count(), 60U);
  EXPECT_TRUE(has_note(*both, "the compact one is used"));
  // Where it was cut short, the raw one knows more.
  const std::string compact = test::file_content(dir.path() / "a.cox");
  test::put_file(dir.path() / "a.cox", std::string_view(compact).substr(0, compact.size() / 2));
  const auto cut = open_run(dir.path());
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->event_count(), 60U);
  EXPECT_TRUE(has_note(*cut, "the raw one is used"));
}

TEST(OpenRun, ForeignAndDamagedFilesBesideGoodOnes) {
  const ScratchDir dir;
  ASSERT_TRUE(test::write_raw_files(test::make_run({.ranks = 2, .steps = 4}), dir.path()));
  test::put_file(dir.path() / "train.log", "loss 0.5\n");
  test::put_file(dir.path() / "broken.coxraw", "COXRAW1\nand then nothing");
  test::put_file(dir.path() / "empty.cox", "");
  fs::create_directory(dir.path() / "folder.cox");
  ASSERT_EQ(::mkfifo((dir.path() / "pipe.coxraw").c_str(), 0600), 0);
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks.size(), 2U);
  EXPECT_EQ(back->notes.size(), 4U);
  EXPECT_TRUE(has_note(*back, "not used: 24 bytes long, its header alone has 4096"));
}

TEST(OpenRun, DamagedRunJsonIsANote) {
  const ScratchDir dir;
  ASSERT_TRUE(test::write_raw_files(test::make_run({.ranks = 2, .steps = 4}), dir.path()));
  test::put_file(dir.path() / "run.json", "{");
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  ASSERT_EQ(back->notes.size(), 1U);
  EXPECT_EQ(back->notes[0].file, "run.json");
}

TEST(OpenRun, NothingThere) {
  const ScratchDir dir;
  EXPECT_EQ(open_run(dir.path() / "missing").error().id, "trace-001");
  const auto empty = open_run(dir.path());
  EXPECT_EQ(empty.error().id, "trace-002");
  EXPECT_EQ(empty.error().message, "no Run in it: the folder is empty; expected .cox or .coxraw files");
}

TEST(OpenRun, NamesWhatWasFoundInstead) {
  const ScratchDir dir;
  test::put_file(dir.path() / "a.json", "{\"traceEvents\": []}");
  test::put_file(dir.path() / "b.gz", "\x1f\x8b\x08");
  test::put_file(dir.path() / "c", "\x80\x04K\x01.");
  test::put_file(dir.path() / "d", "x");
  const auto result = open_run(dir.path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().id, "trace-002");
  EXPECT_EQ(
      result.error().message,
      "no Run in it: found a.json (JSON text), b.gz (gzip data), c (a Python pickle) and 1 more; expected "
      ".cox or .coxraw files");
  const auto single = open_run(dir.path() / "b.gz");
  EXPECT_EQ(single.error().message, "no Run in it: it looks like gzip data; expected .cox or .coxraw files");
}

TEST(OpenRun, NewerVersionsSaySo) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 4});
  test::put_file(dir.path() / "a.coxraw", raw_with(run, 0, [](RawHeader& h) { h.version = 7; }));
  test::put_file(dir.path() / "b.cox", "COXRUN2\nfrom the future");
  const auto result = open_run(dir.path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().id, "trace-003");
  EXPECT_NE(result.error().message.find("raw format version 7, this cox reads up to 1"), std::string::npos);
}

TEST(OpenRun, ClocksThatCannotBePlacedAreNoted) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 10});
  test::put_file(dir.path() / "a.coxraw", test::raw_file(run, run.ranks[0], {.ticks_per_second = 2e9}));
  test::put_file(dir.path() / "b.coxraw",
                 raw_with(run, 1, [](RawHeader& h) { h.pair_count = 0; }, {.ticks_per_second = 2e9}));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks[1].events.size(), 20U);
  EXPECT_EQ(back->ranks[1].events.begin.front(), Duration::zero());
  EXPECT_TRUE(has_note(*back, "rank 1: its times cannot be compared with other ranks'"));
}

TEST(LooksLike, KnownContents) {
  EXPECT_EQ(looks_like(""), "empty or not a regular file");
  EXPECT_EQ(looks_like("  [1, 2]"), "JSON text");
  EXPECT_EQ(looks_like("hello\n"), "text");
  EXPECT_EQ(looks_like("Dear all, this is a note, with commas\nand more, in a second line, of it\n"), "text");
  EXPECT_EQ(looks_like("Dear all, this is a note\nof 3 lines, 2 of them\nlong\n"), "text");
  EXPECT_EQ(looks_like("import json,sys\nimport os,re\n\nprint(json.dumps([1, 2, 3]))\n"), "text");
  EXPECT_EQ(looks_like("step,wall\n"), "text");
  EXPECT_EQ(looks_like("step,wall\n0,1.5\n"), "a table whose columns are not known: step,wall");
  EXPECT_EQ(looks_like("step\twall\r\n0\t1.5\r\n"), "a table whose columns are not known: step?wall");
  EXPECT_EQ(looks_like("host,what\na,b\nn1,-2\n"), "a table whose columns are not known: host,what");
  EXPECT_EQ(looks_like(std::string("\x01\x02\x00", 3)), "unknown binary data");
  EXPECT_EQ(looks_like("PK\x03\x04"), "a zip archive");
}

}  // namespace
}  // namespace cox::trace
