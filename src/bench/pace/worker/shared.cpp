// SPDX-License-Identifier: Apache-2.0
#include "bench/pace/worker/shared.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <new>

namespace cox::bench::worker {
namespace {

void leave_if_stopped(const Control& control) {
  if (control.stop.load(std::memory_order_relaxed) != 0) _exit(kPartnerGone);
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  const timespec limit{.tv_sec = 0, .tv_nsec = 200'000'000};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr, 0);
}

std::size_t rounded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace

Shared::Shared(std::int64_t steps, int ranks, std::size_t blocks) : ranks_(ranks) {
  const std::size_t control_size = rounded(sizeof(Control));
  const std::size_t ticks_size = rounded(blocks * sizeof(Ticks));
  const std::size_t periods_size = rounded(static_cast<std::size_t>(steps) * sizeof(std::int64_t));
  const std::size_t cells_size =
      static_cast<std::size_t>(steps) * static_cast<std::size_t>(ranks) * sizeof(Cell);
  void* at = mmap(nullptr, control_size + ticks_size + periods_size + cells_size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  auto* byte = static_cast<std::byte*>(at);
  control_ = new (byte) Control;  // the rest begins as zeros, which is what it should
  ticks_ = reinterpret_cast<Ticks*>(byte + control_size);
  periods_ = reinterpret_cast<std::int64_t*>(byte + control_size + ticks_size);
  cells_ = reinterpret_cast<Cell*>(byte + control_size + ticks_size + periods_size);
}

void pass_barrier(Control& control, std::uint32_t ranks, pace::WaitMode mode) {
  const std::uint32_t seen = control.generation.load(std::memory_order_acquire);
  if (control.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
    control.arrived.store(0, std::memory_order_relaxed);
    control.generation.store(seen + 1, std::memory_order_release);
    if (mode == pace::WaitMode::Block)
      syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&control.generation), FUTEX_WAKE, INT_MAX, nullptr,
              nullptr, 0);
    return;
  }
  for (std::uint32_t turns = 0; control.generation.load(std::memory_order_acquire) == seen; ++turns) {
    if (mode == pace::WaitMode::Block) futex_wait(control.generation, seen);
    if (mode == pace::WaitMode::Yield) sched_yield();
    if (mode == pace::WaitMode::Block || turns % 1024 == 0) leave_if_stopped(control);
  }
}

std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void sleep_until(std::int64_t ns) {
  const timespec t{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

void use_processor(std::int64_t ns) {
  const auto used = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  };
  constexpr int kTurns = 4000;  // some 5 us between two looks at the clock, which is a system call
  volatile double value = 1;
  for (const std::int64_t end = used() + ns; used() < end;)
    for (int i = 0; i < kTurns; ++i) value = value * 0.999999 + 0.5;
}

}  // namespace cox::bench::worker
