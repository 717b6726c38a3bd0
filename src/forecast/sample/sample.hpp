// SPDX-License-Identifier: Apache-2.0
/// \file
/// What was seen of a job at one size, in the form that its parts are estimated from; and curves of sizes and values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/curves.hpp"
#include "cox/model/collective.hpp"

#include "forecast/sample/run_record.hpp"

namespace cox::forecast {

/// What a synchronisation moved, where the input tells it.
struct Traffic {
  model::Collective kind = model::Collective::Other;  ///< Other = not known, or not always the same
  Bytes bytes{};                                      ///< of the commonest call; zero = not known
  Seconds transfer{};  ///< median from the last rank's arrival to the last one's departure; zero = not known
};

/// Between two synchronisations of a step: what every rank did on its own before it met the others.
/// Ranks are in the order of `Sample::ranks`, steps in that of `Sample::steps`.
struct Position {
  std::string name;          ///< `allreduce 2 of 4`; empty where a step has one
  std::vector<Seconds> own;  ///< own work: [step * ranks + rank]
  Traffic traffic{};
  [[nodiscard]] Seconds at(std::size_t step, std::size_t rank, std::size_t ranks) const {
    return own[step * ranks + rank];
  }
};

/// A rank and what it shares with others. -1 = not known.
struct SampleRank {
  std::int32_t rank = 0;
  std::int32_t node = -1;   ///< ranks of one node have one number
  std::int32_t group = -1;  ///< nodes at one switch
  std::int32_t role = 0;  ///< ranks with the same work (data parallel peers): same tensor and pipeline place
};

/// A step that is held: all ranks were there. First steps, and those of checkpoints and evaluations, are not.
struct SampleStep {
  std::int64_t number = 0;  ///< in the run
  Seconds begin{};
  Seconds length{};  ///< from the end of the step before to its own
};

/// One job at one size.
struct Sample {
  std::string name;
  std::vector<SampleRank> ranks;
  std::vector<SampleStep> steps;
  std::vector<Position> positions;    ///< at least one; empty where only step times are known
  bool waits_only = false;            ///< own work is step time less wait, from a source that says no more
  RunRecord record{};                 ///< what a Run tells beside; empty for tables
  std::vector<std::string> left_out;  ///< what of the input is not in here, and why: one sentence each

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ranks.size()); }
};

struct CurvePoint {
  std::int64_t size = 0;
  double value = 0;  ///< StepTime: seconds; Throughput: per second, of whatever is counted
};
/// A table `size, value`, ascending by size; repeated sizes are repetitions.
struct Curve {
  std::string name;
  CurveValue value = CurveValue::StepTime;
  std::vector<CurvePoint> points;
};

/// Whether parts can be estimated from it at all: at least one rank and two steps, and of each position as many numbers as
/// ranks and steps, from 0 to 1e9 s, and steps that take time.
/// Errors: forecast-001 (what is wrong, where). Cost: linear. Held by: src/forecast/sample/sample_test.cpp
[[nodiscard]] Status check(const Sample& sample);

/// `count` steps from the `first` on, with what ranks did in them; of what a Run tells beside nothing. Pre: they are there.
/// Held by: src/forecast/sample/sample_test.cpp
[[nodiscard]] Sample cut(const Sample& sample, std::size_t first, std::size_t count);

}  // namespace cox::forecast
