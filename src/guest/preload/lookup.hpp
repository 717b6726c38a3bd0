// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the real functions of this process are. libc only; none of it runs per call but `recall`.
///
/// A symbol that a program or a library opened for everybody defines is everybody's: the loader gives the first such definition
/// to all callers. One that lies in a library opened privately (RTLD_LOCAL: Python's modules, plugins) is seen by those alone
/// who brought it, and two plugins may bring one each: then the caller decides, as it does without us.
#pragma once

#include <cstddef>

namespace cox::guest {

/// Path of this object; empty where nobody knows.
[[nodiscard]] const char* own_path() noexcept;

struct Definition {
  void* function = nullptr;   ///< null: there is none
  bool is_everybodys = true;  ///< not the caller's alone
};
/// What a call of `symbol` that returns to `caller` would reach without us.
[[nodiscard]] Definition find_for(const void* caller, const char* symbol) noexcept;

/// The definition of a symbol after ours for everybody, in the MPI library that is observed, or else in any object. Null where
/// there is none. Loads nothing.
[[nodiscard]] void* find_real(const char* symbol) noexcept;
/// A data symbol as the program itself sees it, copy relocations included.
[[nodiscard]] void* find_data(const char* symbol) noexcept;
/// Keeps the object that holds a function from being unloaded: slots point into it for ever.
void pin(void* function) noexcept;

/// Whether a privately found function belongs to the one MPI library that is observed: the first real one that is called. What
/// lacks PMPI_Get_library_version is a stand-in (MUMPS's libmpiseq) and nothing of ours.
[[nodiscard]] bool is_observed_mpi(void* function) noexcept;

/// Where a call went before that could not be settled for all callers.
struct KnownCall {
  const void* caller = nullptr;
  std::size_t index = 0;
  unsigned long long unloads = 0;  ///< that the process had seen; later ones may have freed any address
  void* target = nullptr;
  void* real = nullptr;
};
/// The same call of the same thread before, or null. Some 10 ns.
[[nodiscard]] const KnownCall* recall(const void* caller, std::size_t index) noexcept;
void remember(const void* caller, std::size_t index, void* target, void* real) noexcept;

}  // namespace cox::guest
