// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a finding may be about, and what single analyses have to say of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"

namespace cox::diagnose {

/// What a finding is about. Text forms are `slow_rank`, `transient_straggler`,
/// `rotating_straggler`, `slow_group`, `slow_link`, `periodic_pause`.
enum class FindingKind : std::uint8_t {
  SlowRank,
  TransientStraggler,
  RotatingStraggler,
  SlowGroup,
  SlowLink,
  PeriodicPause  ///< one rank that is late every so many steps, or now and then where nobody else is
};
[[nodiscard]] const char* name_of(FindingKind k);

/// What sets the pace.
enum class OperationCause : std::uint8_t {
  None,            ///< nothing is slow, or nothing of the below explains it
  StageImbalance,  ///< a stage is slow on all data ranks: work distribution
  SlowWorker,      ///< one worker, or a few, are slow and their like is not
  Communication,   ///< transfers
};
[[nodiscard]] const char* name_of(OperationCause c);  ///< `none`, `stage_imbalance`, `slow_worker`, ...

struct OperationFinding {
  OperationCause cause = OperationCause::None;
  double slowdown = 1;  ///< S, and the bar below which nobody is named
  double slow_from = 1;
  int stage = -1;               ///< StageImbalance; Communication: the stage whose transfers they are
  bool is_last_stage = false;   ///< StageImbalance
  std::int64_t data_ranks = 0;  ///< that the workers make up
  std::int64_t stages = 0;
  /// SlowWorker, StageImbalance; Communication: whose transfers nearly all of it are, empty where they are everybody's.
  std::vector<Rank> ranks;
  double stage_share = 0;          ///< largest `removed` of a stage
  double worker_share = 0;         ///< largest `removed` of a worker
  double communication_share = 0;  ///< `removed` of all communication together
  /// SlowWorker: by how much the run would be shorter had these ranks computed as fast as their like, who are those of the same stage
  /// that are not named; nothing where there are none.
  std::optional<double> gain{};
  std::string slowest_type;  ///< Communication: kind of transfer that is slowest; empty where not told
  double slowest_type_slowdown = 1;
};

/// Whether slow members explain as much as the fabric: their groups within a host are compared too.
enum class MemberTest : std::uint8_t { NotDone = 0, NoData = 1, Refuted = 2, Supported = 3 };
[[nodiscard]] const char* name_of(MemberTest t);  ///< `not_done`, `no_data`, `refuted`, `supported`

}  // namespace cox::diagnose
