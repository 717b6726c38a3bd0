// SPDX-License-Identifier: Apache-2.0
// A program that leaves without MPI_Finalize, with the status that it is told.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  _exit(argc > 1 ? atoi(argv[1]) : 0);
}
