// SPDX-License-Identifier: Apache-2.0
/// \file
/// What differs between MPI libraries, for the one that this object is compiled for: handles, constants, and
/// how Fortran passes them. Compiled once per ABI with that library's mpi.h; linked to none.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#elif defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0
/// The ABI that MPI 5 standardises: Open MPI 6's and MPICH 5's libmpi_abi.so, whichever implements it. Its Fortran
/// bindings are whoever's, and call the C names.
#define COX_STANDARD_ABI 1
#endif

#include <cstdint>
#include <type_traits>

#include "guest/seam/typed.hpp"

namespace cox::guest::mpi {

#if defined(OPEN_MPI)
inline constexpr bool kOpenMpi = true;
#else
inline constexpr bool kOpenMpi = false;
#endif

/// A handle as a number: an address in Open MPI and in the standard ABI, an integer in MPICH.
template <class Handle>
[[nodiscard]] std::uintptr_t key_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return static_cast<std::uint32_t>(handle);
}

/// Functions and constants of the library, found at run time.
struct Library {
  decltype(&PMPI_Comm_rank) comm_rank;
  decltype(&PMPI_Comm_size) comm_size;
  decltype(&PMPI_Comm_group) comm_group;
  decltype(&PMPI_Comm_remote_size) comm_remote_size;
  decltype(&PMPI_Comm_remote_group) comm_remote_group;
  decltype(&PMPI_Comm_test_inter) comm_test_inter;
  decltype(&PMPI_Comm_get_name) comm_get_name;
  decltype(&PMPI_Group_translate_ranks) group_translate_ranks;
  decltype(&PMPI_Group_free) group_free;
  decltype(&PMPI_Initialized) initialized;
  decltype(&PMPI_Finalized) finalized;
  decltype(&PMPI_Type_size) type_size;
  decltype(&PMPI_Get_library_version) get_library_version;
#if defined(COX_STANDARD_ABI)
  decltype(&PMPI_Isend) isend;
  decltype(&PMPI_Wait) wait;
#endif
  MPI_Comm world;
  MPI_Comm null_comm;
  MPI_Datatype null_type;
  MPI_Request null_request;
  MPI_Request empty_request;  ///< the one for all sends that were complete at once; null where integers tell
#if defined(OPEN_MPI)
  decltype(&PMPI_Comm_f2c) comm_f2c;
  decltype(&PMPI_Type_f2c) type_f2c;
  decltype(&PMPI_Request_f2c) request_f2c;
#endif
  /// Addresses that stand for MPI_IN_PLACE in Fortran; null where there is none.
  const void* fortran_in_place[4];
  /// What Fortran functions that complete some of a list call its first one: 0 in the mpi_f08 of MPICH 4.0.
  int fortran_first = 1;

  /// False where something is not there: then nothing may be wrapped.
  [[nodiscard]] bool find(const Host& host) noexcept;
  /// After MPI_Init: what only a call tells.
  void ask() noexcept;
  /// What differs between releases, by what MPI_Get_library_version says.
  void heed(const char* version) noexcept;
};
inline Library library{};

// Whether a handle stands for something: a library that is asked about one that does not calls the program's
// handler of errors. In MPICH an integer says what it is: four bits from bit 26, above them where it lies.
#if defined(OPEN_MPI) || defined(COX_STANDARD_ABI)
[[nodiscard]] inline bool is_communicator(MPI_Comm comm) noexcept {
  return comm != nullptr && comm != library.null_comm;
}
[[nodiscard]] inline bool is_type(MPI_Datatype type) noexcept {
  return type != nullptr && type != library.null_type;
}
#else
[[nodiscard]] inline bool is_handle_of(std::uint32_t handle, std::uint32_t kind) noexcept {
  return handle >> 30 != 0 && (handle >> 26 & 0xf) == kind;
}
[[nodiscard]] inline bool is_communicator(MPI_Comm comm) noexcept {
  return is_handle_of(static_cast<std::uint32_t>(comm), 1);
}
[[nodiscard]] inline bool is_type(MPI_Datatype type) noexcept {
  return is_handle_of(static_cast<std::uint32_t>(type), 3);
}
#endif
/// Whether there is nothing to wait for: no request, or the library's own one that stands for all that was
/// complete at once.
[[nodiscard]] inline bool is_nothing(std::uintptr_t request) noexcept {
#if defined(OPEN_MPI) || defined(COX_STANDARD_ABI)
  return request == 0 || request == key_of(library.empty_request) || request == key_of(library.null_request);
#else
  return request >> 30 <= 1;
#endif
}

#if defined(COX_STANDARD_ABI)
using MPI_Fint = int;  // no wrapper below is one of Fortran's
#endif
[[nodiscard]] inline MPI_Comm comm_from_fortran(MPI_Fint value) noexcept {
#if defined(OPEN_MPI)
  return library.comm_f2c(value);
#elif defined(COX_STANDARD_ABI)
  static_cast<void>(value);
  return library.null_comm;
#else
  return value;
#endif
}
[[nodiscard]] inline MPI_Datatype type_from_fortran(MPI_Fint value) noexcept {
#if defined(OPEN_MPI)
  return library.type_f2c(value);
#elif defined(COX_STANDARD_ABI)
  static_cast<void>(value);
  return library.null_type;
#else
  return value;
#endif
}
[[nodiscard]] inline MPI_Request request_from_fortran(MPI_Fint value) noexcept {
#if defined(OPEN_MPI)
  return library.request_f2c(value);
#elif defined(COX_STANDARD_ABI)
  static_cast<void>(value);
  return library.null_request;
#else
  return value;
#endif
}

/// How a Fortran binding passes a choice buffer.
enum class Buffers : std::uint8_t {
  Address,     ///< mpif.h, use mpi; mpi_f08 of Open MPI up to 5
  Descriptor,  ///< mpi_f08 of MPICH and of Open MPI since 6 ("ts"): its first member is the address
};

[[nodiscard]] inline const void* buffer_from_fortran(const void* given, Buffers how) noexcept {
  const void* address = given;
  if (how == Buffers::Descriptor && given != nullptr) address = *static_cast<const void* const*>(given);
  for (const void* in_place : library.fortran_in_place)
    if (in_place != nullptr && address == in_place) return MPI_IN_PLACE;
  return address;
}

/// A Fortran argument as the C binding would have it; what no description looks at comes as zero.
template <class T>
[[nodiscard]] T from_fortran(void* given, Buffers how) noexcept {
  if constexpr (std::is_same_v<T, int>) {
    return *static_cast<const MPI_Fint*>(given);  // counts and ranks; in MPICH also every handle
  } else if constexpr (std::is_same_v<T, MPI_Comm>) {
    return comm_from_fortran(*static_cast<const MPI_Fint*>(given));
  } else if constexpr (std::is_same_v<T, MPI_Datatype>) {
    return type_from_fortran(*static_cast<const MPI_Fint*>(given));
  } else if constexpr (std::is_same_v<T, const void*> || std::is_same_v<T, void*>) {
    return const_cast<void*>(buffer_from_fortran(given, how));
  } else if constexpr (std::is_same_v<T, const int*>) {
    return static_cast<const int*>(given);
  } else {
    return T{};
  }
}

}  // namespace cox::guest::mpi
