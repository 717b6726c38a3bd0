// SPDX-License-Identifier: Apache-2.0
// What a pacer needs of a real process: its environment, its clock, sleep, and what is loaded into it. Guest
// code: libc only.
#include <link.h>
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "cox/trace/guest_writer.hpp"

#include "observe/guest/ordering.hpp"
#include "observe/guest/pacing.hpp"
#include "observe/guest/priority.hpp"

namespace cox::observe::guest {
namespace {

namespace guest = trace::guest;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t monotonic_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * kNsPerSecond + t.tv_nsec;
}

// Sleeps until a fixed point of the clock that nobody sets, however often a signal interrupts: a process that
// was stopped meanwhile goes on at once. Not the recording clock, which tests move. Keeps errno, and is no
// place where a thread could be cancelled that could not be without us.
void sleep_until_deadline(Duration delay) noexcept {
  const int saved_errno = errno;
  int cancel = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  const std::int64_t start = monotonic_ns();
  const std::int64_t end = start + delay.count() / 1000;
  const timespec deadline{.tv_sec = static_cast<time_t>(end / kNsPerSecond),
                          .tv_nsec = static_cast<long>(end % kNsPerSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR)
    if (monotonic_ns() < start) break;  // restored from a checkpoint on a machine that is younger
  pthread_setcancelstate(cancel, nullptr);
  errno = saved_errno;
}

int is_driver(dl_phdr_info* object, std::size_t, void*) {
  const char* name = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  const char* slash = strrchr(name, '/');
  if (slash != nullptr) name = slash + 1;
  for (const char* driver : {"libcuda.so", "libamdhip64.so"})
    if (strncmp(name, driver, strlen(driver)) == 0) return 1;
  return 0;
}

void* (*find_symbol)(const char*) = nullptr;

// Asked by the program's thread and by those of a pool; told once.
bool drives_accelerator() noexcept {
  static std::atomic<int> known{0};  // 0 not yet, 1 no, 2 yes
  if (const int before = known.load(std::memory_order_relaxed); before != 0) return before == 2;
  const int saved_errno = errno;
  const bool found = dl_iterate_phdr(is_driver, nullptr) != 0 || find_symbol("ncclAllReduce") != nullptr;
  int nothing = 0;
  const bool is_first = known.compare_exchange_strong(nothing, found ? 2 : 1);
  if (found && is_first) {
    guest::note(
        "an accelerator's driver or NCCL is loaded: its queue would absorb a delay of the host, so this "
        "process is not paced");
    constexpr char kFact[] = "cox/pace/launch_ahead\t1\n";
    guest::add_locality(kFact, sizeof kFact - 1);
  }
  errno = saved_errno;
  return found;
}

bool offers_priority = false;

void steer(const pace::Controller& controller) noexcept {
  if (offers_priority)
    steer_priority(controller.decide(), controller.evidence(), controller.settings().window);
}

constexpr PaceWorld kWorld = {
    .is_recording = guest::active,
    .thread = guest::thread_id,
    .ticks = guest::ticks,
    .picoseconds_per_tick = guest::picoseconds_per_tick,
    .sleep = sleep_until_deadline,
    .begin = guest::begin,
    .end = guest::end,
    .is_stored = guest::is_stored,
    .drives_accelerator = drives_accelerator,
    .decided = steer,
};

alignas(Pacer) std::byte storage[sizeof(Pacer)];
std::atomic<Pacer*> pacer{nullptr};  // null: nothing is paced here
alignas(Ordering) std::byte order_storage[sizeof(Ordering)];
Ordering* ordering = nullptr;    // set before `pacer` is
std::atomic<int> phase{0};       // 0 not looked, 1 looking, 2 known
const char* asked = nullptr;     // value of COX_PACE, read once
std::ptrdiff_t refused_at = -1;  // where it cannot be read

void look() noexcept {
  asked = getenv("COX_PACE");
  if (asked == nullptr) return;
  pace::Settings settings;
  refused_at = read_pace(asked, settings);
  if (refused_at >= 0 || settings.mode == pace::Mode::Off) return;
  offers_priority = start_priority();
  ordering = new (order_storage) Ordering(settings, kWorld);
  pacer.store(new (storage) Pacer(settings, kWorld), std::memory_order_release);
}

void enter(std::uint32_t comm) noexcept {
  pacer.load(std::memory_order_relaxed)->enter(comm);
}
void leave(std::uint32_t comm, std::uint64_t begin, std::uint64_t end, std::int64_t bytes,
           Boundary boundary) noexcept {
  pacer.load(std::memory_order_relaxed)->leave(comm, begin, end, bytes, boundary);
}
void keep_order(std::uint32_t comm, std::uint64_t number) noexcept {
  ordering->enter(comm, number);
}
constexpr PaceApi kApi = {.enter = enter, .leave = leave, .keep_order = keep_order};

}  // namespace

const PaceApi* pace_api(void* (*find_data)(const char*)) noexcept {
  int none = 0;
  if (phase.compare_exchange_strong(none, 1)) {
    find_symbol = find_data;
    look();
    phase.store(2, std::memory_order_release);
  }
  while (phase.load(std::memory_order_acquire) != 2) sched_yield();
  return pacer.load(std::memory_order_acquire) == nullptr ? nullptr : &kApi;
}

void pace_define(std::uint32_t comm, std::int32_t size, std::int32_t rank) noexcept {
  if (Pacer* p = pacer.load(std::memory_order_acquire)) p->define(comm, size, rank);
}

void pace_mark() noexcept {
  if (Pacer* p = pacer.load(std::memory_order_acquire)) p->mark();
}

void pace_introduce() noexcept {
  static char text[kLongestPaceText + 64];  // a file is opened once
  if (refused_at >= 0) {
    snprintf(text, sizeof text,
             "COX_PACE cannot be read from its byte %d on: this process is not paced: %.100s",
             static_cast<int>(refused_at), asked);
    guest::note(text);
  } else if (pacer.load(std::memory_order_acquire) != nullptr) {
    const int length = snprintf(text, sizeof text, "cox/pace/settings\t%s\n", asked);
    if (length > 0 && static_cast<std::size_t>(length) < sizeof text)
      guest::add_locality(text, static_cast<std::size_t>(length));
  }
}

}  // namespace cox::observe::guest
