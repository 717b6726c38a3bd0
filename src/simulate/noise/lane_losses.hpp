// SPDX-License-Identifier: Apache-2.0
/// \file
/// What messages lost by chance cost one lane of one collective.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/simulate/timeouts.hpp"

namespace cox::simulate {

/// How late a message is that is lost `times` in a row: the timer doubles, as RFC 6298, 5.5 has it.
[[nodiscard]] constexpr Seconds late_after(Seconds wait, int times) {
  return wait * static_cast<double>((std::int64_t{1} << times) - 1);
}
inline constexpr int kMostLosses = 10;  ///< of one message in a row

/// How much later a message arrives that is alone in its collective, by whoever receives it: one draw, however many others there
/// are. Held by: src/simulate/training/policy/trouble_test.cpp
[[nodiscard]] Seconds lone_late(const TimeoutDraws& law, TimeoutDraws::Row row, std::int64_t receiver);

/// What the losses of one lane of one collective are, found when first asked for. One owner.
class LaneLosses {
 public:
  LaneLosses(const TimeoutDraws& law, TimeoutDraws::Row row, std::int64_t rounds, std::int64_t receivers)
      : law_(&law), row_(row), rounds_(rounds), receivers_(receivers) {}
  /// Ascending by round x receivers + receiver. The span stays.
  [[nodiscard]] std::span<const TimeoutDraws::Lost> all(std::int64_t ordinal = 0);
  /// How much later the `ordinal`-th message of `round` reaches `receiver`; zero for most.
  [[nodiscard]] Seconds late(std::int64_t round, std::int64_t receiver, std::int64_t ordinal = 0);

 private:
  const TimeoutDraws* law_;
  TimeoutDraws::Row row_;
  std::int64_t rounds_;
  std::int64_t receivers_;
  std::map<std::int64_t, std::vector<TimeoutDraws::Lost>> rows_;  ///< by ordinal
};

}  // namespace cox::simulate
