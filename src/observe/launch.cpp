// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <utility>

#include "cox/base/child.hpp"
#include "cox/base/hash.hpp"
#include "cox/base/processes.h"
#include "cox/base/units_text.hpp"
#include "cox/base/version.hpp"
#include "cox/guest/pace_text.hpp"
#include "cox/guest/writer.hpp"
#include "cox/observe/stand_by.hpp"
#include "cox/trace/run_info.hpp"

#include "observe/blank_free.hpp"
#include "observe/end_witness.hpp"
#include "observe/energy.hpp"
#include "observe/guest_names.hpp"
#include "observe/guest_trial.hpp"
#include "observe/launch_environment.hpp"
#include "observe/launch_folder.hpp"
#include "observe/library_paths.hpp"
#include "observe/optional_mpi.hpp"
#include "observe/redact.hpp"
#include "observe/signal_witness.hpp"
#include "observe/wait_mode.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

constexpr std::array kForwarded = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
// These end a process as well, and so do the real-time signals. Not among them: those of a fault (SIGSEGV and
// its like), which cannot wait.
constexpr std::array kEnding = {SIGABRT, SIGALRM,   SIGIO,     SIGPIPE, SIGPROF,
                                SIGPWR,  SIGSTKFLT, SIGVTALRM, SIGXCPU, SIGXFSZ};

Error error(Errc code, const char* id, std::string message, std::string hint) {
  return Error{.code = code, .id = id, .message = std::move(message), .hint = std::move(hint), .where = {}};
}

std::string utc(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

std::string job_name() {
  const char* id = guest::batch_job();
  return id != nullptr ? id : "";
}

/// Whether the environment switches observing off.
bool is_disabled(const Environment& now) {
  const auto at = now.find(kEnvDisable);
  return at != now.end() && at->second == "1";
}

/// A program of the command that would take our object for an MPI library.
std::optional<OptionalMpi> misled_program(const LaunchOptions& options, const Environment& now) {
  return looks_for_mpi(options.command, LibraryPaths(options.system_root, {now.begin(), now.end()}));
}

/// Whether the job starts as it would without us: nothing of ours in its environment.
bool stays_untouched(const LaunchOptions& options, const Environment& now, const fs::path& preload) {
  return is_disabled(now) || misled_program(options, now).has_value() ||
         why_not_loadable(preload).has_value();
}

Error forbidden(const LaunchOptions& options, std::string what, const char* hint) {
  return error(Errc::InvalidInput, "observe-010",
               fmt::format("{}: {}", options.policy_file.string(), std::move(what)), hint);
}

/// The size that a guest is told: as asked for by flag or variable, at most what the policy allows.
std::optional<Bytes> size_limit(const LaunchOptions& options, const guest::AdminPolicy& policy,
                                const Environment& now) {
  std::optional<Bytes> asked = options.max_size;
  if (const auto at = now.find(kEnvMaxSize); !asked && at != now.end())
    if (const std::int64_t bytes = std::strtoll(at->second.c_str(), nullptr, 10); bytes > 0)
      asked = Bytes{bytes};
  if (policy.max_size_bytes == 0) return options.max_size;
  const Bytes most{static_cast<std::int64_t>(std::min<std::uint64_t>(policy.max_size_bytes, INT64_MAX))};
  return std::min(asked.value_or(Bytes{static_cast<std::int64_t>(guest::WriterOptions{}.max_bytes)}), most);
}

/// Whether the administrator lets this job run as it was asked for.
Status check_policy(const LaunchOptions& options, const guest::AdminPolicy& policy, const fs::path& dir) {
  constexpr const char* kAsk = "ask who administers this machine";
  if (policy.trouble != nullptr)
    return fail(
        forbidden(options,
                  policy.line > 0 ? fmt::format("line {}: {}", policy.line, policy.trouble)
                                  : std::string(policy.trouble),
                  "a policy that cannot be obeyed forbids everything: the administrator must mend it"));
  const Environment now = current_environment();
  const auto in_environment = now.find(kEnvPace);
  const std::string pace =
      !options.pace.empty() || in_environment == now.end() ? options.pace : in_environment->second;
  const bool paces = (!pace.empty() && pace != "off" && !pace.starts_with("off,")) || options.pace_priority ||
                     options.energy_cap.has_value();
  if (!policy.pacing && paces) return fail(forbidden(options, "pacing is forbidden on this machine", kAsk));
  std::error_code ec;
  const fs::path real = fs::weakly_canonical(dir, ec);
  if (ec || !guest::allows_folder(policy, real.c_str())) {
    std::string allowed;
    for (std::size_t i = 0; i < policy.folder_count; ++i)
      allowed += (i > 0 ? ", " : "") + std::string(policy.folders[i]);
    return fail(forbidden(options,
                          fmt::format("{} is no folder for Runs, expected one in {}", dir.string(), allowed),
                          "choose one of them with -o"));
  }
  return {};
}

Result<fs::path> find_preload(const fs::path& wanted) {
  std::error_code ec;
  std::vector<fs::path> places;
  if (!wanted.empty()) {
    places = {wanted};
  } else {
    const fs::path own = fs::read_symlink("/proc/self/exe", ec).parent_path();
    places = {own, own / ".." / "lib" / "cox", own / ".." / "lib64" / "cox"};
  }
  for (const fs::path& place : places)
    if (fs::exists(place / kPreload, ec))
      return loadable(fs::canonical(place / kPreload, ec), current_environment());
  return fail(error(Errc::NotFound, "observe-002",
                    fmt::format("{} was not found in {}", kPreload, places.front().string()),
                    "run cox from its build or install folder, or reinstall it"));
}

WaitPlan wait_plan(const LaunchOptions& options, const Environment& now) {
  if (options.wait_mode == pace::WaitMode::Unknown) return {};
  return plan_wait_mode(options.wait_mode, options.command, now, open_mpi_settings(options.command, now),
                        LibraryPaths(options.system_root, {now.begin(), now.end()}));
}

/// What actuators other than the delay need of the environment.
std::vector<std::pair<std::string, std::string>> actuator_variables(const LaunchOptions& options,
                                                                    const Environment& now) {
  std::vector<std::pair<std::string, std::string>> out = wait_plan(options, now).variables;
  if (options.pace_priority && now.find(kEnvPacePriority) == now.end())
    out.emplace_back(kEnvPacePriority, "1");
  return out;
}

/// The settings with a seed, the same for all ranks, where they name none: every job tosses its own coin, else all
/// jobs of a site would pace the same blocks.
std::string with_own_seed(const std::string& pace, bool one_of_many) {
  if (pace.starts_with("seed=") || pace.find(",seed=") != std::string::npos) return pace;
  const std::string name = one_of_many ? launch_key(*guest::find_launcher())
                                       : fmt::format("{}-{}", getpid(), utc("%Y%m%dT%H%M%SZ"));
  const std::string seeded =
      fmt::format("{}{}seed={}", pace, pace.ends_with(',') ? "" : ",", 1 + fnv1a(name) % 1'000'000'000);
  return seeded.size() > guest::kLongestPaceText ? pace : seeded;
}

/// Variables for the child: ours are added, what the user set stays.
std::vector<std::pair<std::string, std::string>> added_variables(const LaunchOptions& options,
                                                                 const fs::path& preload, const fs::path& dir,
                                                                 std::optional<Bytes> max_size,
                                                                 bool one_of_many) {
  const Environment now = current_environment();
  const auto before = now.find("LD_PRELOAD");
  std::vector<std::pair<std::string, std::string>> out = actuator_variables(options, now);
  out.emplace_back("LD_PRELOAD", preload_chain(before == now.end() ? std::string_view{} : before->second,
                                               preload.string()));
  out.emplace_back(kEnvDir, dir.string());  // typed as -o, or chosen for this run
  if (auto asan = sanitizer_options(options.command, now)) out.emplace_back("ASAN_OPTIONS", *std::move(asan));
  if (max_size) out.emplace_back(kEnvMaxSize, std::to_string(max_size->count()));
  if (options.max_job_size) out.emplace_back(kEnvMaxJobSize, std::to_string(options.max_job_size->count()));
  if (options.group_may_read) out.emplace_back(kEnvShare, "group");
  if (options.sync_seconds) out.emplace_back(kEnvSync, std::to_string(*options.sync_seconds));
  if (!options.keeper_cpus.empty()) out.emplace_back(kEnvKeeperCpus, options.keeper_cpus);
  out.emplace_back(kEnvBatchJob, guest::owning_batch_job());
  if (!options.pace.empty()) out.emplace_back(kEnvPace, with_own_seed(options.pace, one_of_many));
  if (one_of_many) {
    out.emplace_back(kEnvObserver, std::to_string(getpid()));
    return out;
  }
  if (guest::batch_job() == nullptr && now.find(kEnvJob) == now.end())
    out.emplace_back(kEnvJob, fmt::format("{}-{}", getpid(), utc("%Y%m%dT%H%M%SZ")));
  std::vector<std::string> names;
  for (const auto& [name, value] : out)
    if (!name.starts_with("OMPI_MCA_")) names.push_back(name);  // its launcher forwards its own
  for (const char* name : {kEnvMaxSize, kEnvMaxJobSize, kEnvMaxOverhead, kEnvDisable, kEnvClock, kEnvPace,
                           kEnvPacePriority, kEnvJob, kEnvShare, kEnvSync, kEnvKeeperCpus})
    if (now.find(name) != now.end() && std::ranges::find(names, name) == names.end())
      names.emplace_back(name);
  if (auto list = forward_list(options.command, now, open_mpi_settings(options.command, now), names))
    out.emplace_back("OMPI_MCA_mca_base_env_list", *std::move(list));
  return out;
}

/// Restores what we changed for ourselves; runs between fork and exec. A launcher that kills its rank kills
/// `cox`; the program is the rank, so it must not stay behind.
[[noreturn]] void exec_child(const std::vector<std::string>& command, const sigset_t& mask, int report,
                             pid_t dies_with) {
  if (dies_with > 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != dies_with)) _exit(127);
  const std::vector<char*> argv = argument_list(command);
  restore_child_signal();
  restore_failures();
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(argv[0], argv.data());
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = write(report, &reason, sizeof reason);
  _exit(127);
}

/// The end of the child, and every signal that could end us before it: what was set for the job is put back.
sigset_t signals_to_watch() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int signal : kForwarded) sigaddset(&watched, signal);
  for (const int signal : kEnding)
    if (would_end_us(signal)) sigaddset(&watched, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
    if (would_end_us(signal)) sigaddset(&watched, signal);
  return watched;
}

/// What came to us while the child ran.
struct Signalled {
  bool at_all = false;
  ToldToEnd to_end;
};

/// Waits for the child while signals that arrive for us go to it. Signals are blocked and taken one by one,
/// so no handler runs and nothing is lost. What was sent to every process the child has already.
int wait_forwarding(pid_t child, const sigset_t& watched, SignalWitness& witness, Signalled& signalled) {
  for (;;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&watched, &info);
    if (signal == SIGCHLD || signal < 0) {
      int status = 0;
      const pid_t done = cox_wait_process(child, &status, WNOHANG);
      if (done == child) return status;
      continue;
    }
    signalled.at_all = true;
    // A terminal sends its signals to the whole group, the child included; others are ours alone to pass on.
    if (info.si_pid == getpid()) continue;  // of a file of ours that may not grow, or a reader that has gone
    const bool from_terminal = info.si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
    const bool has_it = from_terminal || witness.saw(info);
    signalled.to_end.hear(info, child, has_it);
    if (!has_it) cox_signal_process(child, signal);
  }
}

struct ChildEnd {
  int status = 0;
  std::string energy{};
  std::optional<Error> energy_problem{};
  SeenEnds seen{};
  Signalled signalled{};
};

/// Takes the caps off while signals still wait, and says how that went.
void end_cap(std::optional<EnergyCap>& cap, ChildEnd& end) {
  if (!cap) return;
  end.energy = cap->summary();
  if (const Status back = cap->restore(); !back) end.energy_problem = back.error();
  cap.reset();
}

/// `started` is called once the command runs. `dir`: of the Run.
Result<ChildEnd> run_child(const LaunchOptions& options, const fs::path& dir,
                           const std::vector<std::pair<std::string, std::string>>& variables,
                           bool one_of_many, const std::function<void()>& started) {
  const sigset_t watched = signals_to_watch();
  sigset_t before;
  hear_of_children();
  sigprocmask(SIG_BLOCK, &watched, &before);
  std::optional<EnergyCap> cap;
  if (options.energy_cap) {
    Result<EnergyCap> made = EnergyCap::apply(options.system_root, *options.energy_cap);
    if (!made) {
      sigprocmask(SIG_SETMASK, &before, nullptr);
      return fail(made.error());
    }
    cap.emplace(*std::move(made));
  }

  SignalWitness witness(watched);  // before the pipe, whose end it would hold open
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    const int reason = errno;
    cap.reset();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return fail(
        error(Errc::Io, "observe-005", fmt::format("no pipe: {}", std::strerror(reason)), "check limits"));
  }
  std::optional<EndWitness> ends;
  if (!one_of_many && !variables.empty()) ends.emplace(dir);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    exec_child(options.command, before, report[1], one_of_many ? self : 0);
  }
  close(report[1]);
  if (child < 0) {
    const int reason = errno;
    close(report[0]);
    cap.reset();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return fail(
        error(Errc::Io, "observe-005", fmt::format("no process: {}", std::strerror(reason)), "check limits"));
  }
  int reason = 0;
  ssize_t n = 0;
  do n = read(report[0], &reason, sizeof reason);
  while (n < 0 && errno == EINTR);
  close(report[0]);
  if (n != sizeof reason) {
    started();
    if (options.lets_go && guest::find_launcher() == nullptr)
      let_go_of_inherited();  // a launcher watches its ranks' descriptors
  }
  if (ends) ends->start();
  ChildEnd end;
  end.status = wait_forwarding(child, watched, witness, end.signalled);
  if (ends) end.seen = ends->stop();
  end_cap(cap, end);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (n != sizeof reason) return end;
  const std::string& name = options.command.front();
  if (reason == ENOENT)
    return fail(error(Errc::NotFound, "observe-003", fmt::format("{}: command not found", name),
                      "check the spelling and PATH"));
  return fail(error(Errc::Io, "observe-004", fmt::format("{}: {}", name, std::strerror(reason)),
                    "check that it is an executable program"));
}

/// As it is given where there is no current folder any more.
fs::path whole_path(const fs::path& path) {
  std::error_code ec;
  fs::path whole = fs::absolute(path, ec);
  return ec ? path : whole;
}

/// The folder as asked for; where a launcher started us, all of its ranks have to arrive at one name.
Result<fs::path> choose_dir(const LaunchOptions& options, const guest::Launcher* launcher) {
  if (launcher == nullptr) return whole_path(options.out.empty() ? default_run_dir() : options.out);
  if (options.force)
    return fail(error(Errc::Usage, "observe-006",
                      fmt::format("--force cannot be used where {} starts cox once per rank", launcher->name),
                      "choose another folder with -o, or remove that Run before the job"));
  if (!options.out.empty()) return whole_path(options.out);
  std::string key = launch_key(*launcher);
  const std::size_t space = key.find(' ');
  if (space == std::string::npos)
    return fail(error(Errc::Usage, "observe-006",
                      fmt::format("{} started cox once per rank and gives the job no name", launcher->name),
                      "name a folder for all ranks with -o"));
  std::ranges::replace(key, ' ', '-');
  std::ranges::replace(key, '/', '_');
  return whole_path("cox-" + key);
}

trace::RunInfo describe(const LaunchOptions& options, const fs::path& dir) {
  trace::RunInfo info;
  info.name = dir.filename().string();
  const Redacted command = redact(options.command);
  info.redacted = command.count;
  for (const std::string& word : command.words)
    info.command += (info.command.empty() ? "" : " ") + shell_word(word);
  info.tool = "cox " COX_VERSION;
  info.started = utc("%Y-%m-%dT%H:%M:%SZ");
  info.job = job_name();
  return info;
}

trace::RankEnd rank_end(const LaunchOutcome& outcome) {
  std::timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return {.rank = outcome.rank,
          .exit_status = outcome.exit_status,
          .signal = outcome.signal,
          .realtime_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
}

}  // namespace

std::vector<std::string> start_notes(const LaunchOptions& options) {
  const Environment now = current_environment();
  if (is_disabled(now)) return {"COX_DISABLE=1: nothing is recorded, and the job starts as without cox"};
  std::vector<std::string> notes;
  if (const auto found = misled_program(options, now))
    notes.push_back(fmt::format(
        "{} looks for an MPI library by {} and is linked to none; it would find cox in its place, so "
        "nothing is preloaded and nothing recorded",
        found->object, found->how));
  if (const auto preload = find_preload(options.guest_dir)) {
    if (const auto why = why_not_loadable(*preload))
      notes.push_back(fmt::format("{} does not load here, so nothing is preloaded and nothing recorded: {}",
                                  preload->filename().string(), *why));
    else if (std::ranges::none_of(kLibraryGuests, [&](const char* name) {
               std::error_code ec;
               return fs::exists(preload->parent_path() / name, ec);
             }))
      notes.push_back(fmt::format(
          "{} lies alone in {}, without the objects for MPI and Gloo: only what a program marks itself is recorded",
          kPreload, preload->parent_path().string()));
  }
  guest::AdminPolicy policy;
  guest::read_policy(options.policy_file.c_str(), policy);
  const std::optional<Bytes> size = size_limit(options, policy, now);
  const Bytes least{static_cast<std::int64_t>(guest::kLeastFileBytes)};
  if (options.max_size && size && *size < *options.max_size)
    notes.push_back(fmt::format("--max-size {}: {} allows {}", to_string(*options.max_size),
                                options.policy_file.string(), to_string(*size)));
  if (size && *size < least)
    notes.push_back(fmt::format("at most {} per process was asked for; the least is {}, which is used",
                                to_string(*size), to_string(least)));
  if (options.max_job_size && *options.max_job_size < least)
    notes.push_back(
        fmt::format("at most {} per job was asked for; the least is {} for each process, which is used",
                    to_string(*options.max_job_size), to_string(least)));
  if (const int count = redact(options.command).count; count > 0)
    notes.push_back(fmt::format("{} of the command look{} like a secret and {} not kept in run.json",
                                count == 1 ? "1 value" : fmt::format("{} values", count),
                                count == 1 ? "s" : "", count == 1 ? "is" : "are"));
  return notes;
}

LaunchPlace launch_place() {
  const guest::LauncherPlace place = guest::place_of(guest::find_launcher());
  return {.rank = place.rank, .world_size = place.world_size};
}

std::vector<std::string> wait_mode_notes(const LaunchOptions& options) {
  return wait_plan(options, current_environment()).notes;
}

fs::path default_run_dir() {
  const std::string job = job_name();
  return fmt::format("cox-{}-{}", job.empty() ? std::to_string(getpid()) : job, utc("%Y%m%dT%H%M%SZ"));
}

Result<LaunchOutcome> launch(const LaunchOptions& options) {
  ignore_own_failures();
  COX_TRY(const fs::path preload, find_preload(options.guest_dir));
  const guest::Launcher* launcher = guest::find_launcher();
  const guest::LauncherPlace place = guest::place_of(launcher);
  const bool one_of_many = is_one_of_many(place);
  if (one_of_many && options.energy_cap)
    return fail(
        error(Errc::Usage, "observe-006",
              fmt::format("--energy-cap cannot be used where {} starts cox once per rank", launcher->name),
              "put cox observe before the launcher: then it caps the host where it runs"));
  COX_TRY(const fs::path dir, choose_dir(options, one_of_many ? launcher : nullptr));
  guest::AdminPolicy policy;
  guest::read_policy(options.policy_file.c_str(), policy);
  COX_CHECK(check_policy(options, policy, dir));
  const Rights rights = options.group_may_read ? Rights::Group : Rights::Owner;
  trace::RunInfo info = describe(options, dir);
  std::error_code ec;
  const bool made = !fs::exists(dir, ec);
  std::vector<fs::path> old;
  if (one_of_many) {
    info.launch = launch_key(*launcher);
    COX_CHECK(join_folder(dir, info, *launcher, rights));
  } else {
    COX_TRY(old, make_folder(dir, info, options.force, rights));
  }

  const bool untouched = stays_untouched(options, current_environment(), preload);
  std::vector<std::pair<std::string, std::string>> variables;
  if (!untouched)
    variables = added_variables(options, preload, dir, size_limit(options, policy, current_environment()),
                                one_of_many);
  const auto start = std::chrono::steady_clock::now();
  const Result<ChildEnd> end = run_child(options, dir, variables, one_of_many, [&] {
    // Where that cannot be written the job runs all the same: the Run then lacks its run.json.
    if (!old.empty()) static_cast<void>(replace_run(old, dir, info, rights));
  });
  const auto wall = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start);
  if (!end) {
    if (made && !one_of_many) unmake_folder(dir);
    return fail(end.error());
  }
  LaunchOutcome outcome;
  outcome.dir = dir;
  outcome.wall = wall;
  outcome.energy = end->energy;
  outcome.energy_problem = end->energy_problem;
  outcome.untouched = untouched;
  outcome.signal = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0;
  outcome.exit_status = exit_status_of(end->status);
  // From here on the job's status is what counts: where something cannot be written, what is there stays.
  if (one_of_many) {
    outcome.rank = place.rank;
    outcome.world_size = place.world_size;
    if (outcome.exit_status != 0) static_cast<void>(trace::append_rank_end(dir, rank_end(outcome), rights));
    return outcome;
  }
  outcome.hint = forwarding_hint(options.command, current_environment());
  info.exit_status = outcome.exit_status;
  info.signal = outcome.signal;
  if (outcome.exit_status != 0) info.told = end->signalled.to_end.ended(end->status);
  if (info.told > 0) info.told_before_s = static_cast<int>(end->signalled.to_end.age().count());
  outcome.began = static_cast<std::int64_t>(end->seen.began.size());
  outcome.unwritten = info.unwritten = unwritten_ranks(dir, end->seen);
  static_cast<void>(trace::write_run_info(dir, info, rights));
  // Whoever signals a job from outside ends all of its ranks; which of them is first means nothing.
  if (outcome.exit_status != 0 && !end->signalled.at_all)
    if (const auto first = first_end(dir, end->seen))
      static_cast<void>(trace::append_rank_end(dir, *first, rights));
  return outcome;
}

}  // namespace cox::observe
