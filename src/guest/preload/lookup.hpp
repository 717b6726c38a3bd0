// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the real functions of this process are. libc only; none of it runs per call, but where a process holds several MPI
/// libraries.
///
/// A symbol that a program or a library opened for everybody defines is everybody's: the loader gives the first such definition
/// to all callers. One that lies in a library opened privately (RTLD_LOCAL: Python's modules, plugins) is seen by those alone
/// who brought it. While one such definition is loaded, it is whose all calls are; two plugins may bring one each (one of them
/// a stand-in such as MUMPS's libmpiseq): then the caller decides, as it does without us.
#pragma once

#include <cstddef>

namespace cox::guest {

/// Path of this object; empty where nobody knows.
[[nodiscard]] const char* own_path() noexcept;

/// Whose a definition is: everybody's, the only one that is loaded, or the caller's alone.
enum class Reach : unsigned char { Everybody, Process, Caller };
struct Definition {
  void* function = nullptr;  ///< null: there is none
  Reach reach = Reach::Everybody;
};
/// What a call of an MPI function that returns to `caller` would reach without us. A call that a library makes as its last act
/// (a jump), or the program by a pointer that a library gave it, returns to somebody else: it is taken for the observed
/// library's.
[[nodiscard]] Definition find_for(const void* caller, const char* symbol) noexcept;
/// Where MPI is everybody's: its definition of a symbol, or null. Looks at no other object.
[[nodiscard]] void* find_linked(const char* symbol) noexcept;
/// Whether several definitions of an MPI function were found that are not everybody's.
[[nodiscard]] bool are_several_mpis() noexcept;

/// The definition of a symbol after ours for everybody, in the MPI library that is observed, or else in any object. Null where
/// there is none. Loads nothing.
[[nodiscard]] void* find_real(const char* symbol) noexcept;
/// A data symbol as the program itself sees it, copy relocations included.
[[nodiscard]] void* find_data(const char* symbol) noexcept;
/// Keeps the object that holds a function from being unloaded: slots point into it for ever.
void pin(void* function) noexcept;

/// Whether the function belongs to the one real MPI library that is observed: the first that is called. What lacks
/// PMPI_Get_library_version is a stand-in and nothing of ours.
[[nodiscard]] bool is_observed_mpi(void* function) noexcept;

}  // namespace cox::guest
