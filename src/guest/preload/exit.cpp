// SPDX-License-Identifier: Apache-2.0
// A process that ends by _exit runs no destructor (Python's forked workers end so): what it has recorded is
// written out here. Async-signal-safe as _exit is: no lock (dlsym takes the loader's), no allocation; a child of vfork is
// told by its number.
#include "guest/preload/exit.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using Exit = void (*)(int);
Exit next_exit = nullptr;  // whoever stands behind us, of a process that records
Exit next_capital_exit = nullptr;

[[noreturn]] void end_with(Exit next, int status) {
  cox::guest::end_recording();
  if (next != nullptr) next(status);
  for (;;) syscall(SYS_exit_group, status);  // all that the library's own does
}

}  // namespace

namespace cox::guest {

void find_exits() noexcept {
  next_exit = reinterpret_cast<Exit>(dlsym(RTLD_NEXT, "_exit"));
  next_capital_exit = reinterpret_cast<Exit>(dlsym(RTLD_NEXT, "_Exit"));
}

}  // namespace cox::guest

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
[[gnu::visibility("default")]] void _exit(int status) {
  end_with(next_exit, status);
}
[[gnu::visibility("default")]] void _Exit(int status) noexcept {
  end_with(next_capital_exit, status);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
