// SPDX-License-Identifier: Apache-2.0
/// \file
/// What can be observed on this machine, what not, and why.
///
/// `examine` looks at files only: loads no library, starts no program, needs no rights beyond reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::observe {

/// Text forms are `ok`, `limited`, `missing`, `note`.
enum class Health : std::uint8_t {
  Ok,
  Limited,  ///< works, with a restriction that `text` names
  Missing,  ///< cannot be observed here
  Note,     ///< a fact that helps to understand the rest
};
[[nodiscard]] const char* name_of(Health h);

/// One thing that was looked at.
struct Check {
  std::string key;      ///< stable name for programs: `mpi.openmpi`
  std::string subject;  ///< for people: `Open MPI`
  Health health = Health::Note;
  std::string text;  ///< what was found, and where
  std::string hint;  ///< what to do about it; may be empty
};

/// What it costs to ask for the time once; zero where it was not measured.
struct ClockCost {
  Duration counter{};    ///< the processor's time stamp counter
  Duration monotonic{};  ///< clock_gettime(CLOCK_MONOTONIC)
};

/// Median of batches of repeated readings on this thread. Cost: about 2 ms.
[[nodiscard]] ClockCost measure_clock_cost();

/// Where to look. Tests pass a small tree as `root`.
struct Surroundings {
  std::filesystem::path root = "/";
  std::filesystem::path work_dir = ".";              ///< where Runs would be written
  std::vector<std::filesystem::path> guest_dirs{};   ///< where the guest objects may lie, the best first
  std::map<std::string, std::string> environment{};  ///< PATH, LD_LIBRARY_PATH, VIRTUAL_ENV, COX_*, ...
  ClockCost clock_cost{};
  std::filesystem::path program{};  ///< a program to look at; empty = none
};

/// Guest folders as `launch` looks for them, and the environment of this process.
[[nodiscard]] Surroundings real_surroundings();

/// Looks at everything. The order of the checks is fixed.
/// Held by: src/observe/doctor_test.cpp, tests/golden/doctor.
[[nodiscard]] std::vector<Check> examine(const Surroundings& where);

/// The same of another place, as far as a shell there tells it: `command` reaches it and passes its standard input on,
/// as `ssh n7`, `docker run --rm -i IMAGE` or `srun -N1 -n1` do. Starts `cat` there, with the guest object preloaded.
/// Errors: observe-002 (no guest object here), observe-012 (nobody answered). Cost: what the command takes, 60 s at
/// most. Held by: tests/e2e/hostile_test.py, src/observe/doctor_test.cpp
[[nodiscard]] Result<std::vector<Check>> examine_through(const Surroundings& here,
                                                         const std::vector<std::string>& command);

/// Undoes energy caps that a killed `cox observe --energy-cap` left on this machine; the number of limits
/// that were put back. Errors: observe-008 (its process runs), observe-009 (the record is damaged, or a limit
/// cannot be written). Held by: src/observe/energy_test.cpp, tests/golden/doctor.
[[nodiscard]] Result<std::size_t> restore_energy(const Surroundings& where);

/// An environment variable that Coxswain reads.
struct EnvVariable {
  const char* name;
  const char* fallback;  ///< what holds where it is unset
  const char* meaning;
};

/// Every one of them. Held by: tests/golden/environment_variables (greps the sources).
[[nodiscard]] std::span<const EnvVariable> environment_variables();

}  // namespace cox::observe
