// SPDX-License-Identifier: Apache-2.0
// The life of MPI and of communicators. A communicator is learned where it is made: its identity counts how
// many of the same ranks came before, and there all members pass in one order.
#include "guest/mpi/bindings.hpp"
#include "guest/mpi/state.hpp"

namespace cox::guest::mpi {
namespace {

void learn_fresh(bool good, MPI_Comm fresh, MPI_Comm like) noexcept {
  if (good && announced && fresh != library.null_comm) learn(fresh, like);
}

/// Descriptions: the communicator whose members the new one has, where they cannot be asked of itself yet
/// (`MPI_Comm_idup` completes later); else null.
using Like = MPI_Comm;
Like dup(MPI_Comm) {
  return library.null_comm;
}
Like idup(MPI_Comm comm) {
  return comm;
}
Like dup_with_info(MPI_Comm, MPI_Info) {
  return library.null_comm;
}
Like idup_with_info(MPI_Comm comm, MPI_Info) {
  return comm;
}
Like create(MPI_Comm, MPI_Group) {
  return library.null_comm;
}
Like create_group(MPI_Comm, MPI_Group, int) {
  return library.null_comm;
}
Like split(MPI_Comm, int, int) {
  return library.null_comm;
}
Like split_type(MPI_Comm, int, int, MPI_Info) {
  return library.null_comm;
}
Like cart_create(MPI_Comm, int, const int*, const int*, int) {
  return library.null_comm;
}
Like cart_sub(MPI_Comm, const int*) {
  return library.null_comm;
}
Like graph_create(MPI_Comm, int, const int*, const int*, int) {
  return library.null_comm;
}
Like dist_graph_create(MPI_Comm, int, const int*, const int*, const int*, const int*, MPI_Info, int) {
  return library.null_comm;
}
Like dist_graph_create_adjacent(MPI_Comm, int, const int*, const int*, int, const int*, const int*, MPI_Info,
                                int) {
  return library.null_comm;
}
Like intercomm_create(MPI_Comm, int, MPI_Comm, int, int) {
  return library.null_comm;
}
Like intercomm_merge(MPI_Comm, int) {
  return library.null_comm;
}

/// Wrappers of functions whose last argument but the error is the new communicator.
template <Symbol Name, auto Describe, class Signature = decltype(Describe)>
struct Made;
template <Symbol Name, auto Describe, class... A>
struct Made<Name, Describe, Like (*)(A...)> {
  static constexpr auto kName = Name;
  static inline int (*real)(A..., MPI_Comm*) = nullptr;
  static int call(A... a, MPI_Comm* fresh) {
    const int rc = real(a..., fresh);
    if (fresh != nullptr && !nested()) learn_fresh(rc == MPI_SUCCESS, *fresh, *fresh);
    return rc;
  }
};
template <Symbol Name, auto Describe, class Signature = decltype(Describe)>
struct MadeLater;
template <Symbol Name, auto Describe, class... A>
struct MadeLater<Name, Describe, Like (*)(A...)> {
  static constexpr auto kName = Name;
  static inline int (*real)(A..., MPI_Comm*, MPI_Request*) = nullptr;
  static int call(A... a, MPI_Comm* fresh, MPI_Request* request) {
    const MPI_Comm like = Describe(a...);
    const int rc = real(a..., fresh, request);
    if (fresh != nullptr) learn_fresh(rc == MPI_SUCCESS, *fresh, like);
    return rc;
  }
};
template <Symbol Name, auto Describe, class Signature = decltype(Describe)>
struct MadeFortran;
template <Symbol Name, auto Describe, class... A>
struct MadeFortran<Name, Describe, Like (*)(A...)> {
  static constexpr auto kName = Name;
  static inline void (*real)(Address<A>..., void*, MPI_Fint*) = nullptr;
  static void call(Address<A>... a, void* fresh, MPI_Fint* error) {
    MPI_Fint own = MPI_SUCCESS;
    MPI_Fint* const rc = error != nullptr ? error : &own;
    in_fortran([&] { real(a..., fresh, rc); });
    const MPI_Comm made = comm_from_fortran(*static_cast<const MPI_Fint*>(fresh));
    learn_fresh(*rc == MPI_SUCCESS, made, made);
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
int wrap_Comm_free(MPI_Comm* comm) {
  if (comm != nullptr) comms.erase(key_of(*comm));  // the handle may be given out again
  return real_Comm_free(comm);
}
int wrap_Comm_disconnect(MPI_Comm* comm) {
  if (comm != nullptr) comms.erase(key_of(*comm));
  return real_Comm_disconnect(comm);
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
  static void wrap_comm_free(void* comm, MPI_Fint* error) {
    comms.erase(key_of(comm_from_fortran(*static_cast<const MPI_Fint*>(comm))));
    comm_free(comm, error);
  }
  static void wrap_comm_disconnect(void* comm, MPI_Fint* error) {
    comms.erase(key_of(comm_from_fortran(*static_cast<const MPI_Fint*>(comm))));
    comm_disconnect(comm, error);
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
#define MADE(Name, name, describe)                                                           \
  wrapper<Made<"MPI_" Name, describe>>(), wrapper<MadeFortran<"mpi_" name "_", describe>>(), \
      wrapper<MadeFortran<"mpi_" name "_f08_", describe>>()
#else
#define MADE(Name, name, describe) \
  wrapper<Made<"MPI_" Name, describe>>(), wrapper<MadeFortran<"mpi_" name "_f08_", describe>>()
#endif
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
    FORTRAN_ROWS("_f08_", 1),
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
    wrapper<MadeLater<"MPI_Comm_idup", idup>>(),
    wrapper<MadeLater<"MPI_Comm_idup_with_info", idup_with_info>>(),
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
static_assert(std::is_same_v<decltype(&PMPI_Comm_idup), decltype(MadeLater<"", idup>::real)>);

}  // namespace

Wrappers communicator_wrappers() noexcept {
  return {kWrappers, sizeof kWrappers / sizeof kWrappers[0]};
}

}  // namespace cox::guest::mpi
