// SPDX-License-Identifier: Apache-2.0
// Names and classes of causes, each once.
#include <array>
#include <cstddef>

#include "cox/diagnose/cause.hpp"

namespace cox::diagnose {
namespace {

/// What is known of a cause by itself: its name and its class, in the order of the enumeration.
struct CauseEntry {
  Cause cause;
  const char* name;
  CauseClass kind;
};
constexpr std::array kCauses{
    CauseEntry{Cause::Unknown, "unknown", CauseClass::Unknown},
    CauseEntry{Cause::Forward, "forward", CauseClass::Unknown},
    CauseEntry{Cause::Backward, "backward", CauseClass::Unknown},
    CauseEntry{Cause::Optimizer, "optimizer", CauseClass::Unknown},
    CauseEntry{Cause::Data, "data", CauseClass::Host},
    CauseEntry{Cause::Evaluation, "evaluation", CauseClass::Unknown},
    CauseEntry{Cause::OutsidePhases, "outside_phases", CauseClass::Unknown},
    CauseEntry{Cause::OptimizerOrData, "optimizer_or_data", CauseClass::Unknown},
    CauseEntry{Cause::CpuQuota, "cpu_quota", CauseClass::Host},
    CauseEntry{Cause::CpuContention, "cpu_contention", CauseClass::Host},
    CauseEntry{Cause::AsleepOrIo, "asleep_or_io", CauseClass::Host},
    CauseEntry{Cause::SlowCpuClock, "slow_cpu_clock", CauseClass::Compute},
    CauseEntry{Cause::SlowCodeOrCpu, "slow_code_or_cpu", CauseClass::Compute},
    CauseEntry{Cause::OffCpu, "off_cpu", CauseClass::Host},
    CauseEntry{Cause::SlowKernels, "slow_kernels", CauseClass::Compute},
    CauseEntry{Cause::UnevenWork, "uneven_work", CauseClass::Compute},
    CauseEntry{Cause::Copies, "copies", CauseClass::Locality},
    CauseEntry{Cause::DataLoading, "data_loading", CauseClass::Host},
    CauseEntry{Cause::Gc, "gc", CauseClass::Host},
    CauseEntry{Cause::Allocator, "allocator", CauseClass::Host},
    CauseEntry{Cause::LateLaunch, "late_launch", CauseClass::Host},
    CauseEntry{Cause::FarFromDevice, "far_from_device", CauseClass::Locality},
    CauseEntry{Cause::SharedCores, "shared_cores", CauseClass::Locality},
    CauseEntry{Cause::StageImbalance, "stage_imbalance", CauseClass::Compute},
    CauseEntry{Cause::SlowWorker, "slow_worker", CauseClass::Compute},
    CauseEntry{Cause::Communication, "communication", CauseClass::Fabric},
    CauseEntry{Cause::Fabric, "fabric", CauseClass::Fabric},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kCauses.size(); ++i)
    if (static_cast<std::size_t>(kCauses[i].cause) != i) return false;
  return true;
}
static_assert(is_in_order(), "a cause is found by its place");
static_assert(kCauses.size() == static_cast<std::size_t>(Cause::Fabric) + 1, "every cause has a name");

const CauseEntry& entry_of(Cause c) {
  const auto at = static_cast<std::size_t>(c);
  return at < kCauses.size() ? kCauses[at] : kCauses.front();
}

}  // namespace

const char* name_of(Cause c) {
  return entry_of(c).name;
}

CauseClass class_of(Cause c) {
  return entry_of(c).kind;
}

const char* name_of(CauseClass c) {
  switch (c) {
    case CauseClass::Unknown:
      return "unknown";
    case CauseClass::Host:
      return "host";
    case CauseClass::Compute:
      return "compute";
    case CauseClass::Locality:
      return "locality";
    case CauseClass::Fabric:
      return "fabric";
    case CauseClass::GlobalEvent:
      return "global_event";
  }
  return "unknown";
}

const char* failure_mode_of(CauseClass c) {
  switch (c) {
    case CauseClass::Host:
    case CauseClass::GlobalEvent:
      return "runtime_and_control_plane";
    case CauseClass::Locality:
      return "locality";
    case CauseClass::Fabric:
      return "fabric_contention";
    case CauseClass::Compute:
    case CauseClass::Unknown:
      break;
  }
  return "synchronization_amplification";
}

const char* name_of(CauseTestState s) {
  switch (s) {
    case CauseTestState::Fired:
      return "fired";
    case CauseTestState::NotFired:
      return "not_fired";
    case CauseTestState::NoData:
      return "no_data";
  }
  return "no_data";
}

}  // namespace cox::diagnose
