// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Run that real controllers paced, in closed loop, with the records that a guest would have left of it.
#pragma once

#include <cstdint>
#include <string>

#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

namespace cox::test {

/// Per iteration each rank works, the last `slow` ones longer, then all meet in a barrier. What fast ranks
/// begin at once takes something from the slow ones: their work is longer by `contention` times the mean over
/// fast ranks of max(0, 1 - delay / yield).
struct PacedShape {
  int ranks = 4;
  int slow = 1;
  int steps = 600;
  Duration work = std::chrono::milliseconds{10};
  Duration slow_extra = std::chrono::milliseconds{6};
  Duration contention = std::chrono::milliseconds{3};
  Duration yield = std::chrono::milliseconds{2};
  double jitter_ratio = 0.01;  ///< of the work, normal, per rank and step
  Duration transfer = std::chrono::microseconds{50};
  Duration oversleep = std::chrono::microseconds{60};  ///< what a timer adds to a delay
  bool marks = false;                                  ///< a Step record at the begin of each step
  int calls = 1;  ///< barriers per step, the work spread over them; several only with marks
  std::uint64_t seed = 1;
  std::string settings = "auto";  ///< for pace::set_all
  bool recorded = true;           ///< as a fact of each rank
};

/// Times are whole nanoseconds. Same shape, same Run, on every machine.
[[nodiscard]] trace::Run make_paced_run(const PacedShape& shape);

}  // namespace cox::test
