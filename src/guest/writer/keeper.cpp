// SPDX-License-Identifier: Apache-2.0
// The keeper: a thread that works ten times a second so that no event ever has to.
#include <pthread.h>

#include <csignal>
#include <cstdio>

#include "guest/writer/sampler.hpp"
#include "guest/writer/state.hpp"

namespace cox::guest {
namespace {

constexpr long kKeeperPeriodNs = 100'000'000;      // the keeper thread wakes 10 times a second
constexpr std::uint64_t kWholeSamplePeriods = 10;  // of these samples one also reads what is dear

// One sample into the keeper's own chunk; the oldest go under --max-size as events do.
void add_sample(bool whole) noexcept {
  RawHeader& h = *g.header;
  const std::uint64_t room = (h.chunk_bytes - sizeof(ChunkHeader)) / sizeof(RawSample);
  if (room == 0) return;
  if (g.sample_chunk != nullptr && g.sample_chunk->committed == room) {
    shared(g.sample_chunk->sealed).store(1, std::memory_order_release);
    g.sample_chunk = nullptr;
  }
  if (g.sample_chunk == nullptr) g.sample_chunk = claim_chunk(ChunkKind::Samples, 0);
  if (g.sample_chunk == nullptr) return;
  RawSample sample;
  take_sample(sample, whole);
  sample.ticks = now();
  ChunkHeader& chunk = *g.sample_chunk;
  memcpy(reinterpret_cast<std::byte*>(&chunk + 1) + chunk.committed * sizeof sample, &sample, sizeof sample);
  shared(chunk.committed).store(chunk.committed + 1, std::memory_order_release);
  shared(h.sample_tickets).fetch_add(1, std::memory_order_relaxed);
}

// Says why, with the numbers, and stops: a hook that is too dear for its host is worse than none.
void stop_as_too_slow(const OverheadBudget& budget) noexcept {
  static char text[160];
  snprintf(text, sizeof text,
           "recording switched itself off: %.0f calls a second would have cost %.1f %% of a CPU, more than "
           "the %.1f %% allowed (COX_MAX_OVERHEAD)",
           budget.calls_per_second(), 100 * budget.share(), 100 * g.max_overhead);
  note(text);
  switch_off(kDisabledTooSlow);
}

// Calls so far: records in chunks handed out, and calls that left none.
std::uint64_t calls_so_far(std::uint64_t tickets) noexcept {
  return tickets * records_per_chunk() + g.uncounted_calls.load(std::memory_order_relaxed);
}

// Keeps chunks reserved ahead of use and the clock readings coming, so that no event ever waits for either.
void* keeper(void*) {
  std::uint64_t used = 0;
  OverheadBudget budget(g.max_overhead);
  // A call is an entry and an exit: about twice the two clock reads that were measured.
  const double ns_per_call = 2e-3 * static_cast<double>(g.header->overhead_ticks) * g.ps_per_tick;
  separate_descriptors(g.fd);
  add_sample(true);
  read_locality(g.header->local_rank <= 0, add_locality);  // what all of a node share: once per node
  for (std::uint64_t period = 1;; ++period) {
    const timespec pause{.tv_sec = 0, .tv_nsec = kKeeperPeriodNs};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    if (g.phase.load(std::memory_order_acquire) != Phase::On) return nullptr;
    if (period % g.pair_every == 0) add_clock_pair();
    add_sample(period % kWholeSamplePeriods == 0);
    const std::uint64_t tickets = shared(g.header->tickets).load(std::memory_order_relaxed);
    const std::uint64_t pace = tickets - used;
    used = tickets;
    const std::uint64_t ahead = 2 * pace > kReserveAhead ? 2 * pace : kReserveAhead;
    if (g.header->disable_reason == 0) reserve(tickets + ahead);
    if (budget.exceeded(calls_so_far(tickets), ns_per_call,
                        static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC))))
      stop_as_too_slow(budget);
  }
}

}  // namespace

ClockPair read_clocks() noexcept {
  ClockPair best{};
  std::uint64_t narrowest = ~std::uint64_t{0};
  for (int i = 0; i < 5; ++i) {  // the tightest of a few brackets: preemption widens the others
    const std::uint64_t before = now();
    const std::int64_t mono = clock_ns(CLOCK_MONOTONIC);
    const std::int64_t real = clock_ns(CLOCK_REALTIME);
    const std::uint64_t after = now();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {before + (after - before) / 3, mono, real};
  }
  return best;
}

// Keeps at most kMaxClockPairs readings over any length of run: when full, every other
// one goes and the period doubles.
void add_clock_pair() noexcept {
  RawHeader& h = *g.header;
  std::uint64_t n = h.pair_count;
  if (n == kMaxClockPairs) {
    n /= 2;
    for (std::uint64_t i = 0; i < n; ++i) h.pairs[i] = h.pairs[2 * i];
    shared(h.pair_count).store(n, std::memory_order_release);
    g.pair_every *= 2;
  }
  h.pairs[n] = read_clocks();
  shared(h.pair_count).store(n + 1, std::memory_order_release);
}

void start_keeper() noexcept {
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);  // the job's signals stay the job's
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attr, std::size_t{256} * 1024);
  pthread_t thread{};
  if (pthread_create(&thread, &attr, keeper, nullptr) == 0) pthread_setname_np(thread, "cox-keeper");
  pthread_attr_destroy(&attr);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

}  // namespace cox::guest
