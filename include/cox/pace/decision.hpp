// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a controller is told and what it says. Libc only: part of the guest.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::pace {

/// One passed synchronisation of the paced group, as the rank saw it. An iteration is the time between the
/// ends of two of them: delayed + work + sync.
struct Observation {
  std::uint64_t step = 0;  ///< number of the synchronisation in its group: alike on all members
  Duration work{};         ///< own time since the previous one ended, without `delayed`
  Duration sync{};         ///< time in which the program stood in this one, wait and transfer together
  Duration transfer{-1};   ///< the part of `sync` that is transfer; negative = not known
  Duration delayed{};      ///< that was really served since the previous one (timers oversleep)
};

/// Where a controller stands. Values are part of the Run format and are never renumbered.
enum class State : std::uint8_t {
  WarmUp = 0,  ///< too few observations
  Watch = 1,   ///< passive
  Probe = 2,   ///< lone turns with a small delay, to tell slack from transfer
  Trial = 3,   ///< paced and unpaced blocks in turn
  Hold = 4,    ///< pacing, with unpaced blocks in between that keep testing it
};

/// Why the decision is what it is. Values are part of the Run format and are never renumbered.
enum class Reason : std::uint8_t {
  Observing = 0,        ///< mode `observe` or `off`
  WarmingUp = 1,        ///< fewer than `warm_up` observations, or the first window where that is needed
  NoSlack = 2,          ///< this rank does not wait predictably: it is late, or its slack moves
  TooSmall = 3,         ///< its slack is below the smallest delay worth a timer
  UnknownTransfer = 4,  ///< wait and transfer cannot be told apart here
  LaunchAhead = 5,      ///< an accelerator's queue would absorb the delay
  OverBudget = 6,       ///< finding out could cost more than what is left of the budget
  BackingOff = 7,       ///< the last test did not show a benefit; the next one is some steps away
  BlockOff = 8,         ///< an unpaced block of a test
  BlockPaced = 9,       ///< a paced block of a test
  Holding = 10,         ///< shown to pay; paced
  HoldOff = 11,         ///< shown to pay; an unpaced block that keeps testing it
  OtherGroup = 12,      ///< another group's synchronisation has less slack
  Threshold = 13,       ///< mode `paper`: imbalance above the threshold
  Released = 14,        ///< mode `paper`: imbalance below it
  Fixed = 15,           ///< modes `always` and `random`
  ClockStep = 16,       ///< an observation that cannot be (negative time) was left out
  ProbeTurn = 17,       ///< own turn of a probe
  NoGain = 18,          ///< a test has just ended without a benefit
  Harm = 19,            ///< a test has just ended because paced blocks were worse
  Waiting = 20,         ///< the next test begins at a step that is alike on all ranks
  InOrder = 21,  ///< no decision: a collective held until the one before it had begun (`Settings::order`)
  LongOff = 22,  ///< shown to pay; unpaced for long, to see costs that come late
};

struct Decision {
  Duration delay{};  ///< before the next iteration, or at the next collective; never negative
  Reason reason = Reason::Observing;
  State state = State::WarmUp;
};

/// What lies behind a decision: for reports, never for control.
struct DecisionBasis {
  Duration period{};        ///< typical time of an iteration, paced ones too
  Duration slack{};         ///< mean wait without transfer; in tests of `auto` of unpaced iterations
  Duration deviation{};     ///< its standard deviation
  Duration predictable{};   ///< what of it can be counted on: see Settings::deviations
  double gain = 0;          ///< estimate, relative time saved by pacing in the current or last test
  double half_width = 0;    ///< of its confidence sequence
  std::uint32_t pairs = 0;  ///< of blocks in that test
  Duration spent{};         ///< regret charged so far
  Duration allowance{};     ///< that may still be spent
};

[[nodiscard]] const char* name_of(State state) noexcept;    ///< `warm-up`, `watch`, `probe`, `trial`, `hold`
[[nodiscard]] const char* name_of(Reason reason) noexcept;  ///< `no-slack`, `block-paced`, ...
/// One sentence for people: why no delay, or why this one.
[[nodiscard]] const char* explain(Reason reason) noexcept;

}  // namespace cox::pace
