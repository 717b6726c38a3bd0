// SPDX-License-Identifier: Apache-2.0
// Wrappers of MPI's blocking collectives for one MPI library (compiled once per ABI, linked to none). Message
// sizes follow nccl-tests: buffer bytes for AllReduce, Broadcast and Reduce; the whole array for AllGather,
// ReduceScatter, Gather and Scatter; the bytes that one rank sends for AllToAll.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdlib>

#include "cox/model/collective.hpp"

#include "observe/guest/communicators.hpp"
#include "observe/guest/typed.hpp"

namespace {

using namespace cox::observe::guest;
using cox::model::Collective;
using cox::trace::EventKind;
using cox::trace::RawRecord;
using namespace cox::trace;  // RecordFlag values

#define REAL(name) decltype(&name) real_##name = nullptr  // NOLINT(bugprone-macro-parentheses)
// Wrapped, found when first called.
REAL(MPI_Init);
REAL(MPI_Init_thread);
REAL(MPI_Finalize);
REAL(MPI_Barrier);
REAL(MPI_Bcast);
REAL(MPI_Gather);
REAL(MPI_Gatherv);
REAL(MPI_Scatter);
REAL(MPI_Scatterv);
REAL(MPI_Allgather);
REAL(MPI_Allgatherv);
REAL(MPI_Alltoall);
REAL(MPI_Alltoallv);
REAL(MPI_Alltoallw);
REAL(MPI_Reduce);
REAL(MPI_Allreduce);
REAL(MPI_Reduce_scatter);
REAL(MPI_Reduce_scatter_block);
REAL(MPI_Scan);
REAL(MPI_Exscan);
REAL(MPI_Comm_dup);
REAL(MPI_Comm_dup_with_info);
REAL(MPI_Comm_create);
REAL(MPI_Comm_create_group);
REAL(MPI_Comm_split);
REAL(MPI_Comm_split_type);
REAL(MPI_Cart_create);
REAL(MPI_Comm_free);
// Used by us, found at attach.
REAL(PMPI_Comm_rank);
REAL(PMPI_Comm_size);
REAL(PMPI_Comm_group);
REAL(PMPI_Comm_test_inter);
REAL(PMPI_Comm_get_name);
REAL(PMPI_Group_translate_ranks);
REAL(PMPI_Group_free);
REAL(PMPI_Initialized);
REAL(PMPI_Finalized);
REAL(PMPI_Type_size);
REAL(PMPI_Get_library_version);
#undef REAL

const Host* host = nullptr;
const WriterApi* writer = nullptr;
MPI_Comm world{};
MPI_Comm null_comm{};
CommTable comms;
Occurrences occurrences;
bool announced = false;

std::uintptr_t key_of(MPI_Comm comm) {
  return reinterpret_cast<std::uintptr_t>(comm);
}

// World ranks of a communicator's members, or false where there are more than fit or MPI says no.
bool world_ranks(MPI_Comm comm, std::int32_t* out, std::int32_t size) {
  MPI_Group mine{};
  MPI_Group all{};
  if (real_PMPI_Comm_group(comm, &mine) != MPI_SUCCESS) return false;
  bool good = real_PMPI_Comm_group(world, &all) == MPI_SUCCESS;
  if (good) {
    int* positions = out + size;
    for (int i = 0; i < size; ++i) positions[i] = i;
    good = real_PMPI_Group_translate_ranks(mine, size, positions, all, out) == MPI_SUCCESS;
    real_PMPI_Group_free(&all);
  }
  real_PMPI_Group_free(&mine);
  return good;
}

// Fills in a communicator; called where one is made, and at the first use of one that came another way.
void describe(MPI_Comm comm, Comm& slot) {
  int size = 0;
  int inter = 0;
  real_PMPI_Comm_size(comm, &size);
  real_PMPI_Comm_rank(comm, &slot.rank);
  real_PMPI_Comm_test_inter(comm, &inter);
  slot.size = size;
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  if (real_PMPI_Comm_get_name(comm, name, &length) != MPI_SUCCESS) name[0] = 0;
  // Off the hot path, once per communicator: members twice, for MPI's translation.
  auto* members =
      static_cast<std::int32_t*>(malloc(2 * static_cast<std::size_t>(size) * sizeof(std::int32_t)));
  if (inter == 0 && members != nullptr && world_ranks(comm, members, size)) {
    const auto count = static_cast<std::size_t>(size);
    const std::uint64_t set = writer->group_identity(members, count, 0);
    const std::uint32_t occurrence = occurrences.next(set);
    slot.number = writer->define_communicator(writer->group_identity(members, count, occurrence), size,
                                              slot.rank, members, static_cast<std::uint32_t>(size), name);
  } else {
    writer->note(
        "an inter-communicator or a group that MPI would not translate is recorded without its members");
    slot.number = writer->define_communicator(0, size, slot.rank, nullptr, 0, name);
  }
  free(members);
}

Comm* learn(MPI_Comm comm) {
  return comms.insert(key_of(comm), [comm](Comm& slot) { describe(comm, slot); });
}

// Opens the file once the library can say who we are.
void announce() {
  int ready = 0;
  int over = 0;
  if (real_PMPI_Initialized(&ready) != MPI_SUCCESS || ready == 0) return;
  if (real_PMPI_Finalized(&over) != MPI_SUCCESS || over != 0) return;
  announced = true;
  int rank = -1;
  int size = -1;
  real_PMPI_Comm_rank(world, &rank);
  real_PMPI_Comm_size(world, &size);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  real_PMPI_Get_library_version(version, &length);
  for (char* p = version; *p != 0; ++p)
    if (*p == ',' || *p == '\n') *p = 0;  // "Open MPI v4.1.4, package: ..." says enough before the comma
  writer->open({.rank = rank, .world_size = size, .library = version});
  writer->set_rank(rank, size);
  learn(world);
}

inline Comm* lookup(MPI_Comm comm) {
  if (!announced) [[unlikely]]
    announce();
  Comm* found = comms.find(key_of(comm));
  if (found == nullptr && announced && comm != null_comm) [[unlikely]]
    found = learn(comm);
  return found;
}

inline std::uint64_t size_of(MPI_Datatype type, int count) {
  int bytes = 0;
  real_PMPI_Type_size(type, &bytes);
  return count < 0 || bytes < 0 ? 0 : static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(bytes);
}

inline std::uint64_t members_of(const Comm* comm) {
  return comm == nullptr || comm->size < 0 ? 1 : static_cast<std::uint64_t>(comm->size);
}

inline RawRecord* enter(Comm* comm, Collective op, std::uint64_t bytes, std::uint16_t flags = 0,
                        int root = 0) {
  return writer->begin(EventKind::Collective, static_cast<std::uint8_t>(op), flags,
                       comm == nullptr ? 0 : comm->number, comm == nullptr ? 0 : comm->seq++, bytes,
                       static_cast<std::uint32_t>(root));
}

// Calls the real function between entry and exit of a record.
#define OBSERVED(record, call)       \
  RawRecord* const event = (record); \
  const int rc = (call);             \
  writer->end(event);                \
  return rc

std::uint64_t sum_of(const int* counts, MPI_Datatype type, const Comm* comm) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; counts != nullptr && i < members_of(comm); ++i) sum += size_of(type, counts[i]);
  return sum;
}

int wrap_init(int* argc, char*** argv) {
  const int rc = real_MPI_Init(argc, argv);
  if (rc == MPI_SUCCESS) announce();
  return rc;
}
int wrap_init_thread(int* argc, char*** argv, int required, int* provided) {
  const int rc = real_MPI_Init_thread(argc, argv, required, provided);
  if (rc == MPI_SUCCESS) announce();
  return rc;
}
int wrap_finalize() {
  writer->close();
  return real_MPI_Finalize();
}

int wrap_barrier(MPI_Comm comm) {
  OBSERVED(enter(lookup(comm), Collective::Barrier, 0), real_MPI_Barrier(comm));
}
int wrap_bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  OBSERVED(enter(lookup(comm), Collective::Broadcast, size_of(type, count), kRooted, root),
           real_MPI_Bcast(buffer, count, type, root, comm));
}
int wrap_gather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint64_t one = in == MPI_IN_PLACE ? size_of(out_type, out_count) : size_of(in_type, in_count);
  OBSERVED(enter(c, Collective::Gather, one * members_of(c), kRooted, root),
           real_MPI_Gather(in, in_count, in_type, out, out_count, out_type, root, comm));
}
int wrap_gatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                 const int* offsets, MPI_Datatype out_type, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const bool here = c != nullptr && c->rank == root;  // only the root's counts are defined
  OBSERVED(enter(c, Collective::Gather, here ? sum_of(counts, out_type, c) : size_of(in_type, in_count),
                 kRooted | kVariable, root),
           real_MPI_Gatherv(in, in_count, in_type, out, counts, offsets, out_type, root, comm));
}
int wrap_scatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                 MPI_Datatype out_type, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint64_t one = out == MPI_IN_PLACE ? size_of(in_type, in_count) : size_of(out_type, out_count);
  OBSERVED(enter(c, Collective::Scatter, one * members_of(c), kRooted, root),
           real_MPI_Scatter(in, in_count, in_type, out, out_count, out_type, root, comm));
}
int wrap_scatterv(const void* in, const int* counts, const int* offsets, MPI_Datatype in_type, void* out,
                  int out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  Comm* c = lookup(comm);
  const bool here = c != nullptr && c->rank == root;
  OBSERVED(enter(c, Collective::Scatter, here ? sum_of(counts, in_type, c) : size_of(out_type, out_count),
                 kRooted | kVariable, root),
           real_MPI_Scatterv(in, counts, offsets, in_type, out, out_count, out_type, root, comm));
}
int wrap_allgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                   MPI_Datatype out_type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  OBSERVED(enter(c, Collective::AllGather, size_of(out_type, out_count) * members_of(c)),
           real_MPI_Allgather(in, in_count, in_type, out, out_count, out_type, comm));
}
int wrap_allgatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                    const int* offsets, MPI_Datatype out_type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  OBSERVED(enter(c, Collective::AllGather, sum_of(counts, out_type, c), kVariable),
           real_MPI_Allgatherv(in, in_count, in_type, out, counts, offsets, out_type, comm));
}
int wrap_alltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm) {
  Comm* c = lookup(comm);
  OBSERVED(enter(c, Collective::AllToAll, size_of(out_type, out_count) * members_of(c)),
           real_MPI_Alltoall(in, in_count, in_type, out, out_count, out_type, comm));
}
int wrap_alltoallv(const void* in, const int* in_counts, const int* in_offsets, MPI_Datatype in_type,
                   void* out, const int* out_counts, const int* out_offsets, MPI_Datatype out_type,
                   MPI_Comm comm) {
  Comm* c = lookup(comm);
  const std::uint64_t bytes =
      in == MPI_IN_PLACE ? sum_of(out_counts, out_type, c) : sum_of(in_counts, in_type, c);
  OBSERVED(
      enter(c, Collective::AllToAll, bytes, kVariable),
      real_MPI_Alltoallv(in, in_counts, in_offsets, in_type, out, out_counts, out_offsets, out_type, comm));
}
int wrap_alltoallw(const void* in, const int* in_counts, const int* in_offsets, const MPI_Datatype* in_types,
                   void* out, const int* out_counts, const int* out_offsets, const MPI_Datatype* out_types,
                   MPI_Comm comm) {
  Comm* c = lookup(comm);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < members_of(c); ++i) bytes += size_of(out_types[i], out_counts[i]);
  OBSERVED(
      enter(c, Collective::AllToAll, bytes, kVariable),
      real_MPI_Alltoallw(in, in_counts, in_offsets, in_types, out, out_counts, out_offsets, out_types, comm));
}
int wrap_reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  OBSERVED(enter(lookup(comm), Collective::Reduce, size_of(type, count), kRooted, root),
           real_MPI_Reduce(in, out, count, type, op, root, comm));
}
int wrap_allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  OBSERVED(enter(lookup(comm), Collective::AllReduce, size_of(type, count)),
           real_MPI_Allreduce(in, out, count, type, op, comm));
}
int wrap_reduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm) {
  Comm* c = lookup(comm);
  OBSERVED(enter(c, Collective::ReduceScatter, sum_of(counts, type, c), kVariable),
           real_MPI_Reduce_scatter(in, out, counts, type, op, comm));
}
int wrap_reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm) {
  Comm* c = lookup(comm);
  OBSERVED(enter(c, Collective::ReduceScatter, size_of(type, count) * members_of(c)),
           real_MPI_Reduce_scatter_block(in, out, count, type, op, comm));
}
int wrap_scan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  OBSERVED(enter(lookup(comm), Collective::Scan, size_of(type, count)),
           real_MPI_Scan(in, out, count, type, op, comm));
}
int wrap_exscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  OBSERVED(enter(lookup(comm), Collective::Scan, size_of(type, count)),
           real_MPI_Exscan(in, out, count, type, op, comm));
}

// A communicator was made: its identity counts how many of the same ranks came before, so it is learned here,
// where all members pass in one order, and not at its first use.
int made(int rc, const MPI_Comm* fresh) {
  if (rc == MPI_SUCCESS && announced && fresh != nullptr && *fresh != null_comm) learn(*fresh);
  return rc;
}
int wrap_comm_dup(MPI_Comm comm, MPI_Comm* fresh) {
  return made(real_MPI_Comm_dup(comm, fresh), fresh);
}
int wrap_comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* fresh) {
  return made(real_MPI_Comm_dup_with_info(comm, info, fresh), fresh);
}
int wrap_comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* fresh) {
  return made(real_MPI_Comm_create(comm, group, fresh), fresh);
}
int wrap_comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* fresh) {
  return made(real_MPI_Comm_create_group(comm, group, tag, fresh), fresh);
}
int wrap_comm_split(MPI_Comm comm, int color, int key, MPI_Comm* fresh) {
  return made(real_MPI_Comm_split(comm, color, key, fresh), fresh);
}
int wrap_comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* fresh) {
  return made(real_MPI_Comm_split_type(comm, type, key, info, fresh), fresh);
}
int wrap_cart_create(MPI_Comm comm, int dims, const int* sizes, const int* periods, int reorder,
                     MPI_Comm* fresh) {
  return made(real_MPI_Cart_create(comm, dims, sizes, periods, reorder, fresh), fresh);
}
int wrap_comm_free(MPI_Comm* comm) {
  if (comm != nullptr) comms.erase(key_of(*comm));  // the handle may be given out again
  return real_MPI_Comm_free(comm);
}

// NOLINTBEGIN(bugprone-macro-parentheses): pasted and quoted, never evaluated
#define WRAP(symbol, function) \
  { #symbol, reinterpret_cast<void*>(&function), reinterpret_cast<void**>(&real_##symbol) }
// NOLINTEND(bugprone-macro-parentheses)
const Wrapper kWrappers[] = {
    WRAP(MPI_Init, wrap_init),
    WRAP(MPI_Init_thread, wrap_init_thread),
    WRAP(MPI_Finalize, wrap_finalize),
    WRAP(MPI_Barrier, wrap_barrier),
    WRAP(MPI_Bcast, wrap_bcast),
    WRAP(MPI_Gather, wrap_gather),
    WRAP(MPI_Gatherv, wrap_gatherv),
    WRAP(MPI_Scatter, wrap_scatter),
    WRAP(MPI_Scatterv, wrap_scatterv),
    WRAP(MPI_Allgather, wrap_allgather),
    WRAP(MPI_Allgatherv, wrap_allgatherv),
    WRAP(MPI_Alltoall, wrap_alltoall),
    WRAP(MPI_Alltoallv, wrap_alltoallv),
    WRAP(MPI_Alltoallw, wrap_alltoallw),
    WRAP(MPI_Reduce, wrap_reduce),
    WRAP(MPI_Allreduce, wrap_allreduce),
    WRAP(MPI_Reduce_scatter, wrap_reduce_scatter),
    WRAP(MPI_Reduce_scatter_block, wrap_reduce_scatter_block),
    WRAP(MPI_Scan, wrap_scan),
    WRAP(MPI_Exscan, wrap_exscan),
    WRAP(MPI_Comm_dup, wrap_comm_dup),
    WRAP(MPI_Comm_dup_with_info, wrap_comm_dup_with_info),
    WRAP(MPI_Comm_create, wrap_comm_create),
    WRAP(MPI_Comm_create_group, wrap_comm_create_group),
    WRAP(MPI_Comm_split, wrap_comm_split),
    WRAP(MPI_Comm_split_type, wrap_comm_split_type),
    WRAP(MPI_Cart_create, wrap_cart_create),
    WRAP(MPI_Comm_free, wrap_comm_free),
};
const TypedTable kTable = {kTypedAbi, sizeof kWrappers / sizeof kWrappers[0], kWrappers};

template <class F>
bool find(F& function, const char* symbol) {
  function = reinterpret_cast<F>(host->find_real(symbol));
  return function != nullptr;
}

// Handles are addresses of the library's data in Open MPI; the program's own view of them decides.
bool find_handles() {
#if defined(OPEN_MPI)
  world = static_cast<MPI_Comm>(host->find_data("ompi_mpi_comm_world"));
  null_comm = static_cast<MPI_Comm>(host->find_data("ompi_mpi_comm_null"));
  return world != nullptr && null_comm != nullptr;
#else
  world = MPI_COMM_WORLD;
  null_comm = MPI_COMM_NULL;
  return true;
#endif
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const TypedTable* cox_typed_attach(const Host* from);

const TypedTable* cox_typed_attach(const Host* from) {
  if (from == nullptr || from->abi != kTypedAbi) return nullptr;
  host = from;
  writer = from->writer;
  const bool all =
      find_handles() && find(real_PMPI_Comm_rank, "PMPI_Comm_rank") &&
      find(real_PMPI_Comm_size, "PMPI_Comm_size") && find(real_PMPI_Comm_group, "PMPI_Comm_group") &&
      find(real_PMPI_Comm_test_inter, "PMPI_Comm_test_inter") &&
      find(real_PMPI_Comm_get_name, "PMPI_Comm_get_name") &&
      find(real_PMPI_Group_translate_ranks, "PMPI_Group_translate_ranks") &&
      find(real_PMPI_Group_free, "PMPI_Group_free") && find(real_PMPI_Initialized, "PMPI_Initialized") &&
      find(real_PMPI_Finalized, "PMPI_Finalized") && find(real_PMPI_Type_size, "PMPI_Type_size") &&
      find(real_PMPI_Get_library_version, "PMPI_Get_library_version");
  return all ? &kTable : nullptr;
}
