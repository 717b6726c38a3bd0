// SPDX-License-Identifier: Apache-2.0
#include "observe/wait_mode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cox/base/file.hpp"

namespace cox::observe {
namespace {

using pace::WaitMode;

constexpr std::string_view kOpenMpi = "mpi_yield_when_idle";
constexpr std::string_view kMpich = "POLLS_BEFORE_YIELD";

/// What the user chose, in words for people; nothing where it is open.
/// MPICH reads a setting under three prefixes.
std::optional<std::string> chosen(std::string_view name, const std::vector<std::string_view>& prefixes,
                                  const std::vector<std::string>& command, const Environment& environment) {
  for (const std::string_view prefix : prefixes) {
    const std::string variable = fmt::format("{}{}", prefix, name);
    if (const auto at = environment.find(variable); at != environment.end())
      return fmt::format("{}={} stays as it is set", variable, at->second.substr(0, 20));
  }
  if (std::ranges::any_of(command, [&](const std::string& w) { return w.find(name) != std::string::npos; }))
    return fmt::format("{} stays as the command sets it", name);
  return std::nullopt;
}

void plan_open_mpi(WaitMode mode, const std::vector<std::string>& command, const Environment& environment,
                   std::string_view settings, WaitPlan& plan) {
  if (const auto theirs = chosen(kOpenMpi, {"OMPI_MCA_"}, command, environment)) {
    plan.notes.push_back("Open MPI: " + *theirs);
  } else if (settings.find(kOpenMpi) != std::string_view::npos) {
    plan.notes.push_back(fmt::format("Open MPI: {} stays as its parameter file sets it", kOpenMpi));
  } else if (mode == WaitMode::Block) {
    plan.notes.emplace_back("Open MPI: has no setting to block; yield is the nearest");
  } else {
    plan.variables.emplace_back(fmt::format("OMPI_MCA_{}", kOpenMpi), mode == WaitMode::Yield ? "1" : "0");
    plan.notes.push_back(
        fmt::format("Open MPI: {}={}", plan.variables.back().first, plan.variables.back().second));
  }
}

/// Whether the library was built for the device whose wait loop the setting is about. The name of the setting
/// is in every build, so the device's own name decides; it stands in the library for MPI_Get_library_version.
bool is_nemesis(const std::filesystem::path& library) {
  constexpr std::string_view kDevice("\0ch3:nemesis\0", 13);
  const auto file = MappedFile::open(library);
  if (!file) return false;
  const auto bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.find(kDevice) != std::string_view::npos;
}

void plan_mpich(WaitMode mode, const std::vector<std::string>& command, const Environment& environment,
                const LibraryPaths& paths, WaitPlan& plan) {
  const auto library = paths.find_library("libmpich.so.12");
  if (const auto theirs = chosen(kMpich, {"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"}, command, environment)) {
    plan.notes.push_back("MPICH: " + *theirs);
  } else if (!library) {
    plan.notes.emplace_back("MPICH: not found here, nothing set");
  } else if (!is_nemesis(*library)) {
    plan.notes.emplace_back("MPICH: no setting for it (its device is not ch3:nemesis): it spins");
  } else if (mode == WaitMode::Block) {
    plan.notes.emplace_back("MPICH: has no setting to block; yield is the nearest");
  } else {
    plan.variables.emplace_back(fmt::format("MPIR_CVAR_{}", kMpich), mode == WaitMode::Yield ? "1" : "0");
    plan.notes.push_back(
        fmt::format("MPICH: {}={}", plan.variables.back().first, plan.variables.back().second));
  }
}

}  // namespace

WaitPlan plan_wait_mode(WaitMode mode, const std::vector<std::string>& command,
                        const Environment& environment, std::string_view settings,
                        const LibraryPaths& paths) {
  WaitPlan plan;
  if (mode == WaitMode::Unknown) return plan;
  plan_open_mpi(mode, command, environment, settings, plan);
  plan_mpich(mode, command, environment, paths, plan);
  plan.notes.emplace_back("Gloo: blocks unless the program asks it to poll, no setting");
  plan.notes.emplace_back("NCCL: no setting");
  return plan;
}

}  // namespace cox::observe
