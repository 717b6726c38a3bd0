// SPDX-License-Identifier: Apache-2.0
/// \file
/// What happens in a child of fork, with any C library.
#pragma once

#include <dlfcn.h>

#include <cerrno>

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the compiler's
extern "C" void* __dso_handle __attribute__((visibility("hidden")));

namespace cox::guest {

/// Has `child` called in every child that this process forks. By name: glibc keeps pthread_atfork in a part that is linked
/// statically and needs what musl lacks, and an object with a symbol that is not there ends its process at load.
/// Returns 0 or an errno. Any thread. Held by: e2e/hostile/other_c_library
inline int at_fork_in_child(void (*child)()) noexcept {
  using Handler = void (*)();
  if (void* glibcs = dlsym(RTLD_DEFAULT, "__register_atfork"))
    return reinterpret_cast<int (*)(Handler, Handler, Handler, void*)>(glibcs)(nullptr, nullptr, child,
                                                                               &__dso_handle);
  if (void* standard = dlsym(RTLD_DEFAULT, "pthread_atfork"))
    return reinterpret_cast<int (*)(Handler, Handler, Handler)>(standard)(nullptr, nullptr, child);
  return ENOSYS;
}

}  // namespace cox::guest
