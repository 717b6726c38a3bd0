// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `cox observe` adds to a job's environment, as functions of what is there:
/// nothing of the user's is replaced.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cox::observe {

using Environment = std::map<std::string, std::string, std::less<>>;

/// This process's environment.
[[nodiscard]] Environment current_environment();

/// LD_PRELOAD with our object in it. It stands before everything else, because a PMPI tool calls PMPI_X from
/// its MPI_X and so would pass us by, but behind sanitizer runtimes, which refuse to start where they are not
/// first. A chain that holds our object already stays as it is.
[[nodiscard]] std::string preload_chain(std::string_view before, std::string_view ours);

/// Where a program of the command is linked to the address sanitizer's runtime: ASAN_OPTIONS with the check
/// of its place switched off, which would end the program for every object in LD_PRELOAD. Nothing where the
/// user decided about it.
[[nodiscard]] std::optional<std::string> sanitizer_options(const std::vector<std::string>& command,
                                                           const Environment& environment);

/// Where the command is Open MPI's launcher: the value of OMPI_MCA_mca_base_env_list that makes it hand
/// `names` to ranks on other hosts, appended to what the user has in that variable. Nothing where that would
/// not work or could do harm: Open MPI aborts a job that has both this list and `-x`, and a list on its
/// command line or in `settings` (the text of its parameter files) is the user's own.
[[nodiscard]] std::optional<std::string> forward_list(const std::vector<std::string>& command,
                                                      const Environment& environment,
                                                      std::string_view settings,
                                                      const std::vector<std::string>& names);

/// Text of Open MPI's parameter files for a launcher of this name that PATH finds, and of the user's own.
[[nodiscard]] std::string open_mpi_settings(const std::vector<std::string>& command,
                                            const Environment& environment);

/// What to do where ranks of other hosts were not seen: a sentence for the launcher that the command names;
/// empty where it forwards by itself or is not known.
[[nodiscard]] std::string forwarding_hint(const std::vector<std::string>& command,
                                          const Environment& environment);

}  // namespace cox::observe
