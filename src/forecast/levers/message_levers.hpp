// SPDX-License-Identifier: Apache-2.0
/// \file
/// Levers on what the messages of a Run take, as far as its records tell bytes and times.
#pragma once

#include <vector>

#include "forecast/levers/by_parts.hpp"

namespace cox::forecast {

/// Times as long: with what its interval is.
struct TimesAsLong {
  double value = 1;
  double low = 1;
  double high = 1;
};

/// Communication that nothing hides takes so many times as long, at any size.
void change_communication(PartsCase& job, const TimesAsLong& times);

/// `compression`, `buckets`, `hierarchical`, `overlap` and `placement`: given where times of messages are told by size, else with what
/// is not known as `why_not`.
///
/// Formula: a message of b bytes takes latency + b per_byte (`MessageFit`), of which a part l is latency. A quarter of the bytes:
///          l + (1 - l) / 4 times as long; four messages of a quarter: 1 + 3 l; sums inside the node of g ranks first: those of a node with b
///          and one of each node with b / g, over all ranks with b. Positions count by what they transfer. Ranges: overlap up to all that
///          nothing hides, as far as there is work; placement up to a ring of all ranks whose messages are those of a node.
/// Source:  Hockney 1994; docs/concepts/levers.md. Cost: that of `run_parameters`.
/// Held by: src/forecast/levers/message_levers_test.cpp
void add_message_levers(const PartsCase& job, const Sample& sample, std::vector<PartLever>& out);

/// Links that pass so many times the bytes, latency as it is. Pre: `links` is there. Held by: src/forecast/levers/by_parts_test.cpp
void widen_links(PartsCase& job, double times);

}  // namespace cox::forecast
