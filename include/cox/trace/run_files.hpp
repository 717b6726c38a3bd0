// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the files of a Run lie: in its folder, and where the job has several hosts in one folder per host below it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cox::trace {

/// Bytes by rank: which ranks a launch without a name of its own has started already (launch_folder.cpp).
inline constexpr std::string_view kClaimsFile = "run.claims";

/// How the name of a process's file ends, before its suffix, where one `cox observe` of many recorded it.
[[nodiscard]] std::string observer_mark(std::int64_t observer);

/// This host's name as guests put it before the names of their files.
[[nodiscard]] std::string own_host();

/// Whether a folder below a Run's is one host's: it holds a file of a process that is named after it
/// (`HOST/HOST-PID-TIME.cox`), whatever else a file system left there. So a folder that holds several Runs is not taken for one.
[[nodiscard]] bool is_host_folder(const std::filesystem::path& folder);

/// The folder of this host in a Run's, where it has one; else the Run's own.
[[nodiscard]] std::filesystem::path own_host_folder(const std::filesystem::path& dir);

/// What lies in a Run's folder and in the folders of its hosts, those folders themselves left out; in no order.
/// `ec` says why the folder cannot be read; without it that is an empty one.
[[nodiscard]] std::vector<std::filesystem::path> run_entries(const std::filesystem::path& dir,
                                                             std::error_code& ec);
[[nodiscard]] std::vector<std::filesystem::path> run_entries(const std::filesystem::path& dir);

}  // namespace cox::trace
