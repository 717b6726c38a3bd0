// SPDX-License-Identifier: Apache-2.0
/// \file
/// One table of own work (steps x ranks of one role) taken apart by mean squares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cox::forecast {

/// Times of the ranks of one role before one synchronisation. Seconds.
struct WorkTable {
  std::size_t steps = 0;
  std::vector<std::vector<std::size_t>> nodes;  ///< columns of each node; one each where nodes are not known
  std::vector<double> own;                      ///< [step * ranks + column]
  [[nodiscard]] std::size_t ranks() const { return own.size() / steps; }
};

/// A variance component: mean square less what it holds beside.
struct Component {
  double variance = 0;  ///< may be below zero, as it comes
  double noise = 0;     ///< variance of the estimate where the component is zero: in the same unit
  double freedom = 0;   ///< degrees of freedom; 0 = the table cannot tell
};

/// Formula: balanced mean squares, with K (1 - phi) / (1 + phi) steps for K where residuals are AR(1); unequal nodes by their
/// harmonic mean. Source: Searle, Casella, McCulloch 1992, "Variance Components". Held by: src/forecast/calibrate/calibrate_test.cpp
struct Decomposed {
  double level = 0;
  double drift = 0;            ///< end less begin, of the line through the steps' medians
  std::size_t first_step = 0;  ///< of the last regime: those before it are left out
  double earlier_level = 0;    ///< of the steps before it
  double correlation = 0;      ///< phi: of a rank's residual with its last one
  Component rank;
  Component node;
  Component step;
  Component node_step;
  Component residual;
  double node_step_third = 0;  ///< third cumulant of the part of a node in a step
  bool node_step_told = false;
  std::int64_t slow_nodes = 0;
  std::vector<std::size_t> slow_places;  ///< which of the table's nodes those are
  double slow_extra = 0;
  std::vector<double> residuals;  ///< of mean 0, with the noise of what was taken off
  double narrower = 1;            ///< times which they are as wide as the residual is
  std::vector<double> pooled;     ///< own work less level and step
  double independent = 1;         ///< which part of the residuals counts as independent
};

[[nodiscard]] Decomposed decompose(WorkTable table);

}  // namespace cox::forecast
