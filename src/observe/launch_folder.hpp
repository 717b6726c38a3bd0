// SPDX-License-Identifier: Apache-2.0
/// \file
/// The folder that a job records into: made new, or shared by several `cox observe`
/// that one launcher started.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/result.hpp"
#include "cox/guest/launcher.hpp"
#include "cox/trace/run.hpp"

namespace cox::observe {

/// Whether `cox` itself was started as one of several ranks (`mpirun ... cox observe -- prog`).
[[nodiscard]] bool is_one_of_many(const guest::LauncherPlace& place);

/// What all ranks of one launch have in common and run.json keeps: the launcher's name and, where it has one,
/// its id ("openmpi 102367233", "slurm 77.0", "mpich").
[[nodiscard]] std::string launch_key(const guest::Launcher& launcher);

/// A new folder with `info` in its run.json, and nothing to replace. With `force` a folder that holds nothing
/// but the files of a Run, by name, type and content, stays as it is: its files are the result, for
/// `replace_run`. Errors: observe-001 (names what is foreign), observe-005.
[[nodiscard]] Result<std::vector<std::filesystem::path>> make_folder(const std::filesystem::path& dir,
                                                                     const trace::RunInfo& info, bool force,
                                                                     Rights rights);
/// Removes those files one by one and begins the new Run. Called once the command runs: a command that cannot
/// be started costs nobody a Run.
[[nodiscard]] Status replace_run(const std::vector<std::filesystem::path>& old,
                                 const std::filesystem::path& dir, const trace::RunInfo& info, Rights rights);
/// Takes back what `make_folder` made, where nothing ran. What somebody else put there stays.
void unmake_folder(const std::filesystem::path& dir);

/// The folder that all ranks of one launch share: whoever comes first writes run.json, the others join.
/// `info.launch` is the key. A Run of another launch, or anything that is no Run, is refused. Where the
/// launcher has no id of its own the Run must be young and no one must have started this rank in it before. What it
/// costs does not depend on how many ranks there are.
/// Errors: observe-001, observe-005.
[[nodiscard]] Status join_folder(const std::filesystem::path& dir, const trace::RunInfo& info,
                                 const guest::Launcher& launcher, Rights rights);

}  // namespace cox::observe
