// SPDX-License-Identifier: Apache-2.0
// The keeper: a thread that writes what events left in memory into the file, so that no event ever has to.
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>

#include "guest/writer/node.hpp"
#include "guest/writer/sampler.hpp"
#include "guest/writer/state.hpp"

namespace cox::guest {
namespace {

// What is lost with a process that is killed is what came since the last time: half a second is promised.
constexpr std::int64_t kPeriodsPerSecond = 3;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kPeriodNs = kSecondNs / kPeriodsPerSecond + 1;
constexpr std::uint64_t kWholeSampleSeconds = 10;         // every tenth sample also reads what is dear
constexpr std::uint64_t kOwnLookSeconds = 3;              // whether to stop, where nobody else looks
constexpr int kFilesAtOnce = 16;                          // of the node's topology, each second
constexpr std::int64_t kLingerNs = 2'000'000'000;         // that the others of a node have to hear of a stop
constexpr std::int64_t kLongestStartNs = 10'000'000'000;  // that the first call of a program waits for it
constexpr std::int64_t kLongestEndNs = 2'000'000'000;     // that the end of a process waits for its file
constexpr std::int64_t kLongestSyncNs = 10'000'000'000;   // and while the disk is asked

void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is, std::int64_t ns) noexcept {
  const timespec at_most{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_it_is, ns < 0 ? nullptr : &at_most, nullptr, 0);
}

void tell(std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  word.store(value, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

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
  take_sample(sample, whole, speaks_for_node());
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
  last_note(text);
  switch_off(kDisabledTooSlow);
}

const char* words_of(int error) noexcept {
  switch (error) {
    case ENOSPC:
      return "no space left on the disk";
    case EDQUOT:
      return "the disk quota is used up";
    case EFBIG:
      return "the limit on the size of files is reached";
    case EIO:
      return "an input or output error";
    case ESTALE:
      return "the network file system lost the file";
    default:
      return "an error of the file system";
  }
}

constinit std::uint64_t filters_at_start = 0;  // over our system calls; the keeper alone

// Under filters of the program's own nothing is told: they may end whoever makes a socket.
void tell_why(int error) noexcept {
  if (own_filters() == filters_at_start) tell_of_failure(error);
}

// The file system takes no more: what is in memory is lost and counted.
void stop_as_unwritable(int error) noexcept {
  static char text[128];
  snprintf(text, sizeof text, "recording ended: the file could not be written (%s, errno %d)",
           words_of(error), error);
  shared(g.header->dropped_records).fetch_add(unsaved_records(), std::memory_order_relaxed);
  last_note(text);
  tell_why(error);  // before: who closes the file then waits for us
  switch_off(static_cast<std::uint32_t>(error));
}

// Calls so far: those that left a record, took it back, found no room for it, or never wanted one.
std::uint64_t calls_so_far() noexcept {
  return g.calls + shared(g.header->dropped_records).load(std::memory_order_relaxed) +
         g.uncounted_calls.load(std::memory_order_relaxed);
}

std::uint32_t slots_in_use() noexcept {
  std::uint32_t sum = 0;
  for (std::uint32_t word = 0; word < kMostSlots / 64; ++word)
    sum += static_cast<std::uint32_t>(__builtin_popcountll(used_slots(word)));
  return sum;
}

// Memory for as much again as came since the last time, and a knock when half of it is used.
void prepare(std::uint32_t claimed) noexcept {
  const std::uint32_t used = slots_in_use();
  const std::uint32_t ahead = 2 * claimed > kSlotsAhead ? 2 * claimed : kSlotsAhead;
  if (used + ahead / 2 > g.ready_slots.load(std::memory_order_relaxed)) make_ready(used + ahead);
  const std::uint32_t ready = g.ready_slots.load(std::memory_order_relaxed);
  const std::uint32_t room = ready > used ? ready - used : 0;
  g.wake_after.store(room > 3 ? room / 2 : 1, std::memory_order_relaxed);
}

// Periods begin with the second of the wall clock and at its thirds, so that all ranks lose the same moment.
std::int64_t current_period() noexcept {
  const std::int64_t now_ns = clock_ns(CLOCK_REALTIME);
  return now_ns / kSecondNs * kPeriodsPerSecond + now_ns % kSecondNs / kPeriodNs;
}

std::int64_t begin_of(std::int64_t period) noexcept {
  return period / kPeriodsPerSecond * kSecondNs + period % kPeriodsPerSecond * kPeriodNs;
}

// Until the period ends or somebody knocks.
void sleep_through(std::int64_t period) noexcept {
  const std::int64_t left = begin_of(period + 1) - clock_ns(CLOCK_REALTIME);
  // A clock that was set back must not make it sleep for hours.
  if (g.nudge.exchange(0, std::memory_order_acquire) == 0 && left > 0)
    wait_for(g.nudge, 0, left < kPeriodNs ? left : kPeriodNs);
  g.nudge.store(0, std::memory_order_release);
}

bool save_or_stop() noexcept {
  const std::uint32_t claimed = g.claims.load(std::memory_order_relaxed);
  if (!save()) {
    stop_as_unwritable(errno);
    return false;
  }
  prepare(claimed);
  return true;
}

// Whether `cox detach` wants recording to end. One process of a node looks into the Run's folder and tells the
// others, which look themselves now and then, should the one be none of ours.
bool is_told_to_stop(std::uint64_t seconds) noexcept {
  if (g.told_to_stop == nullptr) return false;
  const bool speaks = speaks_for_node();
  if (!speaks && is_node_stopped()) return true;
  if (!speaks && seconds % kOwnLookSeconds != kOwnLookSeconds - 1) return false;
  if (!g.told_to_stop()) return false;
  stop_node();
  g.lingers = true;
  return true;
}

// A program that puts a filter over its system calls may have itself ended for those that it does not make: ours
// among its neighbours are no longer made.
void mind_filters() noexcept {
  if (!g.speaks && own_filters() != filters_at_start) leave_node();
}

// What is due with the first wake of every second.
void do_of_second(std::uint64_t seconds) noexcept {
  if (seconds % g.pair_every == 0) add_clock_pair();
  add_sample(seconds % kWholeSampleSeconds == 0);
  g.speaks = speaks_for_node();
  if (g.speaks) read_machine(kFilesAtOnce, add_locality);
}

void move_to_own_cpus() noexcept {
  if (g.keeper_cpus[0] != 0 && !run_on(g.keeper_cpus))
    note("the guest's thread may not run on the CPUs of COX_KEEPER_CPUS; it runs where the process may");
}

void keep() noexcept {
  OverheadBudget budget(g.max_overhead);
  // A call is an entry and an exit: about twice the two clock reads that were measured.
  const double ns_per_call = 2e-3 * static_cast<double>(g.header->overhead_ticks) * g.ps_per_tick;
  move_to_own_cpus();
  add_sample(true);
  read_locality(add_locality);
  g.speaks = speaks_for_node();
  mind_filters();
  std::int64_t period = current_period();
  std::uint64_t periods = 0;
  std::uint64_t seconds = 0;
  bool is_new_second = false;
  // Events are saved before samples are taken and the file is synced, which may take long on a busy machine.
  while (save_or_stop()) {
    if (is_new_second) {
      do_of_second(++seconds);
      if (g.sync_seconds != 0 && seconds % g.sync_seconds == 0 && !sync_file()) {
        stop_as_unwritable(errno);
        return;
      }
      is_new_second = false;
    }
    sleep_through(period);
    if (g.phase.load(std::memory_order_acquire) != Phase::On) return;
    const std::int64_t before = period;
    period = current_period();
    if (period == before) continue;
    mind_filters();
    if (is_told_to_stop(seconds)) {
      last_note("recording was ended by cox detach; the job went on");
      switch_off(kDisabledDetached);
      return;
    }
    if (++periods == 1) add_clock_pair();
    is_new_second = period / kPeriodsPerSecond != before / kPeriodsPerSecond;
    if (budget.exceeded(calls_so_far(), ns_per_call, static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC)))) {
      stop_as_too_slow(budget);
      return;
    }
  }
}

enum class Outcome : std::uint8_t { Open, Known, GivenUp };

// Outlives the call that waits for it, should that give up.
struct Start {
  WriterOptions options;
  Identity identity;
  char library[sizeof(RawHeader::library)] = {};  // the caller's may be on its stack
  const char* text = nullptr;                     // why the thread is of no use
  int error = 0;
  std::atomic<Outcome> outcome{Outcome::Open};
  std::atomic<std::uint32_t> is_done{0};

  bool settle(Outcome how) noexcept {
    Outcome open = Outcome::Open;
    return outcome.compare_exchange_strong(open, how, std::memory_order_acq_rel);
  }
};
constinit Start the_start;

constexpr const char* kNoTable =
    "nothing is recorded: this system lets no thread have descriptors of its own (close_range and unshare are "
    "refused)";
constexpr const char* kNoFile = "nothing is recorded: the file was not made within 10 s";
constexpr const char* kNoThread = "nothing is recorded: the guest's thread could not be started";

bool begin_keeping(Start& start) noexcept {
  if (!separate_descriptors()) {
    start.text = kNoTable;
    start.error = ENOSYS;
    return false;
  }
  join_node(start.options.dir);
  errno = 0;
  if (start_file(start.options, start.identity)) {
    // A filter of the job's own may end whoever connects.
    filters_at_start = own_filters();
    if (filters_at_start == 0) tell_of_start();
    return true;
  }
  start.error = errno == 0 ? EINVAL : errno;
  if (own_filters() == 0) tell_of_failure(start.error);
  return false;
}

void close_file() noexcept {
  ::close(g.fd);
  g.fd = -1;
}

// False where nothing is to be kept.
bool start_keeping() noexcept {
  Start& start = the_start;
  const bool is_good = begin_keeping(start);
  if (!start.settle(Outcome::Known)) {
    if (!is_good) return false;
    last_note(kNoFile);
    shared(g.header->state).store(WriterState::Disabled, std::memory_order_release);
    static_cast<void>(save());
    close_file();
    return false;
  }
  if (is_good) {
    g.keeper_ended.store(0);
    g.phase.store(Phase::On, std::memory_order_release);
  }
  tell(start.is_done, 1);
  return is_good;
}

void* keeper(void*) {
  const OwnArithmetic own;  // a thread begins with its maker's traps
  prctl(PR_SET_NAME, "cox-keeper");
  if (!start_keeping()) return nullptr;
  keep();
  if (g.phase.load(std::memory_order_acquire) == Phase::Closed) {
    add_clock_pair();
    shared(g.header->state).store(WriterState::Closed, std::memory_order_release);
    // Of a process that ended before it came to all of it; one that was told to stop reads nothing more.
    if (g.speaks) read_machine(INT_MAX, add_locality);
  }
  // Of a process that ended in order, all of it.
  if (!save() && g.phase.load(std::memory_order_acquire) == Phase::Closed) tell_why(errno);
  close_file();
  tell(g.keeper_ended, 1);
  const timespec linger{.tv_sec = kLingerNs / kSecondNs, .tv_nsec = kLingerNs % kSecondNs};
  if (g.lingers) nanosleep(&linger, nullptr);
  return nullptr;
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

int start_keeper(const WriterOptions& options, const Identity& identity, const char*& text) noexcept {
  Start& start = the_start;
  start.options = options;
  start.identity = identity;
  set_text(start.library, identity.library);
  start.identity.library = start.library;
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &old);  // of this thread and its child: the job's signals stay the job's
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  int error = EINVAL;
  // A stack holds the static thread-local memory of all libraries too, and of some that is much.
  for (std::size_t kib = 256; kib <= 16384 && error == EINVAL; kib *= 4) {
    g.threads->set_stack_size(&attr, kib * 1024);
    error = g.threads->create(&thread, &attr, keeper, nullptr);
  }
  pthread_attr_destroy(&attr);
  sigprocmask(SIG_SETMASK, &old, nullptr);
  if (error != 0) {
    text = kNoThread;
    return error;
  }
  const std::int64_t until = clock_ns(CLOCK_MONOTONIC) + kLongestStartNs;
  while (start.is_done.load(std::memory_order_acquire) == 0) {
    const std::int64_t left = until - clock_ns(CLOCK_MONOTONIC);
    if (left <= 0 && start.settle(Outcome::GivenUp)) return ETIMEDOUT;
    wait_for(start.is_done, 0, left > 0 ? left : -1);
  }
  text = start.text;
  return start.error;
}

void wake_keeper() noexcept {
  if (g.nudge.exchange(1, std::memory_order_release) == 0)
    syscall(SYS_futex, &g.nudge, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// What came since the last write is written once the disk has answered, which on a busy one takes seconds: it writes what
// others left, too. A process whose thread waits there is not gone before it answers, so that waiting costs next to nothing.
void await_keeper() noexcept {
  wake_keeper();
  const std::int64_t longest = clock_ns(CLOCK_MONOTONIC) + kLongestSyncNs;
  std::int64_t until = longest - kLongestSyncNs + kLongestEndNs;
  while (g.keeper_ended.load(std::memory_order_acquire) == 0) {
    const std::int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (g.is_syncing.load(std::memory_order_acquire)) until = now_ns + kLongestEndNs;
    if (until > longest) until = longest;
    if (now_ns >= until) return;
    wait_for(g.keeper_ended, 0, until - now_ns);
  }
}

}  // namespace cox::guest
