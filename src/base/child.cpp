// SPDX-License-Identifier: Apache-2.0
#include "cox/base/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "cox/base/parallel.hpp"
#include "cox/base/processes.h"

extern char** environ;

namespace cox {
namespace {

constexpr double kAskedMs = 200;  ///< between two questions whether to stop

Seconds now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Seconds{static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9};
}

Seconds span_of(const timeval& t) {
  return Seconds{static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6};
}

/// SIGCHLD as it was before `hear_of_children`.
struct sigaction inherited {};
std::once_flag heard;

/// A file that is read from its beginning and lies nowhere; -1 with errno where there is none.
int readable(const std::string& text) {
  const int fd = memfd_create("cox-input", MFD_CLOEXEC);
  if (fd < 0) return fd;
  if (write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && lseek(fd, 0, SEEK_SET) == 0)
    return fd;
  close(fd);
  return -1;
}

/// A process that is killed and waited for unless somebody did so.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (out_ >= 0) close(out_);
    if (id_ > 0) {
      cox_signal_process(id_, SIGKILL);
      cox_wait_process(id_, nullptr, 0);
    }
  }
  /// An errno value, or 0.
  [[nodiscard]] int start(const std::vector<std::string>& command, const ChildLimits& limits) {
    const int in = limits.input.empty() ? -1 : readable(limits.input);
    if (in < 0 && !limits.input.empty()) return errno;
    hear_of_children();
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      const int problem = errno;
      if (in >= 0) close(in);
      return problem;
    }
    out_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (in >= 0)
      posix_spawn_file_actions_adddup2(&actions, in, 0);
    else
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (limits.errors == ChildLimits::Errors::Nowhere)
      posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const std::vector<char*> words = argument_list(command);
    const int problem = posix_spawnp(&id_, words[0], &actions, nullptr, words.data(), environ);
    if (problem != 0) id_ = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (in >= 0) close(in);
    return problem;
  }
  [[nodiscard]] int out() const { return out_; }
  void ask_to_end() const { cox_signal_process(id_, SIGTERM); }
  /// Whether it has ended; what it left.
  bool has_ended(Ended& ended) {
    int status = 0;
    rusage used{};
    if (cox_wait_process_usage(id_, &status, WNOHANG, &used) != id_) return false;
    id_ = 0;
    ended.status = exit_status_of(status);
    ended.user = span_of(used.ru_utime);
    ended.system = span_of(used.ru_stime);
    ended.peak_memory = Bytes{std::int64_t{used.ru_maxrss} * 1024};
    return true;
  }

 private:
  pid_t id_ = 0;
  int out_ = -1;
};

}  // namespace

void hear_of_children() {
  std::call_once(heard, [] {
    struct sigaction told {};
    told.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, nullptr, &inherited);
    if (inherited.sa_handler == SIG_IGN || (inherited.sa_flags & SA_NOCLDWAIT) != 0)
      ::sigaction(SIGCHLD, &told, nullptr);
  });
}

void restore_child_signal() {
  if (inherited.sa_handler == SIG_IGN || (inherited.sa_flags & SA_NOCLDWAIT) != 0)
    ::sigaction(SIGCHLD, &inherited, nullptr);
}

std::vector<char*> argument_list(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return words;
}

int exit_status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./#-";
  if (!word.empty() && word[0] != '#' && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "";
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(':'), left.size());
    if (access((std::filesystem::path(left.substr(0, end)) / program).c_str(), X_OK) == 0) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

Result<Ended> run_child(const std::vector<std::string>& command, std::string_view error_id,
                        const ChildLimits& limits) {
  const auto failed = [&](const std::string& what) {
    return fail(Error{.code = Errc::NotFound,
                      .id = std::string(error_id),
                      .message = fmt::format("{}: {}", command.front(), what),
                      .hint = "run it by hand to see what it says",
                      .where = {}});
  };
  const auto took_too_long = [&] {
    return failed(fmt::format("not done after {:g} s", limits.time.count()));
  };
  Process process;
  const Seconds begin = now();
  if (const int problem = process.start(command, limits); problem != 0) return failed(std::strerror(problem));
  Ended ended;
  std::array<char, 65536> part{};
  bool stopped = false;
  while (true) {
    const double left_ms = (begin + limits.time - now()).count() * 1000;
    pollfd wait{.fd = process.out(), .events = POLLIN, .revents = 0};
    const int ready =
        poll(&wait, 1, static_cast<int>(std::clamp(left_ms, 0.0, limits.stop ? kAskedMs : 1e9)));
    if (limits.stop && !stopped && limits.stop()) {
      stopped = true;
      process.ask_to_end();
    }
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left_ms > kAskedMs && limits.stop) continue;
    if (ready == 0) return took_too_long();
    const ssize_t got = read(process.out(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (ended.out.size() + static_cast<std::size_t>(got) > limits.out_bytes)
      return failed(fmt::format("printed more than {} bytes", limits.out_bytes));
    ended.out.append(part.data(), static_cast<std::size_t>(got));
    if (limits.hear) limits.hear({part.data(), static_cast<std::size_t>(got)});
  }
  while (!process.has_ended(ended)) {  // it may close its output and go on
    if (now() - begin > limits.time) return took_too_long();
    const timespec pause{.tv_sec = 0, .tv_nsec = 200'000};
    nanosleep(&pause, nullptr);
  }
  ended.wall = now() - begin;
  return ended;
}

Result<std::vector<Ended>> run_children(const std::vector<std::vector<std::string>>& commands,
                                        std::string_view error_id, const ChildLimits& limits) {
  std::vector<Result<Ended>> results(commands.size(), Ended{});
  parallel_for(commands.size(), static_cast<int>(commands.size()),
               [&](std::size_t i) { results[i] = run_child(commands[i], error_id, limits); });
  std::vector<Ended> all;
  for (Result<Ended>& r : results) {
    COX_TRY(Ended one, std::move(r));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace cox
