// SPDX-License-Identifier: Apache-2.0
/// \file
/// What recorded operations would have cost if some of them had been as usual: slowdown, whose it is, and
/// what mending it is worth.
///
/// Works on programs as table readers fill them (times, no edges). How the dependencies are told and
/// what each number means: docs/concepts/what-if-operations.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/finding_kind.hpp"
#include "cox/model/program.hpp"

#include "diagnose/operations/compute_patterns.hpp"

namespace cox::diagnose {

class OperationRepairs;

/// What counts as usual for an operation: one value per type, over all ranks, stages and steps.
struct OperationReference {
  enum class Kind : std::uint8_t {
    Published,  ///< mean of compute, median of communication (as in the paper)
    Quantile,   ///< the same quantile of both; a low one when everybody may be slow together
  };
  Kind kind = Kind::Published;
  double quantile = 0.5;
};

struct OperationWhatIfOptions {
  OperationReference reference{};
  /// Other references whose slowdown is given beside.
  std::vector<double> quantiles{0.5, 0.25, 0.1};
  /// Below this slowdown nobody is named. Source: the artifact decomposes from 1.03 on.
  double slow_from = 1.03;
  /// The simulation is believed where it meets the measured step time within this share.
  double fidelity_limit = 0.02;
  /// Up to so many ranks, all sets of ranks are tried.
  int exhaustive_ranks = 12;
  /// Largest set that the greedy search grows to.
  int largest_set = 8;
  /// A set, stage or type explains the slowdown from this share on.
  double explains_from = 0.5;
  /// Most operations simulated in all by searches over ranks and sets;
  /// what is beyond is left out, with a note.
  std::int64_t budget = 400'000'000;
};

/// Effect of one group of operations: a type, a stage, a data rank.
struct PartEffect {
  std::string name;
  int index = -1;       ///< stage or data rank; -1 for types
  double slowdown = 1;  ///< T(all as usual, but this group as recorded) / T(all as usual)
  double removed = 0;   ///< share of the slowdown that goes when this group alone is as usual ("rem")
  double added = 0;     ///< share that comes when this group alone is as recorded ("add")
  double on_path = 0;   ///< share of the critical path
  bool is_communication = false;
};

/// One worker of the heat map.
struct WorkerEffect {
  Rank rank;
  model::Role role;
  /// The paper's cheap proxy: the smaller of the slowdowns of its data rank and of its stage. Where it has no
  /// place, T(all as usual, but it as recorded) / T(all as usual); 1 where the budget reached nothing.
  double slowdown = 1;
  double removed = 0;  ///< as above; NaN where the budget did not reach
  double added = 0;
  double on_path = 0;
};

struct CulpritSet {
  std::vector<Rank> ranks;  ///< ascending; in a greedy search in the order in which they were taken
  Duration step_time{};     ///< mean, were these ranks as usual
  double removed = 0;
};

struct StepWhatIf {
  int step = -1;
  Duration measured{};
  Duration original{};  ///< simulated from the recorded durations
  Duration ideal{};     ///< simulated with all operations as usual
};

/// What a reference makes of the same recording.
struct ReferenceEffect {
  std::string name;
  Duration ideal{};
  double slowdown = 1;
};

/// The same recording with better communication: T(as recorded) / T(with it).
struct FabricEffect {
  double pipeline_free = 1;       ///< sends and receives between stages last no time
  double data_free = 1;           ///< collectives of data parallelism last no time
  double communication_free = 1;  ///< no transfer lasts any time: what is left is skew and compute
};

/// Units: times are means per step.
struct OperationWhatIf {
  std::int64_t operations = 0;  ///< simulated
  std::int64_t meetings =
      0;  ///< at which ranks wait for each other; 0: nothing is known of what one costs another
  Duration measured{};
  Duration original{};
  Duration ideal{};
  double slowdown = 1;        ///< S = original / ideal
  double slowdown_error = 0;  ///< standard error of S over the steps
  double launch = 1;          ///< measured / original: what lies between operations and is not simulated
  double fidelity = 0;        ///< original / measured - 1
  bool is_faithful = true;    ///< |fidelity| within the limit
  /// Part of the collectives over data ranks of which a member's call is missing. What is taken for their transfer begins with
  /// the last of those present, so it holds waiting for the one who is not.
  double short_share = 0;
  /// Where more of them lack a member, transfers are not told from waiting.
  [[nodiscard]] bool is_complete() const { return short_share <= 0.01; }
  std::vector<StepWhatIf> steps;
  std::vector<PartEffect> types;   ///< by slowdown, highest first; sends and receives of a direction are one
  std::vector<PartEffect> stages;  ///< by index
  std::vector<PartEffect> data_ranks;  ///< by index
  std::vector<WorkerEffect> workers;   ///< by rank
  CulpritSet slowest_workers;          ///< the slowest 3 % of workers, at least one (M_W = `removed`)
  double slowest_workers_added = 0;
  std::vector<CulpritSet> greedy;      ///< sets of 1, 2, ... ranks, each with the one that helps most
  std::vector<CulpritSet> exhaustive;  ///< best set of each size; empty where there are too many ranks
  CulpritSet culprits;  ///< smallest set found that explains the slowdown; empty where none does
  std::vector<ReferenceEffect> references;
  FabricEffect fabric;
  /// Steps grow by so many times a delay that every operation of the type gets (dT/d duration).
  std::vector<std::pair<std::string, double>> sensitivities;
  OperationFinding finding;
  std::vector<OperationFinding> more;  ///< slow workers, or a stage, beside what `finding` names, most first
  ComputePatterns patterns;
  std::vector<std::string> notes;
  /// What findings save, alone or together; never null after `what_if_operations`.
  std::shared_ptr<const OperationRepairs> repairs;
};

/// `finding`, where it names something, and `more`.
template <class Visit>
void for_each_finding(const OperationWhatIf& w, Visit&& visit) {
  if (w.finding.cause != OperationCause::None) visit(w.finding);
  for (const OperationFinding& f : w.more) visit(f);
}

/// Simulates the recorded operations again, as recorded and as usual.
///
/// Formula: diagnosis after "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI
///          2025), equations 1 to 5; transfer time = end - latest start among the peers; time between
///          operations is left out.
/// Errors:  diagnose-002 where the program has no operations with times, or none that can be put in order.
/// Threads: none of its own; the result depends on nothing but the program and the options.
/// Cost:    one replay of all operations per type, stage, data rank, and two per worker;
///          searches within `budget`.
/// Held by: src/diagnose/operations/operation_what_if_test.cpp
[[nodiscard]] Result<OperationWhatIf> what_if_operations(const model::Program& program,
                                                         const OperationWhatIfOptions& options = {});

/// Lines for a terminal, most important first, without ends of line.
[[nodiscard]] std::vector<std::string> describe(const OperationWhatIf& w);
/// For a first screen: how much longer steps are, and that work was dealt out unevenly, where it was.
[[nodiscard]] std::vector<std::string> describe_briefly(const OperationWhatIf& w);

}  // namespace cox::diagnose
