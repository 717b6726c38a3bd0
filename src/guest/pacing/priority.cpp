// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "guest/pacing/priority.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "guest/writer/at_fork.hpp"
#include "guest/writer/threads.hpp"

namespace cox::guest {
namespace {

constexpr std::size_t kMostThreads = 256;
constexpr int kLowest = -20;

constexpr const char* kUnreadable = "--pace-priority: refused: the niceness of a thread cannot be read here";
constexpr const char* kNotAllowed =
    "--pace-priority: refused: no thread may be given a lower niceness here (RLIMIT_NICE, CAP_SYS_NICE)";
constexpr const char* kNotUndone = "--pace-priority: refused: a lower niceness could not be undone here";
constexpr const char* kNoThread = "--pace-priority: refused: no thread could be started to try it on";

int get_niceness(int thread) noexcept {
  errno = 0;
  const int niceness = getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  return niceness == -1 && errno != 0 ? kNoNiceness : niceness;
}

bool set_niceness(int thread, int niceness) noexcept {
  return setpriority(PRIO_PROCESS, static_cast<id_t>(thread), niceness) == 0;
}

constexpr PriorityCalls kCalls{.get = get_niceness, .set = set_niceness};

struct Entry {
  int thread;
  int found;
  int set;
};
struct Process {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::atomic<bool> off{false};
  std::atomic<bool> raised{false};
  int steps = 0;  // offered; written before any other thread looks
  int base = 0;   // of the thread that decided, for threads that were born raised
  std::size_t count = 0;
  Entry entries[kMostThreads] = {};
  PriorityPolicy policy;
};
constinit Process process;

// The caller keeps its errno, and is not cancelled here: open, close and join are cancellation points, and no
// frame of ours can be unwound.
class Unnoticed {
 public:
  Unnoticed() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_); }
  Unnoticed(const Unnoticed&) = delete;
  Unnoticed& operator=(const Unnoticed&) = delete;
  ~Unnoticed() {
    pthread_setcancelstate(cancel_, nullptr);
    errno = errno_;
  }

 private:
  int errno_ = errno;
  int cancel_ = 0;
};

/// Calls `visit` for each thread of this process; without allocation, which opendir would need.
template <class Visit>
void for_each_thread(Visit visit) noexcept {
  struct Dirent {  // linux_dirent64, as getdents64(2) lays it out
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t length;
    std::uint8_t type;
    char name[1];
  };
  const int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  alignas(8) char buffer[4096];
  for (;;) {
    const long got = syscall(SYS_getdents64, dir, buffer, sizeof buffer);
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const Dirent*>(buffer + at);
      if (entry->length == 0) break;
      if (entry->name[0] >= '1' && entry->name[0] <= '9')
        visit(static_cast<int>(strtol(entry->name, nullptr, 10)));
      at += entry->length;
    }
  }
  close(dir);
}

bool raise_all() noexcept {
  Process& p = process;
  const int own = get_niceness(0);
  if (own == kNoNiceness) return false;
  p.base = own;
  p.count = 0;
  for_each_thread([&](int thread) {
    if (p.count == kMostThreads) return;
    const int found = get_niceness(thread);
    if (found == kNoNiceness || found - p.steps < kLowest) return;
    if (set_niceness(thread, found - p.steps))
      p.entries[p.count++] = {.thread = thread, .found = found, .set = found - p.steps};
  });
  p.raised.store(p.count > 0, std::memory_order_release);
  return p.count > 0;
}

void restore_all() noexcept {
  Process& p = process;
  if (!p.raised.load(std::memory_order_acquire)) return;
  for_each_thread([&](int thread) {
    const int now = get_niceness(thread);
    for (std::size_t i = 0; i < p.count; ++i) {
      if (p.entries[i].thread != thread) continue;
      if (now == p.entries[i].set) set_niceness(thread, p.entries[i].found);  // else the program changed it
      return;
    }
    if (now == p.base - p.steps) set_niceness(thread, p.base);  // born while its creator was raised
  });
  p.count = 0;
  p.raised.store(false, std::memory_order_release);
}

/// In a child there is one thread, with the niceness of the one that forked. A raised one goes back, and a
/// child is nobody's rank.
void forget_in_child() noexcept {
  const Unnoticed here;
  Process& p = process;
  const bool raised = p.raised.load(std::memory_order_acquire);
  if (raised) {
    const int now = get_niceness(0);
    if (now != kNoNiceness && now == p.base - p.steps) set_niceness(0, p.base);
  }
  p.off.store(true, std::memory_order_release);
  p.raised.store(false, std::memory_order_release);
  p.count = 0;
  p.busy.clear();
}

void* probe_thread(void* offer) {
  *static_cast<PriorityOffer*>(offer) = probe_priority(kCalls, 0);
  return nullptr;
}

PriorityOffer probe_on_own_thread() noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  PriorityOffer offer{.refused = kNoThread};
  pthread_t thread{};
  // The thread inherits the mask: no handler of the program's runs on it.
  const Threads* threads = find_threads();
  if (threads == nullptr || sigprocmask(SIG_SETMASK, &all, &before) != 0) return offer;
  const bool runs = threads->create(&thread, nullptr, probe_thread, &offer) == 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (runs) threads->join(thread, nullptr);
  return offer;
}

/// A switch-off that came while another thread was changing is done by that thread.
void release_busy() noexcept {
  Process& p = process;
  do {
    if (p.off.load(std::memory_order_acquire)) restore_all();
    p.busy.clear(std::memory_order_release);
  } while (p.off.load(std::memory_order_acquire) && p.raised.load(std::memory_order_acquire) &&
           !p.busy.test_and_set(std::memory_order_acquire));
}

/// A late rank's wait: the threshold of the published rule.
Duration longest_late(const pace::DecisionBasis& evidence) noexcept {
  return evidence.period / 20;
}

}  // namespace

Standing standing_of(const pace::Decision& decision, const pace::DecisionBasis& evidence) noexcept {
  if (decision.reason == pace::Reason::WarmingUp || evidence.period <= Duration::zero())
    return Standing::Between;
  if (evidence.slack > evidence.period / 100 * 15) return Standing::Early;
  const bool late = decision.delay == Duration::zero() && evidence.slack <= longest_late(evidence);
  return late ? Standing::Late : Standing::Between;
}

bool is_late_hidden(const pace::Observation& seen, const pace::DecisionBasis& evidence) noexcept {
  return seen.transfer < Duration::zero() && evidence.period > Duration::zero() &&
         evidence.slack > longest_late(evidence);
}

PriorityPolicy::Change PriorityPolicy::observe(Standing standing, std::uint32_t window) noexcept {
  const std::uint64_t one = window < 1 ? 1 : window;
  const std::uint64_t needed = raised_ ? one : one * windows_;
  ++since_;
  agreeing_ = standing == (raised_ ? Standing::Early : Standing::Late) ? agreeing_ + 1 : 0;
  if (agreeing_ < needed || (changed_ && since_ < one)) return Change::None;
  if (raised_ && windows_ < kMostWindows) windows_ *= 2;
  raised_ = !raised_;
  changed_ = true;
  agreeing_ = 0;
  since_ = 0;
  return raised_ ? Change::Raise : Change::Restore;
}

PriorityOffer probe_priority(const PriorityCalls& calls, int thread) noexcept {
  const int found = calls.get(thread);
  if (found == kNoNiceness) return {.refused = kUnreadable};
  for (int steps = kMostSteps; steps > 0; --steps) {
    if (found - steps < kLowest || !calls.set(thread, found - steps)) continue;
    const bool raised = calls.get(thread) == found - steps;
    const bool restored = calls.set(thread, found) && calls.get(thread) == found;
    if (!restored) return {.refused = kNotUndone};
    if (raised) return {.steps = steps};
  }
  return {.refused = kNotAllowed};
}

PriorityOffer start_priority() noexcept {
  const Unnoticed here;
  const char* asked = getenv("COX_PACE_PRIORITY");
  if (asked == nullptr || strcmp(asked, "1") != 0) return {};
  if (process.steps > 0) return {.steps = process.steps};
  const PriorityOffer offer = probe_on_own_thread();
  if (offer.steps > 0 && at_fork_in_child(forget_in_child) != 0) return {.refused = kNotUndone};
  process.steps = offer.steps;
  return offer;
}

PriorityPolicy::Change steer_priority(const pace::Decision& decision, const pace::DecisionBasis& evidence,
                                      std::uint32_t window) noexcept {
  using Change = PriorityPolicy::Change;
  Process& p = process;
  if (p.steps == 0 || p.off.load(std::memory_order_relaxed)) return Change::None;
  Change change = p.policy.observe(standing_of(decision, evidence), window);
  if (change == Change::None) return change;
  const Unnoticed here;
  if (p.busy.test_and_set(std::memory_order_acquire)) {
    p.policy.set_raised(p.raised.load(std::memory_order_acquire));
    return Change::None;
  }
  if (change == Change::Restore) {
    restore_all();
  } else if (!raise_all()) {
    p.policy.set_raised(false);
    change = Change::None;
  }
  release_busy();
  return change;
}

void restore_priority() noexcept {
  const Unnoticed here;
  process.off.store(true, std::memory_order_release);
  if (!process.busy.test_and_set(std::memory_order_acquire)) release_busy();
}

bool is_priority_raised() noexcept {
  return process.raised.load(std::memory_order_acquire);
}

}  // namespace cox::guest
