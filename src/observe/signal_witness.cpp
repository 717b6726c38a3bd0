// SPDX-License-Identifier: Apache-2.0
#include "observe/signal_witness.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

#include "cox/base/processes.h"
#include "cox/observe/stand_by.hpp"

namespace cox::observe {
namespace {

/// Who signals many processes does it one after the other.
constexpr std::chrono::milliseconds kPatience{100};
constexpr std::time_t kForgottenAfterSeconds = 2;

struct Told {
  int signal;
  pid_t sender;
};

std::time_t now_s() {
  std::timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

/// Holds nothing of the job open, and never outlives us.
[[noreturn]] void watch(const sigset_t& watched, int tell, pid_t ours) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != ours) _exit(0);
  prctl(PR_SET_NAME, "cox-witness");
  let_go_of_inherited();
  close(STDERR_FILENO);
  for (;;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&watched, &info);
    if (signal <= 0 || signal == SIGCHLD) continue;
    const Told told{signal, info.si_pid};
    [[maybe_unused]] const ssize_t written = write(tell, &told, sizeof told);
  }
}

constexpr std::array kAsksToEnd{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::chrono::seconds kGrace{300};
constexpr std::chrono::seconds kGraceOfIgnored{10};

/// 0 where that process is gone or may not be seen.
pid_t parent_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return 0;
  const std::size_t name = line.rfind(')');  // which may hold anything
  if (name == std::string::npos) return 0;
  std::istringstream rest(line.substr(name + 1));
  char state = 0;
  pid_t parent = 0;
  return rest >> state >> parent ? parent : 0;
}

bool is_gone(pid_t process) {
  return cox_signal_process(process, 0) != 0 && errno == ESRCH;
}

bool is_of(pid_t process, pid_t job) {
  constexpr int kDeepest = 64;
  for (int i = 0; i < kDeepest && process > 1; ++i, process = parent_of(process))
    if (process == job) return true;
  return false;
}

}  // namespace

SignalWitness::SignalWitness(const sigset_t& watched) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  const pid_t ours = getpid();
  process_ = fork();
  if (process_ == 0) watch(watched, ends[1], ours);
  close(ends[1]);
  if (process_ > 0)
    pipe_ = ends[0];
  else
    close(ends[0]);
}

SignalWitness::~SignalWitness() {
  if (process_ <= 0) return;
  cox_signal_process(process_, SIGKILL);
  cox_wait_process(process_, nullptr, 0);
  close(pipe_);
}

void SignalWitness::read_all() {
  Told told{};
  while (read(pipe_, &told, sizeof told) == static_cast<ssize_t>(sizeof told))
    seen_.push_back({told.signal, told.sender, now_s()});
  std::erase_if(seen_, [now = now_s()](const Seen& s) { return s.at_s + kForgottenAfterSeconds < now; });
}

bool SignalWitness::take(const siginfo_t& info) {
  read_all();
  const auto at = std::ranges::find_if(
      seen_, [&](const Seen& s) { return s.signal == info.si_signo && s.sender == info.si_pid; });
  if (at == seen_.end()) return false;
  seen_.erase(at);
  return true;
}

bool SignalWitness::saw(const siginfo_t& info) {
  if (process_ <= 0) return false;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    if (take(info)) return true;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd wait{.fd = pipe_, .events = POLLIN, .revents = 0};
    poll(&wait, 1, static_cast<int>(left.count()));
    if ((wait.revents & (POLLHUP | POLLERR)) != 0 && (wait.revents & POLLIN) == 0) return false;
  }
}

ToldToEnd::ToldToEnd() {
  sigemptyset(&ignored_);
  for (const int signal : kAsksToEnd) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) sigaddset(&ignored_, signal);
  }
}

void ToldToEnd::hear(const siginfo_t& info, pid_t job, bool all, Clock::time_point now) {
  const int signal = info.si_signo;
  if (std::ranges::find(kAsksToEnd, signal) == kAsksToEnd.end()) return;
  const bool by_process = info.si_code != SI_KERNEL && info.si_pid > 0;
  if (by_process && (is_of(info.si_pid, job) || (all && is_gone(info.si_pid)))) return;
  signal_ = signal;
  at_ = now;
}

int ToldToEnd::ended(int status, Clock::time_point now) const {
  constexpr int kAsAfterSignal = 128;
  const bool says_so = (WIFSIGNALED(status) && WTERMSIG(status) == signal_) ||
                       (WIFEXITED(status) && WEXITSTATUS(status) == kAsAfterSignal + signal_);
  if (signal_ == 0 || says_so) return signal_;
  return age(now) <= (sigismember(&ignored_, signal_) == 1 ? kGraceOfIgnored : kGrace) ? signal_ : 0;
}

std::chrono::seconds ToldToEnd::age(Clock::time_point now) const {
  return std::chrono::duration_cast<std::chrono::seconds>(now - at_);
}

}  // namespace cox::observe
