// SPDX-License-Identifier: Apache-2.0
#include "cox/observe/stand_by.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
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

using FileId = std::pair<dev_t, ino_t>;
FileId file_of(int fd) {
  struct stat found {};
  return fstat(fd, &found) == 0 ? FileId{found.st_dev, found.st_ino} : FileId{};
}

/// Whether this process holds a POSIX record lock by this descriptor: it came over exec and is nobody else's.
bool locks_records(int fd) {
  std::ifstream facts(fmt::format("/proc/self/fdinfo/{}", fd));
  for (std::string line; std::getline(facts, line);)
    if (line.starts_with("lock:") && line.find(" POSIX ") != std::string::npos) return true;
  return false;
}

std::vector<int> open_descriptors() {
  std::vector<int> open;
  if (DIR* all = opendir("/proc/self/fd"); all != nullptr) {
    while (const dirent* entry = readdir(all))
      if (const int fd = std::atoi(entry->d_name); entry->d_name[0] != '.' && fd != dirfd(all))
        open.push_back(fd);
    closedir(all);
  }
  return open;
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
  std::vector<int> inherited = open_descriptors();
  std::erase_if(inherited, [](int fd) { return !is_inherited(fd); });
  std::vector<FileId> locked;  // whatever descriptor of such a file is closed, the lock goes with it
  for (const int fd : inherited)
    if (locks_records(fd)) locked.push_back(file_of(fd));
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : inherited) {
    if (fd == STDERR_FILENO || std::ranges::find(locked, file_of(fd)) != locked.end()) continue;
    if (fd > STDERR_FILENO)
      close(fd);
    else if (nothing >= 0)
      dup2(nothing, fd);
  }
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
