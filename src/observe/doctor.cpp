// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/doctor.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "cox/base/units_text.hpp"
#include "cox/guest/policy.hpp"

#include "observe/energy.hpp"
#include "observe/guest_names.hpp"
#include "observe/library_paths.hpp"
#include "observe/optional_mpi.hpp"

extern "C" char** environ;

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostText = 4 << 20;  // /proc/cpuinfo of the largest machines is near 1 MB

/// Text of a small file; empty where it cannot be read.
/// Files in /proc say they are empty, so they are streamed.
std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> block{};
  while (file && text.size() < kMostText) {
    file.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string env(const Surroundings& where, const char* name) {
  const auto at = where.environment.find(name);
  return at == where.environment.end() ? std::string{} : at->second;
}

/// A path of the tree as its owner would type it.
std::string shown(const Surroundings& where, const fs::path& path) {
  if (where.root == "/") return path.string();
  return "/" + path.lexically_relative(where.root).string();
}

std::optional<fs::path> find_guest(const Surroundings& where, const char* name) {
  std::error_code ec;
  for (const fs::path& dir : where.guest_dirs)
    if (fs::exists(dir / name, ec)) return (dir / name).lexically_normal();
  return std::nullopt;
}

Check check_guest(const Surroundings& where) {
  Check check{.key = "guest", .subject = "guest objects", .health = Health::Missing, .text = {}, .hint = {}};
  if (!find_guest(where, kPreload)) {
    std::vector<std::string> dirs;
    dirs.reserve(where.guest_dirs.size());
    for (const fs::path& dir : where.guest_dirs) dirs.push_back(dir.lexically_normal().string());
    check.text = fmt::format("{} is not in {}", kPreload, fmt::join(dirs, ", "));
    check.hint = "run cox from its build or install folder, or install it again";
    return check;
  }
  std::vector<std::string> found = {kPreload};
  for (const char* name : kLibraryGuests)
    if (find_guest(where, name)) found.emplace_back(name);
  check.health = Health::Ok;
  check.text = fmt::format("{}", fmt::join(found, ", "));
  return check;
}

/// A communication library that a guest object can watch.
struct Watched {
  const char* key;
  const char* subject;
  const char* library;
  const char* guest;     ///< null: this version has none
  const char* launcher;  ///< null: started by anything
  const char* package;
};
constexpr std::array kWatched = {
    Watched{"mpi.openmpi", "Open MPI", "libmpi.so.40", "libcox-mpi-openmpi.so", "mpirun.openmpi",
            "openmpi-bin"},
    Watched{"mpi.mpich", "MPICH", "libmpich.so.12", "libcox-mpi-mpich.so", "mpirun.mpich", "mpich"},
    Watched{"mpi.abi", "MPI 5 ABI", "libmpi_abi.so.1", "libcox-mpi-abi.so", nullptr, nullptr},
    Watched{"gloo", "Gloo", "libgloo.so.0", "libcox-gloo.so", nullptr, "libgloo0"},
    Watched{"nccl", "NCCL", "libnccl.so.2", nullptr, nullptr, nullptr},
};

Check check_library(const Surroundings& where, const LibraryPaths& paths, const Watched& w) {
  Check check{.key = w.key, .subject = w.subject, .health = Health::Missing, .text = {}, .hint = {}};
  const bool observed = w.guest != nullptr && find_guest(where, w.guest);
  const auto library = paths.find_library(w.library);
  if (!library) {
    check.text = fmt::format("{} is not installed", w.library);
    if (!observed) check.text += ", and this build of cox does not observe it";
    if (observed && w.package != nullptr) check.hint = fmt::format("apt-get install {}", w.package);
    return check;
  }
  check.text = shown(where, *library);
  if (w.launcher != nullptr) {
    const auto launcher = paths.find_program(w.launcher);
    check.text +=
        launcher ? fmt::format(", {}", shown(where, *launcher)) : fmt::format(", no {} in PATH", w.launcher);
  }
  if (!observed) {
    check.health = Health::Limited;
    check.text += "; this build of cox does not observe it";
    return check;
  }
  check.health = Health::Ok;
  return check;
}

/// Torch is looked for, never imported: that would take seconds and might touch a GPU.
Check check_torch(const Surroundings& where, const LibraryPaths& paths) {
  Check check{.key = "torch", .subject = "PyTorch", .health = Health::Missing, .text = {}, .hint = {}};
  const auto torch = paths.find_python_package("torch");
  if (!torch) {
    check.text = "no torch package in the usual Python folders or in VIRTUAL_ENV";
    check.hint = "fine where the job brings its own Python";
    return check;
  }
  const std::string text = text_of(*torch / "version.py");
  const auto begin = text.find("__version__ = '");
  std::string version = "unknown version";
  if (begin != std::string::npos) {
    const auto from = begin + std::string_view("__version__ = '").size();
    version = text.substr(from, std::min<std::size_t>(text.find('\'', from) - from, 40));
  }
  check.text = fmt::format("{} in {}", version, shown(where, *torch));
  const bool watched = find_guest(where, "libcox-gloo.so").has_value();
  check.health = watched ? Health::Ok : Health::Limited;
  check.text +=
      watched ? "; process groups over Gloo are observed" : "; this build of cox does not observe Gloo";
  return check;
}

/// Whether a program gets other rights than its user's: the loader then heeds no LD_PRELOAD (ld.so, secure mode). One that is
/// setuid to who runs it gets none.
bool gets_other_rights(const struct stat& about) {
  const bool other_user = (about.st_mode & S_ISUID) != 0 && about.st_uid != ::getuid();
  const bool other_group = (about.st_mode & S_ISGID) != 0 && about.st_gid != ::getgid();
  return other_user || other_group;
}

/// A program that runs with other rights than its user's is started without preloaded objects.
Check check_secure(const Surroundings& where, const LibraryPaths& paths) {
  Check check{.key = "secure", .subject = "secure programs", .health = Health::Ok, .text = {}, .hint = {}};
  std::vector<std::string> raised;
  for (const char* name :
       {"mpirun.openmpi", "mpirun.mpich", "mpirun", "mpiexec", "srun", "torchrun", "python3"})
    if (const auto program = paths.find_program(name)) {
      struct stat st {};
      if (::stat(program->c_str(), &st) == 0 && gets_other_rights(st))
        raised.push_back(shown(where, *program));
    }
  check.text = "no launcher here is setuid; a setuid or static program cannot be observed";
  if (!raised.empty()) {
    check.health = Health::Limited;
    check.text = fmt::format("setuid, so it drops preloaded objects: {}", fmt::join(raised, ", "));
    check.hint = "start the ranks with another launcher";
  }
  return check;
}

Check check_launchers(const Surroundings& where, const LibraryPaths& paths) {
  Check check{.key = "launchers", .subject = "launchers", .health = Health::Note, .text = {}, .hint = {}};
  std::vector<std::string> found;
  for (const char* name : {"mpirun.openmpi", "mpirun.mpich", "mpirun", "mpiexec", "srun", "torchrun"})
    if (const auto program = paths.find_program(name)) found.push_back(shown(where, *program));
  check.text = found.empty() ? "none in PATH" : fmt::format("{}", fmt::join(found, ", "));
  return check;
}

Check check_clock(const Surroundings& where) {
  Check check{.key = "clock", .subject = "clock", .health = Health::Limited, .text = {}, .hint = {}};
  const std::string info = text_of(where.root / "proc/cpuinfo");
  const auto flags_at = info.find("\nflags");
  const std::string flags =
      flags_at == std::string::npos ? std::string{} : first_line(info.substr(flags_at + 1)) + " ";
  const bool invariant =
      flags.find(" constant_tsc ") != std::string::npos && flags.find(" nonstop_tsc ") != std::string::npos;
  // As guests ask, who take the counter only where the kernel tells the time by it.
  const std::string source =
      first_line(text_of(where.root / "sys/devices/system/clocksource/clocksource0/current_clocksource"));
  const bool is_kernels = source == "tsc" || source == "kvm-clock" || source == "hyperv_clocksource_tsc_page";
  if (invariant && !is_kernels) {
    check.text = source.empty()
                     ? "the kernel does not say what it tells the time by: clock_gettime is used"
                     : fmt::format("the kernel tells the time by {}: clock_gettime is used", source);
    check.hint = "events cost more; the numbers stay right";
  } else if (invariant) {
    check.health = Health::Ok;
    check.text = "time stamp counter runs at one rate, also in deep sleep";
  } else {
    check.text = flags.empty() ? "no processor flags to be read: clock_gettime is used"
                               : "the time stamp counter may change its rate: clock_gettime is used";
    check.hint = "events cost more; the numbers stay right";
  }
  if (where.clock_cost.counter > Duration::zero())
    check.text += fmt::format("; one reading costs {} (clock_gettime {})",
                              to_string(where.clock_cost.counter), to_string(where.clock_cost.monotonic));
  return check;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [at, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || at == text.data()) return std::nullopt;
  return value;
}

/// Limits of the control group, v2 then v1.
Check check_limits(const Surroundings& where) {
  Check check{.key = "limits", .subject = "container", .health = Health::Note, .text = {}, .hint = {}};
  std::error_code ec;
  const bool container =
      fs::exists(where.root / ".dockerenv", ec) || fs::exists(where.root / "run/.containerenv", ec);
  check.text = container ? "in a container" : "no sign of a container";
  const fs::path groups = where.root / "sys/fs/cgroup";
  std::optional<std::int64_t> quota;
  std::optional<std::int64_t> period;
  if (const std::string v2 = first_line(text_of(groups / "cpu.max")); !v2.empty()) {
    quota = whole_number(v2);
    period = v2.find(' ') == std::string::npos ? std::nullopt
                                               : whole_number(std::string_view(v2).substr(v2.find(' ') + 1));
  } else {
    quota = whole_number(text_of(groups / "cpu/cpu.cfs_quota_us"));
    period = whole_number(text_of(groups / "cpu/cpu.cfs_period_us"));
  }
  if (quota && period && *quota > 0 && *period > 0) {
    check.health = Health::Limited;
    check.text += fmt::format(", processor time limited to {:.3g} cores",
                              static_cast<double>(*quota) / static_cast<double>(*period));
    check.hint = "throttling shows as slow steps on every rank of this machine";
  }
  auto memory = whole_number(text_of(groups / "memory.max"));
  if (!memory) memory = whole_number(text_of(groups / "memory/memory.limit_in_bytes"));
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // v1 writes a huge number for "none"
  if (memory && *memory < kNoLimit)
    check.text += fmt::format(", memory limited to {}", to_string(Bytes{*memory}));
  return check;
}

std::optional<Bytes> free_space(const fs::path& dir) {
  struct statvfs st {};
  if (::statvfs(dir.c_str(), &st) != 0) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(st.f_bavail) * static_cast<std::int64_t>(st.f_frsize)};
}

Check check_folder(const Surroundings& where) {
  constexpr Bytes kOneRun{1'000'000'000};
  Check check{.key = "folder", .subject = "current folder", .health = Health::Ok, .text = {}, .hint = {}};
  const auto space = free_space(where.work_dir);
  if (::access(where.work_dir.c_str(), W_OK) != 0) {
    check.health = Health::Limited;
    check.text = "not writable: a Run cannot be written here";
    check.hint = "name another place: cox observe -o DIR";
  } else if (!space || *space < kOneRun) {
    check.health = Health::Limited;
    check.text = fmt::format("writable, but only {} free", space ? to_string(*space) : "unknown space");
    check.hint = "a process writes up to 256 MB: see cox observe --max-size";
  } else {
    check.text = fmt::format("writable, {} free", to_string(*space));
  }
  return check;
}

Check check_shared_memory(const Surroundings& where) {
  constexpr Bytes kEnough{64'000'000};  // what a container gets by default is less than MPI wants
  Check check{.key = "shm", .subject = "/dev/shm", .health = Health::Ok, .text = {}, .hint = {}};
  const auto space = free_space(where.root / "dev/shm");
  if (!space || *space <= kEnough) {
    check.health = Health::Limited;
    check.text = space ? fmt::format("only {} free", to_string(*space)) : "not there";
    check.hint = "cox does not need it, but MPI and PyTorch do: docker run --shm-size=1g";
  } else {
    check.text = fmt::format("{} free", to_string(*space));
  }
  return check;
}

/// Caps that cox observe --energy-cap could set, and those that a killed one left.
Check check_energy(const Surroundings& where) {
  Check check{.key = "energy", .subject = "energy caps", .health = Health::Note, .text = {}, .hint = {}};
  const EnergyState state = energy_state(where.root);
  if (state.unreadable || (state.has_file && !state.running)) {
    check.health = Health::Limited;
    check.text = state.unreadable ? "/run/cox-energy-cap is damaged or not ours"
                                  : fmt::format("lowered and not put back: {}; process {} was killed first",
                                                state.held, state.process);
    check.hint = state.unreadable ? "compare the limits of this host with its defaults, then remove that file"
                                  : "cox doctor --restore-energy";
    return check;
  }
  if (state.has_file)
    check.text = fmt::format("lowered: {}, by process {}, which runs", state.held, state.process);
  else if (state.frequency_limits == 0 && state.power_limits == 0)
    check.text = "this host offers no frequency or power limits";
  else
    check.text =
        fmt::format("frequency limits: {}, power limits: {}; {}", state.frequency_limits, state.power_limits,
                    state.writable ? "cox observe --energy-cap may lower them" : "not writable for you");
  return check;
}

/// What the administrator allows.
Check check_policy(const Surroundings& where) {
  Check check{.key = "policy", .subject = "policy", .health = Health::Note, .text = {}, .hint = {}};
  guest::AdminPolicy policy;
  guest::read_policy((where.root / fs::path(guest::kPolicyFile).relative_path()).c_str(), policy);
  if (!policy.is_there) {
    check.text = fmt::format("no {}: everything is allowed", guest::kPolicyFile);
    return check;
  }
  if (policy.trouble != nullptr) {
    check.health = Health::Missing;
    check.text = fmt::format("{} cannot be obeyed, so nothing is observed: {}{}", guest::kPolicyFile,
                             policy.line > 0 ? fmt::format("line {}: ", policy.line) : "", policy.trouble);
    check.hint = "the administrator must mend it";
    return check;
  }
  std::vector<std::string> rules;
  if (!policy.pacing) rules.emplace_back("no pacing");
  if (policy.max_size_bytes > 0)
    rules.push_back(fmt::format("at most {} per process",
                                to_string(Bytes{static_cast<std::int64_t>(policy.max_size_bytes)})));
  if (policy.max_job_size_bytes > 0)
    rules.push_back(fmt::format("at most {} per job",
                                to_string(Bytes{static_cast<std::int64_t>(policy.max_job_size_bytes)})));
  for (std::size_t i = 0; i < policy.folder_count; ++i)
    rules.push_back(fmt::format("{}{}", i == 0 ? "Runs only in " : "", policy.folders[i]));
  check.text = rules.empty() ? fmt::format("{} forbids nothing", guest::kPolicyFile)
                             : fmt::format("{}: {}", guest::kPolicyFile, fmt::join(rules, ", "));
  return check;
}

/// Why the loader puts no object of ours into a program of this machine; empty where it does, and for what is no ELF file.
std::string why_not_preloaded(const fs::path& program) {
  struct stat about {};
  if (::stat(program.c_str(), &about) != 0) return std::strerror(errno);
  if ((about.st_mode & 0111) == 0) return "it is not executable";
  if (gets_other_rights(about)) return "it is setuid or setgid, and the loader heeds no LD_PRELOAD there";
  if (::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "it has file capabilities, and the loader heeds no LD_PRELOAD there";
  std::ifstream in(program, std::ios::binary);
  Elf64_Ehdr head{};
  if (!in.read(reinterpret_cast<char*>(&head), sizeof head) ||
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return {};
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64)
    return "it is of another machine than x86-64";
  bool is_dynamic = false;
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    in.seekg(static_cast<std::streamoff>(head.e_phoff) + std::streamoff{i} * head.e_phentsize);
    if (!in.read(reinterpret_cast<char*>(&part), sizeof part)) return "it is damaged";
    const auto size = static_cast<Elf64_Off>(about.st_size);
    if (part.p_type == PT_LOAD && (part.p_offset > size || part.p_filesz > size - part.p_offset))
      return "it is damaged: its end is missing";
    is_dynamic = is_dynamic || part.p_type == PT_INTERP;
  }
  return is_dynamic ? std::string() : "it is linked statically";
}

/// Whether a file is a program of its own or a script, of which its interpreter counts.
bool begins_as(const fs::path& file, std::string_view begin) {
  std::string head(begin.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  return in.read(head.data(), static_cast<std::streamsize>(head.size())) && head == begin;
}

/// Whether one program can be observed, and would not take our object for an MPI library.
Check check_program(const Surroundings& where, const LibraryPaths& paths) {
  Check check{.key = "program", .subject = "program", .health = Health::Ok, .text = {}, .hint = {}};
  std::error_code ec;
  fs::path program = where.program;
  if (!program.has_parent_path() && !fs::exists(program, ec))
    program = paths.find_program(program).value_or(program);
  if (!fs::is_regular_file(program, ec)) {
    check.health = Health::Missing;
    check.text = fmt::format("{} is no file{}", program.string(),
                             program.has_parent_path() ? "" : ", and not in PATH");
    return check;
  }
  const fs::path whole = fs::absolute(program, ec);
  const auto found = looks_for_mpi(std::vector<std::string>{whole.string()}, paths);
  if (found) {
    check.health = Health::Missing;
    check.text = fmt::format("{} looks for MPI by {} and is linked to none: it would take cox for one",
                             found->object, found->how);
    check.hint =
        "cox observe starts it without cox, through a shell script, too; where something else starts it, set COX_DISABLE=1 for "
        "it; link it to MPI to have it observed";
    return check;
  }
  if (const std::string why = why_not_preloaded(program); !why.empty()) {
    check.health = Health::Missing;
    check.text = fmt::format("{} cannot be observed: {}", program.string(), why);
    return check;
  }
  if (!begins_as(program, ELFMAG)) {
    const bool is_script = begins_as(program, "#!");
    check.health = is_script ? Health::Note : Health::Missing;
    check.text = fmt::format("{} is {}", program.string(),
                             is_script ? "a script: what it starts counts; name that program" : "no program");
    return check;
  }
  check.text = fmt::format(
      "{} heeds LD_PRELOAD, and does not look for an MPI library that it is not linked to", program.string());
  return check;
}

/// Text of a variable that guests take as if it were not set, since it is not of its form; as in guest/preload.
std::optional<std::string> unreadable_variable(const Surroundings& where) {
  const auto is_whole = [](const std::string& text) {
    return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  for (const char* name : {"COX_MAX_SIZE", "COX_MAX_JOB_SIZE", "COX_SYNC"})
    if (const std::string text = env(where, name); !is_whole(text))
      return fmt::format("{}={} is no whole number: it counts as not set", name, text.substr(0, 40));
  if (const std::string text = env(where, "COX_MAX_OVERHEAD"); !text.empty()) {
    char* end = nullptr;
    if (!(std::strtod(text.c_str(), &end) > 0) || *end != 0)
      return fmt::format("COX_MAX_OVERHEAD={} is no percentage: it counts as not set", text.substr(0, 40));
  }
  for (const auto& [name, words] : {std::pair{"COX_CLOCK", std::pair{"tsc", "monotonic"}},
                                    std::pair{"COX_SHARE", std::pair{"group", "none"}}})
    if (const std::string text = env(where, name);
        !text.empty() && text != words.first && text != words.second)
      return fmt::format("{}={}: expected {} or {}; it counts as not set", name, text.substr(0, 40),
                         words.first, words.second);
  return std::nullopt;
}

Check check_environment(const Surroundings& where) {
  Check check{.key = "environment", .subject = "environment", .health = Health::Ok, .text = {}, .hint = {}};
  const std::string disable = env(where, "COX_DISABLE");
  const std::string preload = env(where, "LD_PRELOAD");
  if (!disable.empty() && disable != "0") {
    check.health = Health::Missing;
    check.text = fmt::format("COX_DISABLE={}: nothing is recorded", disable);
    check.hint = "unset COX_DISABLE";
  } else if (const auto unread = unreadable_variable(where)) {
    check.health = Health::Limited;
    check.text = *unread;
    check.hint = "cox doctor --env says what each variable means";
  } else if (!preload.empty()) {
    check.health = Health::Note;
    check.text = fmt::format("LD_PRELOAD is set and stays first: {}", preload);
  } else {
    check.text = "nothing set that stands in the way";
  }
  return check;
}

}  // namespace

const char* name_of(Health h) {
  switch (h) {
    case Health::Ok:
      return "ok";
    case Health::Limited:
      return "limited";
    case Health::Missing:
      return "missing";
    case Health::Note:
      return "note";
  }
  return "note";
}

Surroundings real_surroundings() {
  Surroundings where;
  std::error_code ec;
  const fs::path own = fs::read_symlink("/proc/self/exe", ec).parent_path();
  where.guest_dirs = {own, own / ".." / "lib" / "cox", own / ".." / "lib64" / "cox"};
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos)
      where.environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  where.clock_cost = measure_clock_cost();
  return where;
}

std::vector<Check> examine(const Surroundings& where) {
  const LibraryPaths paths(where.root, where.environment);
  std::vector<Check> checks = {check_guest(where)};
  for (const Watched& w : kWatched) checks.push_back(check_library(where, paths, w));
  checks.push_back(check_torch(where, paths));
  checks.push_back(check_launchers(where, paths));
  checks.push_back(check_secure(where, paths));
  checks.push_back({.key = "ptrace",
                    .subject = "ptrace",
                    .health = Health::Ok,
                    .text = "not needed: cox is loaded with the program",
                    .hint = {}});
  checks.push_back(check_clock(where));
  checks.push_back(check_folder(where));
  checks.push_back(check_shared_memory(where));
  checks.push_back(check_limits(where));
  checks.push_back(check_energy(where));
  checks.push_back(check_policy(where));
  checks.push_back(check_environment(where));
  if (!where.program.empty()) checks.push_back(check_program(where, paths));
  return checks;
}

Result<std::size_t> restore_energy(const Surroundings& where) {
  return restore_left_caps(where.root);
}

std::span<const EnvVariable> environment_variables() {
  static constexpr std::array kAll = {
      EnvVariable{"COX_DIR", "",
                  "absolute folder for a job's files; set by cox observe, unset = guests are inert"},
      EnvVariable{"COX_MAX_SIZE", "256000000",
                  "bytes per process, then the oldest events make room (--max-size)"},
      EnvVariable{"COX_MAX_JOB_SIZE", "no bound",
                  "bytes of all processes together, an equal part each (--max-job-size)"},
      EnvVariable{"COX_DISABLE", "0", "1 = every hook is a direct call and nothing is recorded"},
      EnvVariable{"COX_CLOCK", "tsc", "tsc or monotonic; tsc holds only where its rate never changes"},
      EnvVariable{"COX_MAX_OVERHEAD", "5",
                  "percent of one CPU that recording may take in a process; "
                  "beyond it for 2 s it switches itself off"},
      EnvVariable{
          "COX_PACE_PRIORITY", "0",
          "1 = a rank that is always late lowers its niceness, where that can be undone (--pace-priority)"},
      EnvVariable{"COX_PACE", "off",
                  "MODE[,key=value...] of the controller that may hold early ranks back (--pace)"},
      EnvVariable{"COX_SYNC", "1", "seconds between fdatasyncs of a process's file; 0 = none (--sync)"},
      EnvVariable{"COX_KEEPER_CPUS", "", "CPUs that the guest's own threads run on (--keeper-cpus)"},
      EnvVariable{"COX_OBSERVER", "",
                  "process id of the cox observe of this rank; set by it, ends names of files"},
      EnvVariable{"COX_SHARE", "", "group = the group may read the Run; else its owner alone (--share)"},
      EnvVariable{
          "COX_BATCH_JOB", "",
          "batch job that cox observe ran in; processes of another one, submitted from it, are not recorded"},
      EnvVariable{"COX_JOB", "", "the job's name where no batch system gives one; cox observe sets it"},
  };
  return kAll;
}

}  // namespace cox::observe
