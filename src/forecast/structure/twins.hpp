// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a small change, or a delay that happens once, does to a job: beside a twin without it, on the same draws.
/// Definitions: docs/concepts/structure.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/delay.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/law/law.hpp"
#include "forecast/structure/structure.hpp"

namespace cox::forecast {

/// What of a scenario a twin has more of.
enum class TwinPart : std::uint8_t { OwnWork, Latency, Bandwidth, NodeWork, NodeLinks };

/// How the time of a scenario's run follows one of its parts.
struct TwinElasticity {
  TwinPart part = TwinPart::OwnWork;
  /// In words: `latency between nodes`, `work of node 3`.
  std::string to{};
  /// d ln time / d ln part, from +1 % and -1 %; of nodes from +1 % alone: noise cannot be taken off.
  double value = 0;
  double if_more = 0;     ///< by +1 % alone; the two differ at a tie, or where something is shared
  double if_less = 0;     ///< by -1 % alone
  double half_width = 0;  ///< of 95 % over replicas; 0 for one
};

/// Elasticities to own work, to latencies and bandwidths inside and between nodes, to the work of each node (up to
/// `most_nodes`; 0 = none) and, where messages are played on links, to the cards of each node (up to 8), each from twins
/// that differ in nothing else. A part that the scenario does not have is left out.
/// Failures and starts are switched off. Errors: those of `simulate`.
/// Cost: (10 + nodes) x replicas simulations. Threads: same result for any number.
/// Held by: src/forecast/structure/twins_test.cpp
[[nodiscard]] Result<std::vector<TwinElasticity>> twin_elasticities(const model::Scenario& scenario,
                                                                    const simulate::SimulateOptions& options,
                                                                    int most_nodes = 64);

/// What is left of a delay, step by step.
struct Decay {
  std::vector<double> kept{};        ///< D_k / d, mean over replicas; k = 0 is the step that it hits
  std::vector<double> half_width{};  ///< of 95 %, of each
  double first = 0;                  ///< what passes the first synchronisation
  double last = 0;
  double half_life = 0;  ///< steps until half of the first is left; 0 = it does not fall so far
  bool lasts = false;    ///< as much at the end as after the first step: a barrier that all meet at
  bool shared = false;   ///< more comes out than was put in, beyond chance: something is shared

  [[nodiscard]] std::vector<Proportion> bands() const;
};
/// Held by: src/forecast/structure/twins_test.cpp
[[nodiscard]] Decay decay_of(const simulate::KeptDelay& delay);

/// Who waits for whom before the next step.
enum class Waits : std::uint8_t {
  All,       ///< a barrier
  OneSide,   ///< for the rank before
  TwoSides,  ///< for both neighbours
  Groups,    ///< for its group, and for those beside it: ranks of a group meet, groups exchange
  Stages,  ///< stages of a pipeline: for the one before, in the same step; for the one behind, `ahead` steps ago
  Bounded,  ///< asynchronous workers: for the slowest, `ahead` steps ago
};
[[nodiscard]] std::string_view name_of(Waits waits);

struct WaveQuestion {
  Waits waits = Waits::TwoSides;
  int ranks = 200;  ///< in a ring
  int per_group = 8;
  int ahead = 4;  ///< Stages, Bounded: steps that somebody may be ahead
  int steps = 100;
  int twins = 40;
  Seconds delay{};
  std::uint64_t seed = 1;
};

/// A delay on its way over the ranks.
struct Wave {
  std::vector<double> kept{};  ///< D_k / d of the last rank's end, by step
  /// By distance in ranks (groups: in groups): how late it is there when it first can be, over d.
  std::vector<double> front{};
  /// The same, the latest that it ever is there: behind the front more comes by other ways.
  std::vector<double> reaches{};
  std::vector<int>
      late{};            ///< by step: ranks that are late by more than a thousandth of d, in the first twin
  double half_life = 0;  ///< steps until half of kept[0] is left; 0 = it does not fall so far
  double speed = 0;  ///< distance per step; 0 = it does not travel, or reaches all in the step that it hits
  Seconds loss{};    ///< per distance, at the front
  double loss_in_deviations = 0;  ///< of one rank's work in a step; 0 where that has none
  double extinction = 0;          ///< distance at which nothing is left: d / loss; 0 = no end
};

/// Ranks that work as `own` says, independent in every step, and wait for each other; the same with one rank that is late by
/// `delay` once. Formula: x_r(k + 1) = max over those that r waits for of x(k) + own; stages x_r(k + 1) = max(x_r(k),
/// x_(r-1)(k + 1), x_(r+1)(k - ahead)) + own; bounded max(x_r(k), max x(k - ahead)) + own. Max-plus maps expand nothing:
/// 0 <= D <= d. Pre: at least 2 ranks and steps, delay > 0 (asserted). Cost: ranks x steps x twins draws.
/// Held by: src/forecast/structure/twins_test.cpp
[[nodiscard]] Wave follow_wave(const Law& own, const WaveQuestion& question);

}  // namespace cox::forecast
