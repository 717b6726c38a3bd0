// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every engine answers, and the one call that picks the engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/power.hpp"
#include "cox/base/quantile_sketch.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/pace/settings.hpp"
#include "cox/simulate/paced_summary.hpp"
#include "cox/simulate/spread.hpp"
#include "cox/trace/run.hpp"

namespace cox::simulate {

/// A directed link and what it carried.
struct LinkLoad {
  std::string name;  ///< `leaf3->spine1`
  Bytes bytes{};
  double utilisation_ratio = 0;  ///< bytes over bandwidth x makespan
};

/// Links of one kind: `n12->leaf3` is of the tier `n->leaf`, its name without the numbers.
struct LinkTier {
  std::string name;
  std::vector<const LinkLoad*> links;  ///< in the order in which they were given
  double mean_ratio = 0;               ///< utilisation, over the links
  double busiest_ratio = 0;
};
/// Tiers in which a link carried something, by name. Points into `links`. Held by: src/simulate/record/tiers_test.cpp
[[nodiscard]] std::vector<LinkTier> tiers_of(std::span<const LinkLoad> links);

/// Workload Iteration: what pacing did in the first replica, beside the same draws without it.
struct PacedJobOutcome {
  pace::Mode mode = pace::Mode::Off;
  PacedSummary with;
  PacedSummary without;
  std::vector<PacedChange> changes;   ///< of `with`
  std::int64_t changes_left_out = 0;  ///< more of them

  /// Formula: throughput with over throughput without, less 1.
  [[nodiscard]] double gain() const {
    return with.total > Seconds::zero() ? without.total / with.total - 1 : 0;
  }
};

/// Ranks with the same work, and what their time in a step goes into: the mean over them, all steps and all replicas.
/// busy + exposed + waiting is the mean step of the engine, for every group.
struct GroupTime {
  std::string name;  ///< `stage 0`
  std::int64_t ranks = 0;
  Seconds busy{};     ///< computing
  Seconds exposed{};  ///< communication that no computation hides
  Seconds
      waiting{};  ///< for others (input of a stage, members of a group, the last rank of the job), or for its input
};

/// What the job's time goes into, mean over replicas.
struct JobTime {
  Seconds start{};
  Seconds work{};  ///< steps that counted
  Seconds checkpoints{};
  Seconds rework{};    ///< steps that a failure undid
  Seconds restarts{};  ///< without waiting for nodes
  Seconds repair{};    ///< waiting for nodes
  Seconds cold{};      ///< what steps after a restart took longer

  [[nodiscard]] Seconds total() const {
    return start + work + checkpoints + rework + restarts + repair + cold;
  }
};

/// Mean over replicas. Formula: pue x sum over nodes and states of power x time; source: docs/concepts/energy-and-cost.md.
struct EnergyUse {
  Energy busy{};
  Energy transfer{};
  Energy wait{};
  Energy idle{};      ///< down, starting, and spares
  Energy building{};  ///< (pue - 1) of the others
  Energy ideal{};     ///< of a job that only ever computes: pue x busy power x time of counted steps

  [[nodiscard]] Energy total() const { return busy + transfer + wait + idle + building; }
};

/// What another job on the fabric did while ours ran, in the first replica.
struct NeighbourOutcome {
  std::string name;  ///< as the scenario says it, else by its number
  model::NeighbourKind kind = model::NeighbourKind::Flows;
  std::int64_t done = 0;  ///< bursts of all its flows, or steps
  Seconds mean{};         ///< of a burst, or from the end of a step to the end of the next
  Seconds alone{};        ///< the same with nobody else on the fabric
};

/// A network card in one direction (in a job of one node: a device's port) and what is sent through it.
struct PortLoad {
  std::string name;  ///< `n3`, `n3.nic1`, `n0.d2`, or `server 0`
  bool is_card = true;
  bool goes_out = true;
  Bytes bytes{};
  double utilisation_ratio =
      0;  ///< bytes over rate x makespan; of jobs that fail, x the time of steps that counted
  std::int64_t alike = 1;  ///< that carry as much, both directions counted, this one among them
};

/// The steps of all seeds of a training job, before its start and its failures.
struct SeedSteps {
  std::vector<std::vector<Seconds>> lengths;  ///< [seed][step]
  std::vector<Seconds> totals;                ///< by seed, where nothing stops the job
};

struct Outcome {
  model::EngineKind engine = model::EngineKind::MaxPlus;  ///< never Auto
  model::Protocol protocol = model::Protocol::Rendezvous;
  bool closure = false;  ///< identities for uniform costs were used
  bool memo = false;     ///< flow engine: repeated states were not solved again
  std::int64_t ranks = 0;
  std::int64_t messages = 0;
  /// First replica: messages, links, pieces of programs and events that were computed, without those that an
  /// identity or a repetition stands for. What the computation costs grows with it.
  std::int64_t evaluated = 0;
  Seconds total{};                 ///< first replica: until the last rank is done
  Seconds started{};               ///< first replica: when its first step began
  std::vector<Seconds> step_ends;  ///< first replica: when the last rank finished each step
  std::vector<Seconds>
      rank_ends;                  ///< first replica: when each rank finished the last step; empty = not known
  std::vector<Seconds> totals;    ///< `total` of each seed
  ReplicaSpread over_replicas{};  ///< of `totals`
  std::vector<LinkLoad> links;    ///< where a network is known, by name; bytes counted and checked
  std::optional<PortLoad>
      busiest_port{};  ///< where none is, and messages are priced: from the schedules, first replica
  std::optional<double>
      servers_busy_ratio{};        ///< policies with servers: the time of their busiest port or link
  std::vector<std::string> notes;  ///< what was assumed, one sentence each
  std::vector<std::string>
      not_modelled{};  ///< what the scenario has and this outcome does not, one sentence each
  /// Model FLOPs utilisation: the model's operations over what all devices could do in `total`. Source:
  /// Chowdhery et al. 2022, appendix B. Where model and peak are known.
  std::optional<double> mfu{};
  FlopRate mfu_peak{};  ///< what `mfu` is a part of, of a device: the mean over the job's
  /// Of it what counts: without updates that were discarded. Work that was done again is in neither.
  std::optional<double> goodput_mfu{};
  QuantileSketch steps{};           ///< lengths of all steps of `steps_replicas` replicas, in seconds
  int steps_replicas = 1;           ///< all of them in training, else the first
  std::vector<GroupTime> groups{};  ///< training; empty: not known
  std::optional<JobTime> time{};    ///< training
  std::vector<std::int64_t> failures_of_class{};  ///< first replica: by class of the scenario
  std::optional<EnergyUse> energy{};              ///< where a node's power is known
  /// Training: nodes and spares times total, mean over replicas, in hours.
  std::optional<double> node_hours{};
  /// As many hours of nodes as their computation of counted steps takes; where accounts are known.
  std::optional<double> ideal_node_hours{};
  /// The same in money, where a node's price is known: each node at the price of its class, spares at that of none.
  std::optional<double> cost{};
  std::optional<double> ideal_cost{};
  std::optional<trace::Run> run;           ///< where asked for
  std::optional<PacedJobOutcome> paced{};  ///< workload Iteration
  std::vector<NeighbourOutcome> neighbours{};
  std::optional<SeedSteps> seed_steps{};  ///< training, where asked for

  /// Until the last rank of any replica is done. Held by: src/simulate/attribution/attribution_test.cpp
  [[nodiscard]] Seconds last_end() const {
    return totals.empty() ? total : *std::max_element(totals.begin(), totals.end());
  }
  /// Of all ranks' time in all steps, communication that nothing hides; nothing where `groups` are not known.
  /// Held by: src/simulate/answer/outcome_text_test.cpp
  [[nodiscard]] std::optional<double> exposed_ratio() const;
};

struct SimulateOptions {
  int threads = 0;
  bool memo = true;
  bool closure = true;
  bool want_run = false;
  bool keep_steps = false;  ///< `seed_steps`, of which an attribution takes totals
  /// Called now and then with (steps done, the last of them in part; steps in all); from one thread at a time. Where steps repeat,
  /// they are done as far as those that are computed are.
  std::function<void(double, double)> progress{};
};

/// Simulates a scenario with the engine that it names, or the cheapest that is exact for it.
/// Errors: simulate-003 (the engine cannot do this), simulate-004 (a schedule cannot finish: the first
/// blocked rank and what it waits for), those of the parts.
[[nodiscard]] Result<Outcome> simulate(const model::Scenario& scenario, const SimulateOptions& options);

}  // namespace cox::simulate
