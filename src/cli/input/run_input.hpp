// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading the Run that a verb was given, with progress and with warnings for what could not be used.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cox/trace/import.hpp"
#include "cox/trace/read.hpp"
#include "cox/trace/run.hpp"

#include "cli/frame/command.hpp"
#include "cli/output/progress.hpp"

namespace cox::cli {

/// Progress as the options and the terminal ask for it. Keep it alive while the callback is in use.
[[nodiscard]] std::unique_ptr<Progress> make_progress(const Invocation& call, Console& console,
                                                      const std::string& label);
[[nodiscard]] trace::Progress callback(Progress& progress);

/// The jobs of an input.
struct FoundJobs {
  std::vector<trace::ImportedJob> jobs;
  std::vector<trace::Note> unread;  ///< files that could not be read; empty under `--run`
};

/// Everything at `path`: our own Runs and what other tools left behind, job by job, with `--run NAME` only
/// that one. Warns of what could not be used.
/// Errors: those of `trace::import_path`; cli-003 (no such run).
[[nodiscard]] Result<FoundJobs> read_jobs(const std::string& path, const Invocation& call, Console& console);

/// The first argument where it holds one job, or the one that `--run` names. Errors: those
/// of `read_jobs`; cli-009 (several).
[[nodiscard]] Result<trace::ImportedJob> read_job(const Invocation& call, Console& console);
/// Its Run alone.
[[nodiscard]] Result<trace::Run> read_run(const Invocation& call, Console& console);

/// The same of any path, without `--run`.
[[nodiscard]] Result<trace::ImportedJob> read_only_job(const std::string& path, const Invocation& call,
                                                       Console& console);

/// Whether times of `--against` and of a run may be held against each other. Errors: cli-003 (one of them is in an
/// unknown unit, the other is not, or in another).
[[nodiscard]] Status check_units(const trace::Run& before, const trace::Run& after);
/// The error that it gives.
[[nodiscard]] Error mixed_units();

/// The flag `--run NAME` of every verb that reads.
[[nodiscard]] FlagSpec run_flag();
/// The argument PATH of every verb that reads.
[[nodiscard]] ArgSpec path_arg();

/// One line per note on standard error; beyond five only their number, unless --verbose.
void warn_about(const std::vector<trace::Note>& notes, const Invocation& call, Console& console);

}  // namespace cox::cli
