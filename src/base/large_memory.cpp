// SPDX-License-Identifier: Apache-2.0
#include "cox/base/large_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace cox {

// Sanitizers bring an allocator of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

/// Grows the heap by so much address range, all of it free. False where that is not to be had.
bool reserve(std::size_t bytes) {
  void* volatile whole = std::malloc(bytes);  // volatile: the compiler may not leave the pair out
  std::free(whole);
  return whole != nullptr;
}

}  // namespace

void prepare_for_large_data() {
  static bool done = false;
  if (done) return;
  done = true;
  const auto page = static_cast<std::size_t>(std::max(1L, sysconf(_SC_PAGESIZE)));
  const std::size_t bytes = static_cast<std::size_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) / 2 * page;
  mallopt(M_MMAP_MAX, 0);         // all in one range: the heap
  mallopt(M_TRIM_THRESHOLD, -1);  // which never shrinks
  mallopt(M_ARENA_MAX, 1);        // and is that of all threads
  auto* begin = static_cast<char*>(sbrk(0));
  begin += (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  if (!reserve(bytes)) return;
  auto* end = static_cast<char*>(sbrk(0));
  // Not the heap's growth where malloc took the range from elsewhere.
  if (end <= begin) return;
  const auto grown = static_cast<std::size_t>(end - begin);
  if (grown >= bytes / 2) (void)madvise(begin, grown, MADV_HUGEPAGE);
}

#else

void prepare_for_large_data() {}

#endif

}  // namespace cox
