// SPDX-License-Identifier: Apache-2.0
/// \file
/// One description of an MPI function - a function of its C parameters that says what the call is - makes the
/// wrappers of its C and Fortran bindings and of its blocking, non-blocking and persistent forms.
///
/// A wrapper calls the real function with exactly the arguments that it was given; a description only looks, and
/// only at what MPI calls significant for this rank, this root and this kind of communicator: anything else may
/// be null or point nowhere. What a call gives out is read where it succeeded.
/// Fortran passes everything by address, so its wrapper forwards addresses and reads through them.
#pragma once

#include "guest/mpi/abi.hpp"
#include "guest/seam/typed.hpp"

namespace cox::guest::mpi {

/// Name of a function as a template argument: two functions never share the place of their real one.
template <std::size_t N>
struct Symbol {
  char text[N]{};
  consteval Symbol(const char (&from)[N]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < N; ++i) text[i] = from[i];
  }
};

/// Inside a wrapped Fortran function: a C function that the library calls for it is part of it and not
/// recorded again (MPICH; Open MPI's Fortran calls the PMPI names).
inline thread_local int fortran_depth [[gnu::tls_model("initial-exec")]] = 0;
[[nodiscard]] inline bool nested() noexcept {
  return !kOpenMpi && fortran_depth != 0;
}
/// Calls a real Fortran function.
template <class Call>
void in_fortran(Call call) {
  if constexpr (!kOpenMpi) ++fortran_depth;
  call();
  if constexpr (!kOpenMpi) --fortran_depth;
}

template <class... T>
struct Types {};
template <class>
using Address = void*;

/// Whether a call gives out a request: then it is its last argument.
template <class... T>
inline constexpr bool kGivesRequest = false;
template <class First, class... Rest>
inline constexpr bool kGivesRequest<First, Rest...> = kGivesRequest<Rest...>;
template <>
inline constexpr bool kGivesRequest<MPI_Request*> = true;

template <class First, class... Rest>
auto last_of(First first, Rest... rest) noexcept {
  if constexpr (sizeof...(rest) == 0)
    return first;
  else
    return last_of(rest...);
}

/// C binding: `int f(parameters of the description, Policy::Tail)`.
template <Symbol Name, auto Describe, class Policy, class Signature = decltype(Describe),
          class Tail = typename Policy::Tail>
struct C;
template <Symbol Name, auto Describe, class Policy, class What, class... A, class... T>
struct C<Name, Describe, Policy, What (*)(A...), Types<T...>> {
  static constexpr auto kName = Name;
  static inline int (*real)(A..., T...) = nullptr;
  static int call(A... a, T... t) {
    if (nested()) return real(a..., t...);
    const auto span = Policy::before(Describe(a...));
    const int rc = real(a..., t...);
    MPI_Request request{};
    if constexpr (kGivesRequest<T...>)
      if (rc == MPI_SUCCESS) request = *last_of(t...);
    Policy::after(span, rc == MPI_SUCCESS, request);
    return rc;
  }
};

/// Fortran binding, in one spelling of its name.
template <Symbol Name, auto Describe, class Policy, Buffers How, class Signature = decltype(Describe),
          class Tail = typename Policy::Tail>
struct Fortran;
template <Symbol Name, auto Describe, class Policy, Buffers How, class What, class... A, class... T>
struct Fortran<Name, Describe, Policy, How, What (*)(A...), Types<T...>> {
  static constexpr auto kName = Name;
  static inline void (*real)(Address<A>..., Address<T>..., MPI_Fint*) = nullptr;
  static void call(Address<A>... a, Address<T>... t, MPI_Fint* error) {
    MPI_Fint own = MPI_SUCCESS;  // `ierror` may be left out in mpi_f08
    MPI_Fint* const rc = error != nullptr ? error : &own;
    const auto span = Policy::before(Describe(from_fortran<A>(a, How)...));
    in_fortran([&] { real(a..., t..., rc); });
    MPI_Request request{};
    if constexpr (kGivesRequest<T...>)
      if (*rc == MPI_SUCCESS) request = request_from_fortran(*static_cast<const MPI_Fint*>(last_of(t...)));
    Policy::after(span, *rc == MPI_SUCCESS, request);
  }
};

template <class Binding>
Wrapper wrapper() {
  return {Binding::kName.text, reinterpret_cast<void*>(&Binding::call),
          reinterpret_cast<void**>(&Binding::real)};
}

// The rows of a wrapper table for one function. Fortran's mpif.h goes through the C names in MPICH, which are
// wrapped already; in Open MPI neither binding does.
// NOLINTBEGIN(bugprone-macro-parentheses): names are pasted, types cannot be in parentheses
#define COX_F08(name, describe, policy)                                               \
  , wrapper<Fortran<"mpi_" name "_f08ts_", describe, policy, Buffers::Descriptor>>(), \
      wrapper<Fortran<"mpi_" name "_f08_", describe, policy, Buffers::Address>>()
#if defined(OPEN_MPI)
#define COX_FORTRAN(name, describe, policy) \
  , wrapper<Fortran<"mpi_" name "_", describe, policy, Buffers::Address>>() COX_F08(name, describe, policy)
#elif defined(COX_STANDARD_ABI)
#define COX_FORTRAN(name, describe, policy)
#else
#define COX_FORTRAN(name, describe, policy) COX_F08(name, describe, policy)
#endif
#define COX_BINDINGS(Name, name, describe, policy) \
  wrapper<C<"MPI_" Name, describe, policy>>() COX_FORTRAN(name, describe, policy)
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace cox::guest::mpi
