/* SPDX-License-Identifier: Apache-2.0 */
/* timed_steps SECONDS WORK_MS SLOW_RANK SLOW_MS: steps of timed sleep and one all-reduce, for so many seconds. The slow
   rank (-1: none) sleeps longer in each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void sleep_ms(double ms) {
  struct timespec pause;
  pause.tv_sec = (time_t)(ms / 1000);
  pause.tv_nsec = (long)((ms - 1000.0 * (double)pause.tv_sec) * 1e6);
  nanosleep(&pause, NULL);
}

int main(int argc, char** argv) {
  int rank = 0;
  double in[2] = {1, 0};
  double out[2] = {0, 0};
  double start = 0;
  long steps = 0;
  if (argc != 5) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  start = MPI_Wtime();
  do {
    sleep_ms(atof(argv[2]) + (rank == atoi(argv[3]) ? atof(argv[4]) : 0));
    in[1] = MPI_Wtime() - start < atof(argv[1]) ? 0 : 1;
    MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    ++steps;
  } while (out[1] == 0);
  if (rank == 0) printf("%ld steps\n", steps);
  MPI_Finalize();
  return 0;
}
