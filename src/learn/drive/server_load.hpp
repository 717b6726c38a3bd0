// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a server with a shard had to do.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::learn {

/// Of one server in one run. Works that were begun count whole.
struct ServerLoad {
  std::int64_t pieces = 0;   ///< that came
  double part = 0;           ///< of the bytes of all pieces to all servers
  Seconds in{};              ///< its port was taken by pieces,
  Seconds out{};             ///< by parameters;
  Seconds applied{};         ///< it applied
  Seconds waited{};          ///< pieces that were there did, all together, before they were taken or applied
  std::int64_t deepest = 0;  ///< pieces that waited at the same time
  Seconds time{};            ///< of the run
  /// Part of the time in which the busiest of the three was.
  [[nodiscard]] double busy() const {
    return time > Seconds{} ? std::min(1.0, std::max({in, out, applied}) / time) : 0;
  }
  /// Pieces that wait, in the mean over time (Little's law).
  [[nodiscard]] double queue() const { return time > Seconds{} ? waited / time : 0; }
};

}  // namespace cox::learn
