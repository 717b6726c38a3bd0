// SPDX-License-Identifier: Apache-2.0
#include "guest/mpi/state.hpp"

#include <cstdlib>
#include <cstring>

#include "cox/base/hash.hpp"

namespace cox::guest::mpi {
namespace {

Occurrences occurrences;

using GroupOf = decltype(&PMPI_Comm_group);

// World ranks of one group of a communicator, or false where MPI says no or they are of another job.
bool world_ranks(MPI_Comm comm, GroupOf group_of, std::int32_t* out, std::int32_t size, int* positions) {
  MPI_Group group{};
  MPI_Group all{};
  if (group_of(comm, &group) != MPI_SUCCESS) return false;
  bool good = library.comm_group(library.world, &all) == MPI_SUCCESS;
  if (good) {
    for (int i = 0; i < size; ++i) positions[i] = i;
    good = library.group_translate_ranks(group, size, positions, all, out) == MPI_SUCCESS;
    library.group_free(&all);
  }
  library.group_free(&group);
  for (int i = 0; good && i < size; ++i) good = out[i] >= 0;
  return good;
}

std::int32_t lowest(const std::int32_t* ranks, std::int32_t count) {
  std::int32_t least = ranks[0];
  for (std::int32_t i = 1; i < count; ++i)
    if (ranks[i] < least) least = ranks[i];
  return least;
}

// Members of both groups, own ones first, as world ranks; `facts` learns its places.
bool list_members(MPI_Comm like, std::int32_t* members, CommFacts& facts) {
  const std::int32_t own = facts.own_size();
  int* const scratch = members + facts.size;
  if (!world_ranks(like, library.comm_group, members, own, scratch)) return false;
  if (!facts.joins_two()) return true;
  if (!world_ranks(like, library.comm_remote_group, members + own, facts.remote_size, scratch)) return false;
  if (lowest(members, own) < lowest(members + own, facts.remote_size)) {
    facts.remote_first = own;
  } else {
    facts.remote_first = 0;
    facts.rank += facts.remote_size;
  }
  return true;
}

std::uint64_t identity_of(const CommFacts& facts, std::int32_t* members, Birth birth) {
  Fnv1a hash(writer->group_identity(members, static_cast<std::size_t>(facts.size), 0));
  if (facts.joins_two()) hash.add_number(1);
  hash.add_number(birth.of);
  if (birth.once) return hash.identity();
  const std::uint32_t occurrence = occurrences.next(hash.value());
  if (occurrence == Occurrences::kUnknown) {
    writer->note(
        "more sets of ranks became communicators than are kept apart: later ones are each process's own");
    return 0;
  }
  hash.add_number(occurrence);
  return hash.identity();
}

// Fills in a communicator; called where one is made, and at the first use of one that came another way.
void describe(MPI_Comm comm, MPI_Comm like, Birth birth, CommFacts& facts) {
  int inter = 0;
  // What is refused once is not asked again: each time calls the program's error handler.
  if (library.comm_size(like, &facts.size) != MPI_SUCCESS) return;
  library.comm_rank(like, &facts.rank);
  library.comm_test_inter(like, &inter);
  if (inter != 0) {
    library.comm_remote_size(like, &facts.remote_size);
    facts.size += facts.remote_size;
    facts.remote_first = facts.own_size();
    facts.flags = trace::kVariable;  // the two groups may contribute different sizes
  }
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  if (comm != like || library.comm_get_name(comm, name, &length) != MPI_SUCCESS) name[0] = 0;
  const auto count = static_cast<std::size_t>(facts.size);
  // Off the hot path, once per communicator: members twice, for MPI's translation.
  auto* members = static_cast<std::int32_t*>(malloc(2 * count * sizeof(std::int32_t)));
  if (members != nullptr && list_members(like, members, facts)) {
    facts.identity = identity_of(facts, members, birth);
    facts.number = writer->define_communicator(facts.identity, facts.size, facts.rank, members,
                                               static_cast<std::uint32_t>(count), name);
  } else {
    writer->note("a communicator with processes that are not of this job is recorded without its members");
    facts.number = writer->define_communicator(0, facts.size, facts.rank, nullptr, 0, name);
  }
  free(members);
}

template <class F>
bool find_function(const Host& from, F& function, const char* symbol) {
  function = reinterpret_cast<F>(from.find_real(symbol));
  return function != nullptr;
}

}  // namespace

bool Library::find(const Host& from) noexcept {
  bool all =
      find_function(from, comm_rank, "PMPI_Comm_rank") && find_function(from, comm_size, "PMPI_Comm_size") &&
      find_function(from, comm_group, "PMPI_Comm_group") &&
      find_function(from, comm_remote_size, "PMPI_Comm_remote_size") &&
      find_function(from, comm_remote_group, "PMPI_Comm_remote_group") &&
      find_function(from, comm_test_inter, "PMPI_Comm_test_inter") &&
      find_function(from, comm_get_name, "PMPI_Comm_get_name") &&
      find_function(from, group_translate_ranks, "PMPI_Group_translate_ranks") &&
      find_function(from, group_free, "PMPI_Group_free") &&
      find_function(from, initialized, "PMPI_Initialized") &&
      find_function(from, finalized, "PMPI_Finalized") && find_function(from, type_size, "PMPI_Type_size") &&
      find_function(from, get_library_version, "PMPI_Get_library_version");
#if defined(OPEN_MPI)
  // Handles are addresses of the library's data; the program's own view of them decides (copy relocations).
  world = static_cast<MPI_Comm>(from.find_data("ompi_mpi_comm_world"));
  null_comm = static_cast<MPI_Comm>(from.find_data("ompi_mpi_comm_null"));
  null_request = static_cast<MPI_Request>(from.find_data("ompi_request_null"));
  null_type = static_cast<MPI_Datatype>(from.find_data("ompi_mpi_datatype_null"));
  empty_request = static_cast<MPI_Request>(from.find_data("ompi_request_empty"));
  all = all && world != nullptr && null_comm != nullptr && null_type != nullptr && null_request != nullptr &&
        find_function(from, comm_f2c, "PMPI_Comm_f2c") && find_function(from, type_f2c, "PMPI_Type_f2c") &&
        find_function(from, request_f2c, "PMPI_Request_f2c");
  constexpr const char* kInPlace[4] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                       "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
  for (int i = 0; i < 4; ++i) fortran_in_place[i] = from.find_data(kInPlace[i]);
#else
  world = MPI_COMM_WORLD;
  null_comm = MPI_COMM_NULL;
  null_type = MPI_DATATYPE_NULL;
  null_request = MPI_REQUEST_NULL;
#if defined(COX_STANDARD_ABI)
  all = all && find_function(from, isend, "PMPI_Isend") && find_function(from, wait, "PMPI_Wait");
#endif
  fortran_in_place[0] = from.find_data("MPIR_F08_MPI_IN_PLACE");
#endif
  return all;
}

void Library::ask() noexcept {
#if defined(COX_STANDARD_ABI)
  // Two sends to nobody: where they share a request, it is the library's for all that is complete at once.
  MPI_Request sent[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (MPI_Request& request : sent)
    if (isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, world, &request) != MPI_SUCCESS) return;
  empty_request = sent[0] == sent[1] ? sent[0] : nullptr;
  for (MPI_Request& request : sent) wait(&request, MPI_STATUS_IGNORE);
#endif
}

void Library::heed(const char* version) noexcept {
  constexpr char kName[] = "MPICH Version:";
  fortran_first = 1;
  if (kOpenMpi || strncmp(version, kName, sizeof kName - 1) != 0) return;
  version += sizeof kName - 1;
  while (*version == ' ' || *version == '\t') ++version;
  const bool is_it = strncmp(version, "4.0", 3) == 0 && (version[3] < '0' || version[3] > '9');
  if (is_it) fortran_first = 0;  // as C says it (pmodels/mpich issue 6270)
}

Comm* learn(MPI_Comm comm, MPI_Comm like, Birth birth) noexcept {
  thread_local bool learns [[gnu::tls_model("initial-exec")]] = false;
  if (learns || !is_communicator(comm) || !is_communicator(like)) return nullptr;
  learns = true;
  Comm* const known =
      comms.insert(key_of(comm), [&](CommFacts& facts) { describe(comm, like, birth, facts); });
  learns = false;
  if (known == nullptr)
    writer->note(
        "more communicators at once than there is room for: what later ones do is recorded without their members");
  return known;
}

void announce() noexcept {
  int ready = 0;
  int over = 0;
  if (library.initialized(&ready) != MPI_SUCCESS || ready == 0) return;
  if (library.finalized(&over) != MPI_SUCCESS || over != 0) return;
  announced = true;
  library.ask();
  int rank = -1;
  int size = -1;
  library.comm_rank(library.world, &rank);
  library.comm_size(library.world, &size);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  library.get_library_version(version, &length);
  library.heed(version);
  for (char* p = version; *p != 0; ++p) {
    if (*p == '\t') *p = ' ';
    if (*p == ',' || *p == '\n') *p = 0;  // "Open MPI v4.1.4, package: ..." says enough before the comma
  }
  writer->open({.rank = rank, .world_size = size, .library = version});
  writer->set_rank(rank, size);
  short_calls.set_clock(writer->nanoseconds(1'000'000));
  learn(library.world, library.world, {});
}

}  // namespace cox::guest::mpi
