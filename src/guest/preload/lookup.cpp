// SPDX-License-Identifier: Apache-2.0
#include "guest/preload/lookup.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace cox::guest {
namespace {

int somewhere_here() {
  return 0;
}

bool is_own(void* address) noexcept {
  Dl_info mine{};
  Dl_info theirs{};
  if (dladdr(address, &theirs) == 0) return false;
  if (dladdr(reinterpret_cast<void*>(&somewhere_here), &mine) == 0) return false;
  return mine.dli_fbase == theirs.dli_fbase;
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

// The symbol in any loaded object but ours, those included that Python opened privately. Loads nothing.
void* search_objects(const char* symbol) noexcept {
  Names names;
  dl_iterate_phdr(copy_name, &names);
  void* found = nullptr;
  for (std::size_t at = 0; at < names.used && found == nullptr; at += strlen(names.text + at) + 1)
    found = find_in(names.text + at, symbol);
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
    const int seen = next_for_everybody(symbol) != nullptr ? 1 : 0;
    known = answer.compare_exchange_strong(known, seen) ? seen : known;
  }
  return known == 1;
}

// PMPI_Get_library_version of the library that is observed, where it was found privately.
std::atomic<void*> observed_mpi{nullptr};

int read_unloads(dl_phdr_info* object, std::size_t, void* data) {
  *static_cast<unsigned long long*>(data) = object->dlpi_subs;
  return 1;  // the first will do
}

unsigned long long unloads_so_far() noexcept {
  unsigned long long unloads = 0;
  dl_iterate_phdr(read_unloads, &unloads);
  return unloads;
}

constexpr std::size_t kKnownCalls = 32;
[[gnu::tls_model("initial-exec")]] constinit thread_local KnownCall known_calls[kKnownCalls];

KnownCall& place_of_call(const void* caller, std::size_t index) noexcept {
  const std::uint64_t mixed = (reinterpret_cast<std::uintptr_t>(caller) ^ index << 48) * 0x9e3779b97f4a7c15;
  return known_calls[mixed >> 59];
}
static_assert(kKnownCalls == 1U << (64 - 59));

}  // namespace

const char* own_path() noexcept {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&somewhere_here), &info) != 0 ? info.dli_fname : "";
}

Definition find_for(const void* caller, const char* symbol) noexcept {
  const bool is_linked = is_mpi_everybodys(symbol);
  void* const everybodys = next_for_everybody(symbol);
  if (everybodys != nullptr && (is_linked || !is_of_library(everybodys))) return {.function = everybodys};
  Definition found{.function = find_beside(caller, symbol), .is_everybodys = false};
  if (found.function == nullptr) found.function = everybodys;
  if (found.function == nullptr) found.function = search_objects(symbol);
  return found;
}

void* find_real(const char* symbol) noexcept {
  void* found = next_for_everybody(symbol);
  void* const library = observed_mpi.load(std::memory_order_acquire);
  if (found == nullptr && library != nullptr) found = find_beside(library, symbol);
  return found != nullptr ? found : search_objects(symbol);
}

void* find_data(const char* symbol) noexcept {
  void* seen = dlsym(RTLD_DEFAULT, symbol);
  return seen != nullptr ? seen : find_real(symbol);
}

void pin(void* function) noexcept {
  Dl_info where{};
  if (dladdr(function, &where) == 0 || where.dli_fname == nullptr) return;
  if (void* handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(handle);
}

bool is_observed_mpi(void* function) noexcept {
  void* const library = find_beside(function, kLibraryMark);
  if (library == nullptr) return false;
  void* before = nullptr;
  return observed_mpi.compare_exchange_strong(before, library) || before == library;
}

const KnownCall* recall(const void* caller, std::size_t index) noexcept {
  const KnownCall& known = place_of_call(caller, index);
  const bool same = known.caller == caller && known.index == index;
  return same && known.unloads == unloads_so_far() ? &known : nullptr;
}

void remember(const void* caller, std::size_t index, void* target, void* real) noexcept {
  place_of_call(caller, index) = {
      .caller = caller, .index = index, .unloads = unloads_so_far(), .target = target, .real = real};
}

}  // namespace cox::guest
