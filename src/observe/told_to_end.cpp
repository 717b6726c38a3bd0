// SPDX-License-Identifier: Apache-2.0
#include "observe/told_to_end.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

namespace cox::observe {
namespace {

constexpr std::array kAsksToEnd{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::chrono::seconds kGrace{35};

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

bool is_of(pid_t process, pid_t job) {
  constexpr int kDeepest = 64;
  for (int i = 0; i < kDeepest && process > 1; ++i, process = parent_of(process))
    if (process == job) return true;
  return false;
}

}  // namespace

ToldToEnd::ToldToEnd() {
  sigemptyset(&ignored_);
  for (const int signal : kAsksToEnd) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) sigaddset(&ignored_, signal);
  }
}

void ToldToEnd::hear(const siginfo_t& info, pid_t job, Clock::time_point now) {
  const int signal = info.si_signo;
  if (std::ranges::find(kAsksToEnd, signal) == kAsksToEnd.end() || sigismember(&ignored_, signal) == 1)
    return;
  if (info.si_code != SI_KERNEL && is_of(info.si_pid, job)) return;
  signal_ = signal;
  at_ = now;
}

int ToldToEnd::ended(int status, Clock::time_point now) const {
  constexpr int kAsAfterSignal = 128;
  const bool says_so = (WIFSIGNALED(status) && WTERMSIG(status) == signal_) ||
                       (WIFEXITED(status) && WEXITSTATUS(status) == kAsAfterSignal + signal_);
  return says_so || now - at_ <= kGrace ? signal_ : 0;
}

}  // namespace cox::observe
