// SPDX-License-Identifier: Apache-2.0
/// \file
/// What makes a rank late: the causes that a rule can name, and the numbers that the rules rest on.
/// The rules: docs/concepts/causes.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::diagnose {

/// Where a rank's extra time goes, and where samples or a profiler explain at least 80 % of it, why.
/// Text forms are the names in lower case: `cpu_quota`, `late_launch`.
enum class Cause : std::uint8_t {
  Unknown,  ///< no evidence explains most of the extra time
  // Where: the phase that holds it.
  Forward,
  Backward,
  Optimizer,
  Data,
  Evaluation,
  OutsidePhases,
  OptimizerOrData,  ///< outside of all phases, where these two are not recorded as phases
  // Why, by samples of the process.
  CpuQuota,
  CpuContention,
  AsleepOrIo,
  SlowCpuClock,
  SlowCodeOrCpu,
  OffCpu,
  // Why, by activities of the device.
  SlowKernels,
  UnevenWork,
  Copies,
  DataLoading,
  Gc,
  Allocator,
  LateLaunch,
  // By where it may run.
  FarFromDevice,
  SharedCores,
  // By a table of operations.
  StageImbalance,
  SlowWorker,
  Communication,
  // By groups of the fabric held against their like.
  Fabric,
};
[[nodiscard]] const char* name_of(Cause c);

/// Kind of thing that a cause is. Text forms are `unknown`, `host`, `compute`,
/// `locality`, `fabric`, `global_event`.
enum class CauseClass : std::uint8_t { Unknown, Host, Compute, Locality, Fabric, GlobalEvent };
[[nodiscard]] const char* name_of(CauseClass c);
/// `Unknown` where the cause says only where.
[[nodiscard]] CauseClass class_of(Cause c);
/// The failure mode of "When Scaling Fails" (section 3.3) that a class belongs to:
/// `synchronization_amplification`, `fabric_contention`, `locality`, `runtime_and_control_plane`. A slow rank
/// of unknown cause amplifies.
[[nodiscard]] const char* failure_mode_of(CauseClass c);

/// What one rule said of a finding. Text forms are `fired`, `not_fired`, `no_data`.
enum class CauseTestState : std::uint8_t { Fired, NotFired, NoData };
[[nodiscard]] const char* name_of(CauseTestState s);
struct CauseTest {
  Cause rule = Cause::Unknown;  ///< that it would name; Unknown: the rule of phases, which names the phase
  CauseTestState state = CauseTestState::NoData;
  double share = 0;  ///< of the extra time, what the rule explains
};

/// Part of the extra work that a phase, or what samples and devices tell, must hold to be called the cause.
inline constexpr double kExplains = 0.8;

struct PhaseExcess {
  Cause cause = Cause::Unknown;  ///< a phase, never unknown where it was found
  double share = 0;              ///< of all extra work, the part in this phase
  Duration per_step{};           ///< extra time in it, mean over the steps of the finding
};

/// What the rank spends more than the others, as parts of its extra own work: the larger of a lower bound and
/// of a fit over the intervals between samples.
struct Why {
  Cause cause = Cause::Unknown;  ///< `CpuQuota` to `OffCpu`, or unknown
  double throttled = 0;          ///< denied a CPU by a quota
  double ready = 0;              ///< ready to run, and no CPU was free
  double asleep = 0;             ///< neither running nor ready
  double computing = 0;          ///< on a CPU, or waiting for one no longer than everybody per second of it
  double off_cpu = 0;            ///< asleep or ready
  std::optional<double> clock;   ///< its CPU's frequency over the others' median
};

/// What one rank spends more than the others' median within a finding's steps, as parts of all of it.
struct DeviceWhy {
  Cause cause = Cause::Unknown;         ///< `SlowKernels` to `LateLaunch`, or unknown
  bool has_device = true;               ///< activities of a device were recorded; else `idle` is all own work
  double kernels = 0;                   ///< device busy with kernels
  double copies = 0;                    ///< device busy with copies and nothing else
  double idle = 0;                      ///< device without work, outside collectives: the host was late
  double data = 0;                      ///< of the idle part, what the host's wait for input would explain
  double gc = 0;                        ///< the same for garbage collection
  double allocation = 0;                ///< the same for allocation of memory
  double kernel_count_ratio = 1;        ///< kernels run over the others' median
  std::optional<Duration> queue;        ///< median from the launch of its collectives to their start
  std::optional<Duration> usual_queue;  ///< the others' median of the same
};

/// Where late ranks may run, against the others.
struct Binding {
  CauseTestState far =
      CauseTestState::NoData;  ///< `FarFromDevice`; no data: it is not known where devices are
  CauseTestState shared = CauseTestState::NoData;  ///< `SharedCores`
  std::string device;                              ///< that they are bound away from: `GPUs`, `network ports`
  std::string host;                                ///< where that is so, the first of several
  std::vector<int> device_nodes;                   ///< NUMA nodes of that host that have such a device

  [[nodiscard]] Cause cause() const {
    return far == CauseTestState::Fired      ? Cause::FarFromDevice
           : shared == CauseTestState::Fired ? Cause::SharedCores
                                             : Cause::Unknown;
  }
};

/// What was found out about one late rank, by source; of several, their placement alone.
struct Reasons {
  std::optional<PhaseExcess> phase;
  std::optional<Why> why;
  std::optional<DeviceWhy> device;
  std::optional<Binding> placement;  ///< nothing: it is not known where they or the others may run
};

}  // namespace cox::diagnose
