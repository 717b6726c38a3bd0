// SPDX-License-Identifier: Apache-2.0
#include "cox/bench/net_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "cox/base/child.hpp"
#include "cox/guest/launcher.hpp"

namespace cox::bench {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr int kMostRanks = 1 << 20;

const char* name_of(ProbeLibrary library) {
  switch (library) {
    case ProbeLibrary::OpenMpi:
      return "openmpi";
    case ProbeLibrary::Mpich:
      return "mpich";
    case ProbeLibrary::Gloo:
      return "gloo";
    case ProbeLibrary::Mpi:
      break;
  }
  return "mpi";
}

ProbeLibrary library_of(guest::LaunchedMpi mpi) {
  switch (mpi) {
    case guest::LaunchedMpi::OpenMpi:
      return ProbeLibrary::OpenMpi;
    case guest::LaunchedMpi::Mpich:
      return ProbeLibrary::Mpich;
    case guest::LaunchedMpi::None:
    case guest::LaunchedMpi::Any:
      break;
  }
  return ProbeLibrary::Mpi;
}

fs::path program_of(const fs::path& folder, ProbeLibrary library) {
  return folder / fmt::format("cox-bench-net-{}", name_of(library));
}

bool can_run(const fs::path& program) {
  return access(program.c_str(), X_OK) == 0;
}

ProbeLibrary choose(const ProbeOptions& options, const std::optional<LaunchedAs>& launched) {
  if (options.library != ProbeLibrary::Mpi) return options.library;
  if (launched && launched->library != ProbeLibrary::Mpi) return launched->library;
  return can_run(program_of(options.folder, ProbeLibrary::OpenMpi)) ? ProbeLibrary::OpenMpi
                                                                    : ProbeLibrary::Mpich;
}

/// Where two MPI libraries are installed side by side, each has a launcher under a name of its own.
std::string launcher_of(ProbeLibrary library) {
  const std::string own = fmt::format("mpirun.{}", name_of(library));
  return in_path(own) ? own : "mpirun";
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

std::optional<LaunchedAs> launched_as() {
  for (const guest::Launcher& l : guest::kLaunchers) {
    // What starts no ranks of MPI says nothing about ours: RANK and WORLD_SIZE are often set for a whole pod.
    if (l.mpi == guest::LaunchedMpi::None || !guest::is_recognized(l)) continue;
    const guest::LauncherPlace place = guest::place_of(&l);
    if (place.rank >= 0 && place.rank < place.world_size && place.world_size <= kMostRanks)
      return LaunchedAs{.rank = place.rank, .ranks = place.world_size, .library = library_of(l.mpi)};
  }
  return std::nullopt;
}

Result<std::vector<Words>> probe_commands(const ProbeOptions& options,
                                          const std::optional<LaunchedAs>& launched) {
  const ProbeLibrary library = choose(options, launched);
  const fs::path program = program_of(options.folder, library);
  if (!can_run(program))
    return fail(
        Error{.code = Errc::NotFound,
              .id = "bench-006",
              .message = fmt::format("{} is not there or cannot be executed", program.string()),
              .hint = "it is built where the library's headers are installed (docs/reference/bench.md)",
              .where = {}});
  const Words request = options.request.empty() ? Words{"pairs"} : options.request;
  if (library != ProbeLibrary::Gloo) {
    Words words;
    if (!launched) words = options.launch.empty() ? Words{launcher_of(library), "-n", "2"} : options.launch;
    words.push_back(program.string());
    append(words, request);
    return std::vector<Words>{words};
  }
  if (launched && options.store.empty())
    return fail(Error{.code = Errc::Usage,
                      .id = "bench-007",
                      .message = "ranks of Gloo that a launcher started need a folder to meet in",
                      .hint = "add --store DIR: an empty folder that all ranks see",
                      .where = {}});
  std::vector<Words> commands;
  const LaunchedAs as = launched.value_or(LaunchedAs{.rank = 0, .ranks = 2, .library = ProbeLibrary::Gloo});
  for (int rank = as.rank; rank < (launched ? as.rank + 1 : as.ranks); ++rank) {
    Words words{program.string(), std::to_string(rank), std::to_string(as.ranks), options.store.string(),
                options.interface};
    append(words, request);
    commands.push_back(words);
  }
  return commands;
}

Result<std::string> run_probe(const ProbeOptions& options, const std::optional<LaunchedAs>& launched) {
  ProbeOptions own = options;
  fs::path made;
  if (choose(options, launched) == ProbeLibrary::Gloo && !launched && options.store.empty()) {
    std::string name = (fs::temp_directory_path() / "cox-bench-net.XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) own.store = made = name;
  }
  auto run = [&]() -> Result<std::string> {
    COX_TRY(const std::vector<Words> commands, probe_commands(own, launched));
    COX_TRY(std::vector<Ended> ended, run_children(commands, "bench-006"));
    for (std::size_t i = 0; i < ended.size(); ++i)
      if (ended[i].status != 0)
        return fail(
            Error{.code = Errc::NotFound,
                  .id = "bench-006",
                  .message = fmt::format("{} ended with status {}", commands[i].front(), ended[i].status),
                  .hint = "what it said is above",
                  .where = {}});
    return std::move(ended.front().out);
  };
  Result<std::string> out = run();
  std::error_code ignored;
  if (!made.empty()) fs::remove_all(made, ignored);
  return out;
}

}  // namespace cox::bench
