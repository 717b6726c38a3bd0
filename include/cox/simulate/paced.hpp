// SPDX-License-Identifier: Apache-2.0
/// \file
/// A bulk-synchronous job with pacing, simulated: the controller of live jobs (`pace::Controller`) on a
/// virtual clock, and the shared resources that decide whether a delay pays.
///
/// What the model has and lacks: docs/concepts/pacing-simulated.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/iteration.hpp"
#include "cox/pace/controller.hpp"
#include "cox/simulate/paced_summary.hpp"

namespace cox::simulate {

/// Weight of a process on its core against one of nice value 0.
/// Formula: 1.25^-nice. Source: sched(7): a step of 1 is a factor of 1.25. Linux's own table holds it
/// rounded over 1024: 335 at nice 5, 110 at 10, 36 at 15, 15 at 19 (sched_prio_to_weight,
/// kernel/sched/core.c). Pre: -20 <= nice <= 19 (asserted). Held by: src/simulate/paced/paced_test.cpp
[[nodiscard]] double nice_weight(int nice);

/// What is done to the ranks in some of the steps.
struct PacedArm {
  std::string name = "off";
  pace::Settings settings{};  ///< a controller per rank; mode Off: none
  /// A delay per (rank, step) instead of controllers, for controls; it may use what `each_step` has told so
  /// far; never negative (asserted). Served where `settings.placement` says.
  std::function<Seconds(int rank, std::int64_t step)> delays{};
  /// Priority instead of delay: ranks that are not slow in a step run on their host's cores at this nice
  /// value, the slow ones at 0. Knows who is slow, so it is a bound on what priority can do.
  int early_nice = 0;
  std::optional<pace::WaitMode> wait{};  ///< instead of the job's
};

/// One simulated step, for who keeps a record; spans live as long as the call. Times from the job's begin.
struct PacedStep {
  std::int64_t step = 0;
  std::size_t arm = 0;
  Seconds begin{};
  Seconds end{};                              ///< all ranks leave
  Seconds transfer{};                         ///< part of it after the last arrival
  std::span<const Seconds> woke;              ///< per rank: at `begin` + so much it got a core and went on
  std::span<const Seconds> delayed;           ///< per rank, as served
  std::span<const Seconds> arrived;           ///< per rank, at the synchronisation
  std::span<const pace::Decision> decisions;  ///< per rank, that held in this step
  std::span<const pace::Controller> controllers{};  ///< as they were when they decided; empty = none
};

struct PacedOptions {
  std::uint64_t seed = 1;  ///< of the draws: model::compute_time(job, seed, rank, step)
  std::int64_t steps = 1000;
  std::int64_t first_draw = 0;  ///< the draws are those of the steps from this one on
  std::vector<PacedArm> arms = std::vector<PacedArm>(1);
  /// Index of the arm that a step belongs to; unset = the first. Controllers of the other arms see nothing
  /// of it: each counts the steps of its own arm.
  std::function<std::size_t(std::int64_t step)> arm_of{};
  /// Whether controllers are told how much of a synchronisation is transfer, as a calibration does.
  bool tell_transfer = true;
  /// Of the all-reduce that ends a step, from its last arrival on, where it does not go over `job.link`.
  std::optional<Seconds> transfer{};
  /// CPU time that it costs to wake a rank that slept: after a delay, or after a wait in mode
  /// Block. Part of its preparation.
  Seconds wake_up{};
  std::function<void(const PacedStep&)> each_step{};
};

struct PacedOutcome {
  std::vector<Seconds> periods;       ///< per step: from one common departure to the next
  std::vector<std::uint32_t> arms;    ///< per step
  std::vector<PacedSummary> summary;  ///< per arm
  std::vector<PacedChange> changes;   ///< by step, then rank; the first `kMostChanges`
  std::int64_t changes_left_out = 0;
  std::int64_t events = 0;  ///< that were handled
  static constexpr std::size_t kMostChanges = 100'000;
};

inline constexpr int kMostPacedRanks = 65'536;

/// Simulates `job` step by step.
/// Formula: docs/concepts/pacing-simulated.md: the link is processor sharing (SharedResource), and so are the
/// cores unless they have time slices: then ranks are served in the order in which they wake, as they had
/// come to the synchronisation, the last one first, because it never slept; and until a rank is served it is
/// still inside the synchronisation, as its guest would see it. A step ends for all at the last arrival +
/// transfer, the ring's 2 (n - 1) ceil(bytes / n) / link. Errors: simulate-007 (a parameter without meaning,
/// with its name, what it is and what is wanted). Threads: none of its own; same input, same bytes. Cost: per
/// step O(n log n) for n ranks of a link, O(n^2) for those of a host, whose cores limit each of them; measured
/// in docs/concepts/pacing-simulated.md. Memory: O(steps + ranks x arms). Held by:
/// src/simulate/paced/paced_test.cpp (cases solved by hand), tests/property/paced_laws.cpp
[[nodiscard]] Result<PacedOutcome> simulate_paced(const model::Iteration& job, const PacedOptions& options);

/// Whether `simulate_paced` takes a job: its error where it does not.
[[nodiscard]] Status check_iteration(const model::Iteration& job);

/// Time of the synchronisation after the last arrival: 0 for a barrier, and where the job has no link.
[[nodiscard]] Seconds transfer_time(const model::Iteration& job);

}  // namespace cox::simulate
