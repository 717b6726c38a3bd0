// SPDX-License-Identifier: Apache-2.0
/// \file
/// Starting a job with our guest objects attached, and staying out of its way.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::observe {

/// Environment of the guest. Set by `launch` for the child only; a value that the user set is never replaced.
inline constexpr const char* kEnvDir = "COX_DIR";  ///< absolute folder for the files; unset = guest inert
inline constexpr const char* kEnvMaxSize = "COX_MAX_SIZE";          ///< bytes per process
inline constexpr const char* kEnvMaxOverhead = "COX_MAX_OVERHEAD";  ///< percent of one CPU
inline constexpr const char* kEnvDisable = "COX_DISABLE";           ///< 1 = every hook is a direct call
inline constexpr const char* kEnvClock = "COX_CLOCK";  ///< tsc, monotonic; default: tsc where invariant

struct LaunchOptions {
  std::vector<std::string> command{};
  std::filesystem::path out{};        ///< Run folder; empty = `default_run_dir()`
  bool force = false;                 ///< replace a Run folder that is there (only one that Coxswain made)
  std::optional<Bytes> max_size{};    ///< per process; unset = COX_MAX_SIZE, else 256 MB
  std::filesystem::path guest_dir{};  ///< where libcox-preload.so lies; empty = beside the running program
};

struct LaunchOutcome {
  int exit_status = 0;  ///< the command's own; 128 + n where a signal ended it
  int signal = 0;       ///< the signal that ended it, or 0
  std::filesystem::path dir;
  Duration wall{};
};

/// `cox-<job or pid>-<UTC time>` in the current folder.
[[nodiscard]] std::filesystem::path default_run_dir();

/// Runs the command with the preload object in its environment, forwards signals (TERM, INT, HUP, QUIT, USR1,
/// USR2) to it and waits. Writes run.json before it starts and again after it ended. Changes no file of the
/// user's.
///
/// Errors: observe-001 (folder exists; Errc::InvalidInput), observe-002 (guest objects not found),
/// observe-003
///         (command not found; the caller exits 127), observe-004 (command not executable; 126), observe-005
///         (folder cannot be made). Held by: tests/e2e.
[[nodiscard]] Result<LaunchOutcome> launch(const LaunchOptions& options);

}  // namespace cox::observe
