// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job taken apart by who shares what: the parts of own work, each with its interval and what carries it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/law/law.hpp"

namespace cox::forecast {

/// Where a number comes from.
enum class Origin : std::uint8_t {
  Measured,  ///< estimated from what was seen; the interval is of 90 %
  Stated,    ///< the input or the user said it
  Range,     ///< the data cannot tell: the ends are what is thought possible
};

/// A time with its interval. Without freedom (one node, one rank) the interval is a stated range.
struct TimeEstimate {
  Seconds value{};
  Seconds low{};
  Seconds high{};
  Origin origin = Origin::Measured;
  std::int64_t units = 0;  ///< independent units that carry it: ranks, nodes, steps
  double freedom = 0;  ///< of a deviation: degrees of freedom of its square; 0 = not estimated from a spread
  Seconds noise{};     ///< of a deviation: what the measured spread would be if it were zero
  Seconds spread{};    ///< of a deviation: the measured spread, with that noise in it
  bool split = false;  ///< a range of which half is below the value, and half above
  /// Of a range, by a place in (0, 1). Held by: src/forecast/ways/overlapped_rest_test.cpp
  [[nodiscard]] Seconds at_place(double place) const {
    if (!split) return low + place * (high - low);
    return place < 0.5 ? low + 2 * place * (value - low) : value + (2 * place - 1) * (high - value);
  }
};
struct RatioEstimate {
  double value = 0;
  double low = 0;
  double high = 0;
  Origin origin = Origin::Measured;
  std::int64_t units = 0;
};

/// How a time goes on with the number of ranks.
enum class Growth : std::uint8_t {
  None,       ///< not at all
  Logarithm,  ///< slope ln(N / ranks seen)
  Linear,     ///< slope (N - ranks seen): something is shared by all
  Levelling,  ///< slope (1 - ranks seen / N): bytes that a rank passes on, (N - 1) / N of all
};

/// Where a line over sizes is known best: there its slope says nothing of its value.
struct Pivot {
  Seconds value{};
  Seconds error{};
  double from = 0;  ///< in the law's unit of growth, from the ranks seen: below zero
};

/// One law of growth, fitted to samples of several sizes. Slopes are a normal law of mean `peak` and deviation `error`, above zero.
struct GrowthFit {
  Growth growth = Growth::None;
  Seconds slope{};  ///< its mean
  Seconds peak{};
  Seconds error{};
  double share = 0;  ///< that it is this law, given the prior and what was seen; all sum to 1
  std::optional<Pivot> pivot{};
};

/// A tail as seen above one threshold of the residual. Shape and scale by maximum likelihood.
struct TailFit {
  Tail tail{};
  double exceedances = 0;  ///< independent ones
  double distance = 0;     ///< Anderson, Darling's, per exceedance: the fit's goodness
};

/// A law with what its tail was told by. Empty `tails`: exponential above `probability`, the shape is a stated range.
struct TailedLaw {
  Law law{};
  std::vector<TailFit> tails{};
  double probability = 0;  ///< of the tail in this law; 0 = none
  RatioEstimate shape{};
  double seen = 0;  ///< independent times
};

/// Times of a second mode, with nothing between it and the usual ones: detours. Each mode has a tail of its own.
struct LongerMode {
  TailedLaw usual{};
  TailedLaw longer{};
};

/// Units that are slow for good, apart from all others.
struct SlowNodes {
  std::int64_t seen = 0;
  std::int64_t of = 0;
  Seconds extra{};                    ///< mean
  double share = 0;                   ///< of all nodes, by a prior, where none was seen
  std::vector<std::int32_t> nodes{};  ///< which those seen are, ascending; of all samples
};

/// Own work before one synchronisation. Model: X = level + node + rank + step + node in step + residual
/// (node, rank: persistent; step, node in step, residual: fresh, all of mean 0). Source: docs/concepts/forecasting.md.
/// An input whose own work changed for good: what is taken of it begins there.
struct LaterSteps {
  std::string name;  ///< of the input
  std::int64_t ranks = 0;
  std::size_t first = 0;  ///< index of the first step
};

struct PositionParts {
  std::string name{};
  std::int32_t role = 0;
  std::int64_t ranks = 0;           ///< of this role, at the size at which it was seen; 0 = all
  std::vector<LaterSteps> later{};  ///< inputs of which some steps are not in here
  bool fixed = false;    ///< so many ranks at any size: those that a Scenario names, or one after the other
  TimeEstimate level{};  ///< mean over ranks and steps
  TimeEstimate rank{};   ///< standard deviation of what is a rank's for good
  TimeEstimate node{};   ///< of what is a node's for good
  Law rank_law{};  ///< of what is a rank's for good, of mean 0; constant = normal. Only a Scenario tells it
  Law node_law{};  ///< the same of a node's
  TimeEstimate step{};            ///< of what all ranks share in a step
  TimeEstimate node_step{};       ///< of what the ranks of a node share in a step
  double node_step_skewness = 0;  ///< of that, within [0, 4]
  Law group_step{};  ///< of mean 0: what the nodes at a switch share in a step; only a Scenario tells it
  Law residual{};    ///< of mean 0: body by quantiles, tail generalised Pareto where there is one
  TimeEstimate residual_sd{};
  RatioEstimate tail_shape{};   ///< xi; value 0, Origin::Range where there are too few exceedances
  double tail_probability = 0;  ///< 0 = no tail
  RatioEstimate correlation{};  ///< of a rank's residual from step to step
  std::vector<TailFit>
      tails{};  ///< above each threshold that has exceedances enough; `residual` is their mean
  std::optional<LongerMode> detours{};  ///< where a gap parts the residual: then `residual` is both
  Law pooled{};      ///< a rank's time less level and step as one law: the second model, which knows no nodes
  SlowNodes slow{};  ///< not in `node`
  std::vector<GrowthFit> growth{};  ///< of the level, best first; empty = one size only, so it cannot be told
  TimeEstimate drift{};             ///< of the level, over the sample
  double spread_power = 1;          ///< strong scaling: with which power of own work its deviations go
};

/// How the ranks of a replica go through a step, where they do not all meet at every synchronisation.
struct Pipeline {
  int stages = 1;         ///< 1 = no pipeline
  int members = 1;        ///< ranks of a stage, which go on together (tensor x context)
  int micro_batches = 1;  ///< of a replica and step
  bool fixed_batch =
      false;       ///< strong scaling: fewer micro-batches, each as long; else as many, each shorter
  int chunks = 1;  ///< of a stage: interleaved
  model::PipelineSchedule schedule = model::PipelineSchedule::OneForwardOneBackward;
};

/// What a job is made of.
struct Parts {
  std::int64_t ranks = 0;  ///< at which it was seen
  int ranks_per_node = 1;
  std::int64_t nodes = 0;
  int nodes_per_group = 0;  ///< nodes at one switch; 0 = not known
  std::int64_t steps = 0;   ///< that carry it
  /// Of a pipeline one for each stage, in order: its ranks' work of a whole step.
  std::vector<PositionParts> positions{};
  Pipeline pipeline{};
  TimeEstimate rest{};     ///< of a step, beside own work: communication that nothing hides, at `ranks`
  TimeEstimate rest_sd{};  ///< from step to step
  std::vector<GrowthFit> rest_growth{};  ///< as of a level
  /// Of samples of several sizes: what their steps take beyond the law of the slowest and the rest, at `ranks`: parts whose
  /// spread grows with the job, such as a queue. May be below zero. `compare_sizes` fills it.
  TimeEstimate beyond{};
  std::vector<GrowthFit> beyond_growth{};
  std::vector<std::string> notes{};   ///< what was found beside: change points, slow nodes
  std::vector<std::string> untold{};  ///< what the data cannot tell, one sentence each
};

/// What a Scenario names as disturbing own work, one by one.
struct WorkSources {
  std::vector<std::string> names{};
  /// Positions with these sources off (bit i: names[i]). Pure; may be called by several threads.
  std::function<std::vector<PositionParts>(std::uint64_t off)> positions{};
};

}  // namespace cox::forecast
