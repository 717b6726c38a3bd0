// SPDX-License-Identifier: Apache-2.0
#include "observe/launch_environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>

#include "cox/base/file.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSettings = std::size_t{1} << 20;
constexpr const char* kEnvList = "OMPI_MCA_mca_base_env_list";

std::string_view base_name(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

bool is_sanitizer(std::string_view entry) {
  constexpr std::array<std::string_view, 7> kRuntimes = {"libasan",   "libtsan", "liblsan",     "libubsan",
                                                         "libhwasan", "libmsan", "libclang_rt."};
  const std::string_view name = base_name(entry);
  return std::ranges::any_of(kRuntimes, [&](std::string_view r) { return name.starts_with(r); });
}

std::string value_of(const Environment& environment, std::string_view name) {
  const auto at = environment.find(name);
  return at == environment.end() ? std::string{} : at->second;
}

/// Position of the first word that is a launcher of one of these names; the size where there is none.
template <std::size_t N>
std::size_t find_word(const std::vector<std::string>& command, const std::array<std::string_view, N>& names) {
  const auto at = std::ranges::find_if(command, [&](const std::string& word) {
    return std::ranges::find(names, base_name(word)) != names.end();
  });
  return static_cast<std::size_t>(at - command.begin());
}

constexpr std::array<std::string_view, 6> kMpirun = {"mpirun",         "mpiexec",         "orterun",
                                                     "mpirun.openmpi", "mpiexec.openmpi", "orterun.openmpi"};
constexpr std::array<std::string_view, 1> kSrun = {"srun"};

/// Whether the words behind the launcher choose what is forwarded (or name files that may). Words of the
/// program that look alike count too: then nothing is added, which is the safe side.
bool chooses_itself(const std::vector<std::string>& command, std::size_t launcher) {
  return std::any_of(command.begin() + static_cast<std::ptrdiff_t>(launcher), command.end(),
                     [](const std::string& w) {
                       return w == "-x" || w == "--x" || w == "-tune" || w == "--tune" || w == "-am" ||
                              w == "--am" || w.find("mca_base_env_list") != std::string::npos;
                     });
}

/// Whether a word names a program that the loader starts with the address sanitizer's runtime. Names of
/// libraries stand in the first part of a program.
bool needs_asan(const std::string& word) {
  constexpr std::size_t kFirstPart = std::size_t{4} << 20;
  std::error_code ec;
  if (word.find('/') == std::string::npos || !fs::is_regular_file(word, ec)) return false;
  std::ifstream in(word, std::ios::binary);
  std::string head(4, '\0');
  if (!in.read(head.data(), 4) || head !=
                                      "\x7f"
                                      "ELF")
    return false;
  head.resize(kFirstPart);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return head.find("libasan.so.") != std::string::npos || head.find("libclang_rt.asan") != std::string::npos;
}

std::vector<std::string> split(std::string_view list, char at) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(at), list.size());
    if (end > 0) out.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

}  // namespace

Environment current_environment() {
  Environment out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::size_t equal = entry.find('=');
    if (equal != std::string_view::npos) out.emplace(entry.substr(0, equal), entry.substr(equal + 1));
  }
  return out;
}

std::string preload_chain(std::string_view before, std::string_view ours) {
  // The loader takes blanks and colons as separators. What stands there is kept to the letter.
  std::size_t keep = 0;  // bytes that belong to sanitizer runtimes and stay in front
  for (std::size_t at = 0; at < before.size();) {
    const std::size_t begin = before.find_first_not_of(": ", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(before.find_first_of(": ", begin), before.size());
    const std::string_view entry = before.substr(begin, end - begin);
    if (base_name(entry) == base_name(ours)) return std::string(before);
    if (is_sanitizer(entry)) keep = end;
    at = end;
  }
  const std::string_view behind = before.substr(keep).find_first_not_of(": ") == std::string_view::npos
                                      ? std::string_view{}
                                      : before.substr(keep);
  std::string out(before.substr(0, keep));
  if (keep > 0) out += ':';
  out += ours;
  if (!behind.empty() && behind.front() != ':' && behind.front() != ' ') out += ':';
  return out.append(behind);
}

std::optional<std::string> sanitizer_options(const std::vector<std::string>& command,
                                             const Environment& environment) {
  constexpr std::string_view kCheck = "verify_asan_link_order";
  const std::string options = value_of(environment, "ASAN_OPTIONS");
  if (options.find(kCheck) != std::string::npos) return std::nullopt;
  if (std::ranges::none_of(command, needs_asan)) return std::nullopt;
  return fmt::format("{}{}{}=0", options, options.empty() ? "" : ":", kCheck);
}

std::optional<std::string> forward_list(const std::vector<std::string>& command,
                                        const Environment& environment, std::string_view settings,
                                        const std::vector<std::string>& names) {
  const std::size_t launcher = find_word(command, kMpirun);
  if (launcher == command.size() || chooses_itself(command, launcher)) return std::nullopt;
  if (settings.find("mca_base_env_list") != std::string_view::npos) return std::nullopt;
  const std::string chosen = value_of(environment, "OMPI_MCA_mca_base_env_list_delimiter");
  if (chosen.size() > 1) return std::nullopt;
  const char delimiter = chosen.empty() ? ';' : chosen.front();
  std::string list = value_of(environment, kEnvList);
  const std::vector<std::string> theirs = split(list, delimiter);
  for (const std::string& name : names) {
    const bool named = std::ranges::any_of(
        theirs, [&](const std::string& entry) { return entry == name || entry.starts_with(name + "="); });
    if (named) continue;
    if (!list.empty() && list.back() != delimiter) list += delimiter;
    list += name;
  }
  return list;
}

std::string open_mpi_settings(const std::vector<std::string>& command, const Environment& environment) {
  const std::size_t launcher = find_word(command, kMpirun);
  if (launcher == command.size()) return {};
  std::vector<fs::path> files = {"/etc/openmpi/openmpi-mca-params.conf"};
  if (const std::string home = value_of(environment, "HOME"); !home.empty())
    files.push_back(fs::path(home) / ".openmpi" / "mca-params.conf");
  std::vector<std::string> places;
  if (command[launcher].find('/') != std::string::npos)
    places.push_back(command[launcher]);
  else
    for (const std::string& dir : split(value_of(environment, "PATH"), ':'))
      places.push_back((fs::path(dir) / command[launcher]).string());
  for (const std::string& place : places) {
    std::error_code ec;
    const fs::path real = fs::canonical(place, ec);
    if (ec) continue;
    files.push_back(real.parent_path().parent_path() / "etc" / "openmpi-mca-params.conf");
    break;
  }
  std::string text;
  for (const fs::path& file : files)
    if (const auto content = read_file(file, kMostSettings)) {
      // Lines that are comments set nothing; the files that are delivered consist of them.
      for (const std::string& line : split(*content, '\n'))
        if (line.find_first_not_of(" \t") != line.find('#')) text += line + '\n';
    }
  return text;
}

std::string forwarding_hint(const std::vector<std::string>& command, const Environment& environment) {
  if (const std::size_t launcher = find_word(command, kMpirun); launcher != command.size())
    return "if they ran on other hosts, their launcher did not take our settings there: put `cox observe -o "
           "DIR --` behind it, before the program";
  const std::size_t srun = find_word(command, kSrun);
  if (srun == command.size()) return {};
  const std::string chosen = value_of(environment, "SLURM_EXPORT_ENV");
  const bool limited = (!chosen.empty() && !chosen.starts_with("ALL")) ||
                       std::any_of(command.begin() + static_cast<std::ptrdiff_t>(srun), command.end(),
                                   [](const std::string& w) {
                                     return w.starts_with("--export") && !w.starts_with("--export=ALL") &&
                                            !w.starts_with("--export-file");
                                   });
  return limited ? "srun was told to export only some variables: use --export=ALL,... , "
                   "or put `cox observe -o DIR --` behind it, before the program"
                 : std::string{};
}

}  // namespace cox::observe
