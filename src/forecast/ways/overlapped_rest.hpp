// SPDX-License-Identifier: Apache-2.0
/// \file
/// Communication that runs beside work, at other sizes: what work hides of it may surface.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "forecast/project/project.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// What a step has beside own work where communication runs beside that.
struct OverlappedRest {
  RestAt at{};            ///< a range, half of it below the value; empty = steps cannot be played
  Seconds hidden{};       ///< then: of a step, what may surface
  std::string told{};     ///< what was done, one sentence
  std::string unknown{};  ///< what the samples do not tell, one sentence; empty = nothing
};

/// Recorded steps of the largest sample that is not larger, played again at each size: an operation begins when its last rank and the one before it are
/// there, lasts as messages do among so many ranks, and what ends behind the slowest rank's work is the rest. Work is as much longer as
/// the slowest of so many ranks is by the parts. The range holds what is not known of messages, and of where in a step what makes the
/// slowest rank late is. Nothing where work hides less than 2 % of a step; where the record does not tell when operations end, or steps
/// wait for them more than once, what is hidden alone.
///
/// Cost: 20 ms, and 20 sizes of the parts. Threads: `at` may be called by many. Held by: src/forecast/ways/overlapped_rest_test.cpp
[[nodiscard]] std::optional<OverlappedRest> overlapped_rest(std::span<const Sample> samples,
                                                            const Parts& parts,
                                                            const ProjectOptions& options);

/// Bands of a size beyond the ranks seen reach up to nothing hidden.
void widen_by_hidden(SizePoint& point, std::int64_t seen, Seconds hidden);

}  // namespace cox::forecast
