// SPDX-License-Identifier: Apache-2.0
// The guest's writer keeps process-wide state, so each case runs in a child process of its own.
#include "cox/guest/writer.hpp"

#include <fenv.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cox/base/processes.h"

#include "guest/seam/communicators.hpp"
#include "guest/writer/child_for_tests.hpp"
#include "guest/writer/state.hpp"

namespace {

namespace guest = cox::guest;
using namespace cox::guest::test;

/// The keeper has a table of descriptors of its own. Tests that open something while it lives are skipped under this sanitizer.
[[maybe_unused]] constexpr const char* kMixedUp =
    "the thread sanitizer takes one number in two tables of descriptors for one descriptor";

using GuestWriter = GuestChild;

/// What a process has open besides pipes and its terminal: the paths below /proc and what lies in a folder.
std::vector<std::string> open_files_of(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code ec;
  for (const auto& fd : fs::directory_iterator("/proc/self/fd")) {
    const std::string path = fs::read_symlink(fd.path(), ec).string();
    if (path.starts_with(folder.string()) || (path.starts_with("/proc/") && !path.ends_with("/fd")))
      out.push_back(path);
  }
  return out;
}

TEST_F(GuestWriter, WhatItHasOpenIsNotTheProgramsToSee) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << kMixedUp;
#endif
  const std::string dir = dir_.string();
  EXPECT_EQ(
      in_child([&] {
        if (!guest::open({.dir = dir.c_str()}, {.rank = 0})) return 1;
        record(1);
        std::this_thread::sleep_for(std::chrono::milliseconds{1500});  // the keeper has sampled and saved
        const std::size_t own_file = 1;
        if (open_files_of(dir_).size() > own_file) return 2;
        guest::close();
        return open_files_of(dir_).empty() ? 0 : 3;
      }),
      0);
}

TEST_F(GuestWriter, WhoWasForkedInTheMiddleOfAnOpeningDoesNotWaitForIt) {
  const std::string dir = dir_.string();
  for (const guest::Phase phase : {guest::Phase::Off, guest::Phase::Opening})
    EXPECT_EQ(in_child([&] {
                alarm(20);  // instead of waiting for ever
                guest::g.opener.store(getppid());
                guest::g.phase.store(phase);
                return guest::open({.dir = dir.c_str()}, {.rank = 0}) || guest::active() ? 1 : 0;
              }),
              0);
}

TEST_F(GuestWriter, RecordsEventsInOrderAndClosesTheFile) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              if (!guest::open({.dir = dir.c_str()}, {.rank = 3, .world_size = 8, .library = "test"}))
                return 1;
              for (std::uint64_t i = 0; i < 5000; ++i) record(i);
              guest::close();
              return 0;
            }),
            0);
  const std::string file = only_file();
  const RawHeader h = header_of(file);
  EXPECT_EQ(std::memcmp(h.magic, kRawMagic, sizeof kRawMagic), 0);
  EXPECT_EQ(h.rank, 3);
  EXPECT_EQ(h.world_size, 8);
  EXPECT_EQ(h.state, WriterState::Closed);
  EXPECT_EQ(h.dropped_records, 0U);
  EXPECT_STREQ(h.library, "test");
  EXPECT_GE(h.pair_count, 2U);
  const auto records = records_of(file);
  ASSERT_EQ(records.size(), 5000U);
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].bytes, i);
    EXPECT_GE(records[i].end, records[i].begin);
    EXPECT_GE(records[i].begin, i == 0 ? 0 : records[i - 1].end);
  }
}

TEST_F(GuestWriter, NothingIsRecordedBeforeOpenOrAfterClose) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              record(1);
              guest::open({.dir = dir.c_str()}, {});
              record(2);
              guest::close();
              record(3);
              return 0;
            }),
            0);
  const auto records = records_of(only_file());
  ASSERT_GE(records.size(), 1U);
  EXPECT_EQ(records.front().bytes, 2U);
}

/// Bytes committed or samples taken in all chunks of a kind.
std::uint64_t committed_in(const std::string& file, ChunkKind kind) {
  std::uint64_t sum = 0;
  const RawHeader h = header_of(file);
  for (std::size_t at = kHeaderBytes; at + sizeof(ChunkHeader) <= file.size(); at += h.chunk_bytes) {
    ChunkHeader chunk{};
    std::memcpy(&chunk, file.data() + at, sizeof chunk);
    if (chunk.magic == kChunkMagic && chunk.kind == kind) sum += chunk.committed;
  }
  return sum;
}

TEST_F(GuestWriter, TheKeeperTakesSamplesAndSaysWhereTheProcessMayRun) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << kMixedUp;
#endif
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              if (!guest::open({.dir = dir.c_str()}, {.rank = 0, .local_rank = 1})) return 1;
              // Until the keeper came to it, ten seconds at most.
              for (const auto start = std::chrono::steady_clock::now();;) {
                const std::string file = only_file();
                if (committed_in(file, ChunkKind::Samples) > 1 && committed_in(file, ChunkKind::Meta) > 0)
                  return 0;
                if (std::chrono::steady_clock::now() - start > std::chrono::seconds{10}) return 2;
                std::this_thread::yield();
              }
            }),
            0);
  const std::string file = only_file();
  const RawHeader h = header_of(file);
  EXPECT_GE(h.sample_tickets, 1U);
  EXPECT_GT(h.start_time, 0U);
  EXPECT_GT(h.time_namespace, 0U);
  EXPECT_GT(h.pid_namespace, 0U);
  EXPECT_NE(file.find("affinity\t"), std::string::npos);
  EXPECT_NE(file.find("/proc/self/status/Cpus_allowed_list\t"), std::string::npos);
  EXPECT_NE(file.find("/sys/devices/system/cpu/online\t"), std::string::npos) << "it speaks for its node";
}

TEST_F(GuestWriter, OfSeveralHostsEachHasAFolder) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              const bool good =
                  guest::open({.dir = dir.c_str(), .folder_per_host = true, .observer = 77}, {.rank = 0});
              guest::close();
              return good ? 0 : 1;
            }),
            0);
  char name[64] = {};
  gethostname(name, sizeof name - 1);
  const std::string host(name);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_ / host)) {
    EXPECT_TRUE(entry.path().filename().string().starts_with(host + "-"));
    EXPECT_TRUE(entry.path().filename().string().ends_with(".by77.coxraw"));
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(GuestWriter, SamplesNeverCountAsLostEvents) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << kMixedUp;
#endif
  const std::string dir = dir_.string();
  // Chunks of a few records in a file of the smallest size: those of the keeper are used again, too.
  ASSERT_EQ(in_child([&] {
              if (!guest::open({.dir = dir.c_str(), .max_bytes = 1, .chunk_bytes = 4096},
                               {.rank = 0, .local_rank = 1}))
                return 1;
              while (committed_in(only_file(), ChunkKind::Samples) == 0) std::this_thread::yield();
              for (std::uint64_t i = 0; i < 10'000; ++i) record(i);
              guest::close();
              return 0;
            }),
            0);
  const std::string file = only_file();
  const RawHeader h = header_of(file);
  EXPECT_EQ(records_of(file).size() + h.recycled_records, 10'000U);
  EXPECT_EQ(h.dropped_records, 0U);
}

TEST_F(GuestWriter, AKilledWriterLeavesEveryCompletedEventAndTheOpenOne) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              for (std::uint64_t i = 0; i < 100; ++i) record(i);
              guest::begin(EventKind::Collective, 1, 0, 1, 100, 100, 0);  // never returns
              // What the keeper has written is safe: it comes by within half a second.
              const auto start = std::chrono::steady_clock::now();
              while (records_of(only_file()).size() < 101)
                if (std::chrono::steady_clock::now() - start > std::chrono::seconds{10}) return 1;
              cox_signal_process(getpid(), SIGKILL);
              return 0;
            }),
            128 + SIGKILL);
  const std::string file = only_file();
  EXPECT_EQ(header_of(file).state, WriterState::Open);
  const auto records = records_of(file);
  ASSERT_EQ(records.size(), 101U);
  EXPECT_EQ(records.back().end, 0U);
  EXPECT_EQ(records.back().bytes, 100U);
}

TEST_F(GuestWriter, EachThreadWritesToChunksOfItsOwn) {
  const std::string dir = dir_.string();
  constexpr std::uint64_t kPerThread = 10'000;
  ASSERT_EQ(in_child([&] {
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              {
                std::vector<std::jthread> threads;
                for (std::uint64_t t = 0; t < 4; ++t)
                  threads.emplace_back([t] {
                    for (std::uint64_t i = 0; i < kPerThread; ++i) record(t * kPerThread + i);
                  });
              }
              guest::close();
              return 0;
            }),
            0);
  auto records = records_of(only_file());
  ASSERT_EQ(records.size(), 4 * kPerThread);
  std::vector<bool> seen(records.size());
  for (const RawRecord& r : records) seen.at(r.bytes) = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(records.size()));
}

TEST_F(GuestWriter, MaxSizeKeepsTheFirstChunksAndTheNewestAndCountsTheRest) {
  const std::string dir = dir_.string();
  constexpr std::uint64_t kEvents = 200'000;
  ASSERT_EQ(in_child([&] {
              guest::open({.dir = dir.c_str(), .max_bytes = 32UL * 65536 + kHeaderBytes}, {.rank = 0});
              for (std::uint64_t i = 0; i < kEvents; ++i) record(i);
              guest::close();
              return 0;
            }),
            0);
  const std::string file = only_file();
  const RawHeader h = header_of(file);
  EXPECT_EQ(h.chunk_limit, 32U);
  EXPECT_LE(file.size(), kHeaderBytes + 32U * 65536U);
  const auto records = records_of(file);
  EXPECT_EQ(records.size() + h.recycled_records + h.dropped_records, kEvents);
  EXPECT_EQ(h.dropped_records, 0U);
  EXPECT_GT(h.recycled_chunks, 0U);
  std::uint64_t newest = 0;
  for (const RawRecord& r : records) newest = std::max(newest, r.bytes);
  EXPECT_EQ(newest, kEvents - 1);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(records[i].bytes, i) << "the first chunks are pinned";
}

TEST_F(GuestWriter, OnlyRecordsInTheFileMayBeKept) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              const auto begin = [] { return guest::begin(EventKind::Wait, 1, 0, 0, 0, 0, 0); };
              if (guest::is_stored(begin())) return 1;  // nothing is open yet
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              return guest::is_stored(begin()) ? 0 : 2;
            }),
            0);
}

TEST_F(GuestWriter, AnOpenRecordIsNeverOverwritten) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              guest::open({.dir = dir.c_str(), .max_bytes = 32UL * 65536}, {.rank = 0});
              for (std::uint64_t i = 0; i < 20'000; ++i) record(i);  // past the pinned chunks
              RawRecord* open = guest::begin(EventKind::Wait, 1, 0, 0, 0, 777, 0);
              for (std::uint64_t i = 0; i < 200'000; ++i) record(i);
              const bool kept = open->bytes == 777 && open->end == 0;
              guest::end(open);
              return kept ? 0 : 1;
            }),
            0);
}

TEST_F(GuestWriter, AForkedChildWritesNothing) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              record(1);
              RawRecord* open = guest::begin(EventKind::Phase, 1, 0, 0, 0, 0, 0);
              const pid_t child = fork();
              if (child == 0) {
                guest::end(open);  // the parent's
                for (int i = 0; i < 100; ++i) record(99);
                guest::close();
                _exit(guest::active() ? 1 : 0);
              }
              int status = 0;
              cox_wait_process(child, &status, 0);
              guest::close();
              return WEXITSTATUS(status);
            }),
            0);
  const auto records = records_of(only_file());
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].bytes, 1U);
  EXPECT_EQ(records[1].end, 0U) << "still open in the parent";
}

TEST_F(GuestWriter, NoRoomOnDiskSwitchesRecordingOffAndNothingElse) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              // A file size limit stands in for a full disk: posix_fallocate fails with EFBIG.
              signal(SIGXFSZ, SIG_IGN);
              const rlimit tight{100'000, 100'000};
              setrlimit(RLIMIT_FSIZE, &tight);
              errno = 42;
              const bool on = guest::open({.dir = dir.c_str()}, {.rank = 0});
              const int after = errno;
              record(1);
              return on || guest::active() || after != 42 ? 1 : 0;
            }),
            0);
  EXPECT_TRUE(files().empty()) << "half a file helps nobody";
}

TEST_F(GuestWriter, AMissingFolderIsNoTrouble) {
  ASSERT_EQ(in_child([&] {
              const bool on = guest::open({.dir = "/nonexistent/cox"}, {.rank = 0});
              record(1);
              return on ? 1 : 0;
            }),
            0);
}

// A program that traps inexact results would be ended by ours, and one that reads its flags would see them.
TEST_F(GuestWriter, ArithmeticOfTheProgramIsLeftAlone) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              feclearexcept(FE_ALL_EXCEPT);
              feenableexcept(FE_ALL_EXCEPT);
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              record(100);
              for (int i = 0; i < 100; ++i)
                static_cast<void>(guest::end_if_long(guest::begin(EventKind::Wait, 0, 0, 0, 0, 0, 0), 30));
              const bool counted = guest::nanoseconds(1'000'003) > 0;
              // The keeper computes, too, with the traps of its maker: until it has been through a second.
              for (int i = 0; i < 1000 && guest::shared(guest::g.header->sample_tickets).load() < 2; ++i)
                usleep(10'000);
              guest::close();
              const bool raised = fetestexcept(FE_ALL_EXCEPT) != 0;
              fedisableexcept(FE_ALL_EXCEPT);
              return raised || !counted ? 1 : 0;
            }),
            0);
}

// `ulimit -v`: what is left of it is the program's.
TEST_F(GuestWriter, OfLittleAddressSpaceItTakesLittle) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take terabytes of it";
#endif
  const std::string dir = dir_.string();
  const auto mapped_under = [&](rlim_t limit) {
    return in_child([&] {
      const rlimit tight{limit, limit};
      if (setrlimit(RLIMIT_AS, &tight) != 0 || !guest::open({.dir = dir.c_str()}, {.rank = 0})) return 255;
      record(1);
      return static_cast<int>(guest::g.mapped_bytes >> 20);
    });
  };
  EXPECT_EQ(mapped_under(RLIM_INFINITY), 16);
  EXPECT_EQ(mapped_under(rlim_t{256} << 20), 4);
  EXPECT_EQ(mapped_under(rlim_t{128} << 20), 2);
}

TEST_F(GuestWriter, CommunicatorsAndNotesGoToMetaChunks) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              const std::int32_t members[] = {0, 2, 4};
              const std::uint32_t a = guest::define_communicator(7, 3, 0, members, 3, "even");
              const std::uint32_t b = guest::define_communicator(8, 3, 0, members, 3, "again");
              guest::note("said once");
              guest::note("said once");
              guest::close();
              return a == 1 && b == 2 ? 0 : 1;
            }),
            0);
  const std::string file = only_file();
  EXPECT_NE(file.find("even"), std::string::npos);
  const std::size_t first = file.find("said once");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(file.find("said once", first + 1), std::string::npos);
}

// A list of 32,768 ranks is longer than a chunk; as a range it takes 12 bytes.
TEST_F(GuestWriter, AWorldOfAnySizeIsDescribedInFull) {
  const std::string dir = dir_.string();
  ASSERT_EQ(in_child([&] {
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              std::vector<std::int32_t> world(32'768);
              for (std::size_t i = 0; i < world.size(); ++i) world[i] = static_cast<std::int32_t>(i);
              const std::uint32_t a = guest::define_communicator(7, 32'768, 0, world.data(), 32'768, "world");
              guest::close();
              return a == 1 ? 0 : 1;
            }),
            0);
  const std::string file = only_file();
  const std::size_t name = file.find("world");
  ASSERT_NE(name, std::string::npos);
  MetaRanks range{};
  std::memcpy(&range, file.data() + name - sizeof range, sizeof range);
  EXPECT_EQ(range, (MetaRanks{.first = 0, .count = 32'768, .step = 1}));
  EXPECT_EQ(file.find("world", name + 1), std::string::npos);
}

TEST_F(GuestWriter, AThreadWhoseOwnDestructorCallsAgainKeepsNoMemory) {
  const std::string dir = dir_.string();
  constexpr std::uint64_t kThreads = 400;  // more than there are chunks in memory
  ASSERT_EQ(in_child([&] {
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              pthread_key_t key{};  // made after the writer's, so its destructor comes after that one
              if (pthread_key_create(&key, [](void*) { record(1); }) != 0) return 1;
              for (std::uint64_t t = 0; t < kThreads; ++t) {
                std::jthread([&] {
                  pthread_setspecific(key, &key);
                  record(0);
                }).join();
                usleep(3000);  // the keeper has time to take what is sealed
              }
              guest::close();
              return 0;
            }),
            0);
  EXPECT_EQ(records_of(only_file()).size(), 2 * kThreads);
}

TEST(GroupIdentity, IsEqualForAnyOrderAndDiffersOtherwise) {
  std::int32_t a[] = {4, 1, 3, 2};
  std::int32_t b[] = {1, 2, 3, 4};
  std::int32_t c[] = {1, 2, 3, 5};
  const auto ia = guest::group_identity(a, 4, 0);
  EXPECT_EQ(ia, guest::group_identity(b, 4, 0));
  EXPECT_NE(ia, guest::group_identity(c, 4, 0));
  EXPECT_NE(ia, guest::group_identity(b, 4, 1));
  EXPECT_NE(ia, guest::group_identity(b, 3, 0));
  EXPECT_EQ(a[0], 1);
}

TEST(Occurrences, BeyondTheirRoomASetIsUnknownAndNotTheFirstOfItsKind) {
  static guest::Occurrences counts;
  std::uint64_t set = 1;
  while (counts.next(set) != guest::Occurrences::kUnknown) ++set;
  EXPECT_GT(set, 2000U);
  EXPECT_EQ(counts.next(1), 1U) << "what is known is counted on";
  EXPECT_EQ(counts.next(set), guest::Occurrences::kUnknown);
}

}  // namespace
