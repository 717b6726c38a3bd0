// SPDX-License-Identifier: Apache-2.0
// A process that ends by _exit runs no destructor (Python's forked workers end so): what it has recorded is
// written out here. Async-signal-safe as _exit is: no lock, no allocation; a child of vfork is told by its number.
#include "guest/preload/exit.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

[[noreturn]] void end_with(const char* name, int status) {
  cox::guest::end_recording();
  // Whoever stands behind us has its turn.
  if (auto* next = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, name))) next(status);
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
[[gnu::visibility("default")]] void _exit(int status) {
  end_with("_exit", status);
}
[[gnu::visibility("default")]] void _Exit(int status) noexcept {
  end_with("_Exit", status);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
