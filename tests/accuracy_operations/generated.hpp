// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jobs whose late ranks are known: few steps of many operations, and operations that lack members.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cox/trace/run.hpp"

namespace cox::accuracy {

/// What own work scatters by. Each has the same robust spread, a tenth of the work.
enum class Noise : std::uint8_t {
  Normal,     ///< independent
  HeavyTail,  ///< Pareto, shape 1.3: the mean of many does not settle
  Wandering,  ///< correlated by 0.9 from one operation of a rank to the next
  PerStep,    ///< half of the variance is one draw per rank and step
  Crowded,  ///< a second job takes a rank's CPU now and then, for one to five operations, twenty times the spread
};
inline constexpr std::array kNoises{Noise::Normal, Noise::HeavyTail, Noise::Wandering, Noise::PerStep,
                                    Noise::Crowded};
[[nodiscard]] std::string_view name_of(Noise n);

/// What is missing from the recording.
enum class Missing : std::uint8_t {
  Nothing,
  RingBuffers,  ///< each rank holds its latest records only, more or fewer
  Untraced,     ///< one to four in ten ranks were not recorded
  CutFiles,     ///< most ranks' files end somewhere in the middle
  Scattered,    ///< each operation lacks some members, others each time
};
inline constexpr std::array kMissing{Missing::RingBuffers, Missing::Untraced, Missing::CutFiles,
                                     Missing::Scattered};

struct Case {
  std::uint64_t seed = 0;
  Noise noise = Noise::Normal;
  Missing missing = Missing::Nothing;
  double level = 0;  ///< extra work of a late rank, in spreads of the noise
};

struct Generated {
  trace::Run run;
  std::vector<std::int32_t> late;     ///< the late ranks of which something was recorded, ascending
  std::vector<double> mean_work;      ///< per rank that was recorded: what "largest mean" looks at
  std::vector<std::int64_t> last_of;  ///< per rank that was recorded: what "last most often" looks at
  /// By how much of its time the job would be shorter without the extra work of those late ranks that were recorded.
  double gain = 0;
};

/// 4 to 512 ranks; nothing missing: 1 to 9 steps of 40 to 120 operations of three kinds, else 4 to 40 steps of 12.
/// One to an eighth of the ranks are late, none at level 0.
[[nodiscard]] Generated generate(const Case& c);

}  // namespace cox::accuracy
