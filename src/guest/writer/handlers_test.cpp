// SPDX-License-Identifier: Apache-2.0
// Signal handlers of the program's that record, between any two instructions of a thread that does.
#include <pthread.h>
#include <setjmp.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "guest/writer/child_for_tests.hpp"

namespace {

namespace guest = cox::guest;
using namespace cox::guest::test;

using GuestHandlers = GuestChild;

constexpr std::uint64_t kOfHandlers = std::uint64_t{1} << 40U;

void ring_in(int microseconds) {
  const itimerval once{.it_interval = {}, .it_value = {0, microseconds}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

// No handler from here on, nor one that rings once more.
void ring_no_more() {
  sigset_t ring;
  sigemptyset(&ring);
  sigaddset(&ring, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &ring, nullptr);
  ring_in(0);
}

// By a thread that has every signal blocked from its first instruction on.
void end_after_a_minute() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([] {
    sleep(60);
    _exit(9);
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// What both recorded is there once.
TEST_F(GuestHandlers, AHandlerThatRecordsWaitsForNobody) {
  const std::string dir = dir_.string();
  constexpr std::uint64_t kEvents = 400'000;
  static std::atomic<std::uint64_t> handled{0};
  const fs::path count = dir_.string() + ".count";
  ASSERT_EQ(in_child([&] {
              end_after_a_minute();
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              struct sigaction act {};
              act.sa_handler = [](int) {
                for (int i = 0; i < 100; ++i) record(kOfHandlers + handled * 100 + static_cast<unsigned>(i));
                ++handled;
                ring_in(50);
              };
              sigaction(SIGALRM, &act, nullptr);
              ring_in(50);
              for (std::uint64_t i = 0; i < kEvents; ++i) record(i);
              ring_no_more();
              guest::close();
              std::ofstream(count) << handled;
              return handled > 100 ? 0 : 2;
            }),
            0);
  std::uint64_t handlers = 0;
  std::ifstream(count) >> handlers;
  fs::remove(count);
  std::vector<std::uint64_t> seen;
  const std::string file = only_file();
  for (const RawRecord& r : records_of(file)) {
    seen.push_back(r.bytes);
    EXPECT_GE(r.end, r.begin);
  }
  EXPECT_EQ(seen.size() + header_of(file).dropped_records, kEvents + handlers * 100);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  EXPECT_LT(seen.back(), kOfHandlers + handlers * 100);
}

TEST_F(GuestHandlers, AHandlerThatTakesItsRecordsBackTakesNobodyElses) {
  const std::string dir = dir_.string();
  constexpr std::uint64_t kEvents = 400'000;
  ASSERT_EQ(in_child([&] {
              end_after_a_minute();
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              struct sigaction act {};
              act.sa_handler = [](int) {
                for (int i = 0; i < 10; ++i)
                  guest::retract(guest::begin(EventKind::Collective, 1, 0, 1, 0, kOfHandlers, 0));
                record(kOfHandlers);
                ring_in(50);
              };
              sigaction(SIGALRM, &act, nullptr);
              ring_in(50);
              for (std::uint64_t i = 0; i < kEvents; ++i) {
                guest::retract(guest::begin(EventKind::Collective, 1, 0, 1, 0, i, 0));
                record(i);
              }
              ring_no_more();
              guest::close();
              return 0;
            }),
            0);
  // One that cannot be taken back, because a handler recorded behind it, stays, of no length.
  std::vector<std::uint64_t> seen;
  const std::string file = only_file();
  for (const RawRecord& r : records_of(file))
    if (r.bytes != kOfHandlers && r.end != r.begin) seen.push_back(r.bytes);
  EXPECT_LE(seen.size(), kEvents);
  EXPECT_GE(seen.size() + header_of(file).dropped_records, kEvents - kEvents / 1000);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

// What it may lose unsaid is the rest of a chunk each time; what is dropped until the thread has another is counted.
TEST_F(GuestHandlers, AHandlerThatJumpsAwayLosesLittle) {
  const std::string dir = dir_.string();
  constexpr std::uint64_t kEvents = 2'000'000;
  constexpr std::uint64_t kJumps = 50;
  static sigjmp_buf back;
  static volatile std::uint64_t at = 0, jumps = 0;
  ASSERT_EQ(in_child([&] {
              end_after_a_minute();
              guest::open({.dir = dir.c_str()}, {.rank = 0});
              struct sigaction act {};
              act.sa_handler = [](int) {
                jumps = jumps + 1;
                siglongjmp(back, 1);
              };
              sigaction(SIGALRM, &act, nullptr);
              sigsetjmp(back, 1);
              if (jumps < kJumps) ring_in(50);
              while (at < kEvents) {
                record(at);
                at = at + 1;
              }
              ring_no_more();
              guest::close();
              return jumps == kJumps ? 0 : 2;
            }),
            0);
  const std::string file = only_file();
  const RawHeader h = header_of(file);
  std::uint64_t seen = 0;
  for (const RawRecord& r : records_of(file)) {
    ASSERT_LT(r.bytes, kEvents);
    ++seen;
  }
  EXPECT_GE(seen + h.recycled_records + h.dropped_records + kJumps * (h.chunk_bytes / sizeof(RawRecord)),
            kEvents);
  EXPECT_GT(seen + h.recycled_records, kEvents / 2);
}

}  // namespace
