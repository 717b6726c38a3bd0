// SPDX-License-Identifier: Apache-2.0
/// \file
/// The long form of a job's structure: what laws and twins say beside what was counted, and at sizes that were not run.
/// Definitions: docs/concepts/structure.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/forecast/scaling_job.hpp"

#include "forecast/regimes/amplification.hpp"
#include "forecast/structure/structure.hpp"
#include "forecast/structure/twins.hpp"

namespace cox::forecast {

/// A rank's chance of being last, counted and by laws.
struct CriticalRank {
  std::int32_t rank = 0;
  Proportion counted{};
  double by_law = 0;
};

/// How the step follows a part of it, counted and by twins. A difference beyond both intervals: something is shared.
struct TwoElasticities {
  std::string to{};
  Proportion counted{};
  double by_twins = 0;
  double half_width = 0;  ///< of 95 %, of `by_twins`

  [[nodiscard]] double difference() const { return by_twins - counted.value; }
};

/// By quadrature, with the laws of the parts.
struct StructureAtSize {
  std::int64_t ranks = 0;
  Amplification added{};      ///< what each mechanism adds to the time per sample
  Seconds longest{};          ///< mean own work of the slowest rank, ranks independent of each other
  Seconds without_slowest{};  ///< the same where the slowest `spare` are not waited for
  /// one rank in a hundred, from 1 to 1,024; 0 = ranks are not alike, and these three are not told
  std::int64_t spare = 0;
  double kept = 0;  ///< of the delay, at the barrier: D_0 / d
};

/// The same delay where ranks wait for fewer others.
struct CoupledWave {
  Waits waits = Waits::All;
  Wave wave{};
};

/// What is left of a delay where a Scenario is simulated beside its twin.
struct SimulatedDelay {
  int rank = 0;
  std::int64_t step = 0;
  Decay decay{};
};

struct StructureDetail {
  Seconds delay{};                 ///< that is followed; zero = ranks do not differ, so none was chosen
  std::optional<KeptPart> kept{};  ///< of it, at the sample's own size
  std::vector<CriticalRank>
      critical{};        ///< the ranks that are last most often; empty = not known, or too many ranks
  double near_ties = 0;  ///< coupling of the first two of `critical`, 1/s
  std::vector<TwoElasticities> follows{};  ///< of a sample that has a Scenario
  std::vector<StructureAtSize> sizes{};
  std::vector<CoupledWave> waves{};
  std::vector<TwinElasticity> twins{};  ///< of a Scenario
  std::optional<SimulatedDelay> simulated{};
  std::vector<std::string> notes{};  ///< what was left out and why, one sentence each
};

}  // namespace cox::forecast
