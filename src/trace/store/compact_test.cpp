// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/compact.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "cox/base/processes.h"
#include "cox/trace/read.hpp"
#include "cox/trace/run_info.hpp"

#include "support/make_run.hpp"
#include "trace/raw/raw_file.hpp"
#include "trace/store/block_codec.hpp"
#include "trace/store/compact_file.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using test::ScratchDir;

ProcessRecords records_of(int steps) {
  const trace::Run run = test::make_run({.ranks = 1, .steps = steps});
  auto parsed = parse_raw_file(test::raw_file(run, run.ranks[0], {.ticks_per_second = 2.6e9}));
  return std::move(parsed).value();
}

std::string_view bytes_of(const RawHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

/// A file of the running machine; its process is this very one, which lives, unless another is named.
void mark_as_ours(std::string& file, WriterState state, pid_t pid = ::getpid()) {
  RawHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  header.pid = pid;
  header.start_time = 0;
  header.state = state;
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  std::memset(header.boot_id, 0, sizeof header.boot_id);
  std::memcpy(header.boot_id, boot_id.data(), std::min(boot_id.size(), sizeof header.boot_id - 1));
  std::memcpy(file.data(), &header, sizeof header);
}

TEST(CompactFile, GivesBackWhatItWasGiven) {
  ProcessRecords in = records_of(static_cast<int>(kRecordsPerBlock));  // two blocks
  in.losses = {"something was lost"};
  const auto out = decode_compact(encode_compact(in));
  ASSERT_TRUE(out);
  EXPECT_TRUE(bytes_of(in.header) == bytes_of(out->header));
  EXPECT_EQ(in.meta, out->meta);
  EXPECT_TRUE(in.records == out->records);
  ASSERT_EQ(out->losses.size(), 1U);
  EXPECT_EQ(out->losses[0], "when it was compacted: something was lost");
}

/// A steady job: every step the same work with jitter in milliseconds, on a 2.6 GHz counter.
RecordColumns steady_job(std::size_t n) {
  std::mt19937_64 random(42);
  std::normal_distribution<double> jitter(0.0, 1e-3);
  RecordColumns r;
  r.resize(n);
  double now = 1000;
  const auto ticks = [](double s) { return static_cast<std::uint64_t>(s * 2.6e9); };
  for (std::size_t i = 0; i < n; ++i) {
    now += 0.050 + std::abs(jitter(random));
    const double begin = now;
    now += 0.004 + std::abs(jitter(random));
    r.set(i,
          {.begin = ticks(begin),
           .end = ticks(now),
           .bytes = 26'214'400,
           .comm = 1,
           .seq = static_cast<std::uint32_t>(i),
           .kind = 1,
           .op = 1,
           .flags = 0,
           .aux = 0},
          4711);
  }
  return r;
}

TEST(CompactFile, SteadyJobTakesAtMostEightBytesPerEvent) {
  ProcessRecords job = records_of(1);
  job.records = steady_job(50'000);
  const double per_event = static_cast<double>(encode_compact(job).size()) / 50'000;
  RecordProperty("bytes_per_event", std::to_string(per_event));
  EXPECT_LE(per_event, 8.0);
  EXPECT_GT(per_event, 4.0);  // two jittered times hold about 5 bytes of information: less would be a loss
}

TEST(CompactFile, DamagedBlockCostsOnlyItself) {
  const ProcessRecords in = records_of(static_cast<int>(kRecordsPerBlock) * 3 / 2);  // three blocks
  std::string file = encode_compact(in);
  BlockHeader head;
  std::size_t at = sizeof kCompactMagic;
  int events = 0;
  for (;; at += sizeof head + head.stored_bytes) {
    std::memcpy(&head, file.data() + at, sizeof head);
    if (head.kind == BlockKind::Events && ++events == 2) break;
  }
  file[at + sizeof head + head.stored_bytes / 2] ^= 0x10;
  const auto out = decode_compact(file);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->records.size(), 2 * kRecordsPerBlock);
  EXPECT_EQ(out->records.begin.back(), in.records.begin.back());
  ASSERT_EQ(out->losses.size(), 2U);
  EXPECT_NE(out->losses[0].find("with 16384 records is damaged"), std::string::npos);
  EXPECT_EQ(out->losses[1], "32768 of 49152 records were read");
}

TEST(CompactFile, ABombIsRefused) {
  std::string file = encode_compact(records_of(1));
  // An Events block that promises far more than a block may hold.
  BlockHeader head{.magic = kBlockMagic,
                   .kind = BlockKind::Header,
                   .stored_bytes = 0,
                   .raw_bytes = 0,
                   .records = 0,
                   .check = 0};
  std::memcpy(&head, file.data() + sizeof kCompactMagic, sizeof head);
  head.raw_bytes = std::uint64_t{1} << 40;
  std::memcpy(file.data() + sizeof kCompactMagic, &head, sizeof head);
  EXPECT_EQ(decode_compact(file).error().id, "trace-002");  // its check no longer fits either
}

TEST(CompactRun, ReplacesRawFilesAndReadsTheSame) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 3, .steps = 40, .nodes = 2});
  ASSERT_TRUE(test::write_raw_files(run, dir.path()));
  const auto before = open_run(dir.path());
  const auto report = compact_run(dir.path());
  ASSERT_TRUE(before && report);
  EXPECT_EQ(report->files, 3);
  EXPECT_EQ(report->kept_raw, 0);
  EXPECT_EQ(report->events, 240);
  EXPECT_EQ(report->raw_bytes, Bytes{9600});
  EXPECT_TRUE(report->notes.empty());
  EXPECT_FALSE(fs::exists(dir.path() / "rank-000000.coxraw"));
  EXPECT_TRUE(fs::exists(dir.path() / "rank-000000.cox"));
  const auto after = open_run(dir.path());
  ASSERT_TRUE(after);
  EXPECT_EQ(test::difference(*before, *after), "");
  EXPECT_TRUE(after->notes.empty());
}

TEST(CompactRun, LeavesLivingProcessesAlone) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 5});
  std::string living = test::raw_file(run, run.ranks[0]);
  mark_as_ours(living, WriterState::Open);
  std::string finished = test::raw_file(run, run.ranks[1]);
  mark_as_ours(finished, WriterState::Closed);
  test::put_file(dir.path() / "a.coxraw", living);
  test::put_file(dir.path() / "b.coxraw", finished);
  const auto report = compact_run(dir.path());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->files, 1);
  EXPECT_EQ(report->kept_raw, 1);
  EXPECT_EQ(test::file_content(dir.path() / "a.coxraw"), living);
  EXPECT_FALSE(fs::exists(dir.path() / "a.cox"));
  EXPECT_FALSE(fs::exists(dir.path() / "b.coxraw"));
}

/// A process number that was in use a moment ago and is not any more.
pid_t gone_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  cox_wait_process(child, nullptr, 0);
  return child;
}

/// A file name as a guest on this host gives it.
std::string name_here(const std::string& rest) {
  char host[64] = {};
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + "-" + rest;
}

TEST(CompactRun, InASharedFolderOnlyWhatIsOursAndOver) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 3, .steps = 5});
  std::string living = test::raw_file(run, run.ranks[0]);
  mark_as_ours(living, WriterState::Closed);
  std::string gone = test::raw_file(run, run.ranks[1]);
  mark_as_ours(gone, WriterState::Closed, gone_process());
  test::put_file(dir.path() / name_here("1-a.coxraw"), living);
  test::put_file(dir.path() / name_here("2-b.coxraw"), gone);
  test::put_file(dir.path() / "another-3-c.coxraw", gone);
  const auto report = compact_run(dir.path(), 1, CompactScope::ThisHost);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->files, 1);
  EXPECT_EQ(report->kept_raw, 1);
  EXPECT_TRUE(fs::exists(dir.path() / name_here("1-a.coxraw"))) << "closed, but its process lives";
  EXPECT_TRUE(fs::exists(dir.path() / name_here("2-b.cox")));
  EXPECT_TRUE(fs::exists(dir.path() / "another-3-c.coxraw"));
}

TEST(CompactRun, ARanksOwnCoxTakesWhatWasRecordedBelowItAndOpensNothingElse) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 5});
  std::string gone = test::raw_file(run, run.ranks[0]);
  mark_as_ours(gone, WriterState::Closed, gone_process());
  test::put_file(dir.path() / name_here("1-a.by77.coxraw"), gone);
  test::put_file(dir.path() / name_here("2-b.by78.coxraw"), gone);
  test::put_file(dir.path() / name_here("3-c.coxraw"), gone);
  const auto report = compact_run(dir.path(), 1, CompactScope::Observer, 77);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->files, 1);
  EXPECT_EQ(report->kept_raw, 0);
  EXPECT_TRUE(fs::exists(dir.path() / name_here("1-a.by77.cox")));
  EXPECT_TRUE(fs::exists(dir.path() / name_here("2-b.by78.coxraw")));
  EXPECT_TRUE(fs::exists(dir.path() / name_here("3-c.coxraw")));
}

TEST(CompactRun, HostsMayHaveFoldersOfTheirOwn) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 3, .steps = 5});
  const auto put = [&](const fs::path& at, std::size_t rank) {
    fs::create_directories(at.parent_path());
    std::string file = test::raw_file(run, run.ranks[rank]);
    mark_as_ours(file, WriterState::Closed, gone_process());
    test::put_file(at, file);
  };
  put(dir.path() / "a" / "a-1-x.coxraw", 0);
  put(dir.path() / "b" / "b-1-x.coxraw", 1);
  put(dir.path() / "c-1-x.coxraw", 2);
  const auto report = compact_run(dir.path());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->files, 3);
  EXPECT_TRUE(fs::exists(dir.path() / "a" / "a-1-x.cox"));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks.size(), 3U);
}

TEST(CompactRun, AFolderOfRunsIsNoRunOfSeveralHosts) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 5});
  fs::create_directories(dir.path() / "monday");
  test::put_file(dir.path() / "monday" / "host-1-x.coxraw", test::raw_file(run, run.ranks[0]));
  const auto report = compact_run(dir.path());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().id, "trace-002");
}

TEST(CompactRun, SeveralAtOnceCompactEachFileOnce) {
  const ScratchDir dir;
  constexpr int kRanks = 12;
  const trace::Run run = test::make_run({.ranks = kRanks, .steps = 40});
  const pid_t pid = gone_process();
  for (int r = 0; r < kRanks; ++r) {
    std::string file = test::raw_file(run, run.ranks[static_cast<std::size_t>(r)]);
    mark_as_ours(file, WriterState::Closed, pid);
    test::put_file(dir.path() / name_here(std::to_string(r) + ".coxraw"), file);
  }
  std::atomic<std::int64_t> compacted{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> tools;
  tools.reserve(4);
  for (int i = 0; i < 4; ++i)
    tools.emplace_back([&] {
      const auto report = compact_run(dir.path(), 1, CompactScope::ThisHost);
      // Whoever comes after the last file was compacted finds only compact ones; that is no error.
      if (report)
        compacted += report->files;
      else
        ++failed;
    });
  for (std::thread& tool : tools) tool.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GE(compacted, kRanks);
  std::size_t compact = 0;
  for (const auto& entry : fs::directory_iterator(dir.path())) {
    EXPECT_EQ(entry.path().extension(), ".cox") << entry.path();
    ++compact;
  }
  EXPECT_EQ(compact, static_cast<std::size_t>(kRanks));
  const auto back = open_run(dir.path());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->event_count(), run.event_count());
}

TEST(CompactRun, FilesOfAnotherMachineWaitAnHour) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 5});
  const fs::path file = dir.path() / "a.coxraw";
  test::put_file(file, test::raw_file(run, run.ranks[0], {.state = WriterState::Open}));
  EXPECT_EQ(compact_run(dir.path())->kept_raw, 1);
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours{2});
  EXPECT_EQ(compact_run(dir.path())->files, 1);
}

TEST(CompactRun, KeepsADamagedRawFile) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 200});
  const std::string file = test::raw_file(run, run.ranks[0]);
  test::put_file(dir.path() / "a.coxraw", std::string_view(file).substr(0, file.size() - 5000));
  const auto report = compact_run(dir.path());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->kept_raw, 1);
  EXPECT_EQ(report->notes.back().text, "damaged or cut: left as it is");
  EXPECT_TRUE(fs::exists(dir.path() / "a.coxraw"));
}

TEST(CompactRun, FinishesWhatAnInterruptedOneBegan) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 1, .steps = 20});
  const std::string raw = test::raw_file(run, run.ranks[0]);
  test::put_file(dir.path() / "a.coxraw", raw);
  ASSERT_EQ(compact_run(dir.path())->files, 1);
  test::put_file(dir.path() / "a.coxraw", raw);
  EXPECT_EQ(compact_run(dir.path())->files, 1);
  EXPECT_FALSE(fs::exists(dir.path() / "a.coxraw"));
  // A compact file that holds something else is never overwritten.
  const trace::Run other = test::make_run({.ranks = 1, .steps = 21});
  test::put_file(dir.path() / "a.coxraw", test::raw_file(other, other.ranks[0]));
  const auto report = compact_run(dir.path());
  EXPECT_EQ(report->kept_raw, 1);
  EXPECT_TRUE(fs::exists(dir.path() / "a.coxraw"));
  EXPECT_EQ(open_run(dir.path())->event_count(), 40U);
}

TEST(CompactRun, RefusesFoldersWithoutARun) {
  const ScratchDir dir;
  EXPECT_EQ(compact_run(dir.path() / "missing").error().id, "trace-001");
  EXPECT_EQ(compact_run(dir.path()).error().id, "trace-002");
}

TEST(WriteRun, ReadsBackAsItWas) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 5, .steps = 30, .collectives = 2, .nodes = 2});
  ASSERT_TRUE(write_run(run, dir.path() / "run", 2));
  const auto back = open_run(dir.path() / "run");
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(test::difference(run, *back), "");
  EXPECT_EQ(back->info.name, run.info.name);
  EXPECT_EQ(back->info.tool, "make_run");
  EXPECT_TRUE(back->notes.empty());
}

TEST(WriteRun, KeepsUnfinishedCallsAndEventsOutsideCommunicators) {
  const ScratchDir dir;
  trace::Run run = test::make_run({.ranks = 2, .steps = 3});
  run.ranks[1].events.end.back() = kStillRunning;
  run.ranks[1].events.comm.set_back(kNoComm);
  run.ranks[1].state = WriterState::Open;
  ASSERT_TRUE(write_run(run, dir.path() / "run"));
  const auto back = open_run(dir.path() / "run");
  ASSERT_TRUE(back);
  EXPECT_EQ(test::difference(run, *back), "");
}

TEST(WriteRun, NeverWritesIntoAFolderWithContent) {
  const ScratchDir dir;
  test::put_file(dir.path() / "precious.txt", "x");
  const auto status = write_run(test::make_run({.ranks = 1, .steps = 1}), dir.path());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().id, "base-005");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 1);
}

TEST(WriteRun, SaysWhereItCannotWrite) {
  const ScratchDir dir;
  test::put_file(dir.path() / "file", "x");
  EXPECT_EQ(write_run(test::make_run({.ranks = 1, .steps = 1}), dir.path() / "file" / "run").error().id,
            "base-006");
}

}  // namespace
}  // namespace cox::trace
