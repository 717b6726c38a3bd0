// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions of threads that moved into libc with glibc 2.34, found by name: an object that needs them by their
/// new version does not load on an older system, and one that needs libpthread brings it into every process.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace cox::guest {

struct Threads {
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = nullptr;
  int (*join)(pthread_t, void**) = nullptr;
  int (*set_stack_size)(pthread_attr_t*, std::size_t) = nullptr;
  int (*make_key)(pthread_key_t*, void (*)(void*)) = nullptr;
  int (*set_specific)(pthread_key_t, const void*) = nullptr;
};

/// Those of this process; null where it has none (it is not linked to libpthread). Not for the hot path.
[[nodiscard]] const Threads* find_threads() noexcept;

}  // namespace cox::guest
