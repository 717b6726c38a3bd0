// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/stand_by.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "cox/base/processes.h"

namespace cox::observe {
namespace {

struct Ignored {
  int signal = 0;
  bool known = false;
  struct sigaction before {};
};
std::array<Ignored, 2> ignored{{{.signal = SIGXFSZ}, {.signal = SIGPIPE}}};

bool is_inherited(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

}  // namespace

void ignore_own_failures() {
  struct sigaction none {};
  none.sa_handler = SIG_IGN;
  for (Ignored& i : ignored) {
    struct sigaction found {};
    ::sigaction(i.signal, &none, &found);
    if (found.sa_handler != SIG_IGN || !i.known)
      i.before = found;  // asked again, it is our own that is found
    i.known = true;
  }
}

void restore_failures() {
  for (const Ignored& i : ignored)
    if (i.known) ::sigaction(i.signal, &i.before, nullptr);
}

bool would_end_us(int signal) {
  for (const Ignored& i : ignored)
    if (i.known && i.signal == signal) return i.before.sa_handler == SIG_DFL;
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

void let_go_of_inherited() {
  std::vector<int> open;
  if (DIR* all = opendir("/proc/self/fd"); all != nullptr) {
    while (const dirent* entry = readdir(all)) open.push_back(std::atoi(entry->d_name));
    closedir(all);
  }
  for (const int fd : open)
    if (fd > STDERR_FILENO && is_inherited(fd)) close(fd);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (is_inherited(fd)) dup2(nothing, fd);  // where it was closed, a descriptor of ours may lie there
  if (nothing > STDERR_FILENO) close(nothing);
}

void end_by(int signal) {
  if (signal <= 0) return;
  constexpr rlimit kNoCore{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &kNoCore);
  prctl(PR_SET_DUMPABLE, 0);  // a core that goes to a program knows no limit of size
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  cox_signal_process(getpid(), signal);
}

}  // namespace cox::observe
