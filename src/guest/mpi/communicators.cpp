// SPDX-License-Identifier: Apache-2.0
// The life of MPI and of communicators. A communicator is learned where it is made: its identity is what it was
// made of and which of that one's, in the order in which all members make them. So threads that make communicators
// of different ones at once do not disturb each other.
#include <utility>

#include "cox/base/hash.hpp"

#include "guest/mpi/bindings.hpp"
#include "guest/mpi/state.hpp"

namespace cox::guest::mpi {
namespace {

/// Descriptions: what a new communicator is made of.
struct Parent {
  MPI_Comm comm;
  bool by_all = true;  ///< all members of `comm` take part, one creation after another
  int tag = 0;         ///< else: what tells it from another one that is made at the same time
};
Parent dup(MPI_Comm comm) {
  return {comm};
}
Parent dup_with_info(MPI_Comm comm, MPI_Info) {
  return {comm};
}
Parent create(MPI_Comm comm, MPI_Group) {
  return {comm};
}
Parent create_group(MPI_Comm comm, MPI_Group, int tag) {
  return {comm, false, tag};
}
Parent split(MPI_Comm comm, int, int) {
  return {comm};
}
Parent split_type(MPI_Comm comm, int, int, MPI_Info) {
  return {comm};
}
Parent cart_create(MPI_Comm comm, int, const int*, const int*, int) {
  return {comm};
}
Parent cart_sub(MPI_Comm comm, const int*) {
  return {comm};
}
Parent graph_create(MPI_Comm comm, int, const int*, const int*, int) {
  return {comm};
}
Parent dist_graph_create(MPI_Comm comm, int, const int*, const int*, const int*, const int*, MPI_Info, int) {
  return {comm};
}
Parent dist_graph_create_adjacent(MPI_Comm comm, int, const int*, const int*, int, const int*, const int*,
                                  MPI_Info, int) {
  return {comm};
}
/// The two groups have no communicator in common that both may read here.
Parent intercomm_create(MPI_Comm, int, MPI_Comm, int, int tag) {
  return {library.null_comm, false, tag};
}
Parent intercomm_merge(MPI_Comm comm, int) {
  return {comm};
}

/// Before the call that makes it, on every member of the parent: also on those that the new one leaves out.
Birth birth_of(const Parent& parent) noexcept {
  constexpr std::uint64_t kByAll = 1;
  constexpr std::uint64_t kTagged = 2;
  Comm* const comm = lookup(parent.comm);
  const std::uint64_t of = comm == nullptr ? 0 : comm->identity;
  Fnv1a hash(of);
  if (!parent.by_all) {
    hash.add_number(kTagged);
    hash.add_number(static_cast<std::uint32_t>(parent.tag));
    return {hash.value(), false};
  }
  if (of == 0) return {};
  hash.add_number(kByAll);
  hash.add_number(comm->made++);
  return {hash.value(), true};
}
void learn_fresh(MPI_Comm fresh, MPI_Comm like, Birth birth) noexcept {
  if (!announced) return;
  comms.erase(key_of(fresh));  // what is known of that handle is of one that was freed
  learn(fresh, like, birth);
}

/// Wrappers of functions whose last argument but the error is the new communicator.
template <Symbol Name, auto Describe, class Signature = decltype(Describe)>
struct Made;
template <Symbol Name, auto Describe, class... A>
struct Made<Name, Describe, Parent (*)(A...)> {
  static constexpr auto kName = Name;
  static inline int (*real)(A..., MPI_Comm*) = nullptr;
  static int call(A... a, MPI_Comm* fresh) {
    if (nested()) return real(a..., fresh);
    const Birth birth = birth_of(Describe(a...));
    const int rc = real(a..., fresh);
    if (rc == MPI_SUCCESS) learn_fresh(*fresh, *fresh, birth);
    return rc;
  }
};
/// It can be asked nothing until its request is complete: its members are those of its parent.
template <Symbol Name, auto Describe, class Signature = decltype(Describe)>
struct MadeLater;
template <Symbol Name, auto Describe, class... A>
struct MadeLater<Name, Describe, Parent (*)(A...)> {
  static constexpr auto kName = Name;
  static inline int (*real)(A..., MPI_Comm*, MPI_Request*) = nullptr;
  static int call(A... a, MPI_Comm* fresh, MPI_Request* request) {
    if (nested()) return real(a..., fresh, request);
    const Parent parent = Describe(a...);
    const Birth birth = birth_of(parent);
    const int rc = real(a..., fresh, request);
    if (rc == MPI_SUCCESS) learn_fresh(*fresh, parent.comm, birth);
    return rc;
  }
};
template <Symbol Name, auto Describe, class Signature = decltype(Describe)>
struct MadeFortran;
template <Symbol Name, auto Describe, class... A>
struct MadeFortran<Name, Describe, Parent (*)(A...)> {
  static constexpr auto kName = Name;
  static inline void (*real)(Address<A>..., void*, MPI_Fint*) = nullptr;
  static void call(Address<A>... a, void* fresh, MPI_Fint* error) {
    MPI_Fint own = MPI_SUCCESS;
    MPI_Fint* const rc = error != nullptr ? error : &own;
    const Birth birth = birth_of(Describe(from_fortran<A>(a, Buffers::Address)...));
    in_fortran([&] { real(a..., fresh, rc); });
    if (*rc != MPI_SUCCESS) return;
    const MPI_Comm made = comm_from_fortran(*static_cast<const MPI_Fint*>(fresh));
    learn_fresh(made, made, birth);
  }
};
template <Symbol Name, auto Describe, class Signature = decltype(Describe)>
struct MadeLaterFortran;
template <Symbol Name, auto Describe, class... A>
struct MadeLaterFortran<Name, Describe, Parent (*)(A...)> {
  static constexpr auto kName = Name;
  static inline void (*real)(Address<A>..., void*, void*, MPI_Fint*) = nullptr;
  static void call(Address<A>... a, void* fresh, void* request, MPI_Fint* error) {
    MPI_Fint own = MPI_SUCCESS;
    MPI_Fint* const rc = error != nullptr ? error : &own;
    const Parent parent = Describe(from_fortran<A>(a, Buffers::Address)...);
    const Birth birth = birth_of(parent);
    in_fortran([&] { real(a..., fresh, request, rc); });
    if (*rc != MPI_SUCCESS) return;
    learn_fresh(comm_from_fortran(*static_cast<const MPI_Fint*>(fresh)), parent.comm, birth);
  }
};

// NOLINTBEGIN(readability-identifier-naming): the real functions carry MPI's names
decltype(&PMPI_Init) real_Init = nullptr;
decltype(&PMPI_Init_thread) real_Init_thread = nullptr;
decltype(&PMPI_Finalize) real_Finalize = nullptr;
decltype(&PMPI_Comm_free) real_Comm_free = nullptr;
decltype(&PMPI_Comm_disconnect) real_Comm_disconnect = nullptr;
// NOLINTEND(readability-identifier-naming)

void finish() noexcept {
  peers.flush();
  writer->close();
}

int wrap_Init(int* argc, char*** argv) {
  const int rc = real_Init(argc, argv);
  if (rc == MPI_SUCCESS) announce();
  return rc;
}
int wrap_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int rc = real_Init_thread(argc, argv, required, provided);
  if (rc == MPI_SUCCESS) announce();
  return rc;
}
int wrap_Finalize() {
  finish();
  return real_Finalize();
}
/// Forgets a communicator before `call` frees it, since the handle may be given out again at once; where the
/// call refuses that, what was known of it stays. What a callback does with it meanwhile is not recorded.
template <class Call>
int forgetting(MPI_Comm comm, Call call) {
  CommFacts facts;
  const bool known = comms.take(key_of(comm), facts);
  const std::uintptr_t outer = std::exchange(being_freed, key_of(comm));
  const int rc = call();
  being_freed = outer;
  if (known && rc != MPI_SUCCESS) comms.insert(key_of(comm), [&](CommFacts& slot) { slot = facts; });
  return rc;
}
int wrap_Comm_free(MPI_Comm* comm) {
  if (comm == nullptr) return real_Comm_free(comm);
  return forgetting(*comm, [&] { return real_Comm_free(comm); });
}
int wrap_Comm_disconnect(MPI_Comm* comm) {
  if (comm == nullptr) return real_Comm_disconnect(comm);
  return forgetting(*comm, [&] { return real_Comm_disconnect(comm); });
}
/// The same by a Fortran function, whose `ierror` may be left out in mpi_f08.
void forgetting_fortran(void (*real)(void*, MPI_Fint*), void* comm, MPI_Fint* error) {
  MPI_Fint own = MPI_SUCCESS;
  MPI_Fint* const rc = error != nullptr ? error : &own;
  forgetting(comm_from_fortran(*static_cast<const MPI_Fint*>(comm)), [&] {
    in_fortran([&] { real(comm, rc); });
    return static_cast<int>(*rc);
  });
}

/// One spelling of the Fortran names of the functions above.
template <int Spelling>
struct F {
  static inline void (*init)(MPI_Fint*) = nullptr;
  static inline void (*init_thread)(void*, void*, MPI_Fint*) = nullptr;
  static inline void (*finalize)(MPI_Fint*) = nullptr;
  static inline void (*comm_free)(void*, MPI_Fint*) = nullptr;
  static inline void (*comm_disconnect)(void*, MPI_Fint*) = nullptr;

  static void wrap_init(MPI_Fint* error) {
    init(error);
    if (!announced) announce();  // does nothing where MPI is not up
  }
  static void wrap_init_thread(void* required, void* provided, MPI_Fint* error) {
    init_thread(required, provided, error);
    if (!announced) announce();
  }
  static void wrap_finalize(MPI_Fint* error) {
    finish();
    finalize(error);
  }
  static void wrap_comm_free(void* comm, MPI_Fint* error) { forgetting_fortran(comm_free, comm, error); }
  static void wrap_comm_disconnect(void* comm, MPI_Fint* error) {
    forgetting_fortran(comm_disconnect, comm, error);
  }
};

// NOLINTBEGIN(bugprone-macro-parentheses)
#define ROW(symbol, function, real) \
  { symbol, reinterpret_cast<void*>(&function), reinterpret_cast<void**>(&real) }
#define C_ROW(function) ROW("MPI_" #function, wrap_##function, real_##function)
#define FORTRAN_ROWS(ending, spelling)                                                        \
  ROW("mpi_init" ending, F<spelling>::wrap_init, F<spelling>::init),                          \
      ROW("mpi_init_thread" ending, F<spelling>::wrap_init_thread, F<spelling>::init_thread), \
      ROW("mpi_finalize" ending, F<spelling>::wrap_finalize, F<spelling>::finalize),          \
      ROW("mpi_comm_free" ending, F<spelling>::wrap_comm_free, F<spelling>::comm_free),       \
      ROW("mpi_comm_disconnect" ending, F<spelling>::wrap_comm_disconnect, F<spelling>::comm_disconnect)
#if defined(OPEN_MPI)
#define MADE_AS(C, F, Name, name, describe)                                     \
  wrapper<C<"MPI_" Name, describe>>(), wrapper<F<"mpi_" name "_", describe>>(), \
      wrapper<F<"mpi_" name "_f08_", describe>>()
#elif defined(COX_STANDARD_ABI)
#define MADE_AS(C, F, Name, name, describe) wrapper<C<"MPI_" Name, describe>>()
#else
#define MADE_AS(C, F, Name, name, describe) \
  wrapper<C<"MPI_" Name, describe>>(), wrapper<F<"mpi_" name "_f08_", describe>>()
#endif
#define MADE(Name, name, describe) MADE_AS(Made, MadeFortran, Name, name, describe)
#define MADE_LATER(Name, name, describe) MADE_AS(MadeLater, MadeLaterFortran, Name, name, describe)
// NOLINTEND(bugprone-macro-parentheses)

const Wrapper kWrappers[] = {
    C_ROW(Init),
    C_ROW(Init_thread),
    C_ROW(Finalize),
    C_ROW(Comm_free),
    C_ROW(Comm_disconnect),
#if defined(OPEN_MPI)
    FORTRAN_ROWS("_", 0),
#endif
#if !defined(COX_STANDARD_ABI)
    FORTRAN_ROWS("_f08_", 1),
#endif
    MADE("Comm_dup", "comm_dup", dup),
    MADE("Comm_dup_with_info", "comm_dup_with_info", dup_with_info),
    MADE("Comm_create", "comm_create", create),
    MADE("Comm_create_group", "comm_create_group", create_group),
    MADE("Comm_split", "comm_split", split),
    MADE("Comm_split_type", "comm_split_type", split_type),
    MADE("Cart_create", "cart_create", cart_create),
    MADE("Cart_sub", "cart_sub", cart_sub),
    MADE("Graph_create", "graph_create", graph_create),
    MADE("Dist_graph_create", "dist_graph_create", dist_graph_create),
    MADE("Dist_graph_create_adjacent", "dist_graph_create_adjacent", dist_graph_create_adjacent),
    MADE("Intercomm_create", "intercomm_create", intercomm_create),
    MADE("Intercomm_merge", "intercomm_merge", intercomm_merge),
    MADE_LATER("Comm_idup", "comm_idup", dup),
    MADE_LATER("Comm_idup_with_info", "comm_idup_with_info", dup_with_info),
};

#define COX_SAME_PARAMETERS(function, describe) \
  static_assert(std::is_same_v<decltype(&PMPI_##function), decltype(Made<"", describe>::real)>)
COX_SAME_PARAMETERS(Comm_dup, dup);
COX_SAME_PARAMETERS(Comm_dup_with_info, dup_with_info);
COX_SAME_PARAMETERS(Comm_create, create);
COX_SAME_PARAMETERS(Comm_create_group, create_group);
COX_SAME_PARAMETERS(Comm_split, split);
COX_SAME_PARAMETERS(Comm_split_type, split_type);
COX_SAME_PARAMETERS(Cart_create, cart_create);
COX_SAME_PARAMETERS(Cart_sub, cart_sub);
COX_SAME_PARAMETERS(Graph_create, graph_create);
COX_SAME_PARAMETERS(Dist_graph_create, dist_graph_create);
COX_SAME_PARAMETERS(Dist_graph_create_adjacent, dist_graph_create_adjacent);
COX_SAME_PARAMETERS(Intercomm_create, intercomm_create);
COX_SAME_PARAMETERS(Intercomm_merge, intercomm_merge);
static_assert(std::is_same_v<decltype(&PMPI_Comm_idup), decltype(MadeLater<"", dup>::real)>);

}  // namespace

Wrappers communicator_wrappers() noexcept {
  return {kWrappers, sizeof kWrappers / sizeof kWrappers[0]};
}

}  // namespace cox::guest::mpi
