// SPDX-License-Identifier: Apache-2.0
/// \file
/// A named cause of lost time, and what it rests on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"

namespace cox::diagnose {

/// What a finding is about. Text forms are `slow_rank`, `transient_straggler`, `rotating_straggler`,
/// `slow_group`, `slow_link`.
enum class FindingKind : std::uint8_t {
  SlowRank,
  TransientStraggler,
  RotatingStraggler,
  SlowGroup,
  SlowLink
};
[[nodiscard]] const char* name_of(FindingKind k);

/// Values of `Finding::cause`: `unknown`, and where Phase spans hold at least 80 % of the extra work
/// `forward`, `backward`, `optimizer`, `data`, `evaluation`, or for time in none of them `outside_phases`
/// (`optimizer_or_data` where these two are not recorded as phases): where the extra time was spent. Where
/// samples explain at least as much: `cpu_quota`, `cpu_contention`, `asleep_or_io`, `slow_cpu_clock`,
/// `slow_code_or_cpu`: why; and where a profiler recorded the device: `slow_kernels`, `uneven_work`,
/// `copies`, `data_loading`, `gc`, `allocator`, `late_launch` (docs/concepts/causes.md).

/// Kind of thing that a cause is. Text forms are `unknown`, `host`, `compute`, `locality`, `fabric`,
/// `global_event`.
enum class CauseClass : std::uint8_t { Unknown, Host, Compute, Locality, Fabric, GlobalEvent };
[[nodiscard]] const char* name_of(CauseClass c);
/// The failure mode of "When Scaling Fails" (section 3.3) that a class belongs to:
/// `synchronization_amplification`, `fabric_contention`, `locality`, `runtime_and_control_plane`. A slow rank
/// of unknown cause amplifies.
[[nodiscard]] const char* failure_mode_of(CauseClass c);

/// What one rule said of a finding. Text forms are `fired`, `not_fired`, `no_data`.
enum class CauseTestState : std::uint8_t { Fired, NotFired, NoData };
[[nodiscard]] const char* name_of(CauseTestState s);
struct CauseTest {
  std::string rule;
  CauseTestState state = CauseTestState::NoData;
  double share = 0;  ///< of the extra time, what the rule explains
  std::string text;  ///< the numbers, or what is needed
};

/// One measured fact behind a finding: a sentence with its numbers, and the numbers.
struct Evidence {
  std::string text;
  std::string key;  ///< e.g. "self_delay_median_s": unit in the name, base units
  double value = 0;
};

/// One named cause of lost time. The JSON form is fixed: docs/reference/diagnosis-json.md.
struct Finding {
  FindingKind kind = FindingKind::SlowRank;
  std::vector<Rank> ranks;          ///< everybody it is about
  std::optional<Rank> rank;         ///< set only where exactly one rank is meant all along
  std::optional<CommId> group;      ///< communicator, where a group is meant
  std::optional<std::string> link;  ///< where a link is meant
  std::string cause = "unknown";    ///< unknown until evidence explains most of the wait
  CauseClass cause_class = CauseClass::Unknown;
  std::vector<CauseTest> tests;  ///< every rule that was asked, docs/concepts/causes.md
  double share_ratio = 0;        ///< of all lost time, the part charged to this
  /// Of the run's time, the part that would be saved without it (estimated). Where several are named at once,
  /// what fixing all of them saves is divided among them (docs/concepts/naming.md), so the gains add up.
  double gain_ratio = 0;
  std::optional<StepId> first_step;  ///< where it is limited in time
  std::optional<StepId> last_step;
  std::vector<Evidence> evidence;
};

}  // namespace cox::diagnose
