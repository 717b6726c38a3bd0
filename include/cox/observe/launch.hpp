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
#include "cox/guest/policy.hpp"
#include "cox/pace/advice.hpp"
#include "cox/trace/run.hpp"

namespace cox::observe {

/// Environment of the guest. Set by `launch` for the child only; a value that the user set is never replaced.
inline constexpr const char* kEnvDir = "COX_DIR";  ///< absolute folder for the files; unset = guest inert
inline constexpr const char* kEnvMaxSize = "COX_MAX_SIZE";          ///< bytes per process
inline constexpr const char* kEnvMaxJobSize = "COX_MAX_JOB_SIZE";   ///< bytes of all processes together
inline constexpr const char* kEnvMaxOverhead = "COX_MAX_OVERHEAD";  ///< percent of one CPU
inline constexpr const char* kEnvDisable = "COX_DISABLE";           ///< 1 = every hook is a direct call
inline constexpr const char* kEnvClock = "COX_CLOCK";  ///< tsc, monotonic; default: tsc where invariant
inline constexpr const char* kEnvPace = "COX_PACE";    ///< MODE[,key=value...], see cox/pace/settings.hpp
inline constexpr const char* kEnvJob = "COX_JOB";      ///< the job's name where no batch system has one

inline constexpr const char* kEnvShare = "COX_SHARE";  ///< group = the group may read; else the owner alone
/// Batch job that `cox observe` ran in. Processes of another one, which a job script submitted, are not this
/// Run's.
inline constexpr const char* kEnvBatchJob = "COX_BATCH_JOB";

/// Process id of the `cox observe` that a launcher started as this rank; it ends the names of our files.
inline constexpr const char* kEnvObserver = "COX_OBSERVER";

inline constexpr const char* kEnvSync = "COX_SYNC";  ///< seconds between fdatasyncs of a process; 0 = none
inline constexpr const char* kEnvKeeperCpus = "COX_KEEPER_CPUS";  ///< `3,7-8`: where the guest's thread runs

inline constexpr const char* kEnvPacePriority = "COX_PACE_PRIORITY";  ///< 1 = priority for a late rank

struct LaunchOptions {
  std::vector<std::string> command{};
  std::filesystem::path out{};          ///< Run folder; empty = `default_run_dir()`
  bool force = false;                   ///< replace a Run folder that is there (only one that Coxswain made)
  std::optional<Bytes> max_size{};      ///< per process; unset = COX_MAX_SIZE, else 256 MB
  std::optional<Bytes> max_job_size{};  ///< all processes together; unset = COX_MAX_JOB_SIZE, else no bound
  std::optional<int> sync_seconds{};    ///< what a machine that goes down may lose; unset = COX_SYNC, else 1
  std::string keeper_cpus{};  ///< where the guest's own threads run; empty = COX_KEEPER_CPUS, else as the job
  std::string pace{};         ///< MODE[,key=value...]; empty = COX_PACE, else no controller
  std::filesystem::path guest_dir{};  ///< where libcox-preload.so lies; empty = beside the running program
  bool group_may_read = false;        ///< folder and files; else their owner alone
  bool pace_priority = false;         ///< COX_PACE_PRIORITY=1 for the job, where the user has not set it
  pace::WaitMode wait_mode = pace::WaitMode::Unknown;  ///< unknown = as the libraries have it
  std::optional<double> energy_cap{};                  ///< limits of this host at this ratio during the job
  /// close what was inherited once the command runs: of a process that is `cox` and no more
  bool lets_go = false;
  std::filesystem::path system_root = "/";                 ///< where /sys, /run and libraries lie; for tests
  std::filesystem::path policy_file = guest::kPolicyFile;  ///< for tests; no flag sets it
};

struct LaunchOutcome {
  int exit_status = 0;  ///< the command's own; 128 + n where a signal ended it
  int signal = 0;       ///< the signal that ended it, or 0
  int rank = -1;        ///< of `cox` itself where a launcher started it once per rank, else -1
  int world_size = -1;  ///< how many times it did; -1 = not told
  std::filesystem::path dir;
  Duration wall{};
  std::int64_t began = 0;  ///< processes of this machine that said that they record; not known per rank
  std::vector<trace::UnwrittenRank> unwritten{};  ///< whose files took no more, as they said
  bool untouched = false;                         ///< nothing was preloaded; `start_notes` says why
  std::string hint;      ///< what to do where ranks are missing; empty where nothing is known
  std::string energy{};  ///< what was capped during the job; empty where nothing was asked for
  std::optional<Error> energy_problem{};  ///< why it is not back (observe-009)
};

/// Which of how many processes of one launch this one is, as mpirun, srun and others say in the environment.
struct LaunchPlace {
  int rank = -1;        ///< -1 = no launcher started this process
  int world_size = -1;  ///< -1 = not told
};
[[nodiscard]] LaunchPlace launch_place();

/// `cox-<job or pid>-<UTC time>` in the current folder.
[[nodiscard]] std::filesystem::path default_run_dir();

/// What the user should know before the job starts: a size that was raised or lowered, secrets that are not
/// kept, why nothing will be recorded. One sentence each; empty for most jobs.
[[nodiscard]] std::vector<std::string> start_notes(const LaunchOptions& options);

/// What `options.wait_mode` comes to for each library, one clause each; empty where none was asked for.
[[nodiscard]] std::vector<std::string> wait_mode_notes(const LaunchOptions& options);

/// Runs the command with the preload object in its environment, forwards signals (TERM, INT, HUP, QUIT, USR1,
/// USR2) to it and waits. Changes no file of the user's.
///
/// Both orders are understood. `cox observe -- mpirun ... prog`: one `cox`, which makes the folder,
/// writes run.json before the job starts and again after it ended. `mpirun ... cox observe -- prog`:
/// the launcher starts `cox` once per rank; the first one writes run.json, all others of the same
/// launch join, and a program whose `cox` is killed by the launcher goes with it. What is added to the
/// environment: docs/concepts/launching.md.
///
/// Errors: observe-001 (folder exists; Errc::InvalidInput), observe-002 (guest objects not found),
///         observe-003 (command not found; the caller exits 127), observe-004 (command not executable;
///         126), observe-005 (folder cannot be made), observe-006 (no -o, or --force or an energy cap,
///         where every rank starts a `cox`), observe-007 to -009 (energy caps), observe-010 (the
///         administrator's policy forbids it). A Run that `options.force` replaces is removed, file by
///         file, only after the command runs. Caps are set while
///         signals wait and are put back before they are let through, so that only SIGKILL can leave
///         them behind. Held by: tests/e2e.
[[nodiscard]] Result<LaunchOutcome> launch(const LaunchOptions& options);

}  // namespace cox::observe
