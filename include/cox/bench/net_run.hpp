// SPDX-License-Identifier: Apache-2.0
/// \file
/// Starting the probe of a library: by a launcher, or as one rank of a job that a launcher started.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::bench {

enum class ProbeLibrary : std::uint8_t { Mpi, OpenMpi, Mpich, Gloo };  ///< Mpi: whichever of the two is there

/// Which rank of how many a launcher made of this process.
struct LaunchedAs {
  int rank = 0;
  int ranks = 1;
  ProbeLibrary library = ProbeLibrary::Mpi;
};
/// By the first launcher of cox/guest/launcher.hpp that starts ranks of MPI and says which and how many;
/// nothing outside of one. Held by: src/bench/net_run_test.cpp
[[nodiscard]] std::optional<LaunchedAs> launched_as();

struct ProbeOptions {
  ProbeLibrary library = ProbeLibrary::Mpi;
  std::filesystem::path folder{};      ///< where the probes are: beside `cox`
  std::vector<std::string> launch{};   ///< words that start two ranks; empty = `mpirun -n 2`
  std::string interface = "lo";        ///< Gloo
  std::filesystem::path store{};       ///< Gloo under a launcher: an empty folder that all ranks see
  std::vector<std::string> request{};  ///< words for the probe; empty = pairs
};

/// The command lines to run here, at the same time: one under a launcher or with MPI, two for Gloo on one
/// host. Errors: bench-006 (no probe of that library), bench-007 (Gloo under a launcher without a store).
/// Held by: src/bench/net_run_test.cpp
[[nodiscard]] Result<std::vector<std::vector<std::string>>> probe_commands(
    const ProbeOptions& options, const std::optional<LaunchedAs>& launched);

/// Runs them; what the first printed: the table, or nothing on a rank other than 0.
/// Errors: bench-006 (a probe failed), those of `probe_commands`.
[[nodiscard]] Result<std::string> run_probe(const ProbeOptions& options,
                                            const std::optional<LaunchedAs>& launched);

}  // namespace cox::bench
