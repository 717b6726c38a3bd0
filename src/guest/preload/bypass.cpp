// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "guest/preload/bypass.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdio>
#include <cstring>

extern "C" {
// Where this object begins and ends in memory; the linker chose the names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace cox::guest {
namespace {

// The object that defines the function which the program's calls of `symbol` reach, where that is not ours.
const char* stands_before(const char* symbol, Dl_info& info) {
  void* first = dlsym(RTLD_DEFAULT, symbol);
  if (first == nullptr || (first >= &__ehdr_start && first < &_end)) return nullptr;
  // A program that is not position-independent and takes a function's address has an entry of that name,
  // which only jumps on: it has no size.
  // By name: musl has no such function.
  using Ask = int (*)(const void*, Dl_info*, void**, int);
  static const auto ask = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "dladdr1"));
  ElfW(Sym)* entry = nullptr;
  if (ask == nullptr || ask(first, &info, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) == 0)
    return nullptr;
  if (entry == nullptr || entry->st_shndx == SHN_UNDEF || entry->st_size == 0) return nullptr;
  return info.dli_fname != nullptr && *info.dli_fname != 0 ? info.dli_fname : "the program";
}

}  // namespace

bool is_bypassed(const char* symbol) {
  Dl_info info{};
  return stands_before(symbol, info) != nullptr;
}

const char* describe_bypassed(const char* const* symbols, std::size_t count) {
  static char text[400];
  const char* first = nullptr;
  const char* whose = nullptr;
  std::size_t more = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (strncmp(symbols[i], "MPI_", 4) != 0) continue;
    Dl_info info{};
    const char* object = stands_before(symbols[i], info);
    if (object == nullptr) continue;
    if (first == nullptr) {
      first = symbols[i];
      whose = object;
    } else {
      ++more;
    }
  }
  if (first == nullptr) return nullptr;
  snprintf(text, sizeof text,
           "calls of %s and %zu other MPI functions reach %.200s before us and are not recorded", first, more,
           whose);
  return text;
}

}  // namespace cox::guest
