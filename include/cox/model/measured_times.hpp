// SPDX-License-Identifier: Apache-2.0
/// \file
/// Measured times of whole collectives over their size, as a price: latency, curve, ceiling, and dips.
///
/// Use when: the collectives that a plan needs were measured on such a machine.
/// Not when: what runs at the same time shares links: a measured time is that of a collective alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

namespace cox::model {

/// One row: a size, how long it takes, and how long it takes now and then.
struct MeasuredTime {
  Bytes bytes{};  ///< as `CollectiveSpec::bytes`
  Seconds time{};
  Seconds slow{};          ///< instead of `time`, with `probability`
  double probability = 0;  ///< of a dip
};

/// Rows of one collective on so many ranks, sizes rising.
struct MeasuredCurve {
  Collective kind = Collective::AllReduce;
  int ranks = 0;  ///< 0: any number
  std::vector<MeasuredTime> rows;
};

/// Where a size lies.
enum class InTable : std::uint8_t { Within, Below, Above };

/// A time that was looked up.
struct LookedUp {
  Seconds time{};
  Seconds slow{};
  double probability = 0;
  InTable in = InTable::Within;
};

struct MeasuredTimes {
  std::vector<MeasuredCurve> curves;

  /// Between two sizes: on the straight line through them of log time over log size. Below the smallest: its time,
  /// which is the latency. Above the largest: its bytes per second, the ceiling. Zero bytes count as one.
  /// Nothing: no such collective on so many ranks. Held by: src/model/measured_times_test.cpp
  [[nodiscard]] std::optional<LookedUp> at(Collective kind, int ranks, Bytes bytes) const;
  [[nodiscard]] bool dips() const;
  /// `all-reduce of 8 ranks, all-gather of any number`: what there is.
  [[nodiscard]] std::string what() const;
};

}  // namespace cox::model
