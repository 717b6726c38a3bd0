// SPDX-License-Identifier: Apache-2.0
/// \file
/// How communication libraries wait, as far as their documented settings let it be chosen from outside.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/pace/advice.hpp"

#include "observe/launch_environment.hpp"
#include "observe/library_paths.hpp"

namespace cox::observe {

/// What `--wait-mode` comes to for one job.
struct WaitPlan {
  /// Added to the job's environment; never a name that the user has set.
  std::vector<std::pair<std::string, std::string>> variables{};
  /// One clause per library: what is set, what the user has set, or that it has no setting.
  std::vector<std::string> notes{};
};

/// Open MPI: OMPI_MCA_mpi_yield_when_idle (spin 0, yield 1; it cannot block). MPICH: only where the library
/// that is found was built for the device ch3:nemesis: MPIR_CVAR_POLLS_BEFORE_YIELD (0 spins, 1 yields; it
/// cannot block); ch4 spins whatever that says. Gloo
/// blocks unless the program asks it to poll. NCCL has no setting. Sources:
/// docs/concepts/pacing-actuators.md.
///
/// `settings`: text of Open MPI's parameter files. Held by: src/observe/wait_mode_test.cpp
[[nodiscard]] WaitPlan plan_wait_mode(pace::WaitMode mode, const std::vector<std::string>& command,
                                      const Environment& environment, std::string_view settings,
                                      const LibraryPaths& paths);

}  // namespace cox::observe
