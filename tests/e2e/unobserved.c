// SPDX-License-Identifier: Apache-2.0
// Calls that are counted and not recorded, and one barrier that is. Each rank calls the same; rank 0 prints, per kind,
// how many calls that is on all ranks: "counted KIND N". Kinds that the library does not have are left out.
//   unobserved FILE [session]    with `session`, nothing but MPI sessions is used
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int size;
static void counted(int rank, const char* kind, int calls) {
  if (rank == 0) printf("counted %s %d\n", kind, calls * size);
}

static void one_sided(int rank) {
  static int window_memory[4], value = 1;
  MPI_Win window;
  MPI_Win_create(window_memory, sizeof window_memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, window);
  MPI_Accumulate(&value, 1, MPI_INT, rank, 1, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  counted(rank, "one_sided", 6);
}
static void files(int rank, const char* name) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, rank * (int)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at_all(file, 0, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}
static void messages(int rank) {
  int in = 0;
  MPI_Message message;
  MPI_Request request;
  MPI_Isend(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  MPI_Mprobe(rank, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  counted(rank, "messages", 1);
}

#if MPI_VERSION >= 4
static int session(void) {
  MPI_Session handle;
  MPI_Group group;
  MPI_Comm comm;
  int rank = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &handle);
  MPI_Group_from_session_pset(handle, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "unobserved", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Barrier(comm);
  counted(rank, "sessions", 2);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&handle);
  return 0;
}
static void large_counts(int rank) {
  int in = 0;
  MPI_Request request;
  MPI_Isendrecv_c(&rank, 1, MPI_INT, rank, 2, &in, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  counted(rank, "large_counts", 1);
}
#endif

int main(int argc, char** argv) {
  int rank = 0;
#if MPI_VERSION >= 4
  if (argc > 2 && strcmp(argv[2], "session") == 0) return session();
#else
  if (argc > 2) return 77;
#endif
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int own = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  one_sided(own);
  files(rank, argv[1]);
  counted(own, "files", 4);
  messages(own);
#if MPI_VERSION >= 4
  large_counts(own);
#endif
#if defined(MPICH)
  int flag = 1;  // Debian's library has it not for real: it is called, and refuses
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPIX_Comm_agree(MPI_COMM_NULL, &flag);
  counted(own, "fault_tolerance", 1);
#endif
  MPI_Finalize();
  return 0;
}
