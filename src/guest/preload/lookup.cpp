// SPDX-License-Identifier: Apache-2.0
#include "guest/preload/lookup.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// Where this object begins and ends: the linker's.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace cox::guest {
namespace {

int somewhere_here() {
  return 0;
}

// What an object takes in memory. dladdr would tell whose an address is, too, and reads a table of symbols for it.
struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool holds(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin && at < end;
  }
};

bool is_own(void* address) noexcept {
  const Extent mine{.begin = reinterpret_cast<std::uintptr_t>(&__ehdr_start),
                    .end = reinterpret_cast<std::uintptr_t>(&_end)};
  return mine.holds(address);
}

// Fills in the extent of the object that begins there.
int find_extent(dl_phdr_info* object, std::size_t, void* data) {
  auto& wanted = *static_cast<Extent*>(data);
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t at = object->dlpi_addr + part.p_vaddr;
    if (at < begin) begin = at;
    if (at + part.p_memsz > end) end = at + part.p_memsz;
  }
  if (begin != wanted.begin) return 0;
  wanted.end = end;
  return 1;
}

// The symbol in an object that is loaded or in what that one needs, unless it is ours.
void* find_in(const char* path, const char* symbol) noexcept {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = dlsym(handle, symbol);
  dlclose(handle);
  return found != nullptr && is_own(found) ? nullptr : found;
}

// The symbol as the object that holds `address` sees it.
void* find_beside(const void* address, const char* symbol) noexcept {
  Dl_info where{};
  if (dladdr(address, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  return find_in(where.dli_fname, symbol);
}

// Names of all loaded objects, one after the other. Copied first and opened afterwards:
// the loader holds a lock while it lists them, and a thread that loads a library at that moment holds
// the other one that opening needs.
struct Names {
  char* text = nullptr;
  std::size_t used = 0;
  std::size_t room = 0;
};

int copy_name(dl_phdr_info* object, std::size_t, void* data) {
  auto& names = *static_cast<Names*>(data);
  if (object->dlpi_name == nullptr || object->dlpi_name[0] == 0) return 0;
  const std::size_t length = strlen(object->dlpi_name) + 1;
  if (names.used + length > names.room) {
    const std::size_t room = 2 * (names.used + length);
    auto* grown = static_cast<char*>(realloc(names.text, room));
    if (grown == nullptr) return 1;
    names.text = grown;
    names.room = room;
  }
  memcpy(names.text + names.used, object->dlpi_name, length);
  names.used += length;
  return 0;
}

struct Everywhere {
  void* first = nullptr;
  bool is_only = true;
};

// The symbol in all loaded objects but ours, those included that Python opened privately; until a second definition is found.
// Loads nothing.
Everywhere search_objects(const char* symbol) noexcept {
  Names names;
  dl_iterate_phdr(copy_name, &names);
  Everywhere found;
  for (std::size_t at = 0; at < names.used && found.is_only; at += strlen(names.text + at) + 1) {
    void* here = find_in(names.text + at, symbol);
    if (here == nullptr || here == found.first) continue;
    found.is_only = found.first == nullptr;
    if (found.first == nullptr) found.first = here;
  }
  free(names.text);
  return found;
}

void* next_for_everybody(const char* symbol) noexcept {
  void* next = dlsym(RTLD_NEXT, symbol);
  return next != nullptr && is_own(next) ? nullptr : next;
}

constexpr char kLibraryMark[] = "PMPI_Get_library_version";

// Whether the object that defines it is an MPI library, and no tool before one.
bool is_of_library(void* function) noexcept {
  Dl_info mark{};
  Dl_info own{};
  void* const found = find_beside(function, kLibraryMark);
  return found != nullptr && dladdr(found, &mark) != 0 && dladdr(function, &own) != 0 &&
         mark.dli_fbase == own.dli_fbase;
}

// Whether MPI was everybody's when the first of its functions was called. Open MPI makes itself everybody's later, in its
// MPI_Init, when its users and those of a stand-in are bound already.
bool is_mpi_everybodys(const char* symbol) noexcept {
  static std::atomic<int> answer{-1};
  int known = answer.load(std::memory_order_acquire);
  if (known < 0) {
    const bool is_seen = next_for_everybody(symbol) != nullptr || next_for_everybody(kLibraryMark) != nullptr;
    const int seen = is_seen ? 1 : 0;
    known = answer.compare_exchange_strong(known, seen) ? seen : known;
  }
  return known == 1;
}

std::atomic<bool> several_mpis{false};

// PMPI_Get_library_version of the library that is observed, where it was found privately.
std::atomic<void*> observed_mpi{nullptr};

}  // namespace

const char* own_path() noexcept {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&somewhere_here), &info) != 0 ? info.dli_fname : "";
}

Definition find_for(const void* caller, const char* symbol) noexcept {
  const bool is_linked = is_mpi_everybodys(symbol);
  void* const everybodys = next_for_everybody(symbol);
  if (everybodys != nullptr && (is_linked || !is_of_library(everybodys))) return {.function = everybodys};
  if (!several_mpis.load(std::memory_order_acquire)) {
    const Everywhere found = search_objects(symbol);
    if (found.is_only) return {.function = found.first, .reach = Reach::Process};
    several_mpis.store(true, std::memory_order_release);
  }
  Definition found{.function = find_beside(caller, symbol), .reach = Reach::Caller};
  void* const observed = observed_mpi.load(std::memory_order_acquire);
  if (found.function == nullptr && observed != nullptr) found.function = find_beside(observed, symbol);
  if (found.function == nullptr) found.function = search_objects(symbol).first;
  return found;
}

void* find_linked(const char* symbol) noexcept {
  return is_mpi_everybodys(symbol) ? next_for_everybody(symbol) : nullptr;
}

bool are_several_mpis() noexcept {
  return several_mpis.load(std::memory_order_acquire);
}

void* find_real(const char* symbol) noexcept {
  void* found = next_for_everybody(symbol);
  void* const library = observed_mpi.load(std::memory_order_acquire);
  if (found == nullptr && library != nullptr) found = find_beside(library, symbol);
  return found != nullptr ? found : search_objects(symbol).first;
}

void* find_data(const char* symbol) noexcept {
  void* seen = dlsym(RTLD_DEFAULT, symbol);
  return seen != nullptr ? seen : find_real(symbol);
}

void pin(void* function) noexcept {
  // What was pinned stays, so nothing else comes to lie there. The newest first.
  struct Pinned {
    Extent extent;
    const Pinned* before = nullptr;
  };
  static Pinned room[8];
  static std::atomic<unsigned> taken{0};
  static std::atomic<const Pinned*> newest{nullptr};
  const Pinned* before = newest.load(std::memory_order_acquire);
  for (const Pinned* p = before; p != nullptr; p = p->before)
    if (p->extent.holds(function)) return;
  Dl_info where{};
  if (dladdr(function, &where) == 0 || where.dli_fname == nullptr) return;
  void* const handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle == nullptr) return;
  dlclose(handle);
  const unsigned at = taken.fetch_add(1);
  if (at >= sizeof room / sizeof *room) return;
  Pinned& mine = room[at];
  mine.extent.begin = reinterpret_cast<std::uintptr_t>(where.dli_fbase);
  if (dl_iterate_phdr(find_extent, &mine.extent) != 1) return;
  do mine.before = before;
  while (!newest.compare_exchange_weak(before, &mine, std::memory_order_acq_rel));
}

bool is_observed_mpi(void* function) noexcept {
  void* const library = find_beside(function, kLibraryMark);
  if (library == nullptr) return false;
  void* before = nullptr;
  return observed_mpi.compare_exchange_strong(before, library) || before == library;
}

}  // namespace cox::guest
