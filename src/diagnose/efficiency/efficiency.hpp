// SPDX-License-Identifier: Apache-2.0
/// \file
/// POP efficiencies: how much of the machine's time a job turned into useful computation,
/// and where the rest went.
///
/// What each number means, and its limits: docs/concepts/efficiencies.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/diagnose/problem_size.hpp"

namespace cox::diagnose {

/// What useful time was taken from.
enum class UsefulSource : std::uint8_t {
  States = 0,          ///< the input says itself when a process computed
  OutsideMpi = 1,      ///< everything outside MPI calls
  OwnWork = 2,         ///< everything outside synchronisations
  ComputeKernels = 3,  ///< union of the kernels on the device that do not communicate
};
[[nodiscard]] const char* name_of(UsefulSource s);  ///< `states`, `outside MPI`, `own work`, ...

/// Hardware counters over the useful time of all ranks.
struct UsefulCounters {
  std::int64_t instructions = 0;
  std::int64_t cycles = 0;
  double ipc = 0;                 ///< instructions per cycle
  std::int64_t frequency_hz = 0;  ///< cycles per second of useful time
};

/// All efficiencies are ratios; 1 is perfect.
struct Efficiencies {
  double parallel = 0;  ///< load_balance x communication
  double load_balance = 0;
  double communication = 0;             ///< serialisation x transfer, where both are known
  std::optional<double> serialisation;  ///< what waiting costs that no network could save
  std::optional<double> transfer;       ///< what the network costs; above 1 only by a clock's error
  std::string no_ideal;                 ///< why serialisation and transfer are not told; empty where they are
  UsefulSource source = UsefulSource::OwnWork;
  std::int64_t ranks = 0;
  Duration runtime{};
  Duration useful_average{};  ///< over the ranks
  Duration useful_maximum{};
  std::optional<Duration> ideal_runtime;  ///< on a network without latency and of infinite bandwidth
  /// There, the longest time that any rank spends outside communication.
  std::optional<Duration> ideal_useful_maximum;
  std::optional<UsefulCounters> counters;
};

/// One size of a program against its smallest.
struct SizeEfficiencies {
  Efficiencies at;
  double computation_scaling = 0;  ///< instruction x IPC x frequency scaling
  std::optional<double> instruction_scaling;
  std::optional<double> ipc_scaling;
  std::optional<double> frequency_scaling;
  double global = 0;  ///< parallel x computation_scaling
  double speed_up = 0;
};

struct ScalingEfficiencies {
  ProblemSize problem = ProblemSize::Fixed;
  std::vector<SizeEfficiencies> sizes;  ///< by ranks; the first is what all are compared with
};

/// Compares Runs of one program on several sizes; nothing for fewer than two.
/// Of equal sizes the order given stays.
///
/// Formula: with the smallest size as reference, summed over ranks: computation scaling = sum U_ref / sum U;
///          instructions alike; IPC and frequency scaling = value / value_ref; speed-up = T_ref / T. Where
///          the problem grows, times, instructions and speed-up are per rank (times ranks / ranks_ref).
/// Held by: src/diagnose/efficiency/efficiency_test.cpp
[[nodiscard]] std::optional<ScalingEfficiencies> compare_sizes(std::vector<Efficiencies> sizes,
                                                               ProblemSize problem = ProblemSize::Fixed);

/// A header and one line per size.
[[nodiscard]] std::vector<std::string> scaling_lines(const ScalingEfficiencies& s);

}  // namespace cox::diagnose
