// SPDX-License-Identifier: Apache-2.0
// What a pacer needs of a real process: its environment, its clock, sleep, and what is loaded into it. Guest
// code: libc only.
#include <link.h>
#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "cox/guest/pace_text.hpp"
#include "cox/guest/writer.hpp"

#include "guest/pacing/one_look.hpp"
#include "guest/pacing/ordering.hpp"
#include "guest/pacing/pacing.hpp"
#include "guest/pacing/priority.hpp"
#include "guest/writer/own_arithmetic.hpp"

namespace cox::guest {
namespace {

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
    note(
        "an accelerator's driver or NCCL is loaded: its queue would absorb a delay of the host, so this "
        "process is not paced");
    constexpr char kFact[] = "cox/pace/launch_ahead\t1\n";
    add_locality(kFact, sizeof kFact - 1);
  }
  errno = saved_errno;
  return found;
}

PriorityOffer priority;

// A niceness is gone with its thread: the Run keeps that there was one. Each text comes in once.
void note_change(PriorityPolicy::Change change) noexcept {
  using Change = PriorityPolicy::Change;
  const int saved_errno = errno;
  if (change == Change::Raise)
    note(
        "--pace-priority: this rank was late throughout a window of iterations: its threads got a lower "
        "niceness, the first time");
  if (change == Change::Restore)
    note(
        "--pace-priority: this rank waits for the others now: its threads got their niceness back, the first time");
  errno = saved_errno;
}

void note_hidden_late() noexcept {
  const int saved_errno = errno;
  note(
      "--pace-priority: transfer time is not known here, and wait and transfer together are above 5 % of an "
      "iteration: whether this rank is late cannot be told, and it is not raised; give --pace "
      "MODE,transfer_latency=TIME (`cox pace` of this Run finds it)");
  errno = saved_errno;
}

// Told of every decision, on the thread that counts.
void steer(const pace::Controller& controller, const pace::Observation& seen) noexcept {
  if (priority.steps == 0) return;
  const pace::Settings& settings = controller.settings();
  pace::DecisionBasis evidence = controller.evidence();
  // Mode paper takes transfer for waiting; who is late is judged without it.
  if (settings.mode == pace::Mode::Paper && seen.transfer > Duration::zero()) evidence.slack -= seen.transfer;
  static bool told = false;
  if (!told && controller.seen() >= settings.window && is_late_hidden(seen, evidence)) {
    told = true;
    note_hidden_late();
  }
  const PriorityPolicy::Change change = steer_priority(controller.decide(), evidence, settings.window);
  if (change != PriorityPolicy::Change::None) note_change(change);
}

constexpr PaceWorld kWorld = {
    .is_recording = active,
    .thread = thread_id,
    .ticks = ticks,
    .picoseconds_per_tick = picoseconds_per_tick,
    .sleep = sleep_until_deadline,
    .begin = begin,
    .end = end,
    .is_stored = is_stored,
    .drives_accelerator = drives_accelerator,
    .decided = steer,
};

alignas(Pacer) std::byte storage[sizeof(Pacer)];
std::atomic<Pacer*> pacer{nullptr};  // null: nothing is paced here
alignas(Ordering) std::byte order_storage[sizeof(Ordering)];
Ordering* ordering = nullptr;    // set before `pacer` is
OneLook looked;                  // at what the environment asks for
const char* asked = nullptr;     // value of COX_PACE, read once
std::ptrdiff_t refused_at = -1;  // where it cannot be read

void look() noexcept {
  asked = getenv("COX_PACE");
  if (asked == nullptr) return;
  pace::Settings settings;
  refused_at = read_pace(asked, settings);
  if (refused_at >= 0 || settings.mode == pace::Mode::Off) return;
  priority = start_priority();
  ordering = new (order_storage) Ordering(settings, kWorld);
  pacer.store(new (storage) Pacer(settings, kWorld), std::memory_order_release);
}

void enter(std::uint32_t comm) noexcept {
  const OwnArithmetic own;
  pacer.load(std::memory_order_relaxed)->enter(comm);
}
void leave(std::uint32_t comm, std::uint64_t begin, std::uint64_t end, std::int64_t bytes,
           Boundary boundary) noexcept {
  const OwnArithmetic own;
  pacer.load(std::memory_order_relaxed)->leave(comm, begin, end, bytes, boundary);
}
void keep_order(std::uint32_t comm, std::uint64_t number) noexcept {
  const OwnArithmetic own;
  ordering->enter(comm, number);
}
constexpr PaceApi kApi = {.enter = enter, .leave = leave, .keep_order = keep_order};

// What the probe found; nothing where nobody asked.
void introduce_priority() noexcept {
  constexpr char kOffered[] = "cox/pace/priority\toffered\n";
  constexpr char kRefused[] = "cox/pace/priority\trefused\n";
  if (priority.steps > 0) add_locality(kOffered, sizeof kOffered - 1);
  if (priority.refused == nullptr) return;
  add_locality(kRefused, sizeof kRefused - 1);
  note(priority.refused);
}

}  // namespace

const PaceApi* pace_api(void* (*find_data)(const char*)) noexcept {
  looked.take([find_data]() noexcept {
    find_symbol = find_data;
    look();
  });
  return pacer.load(std::memory_order_acquire) == nullptr ? nullptr : &kApi;
}

void pace_define(std::uint32_t comm, std::int32_t size, std::int32_t rank) noexcept {
  if (Pacer* p = pacer.load(std::memory_order_acquire)) p->define(comm, size, rank);
}

void pace_mark() noexcept {
  const OwnArithmetic own;
  if (Pacer* p = pacer.load(std::memory_order_acquire)) p->mark();
}

void pace_introduce() noexcept {
  static char text[kLongestPaceText + 64];  // a file is opened once
  if (refused_at >= 0) {
    snprintf(text, sizeof text,
             "COX_PACE cannot be read from its byte %d on: this process is not paced: %.100s",
             static_cast<int>(refused_at), asked);
    note(text);
  } else if (asked != nullptr && !names_mode(asked)) {
    snprintf(text, sizeof text, "COX_PACE names no mode: this process is not paced: %.100s", asked);
    note(text);
  } else if (pacer.load(std::memory_order_acquire) != nullptr) {
    const int length = snprintf(text, sizeof text, "cox/pace/settings\t%s\n", asked);
    if (length > 0 && static_cast<std::size_t>(length) < sizeof text)
      add_locality(text, static_cast<std::size_t>(length));
    introduce_priority();
  }
}

}  // namespace cox::guest
