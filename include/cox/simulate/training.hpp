// SPDX-License-Identifier: Apache-2.0
/// \file
/// Training steps: forward, backward, optimizer and their communication on every rank, under a policy.
///
/// What is modelled how: docs/concepts/training-steps.md and docs/concepts/synchronisation-policies.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/sync/policy.hpp"

namespace cox::simulate {

/// What one rank does to its stage and micro-batches, in its order.
struct StageOp {
  enum class Kind : std::uint8_t { Forward, Backward, BackwardInput, BackwardWeight };
  Kind kind = Kind::Forward;
  int micro_batch = 0;
  int chunk = 0;
};

/// Order of operations on `stage` of a pipeline. GPipe (Huang 2019), 1F1B (Narayanan 2019), interleaved
/// (Narayanan 2021), zero-bubble ZB-H1 (Qi 2024). Held by: src/simulate/training/plan/pipeline_test.cpp (bubble (p
/// - 1) / (m + p - 1), peak live m and min(p - s, m); no order waits for ever).
[[nodiscard]] std::vector<StageOp> pipeline_order(model::PipelineSchedule schedule, int stages, int stage,
                                                  int micro_batches, int interleave);

/// Simulates `scenario.job.steps` training steps, `scenario.replicas` times
/// with the seeds `seed`, `seed` + 1, ...
/// Errors: simulate-001 (layout and cluster do not fit, a number without meaning), simulate-003 (a policy
/// that the layout rules out; failures that leave no progress), simulate-004 (an order that waits for ever).
/// Threads: replicas over `options.threads`; the same bytes for any number. Cost: per replica and step
/// O(pieces of all units + messages that no identity covers). Held by:
/// src/simulate/training/training_test.cpp, tests/property/training_laws.cpp
[[nodiscard]] Result<Outcome> simulate_training(const model::Scenario& scenario,
                                                const SimulateOptions& options);

/// Scenarios that are compared are by one engine: where `auto` plays the links of some for the sake of their ports, and others
/// have more messages than are played, all of them are by max-plus. Others than training and collectives are left as they are.
/// Held by: src/simulate/training/training_test.cpp, src/simulate/collective/meetings_test.cpp
void take_one_engine(std::span<model::Scenario> scenarios);

/// What a rank's time in a step goes into. Text forms are `forward`, `backward`, `optimizer`, `data`,
/// `tensor`, `pipeline`, `expert`, `context`, `bubble`, `wait`, `input`.
enum class StepPart : std::uint8_t {
  Forward,
  Backward,
  Optimizer,
  Data,      ///< gradients or parameters between replicas, as far as no computation hides them
  Tensor,    ///< all-reduces inside a layer
  Pipeline,  ///< activations on their way between stages
  Expert,    ///< all-to-all of tokens
  Context,   ///< exchange of keys and values
  Bubble,    ///< nothing to do: the input of the stage is not made yet
  Wait,      ///< for a slower member of a group, to begin a collective
  Input,     ///< for what the node makes before the step
};
inline constexpr std::size_t kStepParts = 11;
[[nodiscard]] std::string_view name_of(StepPart part);
/// A time for each part.
using StepParts = std::array<Seconds, kStepParts>;

/// One step taken apart. Each of the three accounts adds up to its total.
struct StepAnalysis {
  Seconds step{};       ///< from the first rank's begin to the last rank's end
  Seconds rank_time{};  ///< sum over ranks of (end - begin)
  StepParts parts{};    ///< of `rank_time`
  Seconds path_time{};  ///< its critical path, from where the step begins on the path's first rank
  StepParts path{};     ///< of `path_time`
  /// Relative change of `path_time` per relative change of a part, everything
  /// in it longer by the same small ratio.
  std::array<double, kStepParts> sensitivity{};
  std::int64_t path_pieces = 0;  ///< operations on it

  [[nodiscard]] double share(StepPart part) const {
    return rank_time.count() > 0 ? parts[static_cast<std::size_t>(part)] / rank_time : 0;
  }
};

/// Takes step `step` of the first replica apart, after simulating those before it. Synchronous and local-SGD
/// policies. Errors: as simulate_training. Cost: its, and O(pieces) memory for that one step. `progress`: as SimulateOptions::progress, of
/// the steps up to that one.
/// Held by: src/simulate/training/training_test.cpp (sums; the path against the makespan)
[[nodiscard]] Result<StepAnalysis> analyse_step(const model::Scenario& scenario, std::int64_t step,
                                                const std::function<void(double, double)>& progress = {});

/// Of a job whose steps have a common end and are played on links: what `--engine max-plus`, which plays none, leaves out; nothing where
/// it cannot run the job, or no links are played. Cost: a step by max-plus.
/// Held by: src/simulate/answer/quick_test.cpp
[[nodiscard]] std::optional<std::vector<std::string>> left_out_without_links(const model::Scenario& scenario);

/// Under a policy with servers or backups: every update in the order in which it was taken, and when.
struct PolicyOutcome {
  std::vector<sync::Update> log;
  std::vector<Seconds> at;  ///< parallel to `log`
  Seconds total{};
  std::vector<Seconds> step_ends;  ///< as in Outcome
  std::vector<Seconds> idle;       ///< per worker: neither computing nor sending
  /// Part of the time until `total` in which the busiest port of the servers, or the busiest link at one of them on a
  /// network, passes bytes.
  double servers_busy = 0;
  double mean_age = 0;  ///< of applied updates, versions
  std::int64_t discarded = 0;
};
/// One replica of a job under BoundedWait, BoundedDiscard, Asynchronous or Backup, by event time.
/// Errors: as simulate_training, simulate-003 for other policies.
[[nodiscard]] Result<PolicyOutcome> simulate_policy(const model::Scenario& scenario, std::uint64_t seed);

/// Takes what happens to the parameters, and when; false ends the job.
using UpdateSink = std::function<bool(const sync::StreamEvent& event, Seconds at)>;
/// Those of a training job that deliver updates: the replicas of the model, or groups of them that share experts or a set
/// of shards.
/// Errors: as simulate_training.
[[nodiscard]] Result<int> update_workers(const model::Scenario& scenario);
/// One replica of a job under any policy, at most `scenario.job.steps` steps of each worker, event by event: nothing is
/// kept. The job's start, its failures and its pacing are not in the times. Local SGD whose first `synchronous_steps` steps
/// are synchronous is post-local SGD (Lin et al. 2020).
/// Errors: as simulate_training. Held by: src/simulate/training/stream_test.cpp (times are those of simulate and of
/// simulate_policy; the ledger of ages)
[[nodiscard]] Status stream_updates(const model::Scenario& scenario, std::uint64_t seed,
                                    const UpdateSink& sink, std::int64_t synchronous_steps = 0);

/// Difference of two scenarios on common draws (same seeds): `b` minus `a` per replica.
struct PairedTotals {
  ReplicaSpread a;
  ReplicaSpread b;
  ReplicaSpread difference;  ///< paired
};
/// Formula: paired differences with Student's t over replicas. Pre: as many of both (asserted), at least one.
[[nodiscard]] PairedTotals compare(std::span<const Seconds> a, std::span<const Seconds> b);
/// What becomes of an error of `b` (true) or `a`: whoever read them knows their files.
using ErrorOfSide = std::function<Error(Error, bool)>;
/// Simulates both, of any workload, for max(a.replicas, b.replicas) seeds from a.seed on.
/// Errors: those of simulate, through `told` where it is given. Held by: src/simulate/training/training_test.cpp
[[nodiscard]] Result<PairedTotals> compare(const model::Scenario& a, const model::Scenario& b,
                                           const SimulateOptions& options, const ErrorOfSide& told = {});

}  // namespace cox::simulate
