// SPDX-License-Identifier: Apache-2.0
// The collectives of MPI: one description each, for the blocking, non-blocking and persistent forms in C and
// Fortran. Message sizes follow nccl-tests: buffer bytes for AllReduce, Broadcast and Reduce; the whole array
// for AllGather, ReduceScatter, Gather and Scatter; the bytes that one rank sends for AllToAll.
#include "guest/mpi/bindings.hpp"
#include "guest/mpi/state.hpp"

namespace cox::guest::mpi {
namespace {

using model::Collective;
using trace::EventKind;
using trace::RawRecord;

/// What a collective call is.
struct Shape {
  MPI_Comm handle{};
  Comm* comm = nullptr;
  Collective op = Collective::Other;
  std::uint16_t flags = 0;
  std::uint64_t bytes = 0;
  std::uint32_t aux = 0;  ///< root, or bytes of one element
};

std::uint64_t members_of(const Comm* comm) {
  return comm == nullptr || comm->size < 0 ? 1 : static_cast<std::uint64_t>(comm->size);
}
std::uint64_t sum_of(const int* counts, std::uint32_t element, const Comm* comm) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; counts != nullptr && i < members_of(comm); ++i)
    if (counts[i] > 0) sum += static_cast<std::uint64_t>(counts[i]) * element;
  return sum;
}
Shape of_elements(MPI_Comm comm, Comm* c, Collective op, std::uint32_t element, std::uint64_t bytes,
                  std::uint16_t flags = 0) {
  return {comm, c, op, static_cast<std::uint16_t>(flags | trace::kElement), bytes, element};
}
Shape reduction(MPI_Comm comm, Collective op, MPI_Datatype type, int count) {
  const std::uint32_t element = element_of(type);
  return of_elements(comm, lookup(comm), op, element,
                     count < 0 ? 0 : static_cast<std::uint64_t>(count) * element);
}
Shape rooted(MPI_Comm comm, Comm* c, Collective op, std::uint64_t bytes, int root, std::uint16_t flags = 0) {
  return {comm,  c,
          op,    static_cast<std::uint16_t>(flags | trace::kRooted),
          bytes, static_cast<std::uint32_t>(root)};
}

Shape barrier(MPI_Comm comm) {
  return {.handle = comm, .comm = lookup(comm), .op = Collective::Barrier};
}
Shape bcast(void*, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return rooted(comm, lookup(comm), Collective::Broadcast, size_of(type, count), root);
}
Shape gather(const void* in, int in_count, MPI_Datatype in_type, void*, int out_count, MPI_Datatype out_type,
             int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint64_t one = in == MPI_IN_PLACE ? size_of(out_type, out_count) : size_of(in_type, in_count);
  return rooted(comm, c, Collective::Gather, one * members_of(c), root);
}
Shape gatherv(const void*, int in_count, MPI_Datatype in_type, void*, const int* counts, const int*,
              MPI_Datatype out_type, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const bool here = c != nullptr && c->rank == root;  // only the root's counts are defined
  return rooted(comm, c, Collective::Gather,
                here ? sum_of(counts, element_of(out_type), c) : size_of(in_type, in_count), root,
                trace::kVariable);
}
Shape scatter(const void*, int in_count, MPI_Datatype in_type, void* out, int out_count,
              MPI_Datatype out_type, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint64_t one = out == MPI_IN_PLACE ? size_of(in_type, in_count) : size_of(out_type, out_count);
  return rooted(comm, c, Collective::Scatter, one * members_of(c), root);
}
Shape scatterv(const void*, const int* counts, const int*, MPI_Datatype in_type, void*, int out_count,
               MPI_Datatype out_type, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const bool here = c != nullptr && c->rank == root;
  return rooted(comm, c, Collective::Scatter,
                here ? sum_of(counts, element_of(in_type), c) : size_of(out_type, out_count), root,
                trace::kVariable);
}
Shape allgather(const void*, int, MPI_Datatype, void*, int count, MPI_Datatype type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  return of_elements(comm, c, Collective::AllGather, element_of(type), size_of(type, count) * members_of(c));
}
Shape allgatherv(const void*, int, MPI_Datatype, void*, const int* counts, const int*, MPI_Datatype type,
                 MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint32_t element = element_of(type);
  return of_elements(comm, c, Collective::AllGather, element, sum_of(counts, element, c), trace::kVariable);
}
Shape alltoall(const void*, int, MPI_Datatype, void*, int count, MPI_Datatype type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  return of_elements(comm, c, Collective::AllToAll, element_of(type), size_of(type, count) * members_of(c));
}
Shape alltoallv(const void* in, const int* in_counts, const int*, MPI_Datatype in_type, void*,
                const int* out_counts, const int*, MPI_Datatype out_type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const bool in_place = in == MPI_IN_PLACE;
  const std::uint32_t element = element_of(in_place ? out_type : in_type);
  return of_elements(comm, c, Collective::AllToAll, element,
                     sum_of(in_place ? out_counts : in_counts, element, c), trace::kVariable);
}
Shape alltoallw(const void*, const int*, const int*, const MPI_Datatype*, void*, const int* counts,
                const int*, const MPI_Datatype* types, MPI_Comm comm) {
  Comm* c = lookup(comm);
  std::uint64_t bytes = 0;  // in Open MPI's Fortran the types are not readable as C handles: zero
  for (std::uint64_t i = 0; types != nullptr && counts != nullptr && i < members_of(c); ++i)
    bytes += size_of(types[i], counts[i]);
  return {.handle = comm, .comm = c, .op = Collective::AllToAll, .flags = trace::kVariable, .bytes = bytes};
}
Shape reduce(const void*, void*, int count, MPI_Datatype type, MPI_Op, int root, MPI_Comm comm) {
  return rooted(comm, lookup(comm), Collective::Reduce, size_of(type, count), root);
}
Shape allreduce(const void*, void*, int count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  return reduction(comm, Collective::AllReduce, type, count);
}
Shape reduce_scatter(const void*, void*, const int* counts, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint32_t element = element_of(type);
  return of_elements(comm, c, Collective::ReduceScatter, element, sum_of(counts, element, c),
                     trace::kVariable);
}
Shape reduce_scatter_block(const void*, void*, int count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  Comm* c = lookup(comm);
  return of_elements(comm, c, Collective::ReduceScatter, element_of(type),
                     size_of(type, count) * members_of(c));
}
Shape scan(const void*, void*, int count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  return reduction(comm, Collective::Scan, type, count);
}
Shape exscan(const void*, void*, int count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  return reduction(comm, Collective::Scan, type, count);
}

// Neighborhood collectives: bytes that this rank contributes to one neighbour (it may have none), or its own
// counts where they differ; how many neighbours there are only the topology knows.
Shape neighbor(MPI_Comm comm, std::uint64_t bytes) {
  return {.handle = comm,
          .comm = lookup(comm),
          .op = Collective::Neighbor,
          .flags = trace::kVariable,
          .bytes = bytes};
}
Shape neighbor_same(const void*, int count, MPI_Datatype type, void*, int, MPI_Datatype, MPI_Comm comm) {
  return neighbor(comm, size_of(type, count));
}
Shape neighbor_allgatherv(const void*, int count, MPI_Datatype type, void*, const int*, const int*,
                          MPI_Datatype, MPI_Comm comm) {
  return neighbor(comm, size_of(type, count));
}
Shape neighbor_alltoallv(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*,
                         MPI_Datatype, MPI_Comm comm) {
  return neighbor(comm, 0);
}
Shape neighbor_alltoallw(const void*, const int*, const MPI_Aint*, const MPI_Datatype*, void*, const int*,
                         const MPI_Aint*, const MPI_Datatype*, MPI_Comm comm) {
  return neighbor(comm, 0);
}

inline RawRecord* begin(const Shape& s, std::uint16_t more = 0) noexcept {
  if (peers.pending()) peers.flush();
  Comm* const c = s.comm;
  if (pacing != nullptr) [[unlikely]]
    enter_paced(c);
  return writer->begin(EventKind::Collective, static_cast<std::uint8_t>(s.op), s.flags | more,
                       c == nullptr ? 0 : c->number, c == nullptr ? 0 : c->seq++, s.bytes, s.aux);
}

struct Blocking {
  using Tail = Types<>;
  static RawRecord* before(const Shape& s) noexcept { return begin(s); }
  static void after(RawRecord* record, bool good, MPI_Request) noexcept {
    writer->end(record);
    if (pacing != nullptr && good) [[unlikely]]
      leave_paced(record);
  }
};

/// The record is the call that starts the operation; the wait that completes it names it.
struct Starting {
  using Tail = Types<MPI_Request*>;
  struct Span {
    Shape shape;
    RawRecord* record;
    std::uint32_t seq;
  };
  static Span before(const Shape& s) noexcept {
    const std::uint32_t seq = s.comm == nullptr ? 0 : s.comm->seq;
    return {s, begin(s, trace::kNonBlocking), seq};
  }
  static void after(const Span& span, bool good, MPI_Request request) noexcept {
    writer->end(span.record);
    if (!good || request == library.null_request) return;
    requests.put(key_of(request), [&span](Request& r) { fill(r, span.shape, span.seq, false); });
  }
  static void fill(Request& r, const Shape& s, std::uint32_t seq, bool persistent) noexcept {
    r.comm_handle = key_of(s.handle);
    r.comm = s.comm == nullptr ? 0 : s.comm->number;
    r.seq = seq;
    r.bytes = s.bytes;
    r.aux = s.aux;
    r.flags = s.flags;
    r.op = static_cast<std::uint8_t>(s.op);
    r.message = false;
    r.persistent = persistent;
  }
};

/// Nothing happens yet: `MPI_Start` begins the operation, as often as the program likes.
struct Preparing {
  using Tail = Types<MPI_Info, MPI_Request*>;
  static Shape before(const Shape& s) noexcept { return s; }
  static void after(const Shape& s, bool good, MPI_Request request) noexcept {
    if (!good || request == library.null_request) return;
    requests.put(key_of(request), [&s](Request& r) { Starting::fill(r, s, 0, true); });
  }
};

// NOLINTBEGIN(bugprone-macro-parentheses)
#if defined(OPEN_MPI)
#define COX_PERSISTENT(Name, name, describe) \
  wrapper<C<"MPIX_" Name, describe, Preparing>>(), wrapper<C<"MPI_" Name, describe, Preparing>>()
#else
#define COX_PERSISTENT(Name, name, describe) COX_BINDINGS(Name, name, describe, Preparing)
#endif
#define COX_COLLECTIVE(Name, name, describe)                                                          \
  COX_BINDINGS(Name, name, describe, Blocking), COX_BINDINGS("I" name, "i" name, describe, Starting), \
      COX_PERSISTENT(Name "_init", name "_init", describe)
// NOLINTEND(bugprone-macro-parentheses)

const Wrapper kWrappers[] = {
    COX_COLLECTIVE("Barrier", "barrier", barrier),
    COX_COLLECTIVE("Bcast", "bcast", bcast),
    COX_COLLECTIVE("Gather", "gather", gather),
    COX_COLLECTIVE("Gatherv", "gatherv", gatherv),
    COX_COLLECTIVE("Scatter", "scatter", scatter),
    COX_COLLECTIVE("Scatterv", "scatterv", scatterv),
    COX_COLLECTIVE("Allgather", "allgather", allgather),
    COX_COLLECTIVE("Allgatherv", "allgatherv", allgatherv),
    COX_COLLECTIVE("Alltoall", "alltoall", alltoall),
    COX_COLLECTIVE("Alltoallv", "alltoallv", alltoallv),
    COX_COLLECTIVE("Alltoallw", "alltoallw", alltoallw),
    COX_COLLECTIVE("Reduce", "reduce", reduce),
    COX_COLLECTIVE("Allreduce", "allreduce", allreduce),
    COX_COLLECTIVE("Reduce_scatter", "reduce_scatter", reduce_scatter),
    COX_COLLECTIVE("Reduce_scatter_block", "reduce_scatter_block", reduce_scatter_block),
    COX_COLLECTIVE("Scan", "scan", scan),
    COX_COLLECTIVE("Exscan", "exscan", exscan),
    COX_COLLECTIVE("Neighbor_allgather", "neighbor_allgather", neighbor_same),
    COX_COLLECTIVE("Neighbor_allgatherv", "neighbor_allgatherv", neighbor_allgatherv),
    COX_COLLECTIVE("Neighbor_alltoall", "neighbor_alltoall", neighbor_same),
    COX_COLLECTIVE("Neighbor_alltoallv", "neighbor_alltoallv", neighbor_alltoallv),
    COX_COLLECTIVE("Neighbor_alltoallw", "neighbor_alltoallw", neighbor_alltoallw),
};

#define COX_SAME_PARAMETERS(function, describe) \
  static_assert(std::is_same_v<decltype(&PMPI_##function), decltype(C<"", describe, Blocking>::real)>)
COX_SAME_PARAMETERS(Barrier, barrier);
COX_SAME_PARAMETERS(Bcast, bcast);
COX_SAME_PARAMETERS(Gather, gather);
COX_SAME_PARAMETERS(Gatherv, gatherv);
COX_SAME_PARAMETERS(Scatter, scatter);
COX_SAME_PARAMETERS(Scatterv, scatterv);
COX_SAME_PARAMETERS(Allgather, allgather);
COX_SAME_PARAMETERS(Allgatherv, allgatherv);
COX_SAME_PARAMETERS(Alltoall, alltoall);
COX_SAME_PARAMETERS(Alltoallv, alltoallv);
COX_SAME_PARAMETERS(Alltoallw, alltoallw);
COX_SAME_PARAMETERS(Reduce, reduce);
COX_SAME_PARAMETERS(Allreduce, allreduce);
COX_SAME_PARAMETERS(Reduce_scatter, reduce_scatter);
COX_SAME_PARAMETERS(Reduce_scatter_block, reduce_scatter_block);
COX_SAME_PARAMETERS(Scan, scan);
COX_SAME_PARAMETERS(Exscan, exscan);
COX_SAME_PARAMETERS(Neighbor_allgather, neighbor_same);
COX_SAME_PARAMETERS(Neighbor_allgatherv, neighbor_allgatherv);
COX_SAME_PARAMETERS(Neighbor_alltoall, neighbor_same);
COX_SAME_PARAMETERS(Neighbor_alltoallv, neighbor_alltoallv);
COX_SAME_PARAMETERS(Neighbor_alltoallw, neighbor_alltoallw);

}  // namespace

Wrappers collective_wrappers() noexcept {
  return {kWrappers, sizeof kWrappers / sizeof kWrappers[0]};
}

}  // namespace cox::guest::mpi
