// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pacing inside a job: what one process tells its controller, and the delay that it serves.
///
/// pacing.cpp: the iterations of one process, with everything of the process behind function pointers, so
/// that it runs under a test as it runs in a job. process.cpp: those functions, and what the
/// environment asks for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cox/pace/controller.hpp"
#include "cox/trace/raw_format.hpp"

#include "guest/seam/typed.hpp"

namespace cox::guest {

/// What a pacer needs of its process.
struct PaceWorld {
  bool (*is_recording)() noexcept;  ///< false in a forked child, after the end, and once switched off
  std::uint32_t (*thread)() noexcept;
  std::uint64_t (*ticks)() noexcept;
  double (*picoseconds_per_tick)() noexcept;
  void (*sleep)(Duration) noexcept;
  trace::RawRecord* (*begin)(trace::EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint32_t comm,
                             std::uint32_t seq, std::uint64_t bytes, std::uint32_t aux) noexcept;
  void (*end)(trace::RawRecord* record) noexcept;
  bool (*is_stored)(const trace::RawRecord* record) noexcept;
  bool (*drives_accelerator)() noexcept;  ///< asked once, before the first observation
  /// Told of every decision and what was seen last, for what else can follow from it; may be null.
  void (*decided)(const pace::Controller& controller, const pace::Observation& seen) noexcept;
};

/// The iterations of one process as its controller sees them.
///
/// Paced is the largest group in which the program waits; a group counts from its fourth synchronisation on,
/// so that a barrier at the start takes nothing over. Which one it is follows from the order of
/// synchronisations alone, which is the same on all members, and so does the number of the iteration.
/// Threads: `define` any; of `enter`, `leave` and `mark` only those of one thread count,
///          the first that synchronised.
/// Cost: passive some tens of ns per synchronisation (bench/hook_bench.cpp); no system call but the delay's.
/// Held by: src/guest/pacing/pacing_test.cpp
class Pacer {
 public:
  /// Communicators of a process that may be paced or looked at; later ones are not.
  static constexpr std::uint32_t kGroups = 256;
  static constexpr std::uint32_t kFirst = pace::kFirstSynchronisation;
  /// Synchronisations of another group, none of the paced one in between, after which that one is given up.
  static constexpr std::uint32_t kGivenUp = 4096;
  /// The same where the other group is as large or larger.
  static constexpr std::uint32_t kReplaced = 64;
  static constexpr std::int64_t kSmall = pace::kSmallPayload;

  Pacer(const pace::Settings& settings, const PaceWorld& world) noexcept
      : world_(world), settings_(settings) {}

  void define(std::uint32_t comm, std::int32_t size, std::int32_t rank) noexcept;
  void enter(std::uint32_t comm) noexcept;
  void leave(std::uint32_t comm, std::uint64_t begin, std::uint64_t end, std::int64_t bytes,
             Boundary boundary) noexcept;
  /// The program begins a step.
  void mark() noexcept;

 private:
  struct Group {
    std::atomic<std::int32_t> size{0};
    std::atomic<std::int32_t> rank{0};
    std::uint64_t seen = 0;   ///< synchronisations of it
    std::uint64_t stamp = 0;  ///< those of the paced group when its run began
    std::uint64_t run = 0;    ///< its own since then
    bool given_up = false;
  };
  struct Other {  ///< a group beside the paced one
    std::uint32_t comm = 0;
    std::uint32_t waits = 0;  ///< in this iteration
    Duration sum{};
  };

  [[nodiscard]] bool is_ours() noexcept;
  [[nodiscard]] bool is_owner() const noexcept;
  [[nodiscard]] Duration span(std::uint64_t begin, std::uint64_t end) const noexcept;
  [[nodiscard]] Duration transfer_of(std::int64_t bytes, Duration wait) const noexcept;
  [[nodiscard]] bool takes_over(std::uint32_t comm) noexcept;
  void take(std::uint32_t comm, std::uint64_t now) noexcept;
  void restart(std::uint64_t now) noexcept;
  void add_other(std::uint32_t comm, Duration wait) noexcept;
  void pass(Boundary boundary, std::uint64_t now) noexcept;
  void close_iteration(std::uint64_t now) noexcept;
  void act(pace::Decision decision) noexcept;
  void serve(const pace::Decision& decision) noexcept;

  PaceWorld world_;
  pace::Settings settings_;
  pace::Controller controller_;
  Group groups_[kGroups];
  Other others_[pace::Controller::kOtherGroups];
  std::atomic<std::uint32_t> owner_{0};  ///< the thread that counts
  double ps_per_tick_ = 0;
  std::uint32_t paced_ = 0;  ///< communicator; 0 = none yet
  bool asked_ = false;       ///< whether an accelerator is there
  pace::BoundaryRule boundaries_;
  std::uint64_t paced_seen_ = 0;
  std::uint64_t step_ = 0;           ///< number of the iteration under way
  std::uint64_t began_ = 0;          ///< in ticks
  std::uint64_t counted_until_ = 0;  ///< in ticks: end of the last synchronisation or delay
  Duration sync_{};
  Duration transfer_{};
  bool transfer_known_ = true;
  Duration delayed_{};
  bool told_ = false;  ///< `reason_` was recorded
  pace::Reason reason_{};
  bool pending_ = false;  ///< `waiting_` is to be served at the entry of the next collective
  pace::Decision waiting_{};
};

/// The controller's side of the process, or null where COX_PACE asks for none or cannot be read. Looked up
/// once. `find_data` as in Host.
[[nodiscard]] const PaceApi* pace_api(void* (*find_data)(const char*)) noexcept;
/// A communicator got its number.
void pace_define(std::uint32_t comm, std::int32_t size, std::int32_t rank) noexcept;
/// The program begins a step.
void pace_mark() noexcept;
/// Puts the settings into the file that was just opened, or why there are none.
void pace_introduce() noexcept;

}  // namespace cox::guest
