// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far times of different ranks may be compared.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

#include "diagnose/match/matching.hpp"

namespace cox::diagnose {

struct ClockView {
  std::int64_t domains = 0;
  Duration residual{};
  bool comparable = false;
  /// Spread of ends over spread of begins after the ends were aligned; only where clocks differ. Above 0.5 a
  /// short duration does not mean a late arrival.
  double validity = 0;
  /// The same over the quarter of the operations with the widest spread of begins: above 0.5 not even a rank
  /// that is far behind can be told.
  double validity_of_wide = 0;
};

[[nodiscard]] ClockView look_at_clocks(const trace::Run& run, const Matching& m);

}  // namespace cox::diagnose
