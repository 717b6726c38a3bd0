// SPDX-License-Identifier: Apache-2.0
/// \file
/// The folder that a job records into: made new, or shared by several `cox observe`
/// that one launcher started.
#pragma once

#include <filesystem>
#include <string>

#include "cox/base/result.hpp"
#include "cox/guest/launcher.hpp"
#include "cox/trace/run.hpp"

namespace cox::observe {

/// Whether `cox` itself was started as one of several ranks (`mpirun ... cox observe -- prog`).
[[nodiscard]] bool is_one_of_many(const guest::Place& place);

/// What all ranks of one launch have in common and run.json keeps: the launcher's name and, where it has one,
/// its id ("openmpi 102367233", "slurm 77.0", "mpich").
[[nodiscard]] std::string launch_key(const guest::Launcher& launcher);

/// A new folder with `info` in its run.json. `force` replaces a Run that is there.
/// Errors: observe-001, observe-005.
[[nodiscard]] Status make_folder(const std::filesystem::path& dir, const trace::RunInfo& info, bool force);

/// The folder that all ranks of one launch share: whoever comes first writes run.json, the others join.
/// `info.launch` is the key. A Run of another launch, or anything that is no Run, is refused. Where the
/// launcher has no id of its own the Run must be young and must not hold this rank already.
/// Errors: observe-001, observe-005.
[[nodiscard]] Status join_folder(const std::filesystem::path& dir, const trace::RunInfo& info,
                                 const guest::Launcher& launcher);

}  // namespace cox::observe
