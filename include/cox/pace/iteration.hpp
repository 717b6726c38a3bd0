// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where an iteration of the paced group ends: for the guest, which cuts them while they run, and for whoever
/// cuts a Run the same way afterwards. Guest code: libc only.
#pragma once

#include <cstdint>

namespace cox::pace {

/// What ends an iteration of the paced group. The later ones say it better: the first of a kind that is seen
/// takes over from those before it.
enum class Boundary : std::uint8_t {
  Synchronisation = 0,  ///< each synchronisation, where the program says nothing else
  Gradients = 1,        ///< the gradients of a backward pass are there
  Mark = 2,             ///< the program marks its steps
};

/// Synchronisations of a group before it may be paced: a barrier at the start takes nothing over.
inline constexpr std::uint32_t kFirstSynchronisation = 4;
/// Payloads up to this size take no time worth subtracting.
inline constexpr std::int64_t kSmallPayload = 4096;

/// Which of the boundaries that are passed count: those of the best kind so far.
/// Held by: src/pace/iteration_test.cpp
class BoundaryRule {
 public:
  enum class Effect : std::uint8_t {
    None,        ///< of a lesser kind: the iteration goes on
    Ends,        ///< an iteration ends, the next one begins
    BeginsAnew,  ///< the first of a better kind: iterations count from 0, those before it say nothing
  };
  Effect pass(Boundary passed) noexcept {
    if (passed < best_) return Effect::None;
    if (passed == best_) return Effect::Ends;
    best_ = passed;
    return Effect::BeginsAnew;
  }
  /// Another group is paced: its boundaries are not those seen so far.
  void forget() noexcept { best_ = Boundary::Synchronisation; }

 private:
  Boundary best_ = Boundary::Synchronisation;
};

}  // namespace cox::pace
