// SPDX-License-Identifier: Apache-2.0
// A profiling tool as there are many: MPI_X in front of PMPI_X, here counting. Preloaded, or linked into the
// program. At MPI_Finalize it prints what it saw on rank 0. TOOL is its name.
#include <mpi.h>
#include <stdio.h>

static long allreduces, barriers;

int MPI_Init(int* argc, char*** argv) {
  return PMPI_Init(argc, argv);
}
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++allreduces;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}
int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}
int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("%s: %ld allreduces, %ld barriers\n", TOOL, allreduces, barriers);
    fflush(stdout);
  }
  return PMPI_Finalize();
}
