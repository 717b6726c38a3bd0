// SPDX-License-Identifier: Apache-2.0
/// \file
/// What failures, restarts and checkpoints leave of a job: goodput, and goodput against size.
/// Formulas and their limits: docs/concepts/goodput.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/checkpoints.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// P(nothing has failed after so long).
using Survival = std::function<double(Seconds)>;
/// Of lives with this mean. Shape 1 is exponential, below 1 is infant mortality.
[[nodiscard]] Survival weibull_survival(Seconds mean, double shape);
/// Wall time over work where the whole job is as new after each failure: M / (tau sum_{j >= 1} S(R + j (tau + C))).
/// Source: mean of the checkpoints that a life completes, over its mean length. Infinite where a life completes none.
/// Held by: src/forecast/checkpoints/intervals_test.cpp (exponential; a simulation of Weibull lives)
[[nodiscard]] double wall_over_work(Seconds interval, Seconds checkpoint, Seconds restart, Seconds mean,
                                    const Survival& survival);

/// The interval where `cost` is least, between two bounds. Cost: 200 calls on a grid of logarithms, 60 beside the best.
[[nodiscard]] Seconds least_cost(Seconds least, Seconds most, const std::function<double(Seconds)>& cost);

/// What a job of so many nodes loses when something fails, and what it writes against that.
struct Interruptions {
  std::int64_t nodes = 0;
  Seconds between{};  ///< mean, of all causes together: M; infinite = nothing fails
  Seconds
      restart{};  ///< the constant that costs as much as those that are drawn; with what steps are cold after it
  Seconds blocks{};    ///< for which a full checkpoint holds up the job: C
  Seconds write{};     ///< of it, beside the steps: W
  Seconds read{};      ///< of it, at a restart
  int full_every = 1;  ///< every so many checkpoints; the others are deltas
  Seconds delta_blocks{};
  Seconds delta_write{};
  Seconds delta_read{};
  double unreadable = 0;  ///< probability; the one before it is taken then
  Seconds near_blocks{};  ///< a checkpoint in the nodes' own memory; zero = none
  double near_survives = 0;
  double waits_for_nodes = 0;      ///< part of the wall time in which more nodes are down than stand by
  double weibull_shape = 1;        ///< of one node's lives
  std::vector<std::string> notes;  ///< what is approximate, one sentence each
};

/// How a job grows when the nodes of a scenario are another number.
struct SizeRule {
  bool state_grows = false;  ///< checkpoints are so many bytes per node, not of one model
};

/// Something is written against failures: a checkpoint takes time, or bytes through a storage.
[[nodiscard]] bool writes_checkpoints(const model::Failures& failures);

/// What `[failures]` and `[start]` of a scenario mean at `nodes`, as `simulate` plays them. Components count as
/// failure classes say; the restart is that of an exponential race: -M ln E[e^(-R/M)], exact where restarts are drawn.
/// Components are those of nodes as the scenario's; leaves of a fabric are as many as `nodes` fill.
///
/// Pre: nodes >= 1 (asserted). `cold_step`: a step's usual length, for `cold_steps`.
/// Held by: src/forecast/checkpoints/interruptions_test.cpp (against `simulate::run_with_failures`)
[[nodiscard]] Interruptions interruptions(const model::Scenario& scenario, std::int64_t nodes,
                                          Seconds cold_step = {}, const SizeRule& rule = {});

/// Shares at these intervals. Exact for exponential failures, one checkpoint at a time or two levels; generations that
/// cannot be read and writes beside the steps to the order that their page states.
///
/// Formula: for two levels x_j = r_j + P(no failure) x_(j+1) + P(failure) (p x_j + (1 - p) x_0), j near checkpoints
/// behind the last far one; for one level Daly's law. Work 0 where the job gets nowhere. Pre: intervals.far > 0
/// (asserted). Cost: far / near. Held by: src/forecast/checkpoints/interruptions_test.cpp
[[nodiscard]] WallShares wall_shares(const Interruptions& costs, const Intervals& intervals);

/// The intervals of most goodput. Exact for one level; both searched for two. Never below what a write beside the steps
/// takes. Infinite where nothing fails; a billionth of the time between failures where a checkpoint takes no time. Held by: src/forecast/checkpoints/interruptions_test.cpp
[[nodiscard]] Intervals best_intervals(const Interruptions& costs);

/// One number of nodes.
struct GoodputPoint {
  std::int64_t nodes = 0;
  Interruptions costs;
  Intervals given;  ///< of the scenario; far zero = it says none
  Intervals best;
  WallShares at_given;
  WallShares at_best;
};

/// How fast all nodes together work while nothing is down; any unit. Empty = as many as there are.
using RateAt = std::function<double(std::int64_t nodes)>;

/// Goodput at these numbers of nodes. Errors: forecast-030 (nothing fails, or nothing is written against it).
[[nodiscard]] Result<std::vector<GoodputPoint>> goodput(const model::Scenario& scenario,
                                                        const std::vector<std::int64_t>& nodes,
                                                        Seconds cold_step = {}, const SizeRule& rule = {});

/// Where nodes stop paying.
struct MostWork {
  std::int64_t nodes = 0;  ///< N*: the number that does most work per wall time at its own best interval
  bool censored = false;   ///< it is the largest that was looked at: more nodes may do more
  double goodput = 0;
  Intervals best;
};

/// argmax of rate(N) x goodput(N), 1 <= N <= `most`. With C and R fixed and rate N: M = 1.2550 C and goodput 0.2032 for
/// R = 0. Takes goodput times rate for falling once behind its maximum, as it does for smooth rates.
/// Errors: forecast-030. Cost: 0.1 ms a size, 500 sizes. Held by: src/forecast/checkpoints/interruptions_test.cpp
[[nodiscard]] Result<MostWork> most_work(const model::Scenario& scenario, std::int64_t most,
                                         const RateAt& rate = {}, Seconds cold_step = {},
                                         const SizeRule& rule = {});

}  // namespace cox::forecast
