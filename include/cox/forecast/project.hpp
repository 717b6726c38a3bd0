// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts at other sizes: how long a step takes, how sure that is, and when no answer is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::forecast {

/// What grows with the ranks.
enum class Scaling : std::uint8_t {
  Weak,    ///< the batch: every rank has as much to do at any size
  Strong,  ///< nothing: a rank's work is the measured one times measured ranks over ranks
};

struct TimeBand {
  Seconds value{};
  Seconds low{};  ///< of 90 %
  Seconds high{};
};

/// What a rank's step goes into, mean over ranks.
struct StepParts {
  Seconds work{};
  Seconds communication{};  ///< that no work hides
  Seconds waiting{};        ///< for others, or for input
  [[nodiscard]] Seconds total() const { return work + communication + waiting; }
};

/// One size.
struct SizePoint {
  std::int64_t ranks = 0;
  TimeBand mean;
  TimeBand median;
  TimeBand p95;
  TimeBand p99;
  TimeBand p999;
  double cv = 0;
  Seconds rest{};         ///< communication that nothing hides
  double efficiency = 0;  ///< own work of one rank over the step
  double elasticity = 0;  ///< d ln throughput / d ln ranks
  TimeBand with_unseen;   ///< mean, with slow units that were not seen, under the prior
  TimeBand
      with_shared;  ///< mean, where something is shared by all, under the prior on growth; 0 = none asked
  TimeBand
      without_growth;  ///< mean, of one size, where nothing grows with the ranks; 0 = sizes tell, or none asked
  double unseen_chance = 0;  ///< under the prior, that a slow unit is among those asked where none was seen
  std::optional<StepParts> goes_into{};  ///< where the size was simulated itself; else its parts say
  bool simulated = false;                ///< of a Scenario: its steps were simulated at this size
  std::string not_simulated{};  ///< of a Scenario: why they were not; empty = they were, or there is none
  std::string rests_on;         ///< "seen to 1 in 128,000, asked 1 in 4,096"
  std::string refused;          ///< why there is no number; empty = there is one
};

struct Projection {
  Scaling scaling = Scaling::Weak;
  std::vector<SizePoint> points;  ///< in the order asked
  std::vector<std::string> notes;
};

}  // namespace cox::forecast
