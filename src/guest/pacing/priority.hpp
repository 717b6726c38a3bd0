// SPDX-License-Identifier: Apache-2.0
/// \file
/// Priority of a late rank on a shared host: a lower niceness for the threads of this process, and back.
/// Guest code: libc only.
///
/// Off unless COX_PACE_PRIORITY=1, and offered only where a probe on a thread of its own could both lower its
/// niceness (RLIMIT_NICE or CAP_SYS_NICE) and put it back. Undone by `restore_priority`, at a fork in the
/// child, and by the end of the process, however it ends: a niceness dies with its threads.
/// Not undone: in a program that is started through vfork or posix_spawn while the priority is raised; it
/// keeps what it inherited.
#pragma once

#include <cstdint>

#include "cox/pace/decision.hpp"

namespace cox::guest {

/// Steps of niceness that a late rank is moved by at most; each is worth a factor of about 1.25 in processor
/// time under contention (sched(7)).
inline constexpr int kMostSteps = 5;

/// How a rank stands among the others.
enum class Standing : std::uint8_t {
  Between,  ///< nothing follows
  Late,     ///< it hardly waits: others wait for it
  Early,    ///< it waits for long
};
/// Late or early for good: the window is full, and the rank is not held back itself. Where imbalance moves,
/// every rank waits at times, and none is late in this sense.
/// Formula: mean wait at most 5 % of the period, the threshold of the published rule; above 15 %. Between
///          them nothing changes, so that a rank which priority has helped a little keeps it.
[[nodiscard]] Standing standing_of(const pace::Decision& decision,
                                   const pace::DecisionBasis& evidence) noexcept;
/// Whether a rank that looks as if it waited may be the late one: what part of its waits is transfer is not
/// known, and both together are above what a late rank's wait may be. No local rule tells them apart: the
/// wait of a rank that is always early is as steady as a transfer.
[[nodiscard]] bool is_late_hidden(const pace::Observation& seen,
                                  const pace::DecisionBasis& evidence) noexcept;

/// When to change: after a window in which every step said the same, and at most once per window. A rank that
/// became early because it was raised would go up and down; so each way back doubles the windows that the
/// next way up takes, to 64.
/// Cost: O(1). Held by: src/guest/pacing/priority_test.cpp
class PriorityPolicy {
 public:
  enum class Change : std::uint8_t { None, Raise, Restore };
  /// `window`: steps; less than 1 counts as 1.
  [[nodiscard]] Change observe(Standing standing, std::uint32_t window) noexcept;
  [[nodiscard]] bool is_raised() const noexcept { return raised_; }
  /// A change that was asked for could not be made, or was undone by others.
  void set_raised(bool raised) noexcept { raised_ = raised; }

 private:
  static constexpr std::uint32_t kMostWindows = 64;
  std::uint64_t agreeing_ = 0;  // steps in a row that speak for a change
  std::uint64_t since_ = 0;     // steps since the last change
  std::uint32_t windows_ = 1;   // that the next way up takes
  bool raised_ = false;
  bool changed_ = false;
};

/// The system calls, so that tests can refuse them. Each works on one thread; `set` returns whether it held.
struct PriorityCalls {
  int (*get)(int thread) noexcept;  ///< niceness, or kNoNiceness
  bool (*set)(int thread, int niceness) noexcept;
};
inline constexpr int kNoNiceness = 1000;

/// What a probe found. Neither of both: nobody asked.
struct PriorityOffer {
  int steps = 0;                  ///< of niceness that can be given and taken back; 0 = not offered
  const char* refused = nullptr;  ///< why not, as a note for the Run: a literal
};
/// Whether the thread's niceness can be lowered and restored. Leaves the thread as it found it, or, where it
/// cannot, with the lower niceness: call it on a thread that ends.
[[nodiscard]] PriorityOffer probe_priority(const PriorityCalls& calls, int thread) noexcept;

/// Reads COX_PACE_PRIORITY and probes. Call once, where the guest is attached; starts and joins one thread.
/// Cost: 0.2 ms where asked for, one look-up where not.
PriorityOffer start_priority() noexcept;
/// Once per decision, on the thread that decides. Raises or restores all threads of the process (the first
/// 256), at most once per `window` steps. Cost: 3 ns; a change: one walk of /proc/self/task and two
/// system calls per thread, 0.1 ms for one. Keeps errno. Returns what was really changed.
PriorityPolicy::Change steer_priority(const pace::Decision& decision, const pace::DecisionBasis& evidence,
                                      std::uint32_t window) noexcept;
/// Back to what was found, and no change any more. For the end of the program and for a guest that switches
/// itself off. Threads: any; idempotent.
void restore_priority() noexcept;
[[nodiscard]] bool is_priority_raised() noexcept;

}  // namespace cox::guest
