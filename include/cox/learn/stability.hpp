// SPDX-License-Identifier: Apache-2.0
/// \file
/// The edge of stability under delay, exact for a quadratic: what may be asked of a step before a run. `a` is rate times
/// curvature, a pure number.
///
/// Use when: a rate is to be held against its limit.
/// Not when: the problem itself is asked; run it (cox/learn/learner.hpp).
/// Threads: functions without state. No elementary function of libm but the square root: the same bits everywhere.
#pragma once

#include <cstdint>

namespace cox::learn {

enum class MomentumKind : std::uint8_t { HeavyBall, Nesterov };

/// x+ = x + b (x - x-) - a g, where g was taken `tau` versions ago. Nesterov: in the form whose gradient is taken at x and
/// enters as (1 + b) g - b g-.
struct DelayedGradient {
  std::int64_t delay = 0;  ///< tau
  double momentum = 0;     ///< b, in [0, 1)
  MomentumKind kind = MomentumKind::HeavyBall;
};

/// Largest a for which this is stable. With z = e^(it): heavy ball a = 2 sin(t/2) |z - b|, t the first root of
/// cos((tau + 1/2) t) = b cos((tau - 1/2) t); b = 0 gives 2 sin(pi / (2 (2 tau + 1))). Nesterov: divided by
/// |(1 + b) z - b|, t from the same condition of phase.
/// Cost: O(tau). Held by: src/learn/stability/delay_test.cpp (table of the reference, roots of the polynomial)
[[nodiscard]] double stable_edge(const DelayedGradient& way);

}  // namespace cox::learn
