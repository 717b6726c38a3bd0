// SPDX-License-Identifier: Apache-2.0
// The collectives of MPI: one description each, for the blocking, non-blocking and persistent forms in C and
// Fortran. Message sizes follow nccl-tests: buffer bytes for AllReduce, Broadcast and Reduce; the whole array
// for AllGather, ReduceScatter, Gather and Scatter; the bytes that one rank sends for AllToAll. Between two groups
// each member says what it passes to or takes from the other one.
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

std::uint64_t count_of(std::int32_t members) {
  return members < 0 ? 0 : static_cast<std::uint64_t>(members);
}
/// Members that lists of counts stand for.
std::uint64_t addressed(const Comm* c) {
  return c == nullptr ? 0 : count_of(c->addressed());
}
std::uint64_t own_group(const Comm* c) {
  return c == nullptr ? 0 : count_of(c->own_size());
}
template <class N>
std::uint64_t sum_of(const N* counts, std::uint32_t element, std::uint64_t members) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; element != 0 && counts != nullptr && i < members; ++i)
    if (counts[i] > 0) sum += static_cast<std::uint64_t>(counts[i]) * element;
  return sum;
}
std::uint16_t flags_of(const Comm* c, unsigned more) {
  return static_cast<std::uint16_t>((c == nullptr ? 0U : c->flags) | more);
}
Shape plain(MPI_Comm comm, Comm* c, Collective op, std::uint64_t bytes = 0, std::uint16_t flags = 0) {
  return {.handle = comm, .comm = c, .op = op, .flags = flags_of(c, flags), .bytes = bytes};
}
/// An element of no size is not known: nothing was passed.
Shape of_elements(MPI_Comm comm, Comm* c, Collective op, std::uint32_t element, std::uint64_t bytes,
                  std::uint16_t flags = 0) {
  const unsigned known = element != 0 ? trace::kElement : 0;
  return {comm, c, op, flags_of(c, flags | known), bytes, element};
}
std::uint64_t size_by(std::uint32_t element, std::int64_t count) {
  return count <= 0 ? 0 : static_cast<std::uint64_t>(count) * element;
}
Shape reduction(MPI_Comm comm, Collective op, MPI_Datatype type, std::int64_t count) {
  const std::uint32_t element = element_of(type);
  return of_elements(comm, lookup(comm), op, element, size_by(element, count));
}

/// What a rank does in a collective with a root: whose arguments are significant.
enum class Part : std::uint8_t {
  Root,
  Other,  ///< passes to the root or takes from it
  None,   ///< of the root's group, where the root turns to the other one
};
Part part_of(const Comm* c, int root) {
  if (c == nullptr) return Part::None;
  if (!c->joins_two()) return c->rank == root ? Part::Root : Part::Other;
  if (root == MPI_ROOT) return Part::Root;
  return root == MPI_PROC_NULL ? Part::None : Part::Other;
}
Shape rooted(MPI_Comm comm, Comm* c, Collective op, std::uint64_t bytes, int root, std::uint16_t flags = 0) {
  std::uint32_t at = static_cast<std::uint32_t>(root);
  if (c != nullptr && c->joins_two()) {
    if (root == MPI_PROC_NULL) return plain(comm, c, op, 0, flags);  // the root is not told
    at = static_cast<std::uint32_t>(root == MPI_ROOT ? c->rank : c->remote_first + root);
  }
  return {comm, c, op, flags_of(c, flags | trace::kRooted), bytes, at};
}
/// Gather and Scatter: the root reads its list's arguments where it is not one of those who pass.
Shape spread(MPI_Comm comm, Comm* c, Collective op, int root, bool in_place, MPI_Datatype list_type,
             std::int64_t list_count, MPI_Datatype own_type, std::int64_t own_count) {
  std::uint64_t bytes = 0;
  switch (part_of(c, root)) {
    case Part::Root:
      bytes = (in_place || c->joins_two() ? size_of(list_type, list_count) : size_of(own_type, own_count)) *
              addressed(c);
      break;
    case Part::Other:
      bytes = size_of(own_type, own_count) * own_group(c);
      break;
    case Part::None:
      break;
  }
  return rooted(comm, c, op, bytes, root);
}
/// The same with a size for each: only the root's counts are defined.
template <class N>
Shape spread_v(MPI_Comm comm, Comm* c, Collective op, int root, MPI_Datatype list_type, const N* counts,
               MPI_Datatype own_type, std::int64_t own_count) {
  const Part part = part_of(c, root);
  std::uint64_t bytes = 0;
  if (part == Part::Root) bytes = sum_of(counts, element_of(list_type), addressed(c));
  if (part == Part::Other) bytes = size_of(own_type, own_count);
  return rooted(comm, c, op, bytes, root, trace::kVariable);
}

// N: the type of counts; wider in the functions that end with _c, and displacements with it.
template <class N>
using Offset = std::conditional_t<std::is_same_v<N, int>, int, MPI_Aint>;

Shape barrier(MPI_Comm comm) {
  return plain(comm, lookup(comm), Collective::Barrier);
}
template <class N>
Shape bcast(void*, N count, MPI_Datatype type, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  return rooted(comm, c, Collective::Broadcast, part_of(c, root) == Part::None ? 0 : size_of(type, count),
                root);
}
template <class N>
Shape gather(const void* in, N in_count, MPI_Datatype in_type, void*, N out_count, MPI_Datatype out_type,
             int root, MPI_Comm comm) {
  return spread(comm, lookup(comm), Collective::Gather, root, in == MPI_IN_PLACE, out_type, out_count,
                in_type, in_count);
}
template <class N>
Shape gatherv(const void*, N in_count, MPI_Datatype in_type, void*, const N* counts, const Offset<N>*,
              MPI_Datatype out_type, int root, MPI_Comm comm) {
  return spread_v(comm, lookup(comm), Collective::Gather, root, out_type, counts, in_type, in_count);
}
template <class N>
Shape scatter(const void*, N in_count, MPI_Datatype in_type, void* out, N out_count, MPI_Datatype out_type,
              int root, MPI_Comm comm) {
  return spread(comm, lookup(comm), Collective::Scatter, root, out == MPI_IN_PLACE, in_type, in_count,
                out_type, out_count);
}
template <class N>
Shape scatterv(const void*, const N* counts, const Offset<N>*, MPI_Datatype in_type, void*, N out_count,
               MPI_Datatype out_type, int root, MPI_Comm comm) {
  return spread_v(comm, lookup(comm), Collective::Scatter, root, in_type, counts, out_type, out_count);
}
template <class N>
Shape allgather(const void*, N, MPI_Datatype, void*, N count, MPI_Datatype type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint32_t element = element_of(type);
  return of_elements(comm, c, Collective::AllGather, element, size_by(element, count) * addressed(c));
}
template <class N>
Shape allgatherv(const void*, N, MPI_Datatype, void*, const N* counts, const Offset<N>*, MPI_Datatype type,
                 MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint32_t element = element_of(type);
  return of_elements(comm, c, Collective::AllGather, element, sum_of(counts, element, addressed(c)),
                     trace::kVariable);
}
template <class N>
Shape alltoall(const void*, N, MPI_Datatype, void*, N count, MPI_Datatype type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint32_t element = element_of(type);
  return of_elements(comm, c, Collective::AllToAll, element, size_by(element, count) * addressed(c));
}
template <class N>
Shape alltoallv(const void* in, const N* in_counts, const Offset<N>*, MPI_Datatype in_type, void*,
                const N* out_counts, const Offset<N>*, MPI_Datatype out_type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const bool in_place = in == MPI_IN_PLACE;
  const std::uint32_t element = element_of(in_place ? out_type : in_type);
  return of_elements(comm, c, Collective::AllToAll, element,
                     sum_of(in_place ? out_counts : in_counts, element, addressed(c)), trace::kVariable);
}
template <class N>
Shape alltoallw(const void*, const N*, const Offset<N>*, const MPI_Datatype*, void*, const N* counts,
                const Offset<N>*, const MPI_Datatype* types, MPI_Comm comm) {
  Comm* c = lookup(comm);
  std::uint64_t bytes = 0;  // in Open MPI's Fortran the types are not readable as C handles: zero
  for (std::uint64_t i = 0; types != nullptr && counts != nullptr && i < addressed(c); ++i)
    if (counts[i] > 0) bytes += size_of(types[i], counts[i]);
  return plain(comm, c, Collective::AllToAll, bytes, trace::kVariable);
}
template <class N>
Shape reduce(const void*, void*, N count, MPI_Datatype type, MPI_Op, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  return rooted(comm, c, Collective::Reduce, part_of(c, root) == Part::None ? 0 : size_of(type, count), root);
}
template <class N>
Shape allreduce(const void*, void*, N count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  return reduction(comm, Collective::AllReduce, type, count);
}
template <class N>
Shape reduce_scatter(const void*, void*, const N* counts, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint32_t element = element_of(type);
  return of_elements(comm, c, Collective::ReduceScatter, element, sum_of(counts, element, own_group(c)),
                     trace::kVariable);
}
template <class N>
Shape reduce_scatter_block(const void*, void*, N count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint32_t element = element_of(type);
  return of_elements(comm, c, Collective::ReduceScatter, element, size_by(element, count) * own_group(c));
}
template <class N>
Shape scan(const void*, void*, N count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  return reduction(comm, Collective::Scan, type, count);
}
template <class N>
Shape exscan(const void*, void*, N count, MPI_Datatype type, MPI_Op, MPI_Comm comm) {
  return reduction(comm, Collective::Scan, type, count);
}

// Neighborhood collectives: bytes that this rank contributes to one neighbour (it may have none), or its own
// counts where they differ; how many neighbours there are only the topology knows.
Shape neighbor(MPI_Comm comm, std::uint64_t bytes) {
  return plain(comm, lookup(comm), Collective::Neighbor, bytes, trace::kVariable);
}
template <class N>
Shape neighbor_same(const void*, N count, MPI_Datatype type, void*, N, MPI_Datatype, MPI_Comm comm) {
  return neighbor(comm, size_of(type, count));
}
template <class N>
Shape neighbor_allgatherv(const void*, N count, MPI_Datatype type, void*, const N*, const Offset<N>*,
                          MPI_Datatype, MPI_Comm comm) {
  return neighbor(comm, size_of(type, count));
}
template <class N>
Shape neighbor_alltoallv(const void*, const N*, const Offset<N>*, MPI_Datatype, void*, const N*,
                         const Offset<N>*, MPI_Datatype, MPI_Comm comm) {
  return neighbor(comm, 0);
}
template <class N>
Shape neighbor_alltoallw(const void*, const N*, const MPI_Aint*, const MPI_Datatype*, void*, const N*,
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

/// MPI refused it: on what is no communicator it was no collective.
[[gnu::noinline, gnu::cold]] void refused(RawRecord* record) noexcept {
  if (record->comm == 0)
    writer->retract(record);
  else
    writer->end(record);
}

struct Blocking {
  using Tail = Types<>;
  static RawRecord* before(const Shape& s) noexcept { return begin(s); }
  static void after(RawRecord* record, bool good, MPI_Request) noexcept {
    if (!good) [[unlikely]]
      return refused(record);
    writer->end(record);
    if (pacing != nullptr) [[unlikely]]
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
    if (!good) return refused(span.record);
    writer->end(span.record);
    if (is_nothing(key_of(request))) return;  // complete, and nothing tells it from others
    requests.put(key_of(request), [&span](RequestFacts& r) { fill(r, span.shape, span.seq, false); });
  }
  static void fill(RequestFacts& r, const Shape& s, std::uint32_t seq, bool persistent) noexcept {
    r.comm_handle = key_of(s.handle);
    r.comm = s.comm == nullptr ? 0 : s.comm->number;
    r.seq = seq;
    r.bytes = s.bytes;
    r.aux = s.aux;
    r.flags = s.flags;
    r.op = static_cast<std::uint8_t>(s.op);
    r.message = false;
    r.persistent = persistent;
    r.active = false;
  }
};

/// Nothing happens yet: `MPI_Start` begins the operation, as often as the program likes.
struct Preparing {
  using Tail = Types<MPI_Info, MPI_Request*>;
  static Shape before(const Shape& s) noexcept { return s; }
  static void after(const Shape& s, bool good, MPI_Request request) noexcept {
    if (!good || request == library.null_request) return;
    requests.put(key_of(request), [&s](RequestFacts& r) { Starting::fill(r, s, 0, true); });
  }
};

// NOLINTBEGIN(bugprone-macro-parentheses)
#if defined(OPEN_MPI)
#define COX_PERSISTENT(Name, name, describe)                                           \
  wrapper<C<"MPIX_" Name, describe, Preparing>>(),                                     \
      wrapper<Fortran<"mpix_" name "_", describe, Preparing, Buffers::Address>>(),     \
      wrapper<Fortran<"mpix_" name "_f08_", describe, Preparing, Buffers::Address>>(), \
      COX_BINDINGS(Name, name, describe, Preparing)
#else
#define COX_PERSISTENT(Name, name, describe) COX_BINDINGS(Name, name, describe, Preparing)
#endif
#define COX_THREE_FORMS(Name, name, describe)                                                         \
  COX_BINDINGS(Name, name, describe, Blocking), COX_BINDINGS("I" name, "i" name, describe, Starting), \
      COX_PERSISTENT(Name "_init", name "_init", describe)
#define COX_COLLECTIVE(Name, name, describe)                                                                 \
  COX_THREE_FORMS(Name, name, describe<int>), wrapper<C<"MPI_" Name "_c", describe<MPI_Count>, Blocking>>(), \
      wrapper<C<"MPI_I" name "_c", describe<MPI_Count>, Starting>>(),                                        \
      wrapper<C<"MPI_" Name "_init_c", describe<MPI_Count>, Preparing>>()
// NOLINTEND(bugprone-macro-parentheses)

const Wrapper kWrappers[] = {
    COX_THREE_FORMS("Barrier", "barrier", barrier),
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

// NOLINTBEGIN(bugprone-macro-parentheses): the name of a template
#define COX_SAME_PARAMETERS(function, describe) \
  static_assert(std::is_same_v<decltype(&PMPI_##function), decltype(C<"", describe<int>, Blocking>::real)>)
// NOLINTEND(bugprone-macro-parentheses)
static_assert(std::is_same_v<decltype(&PMPI_Barrier), decltype(C<"", barrier, Blocking>::real)>);
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
#if MPI_VERSION >= 4
#define COX_SAME_LARGE(function, describe) \
  static_assert(                           \
      std::is_same_v<decltype(&PMPI_##function##_c), decltype(C<"", describe<MPI_Count>, Blocking>::real)>)
COX_SAME_LARGE(Bcast, bcast);
COX_SAME_LARGE(Gather, gather);
COX_SAME_LARGE(Gatherv, gatherv);
COX_SAME_LARGE(Scatter, scatter);
COX_SAME_LARGE(Scatterv, scatterv);
COX_SAME_LARGE(Allgather, allgather);
COX_SAME_LARGE(Allgatherv, allgatherv);
COX_SAME_LARGE(Alltoall, alltoall);
COX_SAME_LARGE(Alltoallv, alltoallv);
COX_SAME_LARGE(Alltoallw, alltoallw);
COX_SAME_LARGE(Reduce, reduce);
COX_SAME_LARGE(Allreduce, allreduce);
COX_SAME_LARGE(Reduce_scatter, reduce_scatter);
COX_SAME_LARGE(Reduce_scatter_block, reduce_scatter_block);
COX_SAME_LARGE(Scan, scan);
COX_SAME_LARGE(Exscan, exscan);
COX_SAME_LARGE(Neighbor_allgather, neighbor_same);
COX_SAME_LARGE(Neighbor_allgatherv, neighbor_allgatherv);
COX_SAME_LARGE(Neighbor_alltoall, neighbor_same);
COX_SAME_LARGE(Neighbor_alltoallv, neighbor_alltoallv);
COX_SAME_LARGE(Neighbor_alltoallw, neighbor_alltoallw);
#endif

}  // namespace

Wrappers collective_wrappers() noexcept {
  return {kWrappers, sizeof kWrappers / sizeof kWrappers[0]};
}

}  // namespace cox::guest::mpi
