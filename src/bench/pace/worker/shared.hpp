// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the processes of one run share: a barrier, and a cell per step and rank that only its rank writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cox/model/iteration.hpp"

namespace cox::bench::worker {

/// What one rank saw of one step. Times in nanoseconds.
struct Cell {
  float work = 0;
  float wait = 0;
  float delay = 0;
  float draw = 0;
  std::uint8_t reason = 0;
  std::uint8_t state = 0;
};

struct Control {
  std::atomic<std::uint32_t> stop{0};        ///< something is wrong: all ranks leave
  std::atomic<std::uint32_t> arrived{0};     ///< at the barrier
  std::atomic<std::uint32_t> generation{0};  ///< of the barrier; a futex
  std::atomic<std::int64_t> draw{0};         ///< rank 0's current draw step, for the background traffic
};

/// Processor time of the machine before and after a block, in clock ticks.
struct Ticks {
  std::uint64_t stolen[2] = {};
  std::uint64_t all[2] = {};
};

/// The mapping; made before the first fork.
class Shared {
 public:
  /// Nothing where memory cannot be had: `control()` is null.
  Shared(std::int64_t steps, int ranks, std::size_t blocks);
  [[nodiscard]] Control* control() const { return control_; }
  [[nodiscard]] Cell& cell(std::int64_t step, int rank) const { return cells_[step * ranks_ + rank]; }
  [[nodiscard]] std::int64_t& period(std::int64_t step) const { return periods_[step]; }
  [[nodiscard]] Ticks& ticks(std::size_t block) const { return ticks_[block]; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  int ranks_;
  Control* control_ = nullptr;
  Ticks* ticks_ = nullptr;
  std::int64_t* periods_ = nullptr;
  Cell* cells_ = nullptr;
};

/// Returns once all ranks are in it. Ends the process where `stop` is set: a partner is gone.
/// Block: a futex, woken by the last one; Spin: reads until it changes; Yield: gives the core away in
/// between.
void pass_barrier(Control& control, std::uint32_t ranks, pace::WaitMode mode);

/// CLOCK_MONOTONIC, in nanoseconds.
[[nodiscard]] std::int64_t now_ns();
/// Sleeps until then; goes on after signals.
void sleep_until(std::int64_t ns);
/// Keeps a core busy until this thread has used so much processor time.
void use_processor(std::int64_t ns);

/// Exit status of a rank whose partner is gone.
inline constexpr int kPartnerGone = 3;

}  // namespace cox::bench::worker
