// SPDX-License-Identifier: Apache-2.0
// Calls every MPI function that is observed with each argument that MPI ignores there null, or poisoned: a count of
// -7, a null type, a pointer into a page that nobody may read. What each call returned is printed by rank 0, and how
// often an error handler ran. Whoever looks at a call from outside may look at no such argument: the output and the
// exit status stay what they are without it. 4 ranks. Built for each MPI library.
#define _DEFAULT_SOURCE
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif
#define NONE MPI_DATATYPE_NULL
// LARGE: the same calls with counts and places of 64 bits.
#if defined(LARGE) && MPI_VERSION < 4  // MPI 3 has none of them
int main(void) {
  return 77;
}
#define main no_main
#undef LARGE
#endif
#if defined(LARGE)
#define BY_COUNT(Name) MPI_##Name##_c
#define PREPARED_BY_COUNT(Name) MPI_##Name##_init_c
typedef MPI_Count Count;
typedef MPI_Aint Place;
#else
#define BY_COUNT(Name) MPI_##Name
#define PREPARED_BY_COUNT(Name) PERSISTENT(Name)
typedef int Count;
typedef int Place;
#endif
// The standard ABI of MPI 5: its first libraries convert lists before they look whether they need them.
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0
#define STANDARD_ABI 1
#define NO_LIST ints
#define NO_REQUESTS none
#define NO_ANSWERS statuses
#else
#define NO_LIST poison
#define NO_REQUESTS poison
#define NO_ANSWERS poison
#endif
// MPICH 5 runs the handler of errors and returns MPI_SUCCESS, without a request; an all-reduction of no type it aborts.
#if defined(STANDARD_ABI) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000)
#define RETURNS_REFUSALS 0
#else
#define RETURNS_REFUSALS 1
#endif

enum { kBad = -7, kCount = 3, kRanks = 4, kRoom = 1 << 16 };

static void *poison, *beyond;  // in a page without access; two, since buffers must differ
static int rank, handled;
static int in[64], out[64];
static Count ones[kRanks] = {kCount, kCount, kCount, kCount}, zeros[kRanks];
static Place places[kRanks], byte_places[kRanks];
static MPI_Aint wide_places[kRanks];
static MPI_Datatype ints[kRanks], no_types[kRanks];
static char told[kRoom];
static int used;

static void tell(const char* form, ...) {
  va_list arguments;
  va_start(arguments, form);
  used += vsnprintf(told + used, (size_t)(kRoom - used), form, arguments);
  va_end(arguments);
#if defined(TRACE)
  static int before;
  fputs(told + before, stderr);
  before = used;
#endif
}
static const char* part = "";
static void result(const char* call, int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  tell("rank %d %s %s: %s %d\n", rank, part, call, code == MPI_SUCCESS ? "good" : "error", class);
}
static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++handled;
}

// The three forms of a collective, with the same arguments.
#define BLOCKING(Name, ...) result(#Name, BY_COUNT(Name)(__VA_ARGS__))
#define STARTED(Name, ...)                                                      \
  do {                                                                          \
    MPI_Request r_ = MPI_REQUEST_NULL;                                          \
    const int code_ = BY_COUNT(Name)(__VA_ARGS__, &r_);                         \
    result(#Name, code_);                                                       \
    if (code_ == MPI_SUCCESS) result("Wait", MPI_Wait(&r_, MPI_STATUS_IGNORE)); \
  } while (0)
#define PREPARED(Name, ...)                                                     \
  do {                                                                          \
    MPI_Request r_ = MPI_REQUEST_NULL;                                          \
    const int code_ = PREPARED_BY_COUNT(Name)(__VA_ARGS__, MPI_INFO_NULL, &r_); \
    result(#Name "_init", code_);                                               \
    if (code_ != MPI_SUCCESS) break;                                            \
    result("Start", MPI_Start(&r_));                                            \
    result("Wait", MPI_Wait(&r_, MPI_STATUS_IGNORE));                           \
    result("Request_free", MPI_Request_free(&r_));                              \
  } while (0)
#define FORMS(Name, Started, ...)  \
  do {                             \
    BLOCKING(Name, __VA_ARGS__);   \
    STARTED(Started, __VA_ARGS__); \
    PREPARED(Name, __VA_ARGS__);   \
  } while (0)
// Where a library does not have all of them.
#define TWO_FORMS(Name, Started, ...) \
  do {                                \
    BLOCKING(Name, __VA_ARGS__);      \
    STARTED(Started, __VA_ARGS__);    \
  } while (0)

/// Within one group: what only the root reads, and what nobody reads in place.
static void rooted(MPI_Comm c, int root) {
  part = "rooted";
  if (rank == root) {
    FORMS(Gather, Igather, in, kCount, MPI_INT, out, kCount, MPI_INT, root, c);
    FORMS(Gatherv, Igatherv, in, kCount, MPI_INT, out, ones, places, MPI_INT, root, c);
    FORMS(Scatter, Iscatter, in, kCount, MPI_INT, out, kCount, MPI_INT, root, c);
    FORMS(Scatterv, Iscatterv, in, ones, places, MPI_INT, out, kCount, MPI_INT, root, c);
    FORMS(Reduce, Ireduce, in, out, kCount, MPI_INT, MPI_SUM, root, c);
    part = "rooted in place";
    FORMS(Gather, Igather, MPI_IN_PLACE, kBad, NONE, out, kCount, MPI_INT, root, c);
    FORMS(Gatherv, Igatherv, MPI_IN_PLACE, kBad, NONE, out, ones, places, MPI_INT, root, c);
    FORMS(Scatter, Iscatter, in, kCount, MPI_INT, MPI_IN_PLACE, kBad, NONE, root, c);
    FORMS(Scatterv, Iscatterv, in, ones, places, MPI_INT, MPI_IN_PLACE, kBad, NONE, root, c);
    FORMS(Reduce, Ireduce, MPI_IN_PLACE, out, kCount, MPI_INT, MPI_SUM, root, c);
    return;
  }
  for (int twice = 0; twice < 2; ++twice) {
    FORMS(Gather, Igather, in, kCount, MPI_INT, poison, kBad, NONE, root, c);
    FORMS(Gatherv, Igatherv, in, kCount, MPI_INT, poison, poison, poison, NONE, root, c);
    FORMS(Scatter, Iscatter, poison, kBad, NONE, out, kCount, MPI_INT, root, c);
    FORMS(Scatterv, Iscatterv, poison, poison, poison, NONE, out, kCount, MPI_INT, root, c);
    FORMS(Reduce, Ireduce, in, poison, kCount, MPI_INT, MPI_SUM, root, c);
    part = "rooted in place";
  }
}

static void in_place(MPI_Comm c) {
  part = "in place";
  void* const here = MPI_IN_PLACE;
  FORMS(Allgather, Iallgather, here, kBad, NONE, out, kCount, MPI_INT, c);
  FORMS(Allgatherv, Iallgatherv, here, kBad, NONE, out, ones, places, MPI_INT, c);
  FORMS(Alltoall, Ialltoall, here, kBad, NONE, out, kCount, MPI_INT, c);
  FORMS(Alltoallv, Ialltoallv, here, poison, poison, NONE, out, ones, places, MPI_INT, c);
  FORMS(Alltoallw, Ialltoallw, here, poison, poison, NO_LIST, out, ones, byte_places, ints, c);
  FORMS(Allreduce, Iallreduce, here, out, kCount, MPI_INT, MPI_SUM, c);
  FORMS(Reduce_scatter, Ireduce_scatter, here, out, ones, MPI_INT, MPI_SUM, c);
  FORMS(Reduce_scatter_block, Ireduce_scatter_block, here, out, kCount, MPI_INT, MPI_SUM, c);
  FORMS(Scan, Iscan, here, out, kCount, MPI_INT, MPI_SUM, c);
  FORMS(Exscan, Iexscan, in, rank == 0 ? poison : out, kCount, MPI_INT, MPI_SUM, c);
}

/// Nothing is sent: buffers are not looked at, and in some libraries types neither.
static void nothing(MPI_Comm c) {
  part = "nothing";
#if !defined(LARGE)
  FORMS(Barrier, Ibarrier, c);
#endif
  FORMS(Bcast, Ibcast, poison, 0, MPI_INT, 1, c);
  FORMS(Gather, Igather, poison, 0, MPI_INT, beyond, 0, MPI_INT, 1, c);
  FORMS(Gatherv, Igatherv, poison, 0, MPI_INT, beyond, zeros, places, MPI_INT, 1, c);
  FORMS(Scatter, Iscatter, poison, 0, MPI_INT, beyond, 0, MPI_INT, 1, c);
  FORMS(Scatterv, Iscatterv, poison, zeros, places, MPI_INT, beyond, 0, MPI_INT, 1, c);
  FORMS(Allgather, Iallgather, poison, 0, MPI_INT, beyond, 0, MPI_INT, c);
  FORMS(Alltoall, Ialltoall, poison, 0, MPI_INT, beyond, 0, MPI_INT, c);
  FORMS(Alltoallv, Ialltoallv, poison, zeros, places, MPI_INT, beyond, zeros, places, MPI_INT, c);
  FORMS(Alltoallw, Ialltoallw, poison, zeros, places, ints, beyond, zeros, places, ints, c);
  part = "nothing, of no type";
  BLOCKING(Alltoallv, poison, zeros, places, NONE, beyond, zeros, places, NONE, c);
  FORMS(Alltoallw, Ialltoallw, poison, zeros, places, no_types, beyond, zeros, places, no_types, c);
}

/// Ranks without neighbours, and a pair that has some.
static void neighbours(MPI_Comm c) {
  part = "neighbours";
  MPI_Comm made;
  const int pair = rank < 2 ? 1 - rank : 0;
  const int edges = rank < 2, weight = 1;
  result("Dist_graph_create_adjacent",
         MPI_Dist_graph_create_adjacent(c, edges, edges ? &pair : poison, edges ? &weight : poison, edges,
                                        edges ? &pair : poison, edges ? &weight : poison, MPI_INFO_NULL, 0,
                                        &made));
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  if (edges) {
    FORMS(Neighbor_allgather, Ineighbor_allgather, in, kCount, MPI_INT, out, kCount, MPI_INT, made);
    FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, in, kCount, MPI_INT, out, ones, places, MPI_INT, made);
    FORMS(Neighbor_alltoall, Ineighbor_alltoall, in, kCount, MPI_INT, out, kCount, MPI_INT, made);
    FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, in, ones, places, MPI_INT, out, ones, places, MPI_INT,
          made);
    FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, in, ones, wide_places, ints, out, ones, wide_places, ints,
          made);
  } else {
    FORMS(Neighbor_allgather, Ineighbor_allgather, poison, 0, MPI_INT, poison, 0, MPI_INT, made);
    FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, poison, 0, MPI_INT, poison, poison, poison, MPI_INT,
          made);
    FORMS(Neighbor_alltoall, Ineighbor_alltoall, poison, 0, MPI_INT, poison, 0, MPI_INT, made);
    FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, poison, poison, poison, MPI_INT, poison, poison, poison,
          MPI_INT, made);
    FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, poison, poison, poison, poison, poison, poison, poison,
          poison, made);
  }
  result("Comm_free", MPI_Comm_free(&made));
}

/// Two groups; `sending` is the one that the root is in, where there is one: its rank 1.
static void between(MPI_Comm c, int sending, int in_first) {
  part = in_first == sending ? "between, root's group" : "between, other group";
  if (in_first != sending) {
    TWO_FORMS(Bcast, Ibcast, out, kCount, MPI_INT, 1, c);
    TWO_FORMS(Gather, Igather, in, kCount, MPI_INT, poison, kBad, NONE, 1, c);
    TWO_FORMS(Gatherv, Igatherv, in, kCount, MPI_INT, poison, poison, poison, NONE, 1, c);
    TWO_FORMS(Scatter, Iscatter, poison, kBad, NONE, out, kCount, MPI_INT, 1, c);
    TWO_FORMS(Scatterv, Iscatterv, poison, poison, poison, NONE, out, kCount, MPI_INT, 1, c);
    TWO_FORMS(Reduce, Ireduce, in, poison, kCount, MPI_INT, MPI_SUM, 1, c);
  } else if (rank % 2 == 1) {
    TWO_FORMS(Bcast, Ibcast, in, kCount, MPI_INT, MPI_ROOT, c);
    TWO_FORMS(Gather, Igather, poison, kBad, NONE, out, kCount, MPI_INT, MPI_ROOT, c);
    TWO_FORMS(Gatherv, Igatherv, poison, kBad, NONE, out, ones, places, MPI_INT, MPI_ROOT, c);
    TWO_FORMS(Scatter, Iscatter, in, kCount, MPI_INT, poison, kBad, NONE, MPI_ROOT, c);
    TWO_FORMS(Scatterv, Iscatterv, in, ones, places, MPI_INT, poison, kBad, NONE, MPI_ROOT, c);
    TWO_FORMS(Reduce, Ireduce, poison, out, kCount, MPI_INT, MPI_SUM, MPI_ROOT, c);
  } else {
    TWO_FORMS(Bcast, Ibcast, poison, 0, MPI_INT, MPI_PROC_NULL, c);
    TWO_FORMS(Gather, Igather, poison, kBad, NONE, poison, kBad, NONE, MPI_PROC_NULL, c);
    TWO_FORMS(Gatherv, Igatherv, poison, kBad, NONE, poison, poison, poison, NONE, MPI_PROC_NULL, c);
    TWO_FORMS(Scatter, Iscatter, poison, kBad, NONE, poison, kBad, NONE, MPI_PROC_NULL, c);
    TWO_FORMS(Scatterv, Iscatterv, poison, poison, poison, NONE, poison, kBad, NONE, MPI_PROC_NULL, c);
    TWO_FORMS(Reduce, Ireduce, poison, beyond, kCount, MPI_INT, MPI_SUM, MPI_PROC_NULL, c);
  }
}
static void between_all(MPI_Comm c) {
  part = "between, all";
#if !defined(LARGE)
  TWO_FORMS(Barrier, Ibarrier, c);
#endif
  TWO_FORMS(Allgather, Iallgather, in, kCount, MPI_INT, out, kCount, MPI_INT, c);
  TWO_FORMS(Allgatherv, Iallgatherv, in, kCount, MPI_INT, out, ones, places, MPI_INT, c);
  TWO_FORMS(Alltoall, Ialltoall, in, kCount, MPI_INT, out, kCount, MPI_INT, c);
  TWO_FORMS(Alltoallv, Ialltoallv, in, ones, places, MPI_INT, out, ones, places, MPI_INT, c);
  TWO_FORMS(Alltoallw, Ialltoallw, in, ones, byte_places, ints, out, ones, byte_places, ints, c);
  TWO_FORMS(Allreduce, Iallreduce, in, out, kCount, MPI_INT, MPI_SUM, c);
  TWO_FORMS(Reduce_scatter, Ireduce_scatter, in, out, ones, MPI_INT, MPI_SUM, c);
  TWO_FORMS(Reduce_scatter_block, Ireduce_scatter_block, in, out, kCount, MPI_INT, MPI_SUM, c);
}

/// Persistent point-to-point operations of the same arguments.
#define STARTED_TWICE(Name, ...)                                 \
  do {                                                           \
    MPI_Request r_ = MPI_REQUEST_NULL;                           \
    const int code_ = BY_COUNT(Name)(__VA_ARGS__, &r_);          \
    result(#Name, code_);                                        \
    if (code_ != MPI_SUCCESS) break;                             \
    result("Startall", MPI_Startall(1, &r_));                    \
    result("Waitall", MPI_Waitall(1, &r_, MPI_STATUSES_IGNORE)); \
    result("Request_free", MPI_Request_free(&r_));               \
  } while (0)
#define SEND_ALL_WAYS(...)                  \
  do {                                      \
    BLOCKING(Send, __VA_ARGS__);            \
    BLOCKING(Bsend, __VA_ARGS__);           \
    BLOCKING(Ssend, __VA_ARGS__);           \
    BLOCKING(Rsend, __VA_ARGS__);           \
    STARTED(Isend, __VA_ARGS__);            \
    STARTED(Ibsend, __VA_ARGS__);           \
    STARTED(Issend, __VA_ARGS__);           \
    STARTED(Irsend, __VA_ARGS__);           \
    STARTED_TWICE(Send_init, __VA_ARGS__);  \
    STARTED_TWICE(Bsend_init, __VA_ARGS__); \
    STARTED_TWICE(Ssend_init, __VA_ARGS__); \
    STARTED_TWICE(Rsend_init, __VA_ARGS__); \
  } while (0)

static void messages(MPI_Comm c, const char* name) {
  const int nobody = MPI_PROC_NULL;
  MPI_Message message;
  part = name;
  SEND_ALL_WAYS(poison, 0, NONE, nobody, 1, c);
  SEND_ALL_WAYS(poison, kCount, MPI_INT, nobody, 1, c);
  BLOCKING(Recv, poison, 0, NONE, nobody, 1, c, MPI_STATUS_IGNORE);
  BLOCKING(Recv, poison, kCount, MPI_INT, nobody, 1, c, MPI_STATUS_IGNORE);
  STARTED(Irecv, poison, 0, NONE, nobody, 1, c);
  STARTED_TWICE(Recv_init, poison, 0, NONE, nobody, 1, c);
  BLOCKING(Sendrecv, poison, 0, NONE, nobody, 1, poison, 0, NONE, nobody, 1, c, MPI_STATUS_IGNORE);
  BLOCKING(Sendrecv_replace, poison, 0, NONE, nobody, 1, nobody, 1, c, MPI_STATUS_IGNORE);
  result("Probe", MPI_Probe(nobody, 1, c, MPI_STATUS_IGNORE));
  result("Mprobe", MPI_Mprobe(nobody, 1, c, &message, MPI_STATUS_IGNORE));
}
/// To oneself, of no length and no type; a library may refuse it.
static void empty_messages(void) {
  part = "to oneself";
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Request back = MPI_REQUEST_NULL;
  result("Irecv", MPI_Irecv(poison, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &r));
  int code = MPI_Isend(poison, 0, NONE, 0, 1, MPI_COMM_SELF, &back);
  result("Isend", code);
  if (code != MPI_SUCCESS) result("Isend", MPI_Isend(poison, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &back));
  result("Wait", MPI_Wait(&r, MPI_STATUS_IGNORE));
  result("Wait", MPI_Wait(&back, MPI_STATUS_IGNORE));
  code = MPI_Irecv(poison, 0, NONE, 0, 1, MPI_COMM_SELF, &r);
  result("Irecv", code);
  if (code != MPI_SUCCESS) result("Irecv", MPI_Irecv(poison, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &r));
  result("Send", MPI_Send(poison, 0, MPI_INT, 0, 1, MPI_COMM_SELF));
  result("Wait", MPI_Wait(&r, MPI_STATUS_IGNORE));
  BLOCKING(Sendrecv, poison, 0, NONE, 0, 1, poison, 0, NONE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/// Lists of nothing, and requests of nothing.
static void completion(void) {
  part = "no request";
  int found = kBad, index = kBad, flag = kBad;
  MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, collective;
  MPI_Status s, statuses[2];
  (void)statuses;
  for (int busy = 0; busy < 2; ++busy) {
    if (busy) MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &collective);
    result("Wait", MPI_Wait(none, MPI_STATUS_IGNORE));
    result("Test", MPI_Test(none, &flag, MPI_STATUS_IGNORE));
    result("Waitall", MPI_Waitall(0, NO_REQUESTS, NO_ANSWERS));
    result("Waitall", MPI_Waitall(2, none, MPI_STATUSES_IGNORE));
    result("Testall", MPI_Testall(0, NO_REQUESTS, &flag, NO_ANSWERS));
    result("Waitany", MPI_Waitany(0, NO_REQUESTS, &index, &s));
    result("Testany", MPI_Testany(0, NO_REQUESTS, &index, &flag, &s));
    result("Waitany", MPI_Waitany(2, none, &index, &s));
    result("Testany", MPI_Testany(2, none, &index, &flag, &s));
    result("Waitsome", MPI_Waitsome(0, NO_REQUESTS, &found, poison, NO_ANSWERS));
    result("Testsome", MPI_Testsome(0, NO_REQUESTS, &found, poison, NO_ANSWERS));
    result("Waitsome", MPI_Waitsome(2, none, &found, poison, NO_ANSWERS));
    result("Testsome", MPI_Testsome(2, none, &found, poison, NO_ANSWERS));
    result("Startall", MPI_Startall(0, NO_REQUESTS));
    tell("rank %d found %d, index %d, flag %d\n", rank, found, index, flag);
#if !defined(STANDARD_ABI)
    // What a call refuses, it refuses as ever.
    result("Wait", MPI_Wait(NULL, MPI_STATUS_IGNORE));
    result("Test", MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
    result("Waitall", MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE));
    result("Waitany", MPI_Waitany(1, NULL, &index, &s));
    result("Testsome", MPI_Testsome(1, NULL, &found, &index, &s));
    result("Start", MPI_Start(NULL));
    result("Startall", MPI_Startall(1, NULL));
    result("Request_free", MPI_Request_free(NULL));
#endif
  }
  result("Wait", MPI_Wait(&collective, MPI_STATUS_IGNORE));
}

/// Calls that are wrong: they return what they return, and the handler of errors hears of each once.
static void refused(void) {
  part = "refused";
  result("Send", MPI_Send(in, 1, MPI_INT, 99, 1, MPI_COMM_WORLD));
#if RETURNS_REFUSALS
  MPI_Comm world = MPI_COMM_WORLD;
  result("Barrier", MPI_Barrier(MPI_COMM_NULL));
  result("Bcast", MPI_Bcast(in, kBad, MPI_INT, 0, MPI_COMM_WORLD));
  result("Bcast", MPI_Bcast(in, 1, NONE, 0, MPI_COMM_WORLD));
  result("Allreduce", MPI_Allreduce(in, out, 1, NONE, MPI_SUM, MPI_COMM_WORLD));
  result("Send", MPI_Send(in, 1, NONE, 0, 1, MPI_COMM_WORLD));
  result("Isend", MPI_Isend(in, 1, MPI_INT, 99, 1, MPI_COMM_WORLD, poison));
  result("Isend", MPI_Isend(in, 1, MPI_INT, 99, 1, MPI_COMM_WORLD, NULL));
  result("Ibarrier", MPI_Ibarrier(MPI_COMM_NULL, poison));
  result("Send_init", MPI_Send_init(in, 1, MPI_INT, 99, 1, MPI_COMM_WORLD, poison));
  result("Comm_dup", MPI_Comm_dup(MPI_COMM_NULL, poison));
  result("Comm_split", MPI_Comm_split(MPI_COMM_WORLD, kBad - 100, 0, NULL));
  result("Comm_free", MPI_Comm_free(&world));
#if defined(MPICH)
  result("Comm_free", MPI_Comm_free(NULL));
  // An integer that is no handle.
  result("Barrier", MPI_Barrier(12345));
  result("Send", MPI_Send(in, 1, 12345, 0, 1, MPI_COMM_WORLD));
  result("Send", MPI_Send(in, 1, MPI_INT, 0, 1, 12345));
#endif
#endif
  result("Barrier", MPI_Barrier(MPI_COMM_WORLD));  // works as before
}

/// Communicators of every kind: rank 3 is in none that has members to choose.
static void made_of(MPI_Comm c) {
  part = "made";
  const int members[3] = {0, 1, 2}, sides[2] = {2, 1}, along[2] = {1, 0}, periods[2] = {0, 1};
  const int index[3] = {1, 3, 4}, edges[4] = {1, 0, 2, 1}, in_it = rank < 3;
  MPI_Group all, some;
  MPI_Request request;
  MPI_Comm made[7];
  for (int i = 0; i < 7; ++i) made[i] = MPI_COMM_NULL;
  MPI_Comm_group(c, &all);
  MPI_Group_incl(all, 3, members, &some);
  result("Comm_dup_with_info", MPI_Comm_dup_with_info(c, MPI_INFO_NULL, &made[0]));
  result("Comm_idup", MPI_Comm_idup(c, &made[1], &request));
  result("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
  result("Comm_create", MPI_Comm_create(c, some, &made[2]));
  if (in_it) result("Comm_create_group", MPI_Comm_create_group(c, some, 5, &made[3]));
  result("Comm_split_type",
         MPI_Comm_split_type(c, in_it ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, kBad, MPI_INFO_NULL, &made[4]));
  result("Cart_create", MPI_Cart_create(c, 2, sides, periods, 0, &made[5]));
  if (made[5] != MPI_COMM_NULL) {
    MPI_Comm line;
    result("Cart_sub", MPI_Cart_sub(made[5], along, &line));
    result("Allreduce", MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, line));
    result("Comm_free", MPI_Comm_free(&line));
  }
  result("Graph_create", MPI_Graph_create(c, 3, index, edges, 0, &made[6]));
  for (int i = 0; i < 7; ++i) {
    if (made[i] == MPI_COMM_NULL) continue;
    result("Barrier", MPI_Barrier(made[i]));
    result("Comm_free", MPI_Comm_free(&made[i]));
  }
  MPI_Group_free(&some);
  MPI_Group_free(&all);
}

/// Rank 0 prints what each rank was told, in the order of ranks.
static void print(void) {
  for (int r = 0; r < kRanks; ++r) {
    if (r == rank && rank != 0) MPI_Send(told, used + 1, MPI_CHAR, 0, 9, MPI_COMM_WORLD);
    if (rank != 0) continue;
    if (r != 0) MPI_Recv(told, kRoom, MPI_CHAR, r, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fputs(told, stdout);
  }
}

int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  poison = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  beyond = (char*)poison + 1024;
  if (size != kRanks || poison == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < kRanks; ++i) {
    places[i] = i * kCount;
    byte_places[i] = i * kCount * (int)sizeof(int);
    wide_places[i] = byte_places[i];
    ints[i] = MPI_INT;
    no_types[i] = NONE;
  }
  static char buffer[1 << 16];
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);

  rooted(MPI_COMM_WORLD, 1);
  in_place(MPI_COMM_WORLD);
  nothing(MPI_COMM_WORLD);
  neighbours(MPI_COMM_WORLD);
  messages(MPI_COMM_WORLD, "messages");
  empty_messages();

  MPI_Comm half, both, merged;
  part = "between";
  const int first = rank < 2;
  result("Comm_split", MPI_Comm_split(MPI_COMM_WORLD, first, 0, &half));
  // The leader's argument is for the leader alone.
  result("Intercomm_create", MPI_Intercomm_create(half, 0, rank % 2 == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL,
                                                  rank % 2 != 0 ? kBad
                                                  : first       ? 2
                                                                : 0,
                                                  7, &both));
  MPI_Comm_set_errhandler(both, handler);
  // A copy each: where MPI_PROC_NULL takes part, Open MPI 4 loses count of its non-blocking operations.
  for (int which = 0; which < 3; ++which) {
    MPI_Comm copy;
    result("Comm_dup", MPI_Comm_dup(both, &copy));
    if (which < 2)
      between(copy, which, first);
    else
      between_all(copy);
    result("Comm_free", MPI_Comm_free(&copy));
  }
  messages(both, "messages between");
  part = "between";
  result("Intercomm_merge", MPI_Intercomm_merge(both, first, &merged));
  result("Allreduce", MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, merged));
  result("Comm_free", MPI_Comm_free(&merged));
  result("Comm_disconnect", MPI_Comm_disconnect(&both));
  result("Comm_free", MPI_Comm_free(&half));
  made_of(MPI_COMM_WORLD);
  completion();
  refused();
  tell("rank %d: the handlers of errors heard of %d\n", rank, handled);
  print();
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
