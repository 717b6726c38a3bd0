// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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
#include <optional>

#include "cox/base/version.hpp"
#include "cox/trace/run_info.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPreload = "libcox-preload.so";
constexpr std::array kForwarded = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

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

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

std::string job_name() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"})
    if (const char* value = environment(name)) return value;
  return {};
}

/// A word as a shell would need it to be typed.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
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
    if (fs::exists(place / kPreload, ec)) return fs::canonical(place / kPreload, ec);
  return fail(error(Errc::NotFound, "observe-002",
                    fmt::format("{} was not found in {}", kPreload, places.front().string()),
                    "run cox from its build or install folder, or reinstall it"));
}

/// Whether a folder looks like a Run that we made and so may be replaced.
bool is_own_run(const fs::path& dir) {
  std::error_code ec;
  if (fs::exists(dir / "run.json", ec)) return true;
  return std::ranges::any_of(fs::directory_iterator(dir, ec), [](const fs::directory_entry& e) {
    return e.path().extension() == ".coxraw" || e.path().extension() == ".cox";
  });
}

Status prepare_dir(const fs::path& dir, bool force) {
  std::error_code ec;
  if (fs::exists(dir, ec)) {
    const bool empty = fs::is_directory(dir, ec) && fs::is_empty(dir, ec);
    if (!empty && !force)
      return fail(error(Errc::InvalidInput, "observe-001", fmt::format("{} exists already", dir.string()),
                        "choose another folder with -o, or add --force to replace that Run"));
    if (!empty && (!fs::is_directory(dir, ec) || !is_own_run(dir)))
      return fail(error(Errc::InvalidInput, "observe-001",
                        fmt::format("{} exists and is no Run: not replaced", dir.string()),
                        "choose another folder with -o"));
    if (!empty) fs::remove_all(dir, ec);
  }
  fs::create_directories(dir, ec);
  if (ec)
    return fail(error(Errc::Io, "observe-005",
                      fmt::format("{} cannot be made: {}", dir.string(), ec.message()),
                      "choose another folder with -o"));
  return {};
}

/// The child's variables: ours are added, what the user set stays.
void set_environment(const fs::path& preload, const fs::path& dir, const std::optional<Bytes>& max_size) {
  const char* before = environment("LD_PRELOAD");
  const std::string chain =
      before == nullptr ? preload.string() : fmt::format("{}:{}", before, preload.string());
  setenv("LD_PRELOAD", chain.c_str(), 1);  // theirs stays first
  setenv(kEnvDir, dir.c_str(), 1);         // typed as -o, or chosen for this run
  if (max_size) setenv(kEnvMaxSize, std::to_string(max_size->count()).c_str(), 1);
}

/// Restores what we changed for ourselves; runs between fork and exec.
[[noreturn]] void exec_child(const std::vector<std::string>& command, const sigset_t& mask, int report) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(argv[0], argv.data());
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = write(report, &reason, sizeof reason);
  _exit(127);
}

/// Waits for the child while signals that arrive for us go to it. Signals are blocked and taken one by one,
/// so no handler runs and nothing is lost.
int wait_forwarding(pid_t child, const sigset_t& watched) {
  for (;;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&watched, &info);
    if (signal == SIGCHLD || signal < 0) {
      int status = 0;
      const pid_t done = waitpid(child, &status, WNOHANG);
      if (done == child) return status;
      continue;
    }
    // A terminal sends its signals to the whole group, the child included; others are ours alone to pass on.
    const bool from_terminal = info.si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
    if (!from_terminal) kill(child, signal);
  }
}

Result<int> run_child(const LaunchOptions& options, const fs::path& preload, const fs::path& dir) {
  sigset_t watched;
  sigset_t before;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int signal : kForwarded) sigaddset(&watched, signal);
  ::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, no end of the child would be seen
  sigprocmask(SIG_BLOCK, &watched, &before);

  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0)
    return fail(
        error(Errc::Io, "observe-005", fmt::format("no pipe: {}", std::strerror(errno)), "check limits"));
  const pid_t child = fork();
  if (child == 0) {
    set_environment(preload, dir, options.max_size);
    exec_child(options.command, before, report[1]);
  }
  close(report[1]);
  if (child < 0) {
    const int reason = errno;
    close(report[0]);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return fail(
        error(Errc::Io, "observe-005", fmt::format("no process: {}", std::strerror(reason)), "check limits"));
  }
  int reason = 0;
  ssize_t n = 0;
  do n = read(report[0], &reason, sizeof reason);
  while (n < 0 && errno == EINTR);
  close(report[0]);
  const int status = wait_forwarding(child, watched);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (n != sizeof reason) return status;
  const std::string& name = options.command.front();
  if (reason == ENOENT)
    return fail(error(Errc::NotFound, "observe-003", fmt::format("{}: command not found", name),
                      "check the spelling and PATH"));
  return fail(error(Errc::Io, "observe-004", fmt::format("{}: {}", name, std::strerror(reason)),
                    "check that it is an executable program"));
}

}  // namespace

fs::path default_run_dir() {
  const std::string job = job_name();
  return fmt::format("cox-{}-{}", job.empty() ? std::to_string(getpid()) : job, utc("%Y%m%dT%H%M%SZ"));
}

Result<LaunchOutcome> launch(const LaunchOptions& options) {
  COX_TRY(const fs::path preload, find_preload(options.guest_dir));
  const fs::path dir = fs::absolute(options.out.empty() ? default_run_dir() : options.out);
  const bool made = [&] {
    std::error_code ec;
    return !fs::exists(dir, ec);
  }();
  COX_CHECK(prepare_dir(dir, options.force));

  trace::RunInfo info;
  info.name = dir.filename().string();
  for (const std::string& word : options.command)
    info.command += (info.command.empty() ? "" : " ") + quoted(word);
  info.tool = "cox " COX_VERSION;
  info.started = utc("%Y-%m-%dT%H:%M:%SZ");
  info.job = job_name();
  COX_CHECK(trace::write_run_info(dir, info));

  const auto start = std::chrono::steady_clock::now();
  Result<int> status = run_child(options, preload, dir);
  const auto wall = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start);
  if (!status) {
    std::error_code ec;
    if (made) fs::remove_all(dir, ec);  // nothing ran: leave nothing behind
    return fail(status.error());
  }
  LaunchOutcome outcome;
  outcome.dir = dir;
  outcome.wall = wall;
  outcome.signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
  outcome.exit_status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + outcome.signal;
  info.exit_status = outcome.exit_status;
  // The job has ended and its status is what counts: where this cannot be written the first run.json stays.
  static_cast<void>(trace::write_run_info(dir, info));
  return outcome;
}

}  // namespace cox::observe
