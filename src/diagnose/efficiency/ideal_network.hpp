// SPDX-License-Identifier: Apache-2.0
/// \file
/// The recorded job again, on a network without latency and of infinite bandwidth.
#pragma once

#include <optional>
#include <string>

#include "cox/base/units.hpp"

#include "diagnose/efficiency/useful.hpp"

namespace cox::diagnose {

struct IdealNetwork {
  Duration runtime{};
  Duration useful_maximum{};  ///< longest time that a rank spends outside communication
};

/// A blocking send of more than this waits until its receive is posted; a smaller one never waits.
/// Source: the limit at which BSC's basicanalysis runs Dimemas (`-S 32k`).
inline constexpr Bytes kEagerLimit{32 << 10};

/// Replays the calls of all ranks.
///
/// What a rank does between two calls lasts as long as it did. Calls themselves last no time but what they
/// wait for: a collective for all its members, whatever its kind; a receive for the begin of the send; a
/// blocking send beyond `kEagerLimit` for its receive. MPI_Init is a meeting of all. Where these waits go in
/// a circle, the program had larger buffers: then no send waits.
///
/// Source:  Dimemas with an ideal configuration, as BSC's basicanalysis uses it (Labarta et al. 1996).
/// Errors:  nothing, and a reason, where it is not known who waits for whom.
/// Cost:    linear in calls; 12 bytes per call that meets others, about 70 per point-to-point call.
/// Held by: src/diagnose/efficiency/ideal_network_test.cpp, src/diagnose/efficiency/efficiency_test.cpp
[[nodiscard]] std::optional<IdealNetwork> replay_ideal_network(const Matched& matched,
                                                               const UsefulTime& useful,
                                                               std::string& why_not);

}  // namespace cox::diagnose
