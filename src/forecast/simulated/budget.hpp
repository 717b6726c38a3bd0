// SPDX-License-Identifier: Apache-2.0
/// \file
/// What simulating a size costs, and its steps simulated as many times as a budget allows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "cox/forecast/project.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/simulated/simulated_sizes.hpp"

namespace cox::forecast {

/// How often a size is played.
struct Plays {
  int replicas = 1;
  int steps = 1;
  double events = 0;  ///< of all of them
};

/// Budgets in events. What `--to` asks for may take ten seconds in all; sizes that nobody asked for about one.
inline constexpr double kEventsOfASize = 1 << 23;
inline constexpr double kMostEventsOfASize = 1 << 26;
inline constexpr double kEventsOfAll = 1 << 28;
inline constexpr double kEventsUnasked = 1 << 24;

/// Costs of a scenario's sizes, told by single steps of small sizes: a function of the scenario, so a size is played as often whatever
/// else is asked.
///
/// Formula: cost of a replica = start + steps x step; start = 60 N, and 3.5 N^2 more where messages are played on links; step = what one step
///          evaluates (eight times that on links), measured at N where that is little, else at the largest size below that is cheap
///          and going on as over the doubling before it, at least as the ranks. Source: probes of eleven scenarios to 4,096 ranks, within a factor
///          of two.
/// Cost: at most some 0.2 s a size. Held by: src/forecast/simulated/budget_test.cpp
class SimulationBudget {
 public:
  SimulationBudget(const model::Scenario& scenario, Scaling scaling);

  /// Eight replicas of as many of the job's steps as `events` pay for, if these are sixteen, else four, of four at least, else three of three; without noise one. Where three of three
  /// take more than a quarter of `events`, four times these are spent, `most` at most. Nothing where the fewest take more than `most`, or where a step cannot
  /// be simulated.
  [[nodiscard]] std::optional<Plays> plays(std::int64_t ranks, double events = kEventsOfASize,
                                           double most = kMostEventsOfASize);

 private:
  struct Probe {
    double events = 0;  ///< of a step
    bool on_links = false;
  };
  std::optional<Probe> probe(std::int64_t ranks);
  std::optional<Probe> step(std::int64_t ranks);

  model::Scenario scenario_;
  Scaling scaling_;
  std::map<std::int64_t, std::optional<Probe>> known_;
};

/// Whether later steps are other ones than the first, so that a few say little of all.
[[nodiscard]] bool drifts(const model::Scenario& scenario);

/// A size played so often, mean over replicas. Where that is fewer steps than the job has, the rest of them are taken as long as those played behind
/// the first quarter, and the interval is no shorter than what they may differ from these by. Where noise lasts the interval is that of one run (90 %).
/// Nothing where it is refused. Threads: same result for any number.
/// Held by: src/forecast/simulated/budget_test.cpp
[[nodiscard]] std::optional<CheckedSize> play_size(const model::Scenario& scenario, Scaling scaling,
                                                   std::int64_t ranks, const Plays& plays, int threads);

}  // namespace cox::forecast
