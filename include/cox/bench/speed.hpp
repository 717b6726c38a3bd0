// SPDX-License-Identifier: Apache-2.0
/// \file
/// How fast the engines are on this machine: fixed workloads, each in a process
/// of its own, beside other simulators.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::bench {

/// One workload and what it is held against.
struct SpeedWorkload {
  std::string_view name;
  std::string_view what;
  Seconds bar{};                ///< processor time of the whole process, user and system; zero = none
  bool bar_is_wall = false;     ///< on two cores: elapsed time instead
  double bar_per_second = 0;    ///< least `unit`s per second of processor time; 0 = none
  std::string_view unit{};      ///< of `bar_per_second`: messages, bytes
  Bytes memory_bar{};           ///< peak resident set; zero = none
  std::string_view against{};   ///< workload whose peak is subtracted
  Bytes memory_bar_per_rank{};  ///< of the rest, over `ranks`
  std::int64_t ranks = 0;
};
[[nodiscard]] std::span<const SpeedWorkload> speed_workloads();

/// What a workload did: for rates, and so that nothing of it can be left out by a compiler.
struct WorkDone {
  double units = 0;  ///< messages, or bytes of text
  Seconds total{};   ///< simulated time
};
/// Runs one here. `folder` holds the GOAL files that some read (`prepare_workloads`).
/// Errors: bench-008 (no such workload), those of the engine.
[[nodiscard]] Result<WorkDone> run_workload(std::string_view name, const std::filesystem::path& folder);
/// Writes the files that workloads read: about 150 MB. Errors: base-006.
[[nodiscard]] Status prepare_workloads(const std::filesystem::path& folder);

/// One line of the answer.
struct SpeedResult {
  SpeedWorkload workload{};
  Seconds user{};  ///< of the repetition with the least processor time
  Seconds system{};
  Seconds wall{};
  Bytes peak_memory{};
  std::optional<double> units_per_second{};
  std::optional<double> memory_bytes_per_rank{};
  bool within = true;
  [[nodiscard]] Seconds processor() const { return user + system; }
};
/// Measures by starting `cox` anew for each repetition: `cox bench simulate NAME`, in `folder`.
/// Errors: bench-006 (a child failed), bench-008.
[[nodiscard]] Result<std::vector<SpeedResult>> measure_speed(const std::filesystem::path& cox,
                                                             const std::filesystem::path& folder,
                                                             int repetitions);

/// Another simulator on one of the workloads.
struct PeerResult {
  std::string peer{};      ///< `SimGrid`
  std::string workload{};  ///< ours that answers the same question
  std::string skipped{};   ///< why it was not run; empty = it was
  Seconds processor{};
  Bytes peak_memory{};
  double ratio = 0;  ///< its processor time over ours
};
/// Runs the peers that are in PATH.
[[nodiscard]] std::vector<PeerResult> measure_peers(std::span<const SpeedResult> ours,
                                                    const std::filesystem::path& folder);

/// As a table for people.
[[nodiscard]] std::string speed_table(std::span<const SpeedResult> results,
                                      std::span<const PeerResult> peers);

}  // namespace cox::bench
