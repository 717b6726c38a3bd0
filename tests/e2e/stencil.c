// SPDX-License-Identifier: Apache-2.0
// A halo exchange on a ring or a grid over MPI whose only synchronisation is messages, but for a sum now and then.
// usage: stencil MODE STEPS WORK_US [RANK EXTRA_US [EVERY [HALT]]]
//
// MODE: waitall (Irecv, Isend, Waitall), wait (one Wait per message), sendrecv, recv (Send and Recv, even ranks
// send first), grid (Irecv, Isend, Waitall with up to four neighbours of an open grid), gridsend (Sendrecv there),
// any (as waitall, receives from anybody), anyrecv (Send, then Recv from anybody). RANK works EXTRA_US longer in each step; -1: nobody. All-reduce every EVERY steps; 0: never.
// HALT: RANK sleeps for ever in that step, or ends by SIGKILL where HALT is negative. Prints "rank N pid P" for
// each rank, "halt" by RANK before it, and "SECONDS s" at the end by rank 0.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kCells = 256 };

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Work that takes a known time, however many ranks share a core.
static void work_us(long us) {
  const struct timespec t = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&t, NULL);
}

// Neighbours of an open grid as near to a square as it gets: left, right, below, above.
static MPI_Comm grid;
static int neighbours[4];

static void make_grid(int ranks) {
  int sides[2] = {0, 0};
  const int open[2] = {0, 0};
  MPI_Dims_create(ranks, 2, sides);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, open, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &neighbours[0], &neighbours[1]);
  MPI_Cart_shift(grid, 1, 1, &neighbours[2], &neighbours[3]);
}

static double edges[4][kCells], halos[4][kCells];

static void exchange_grid(int blocking) {
  MPI_Request requests[8];
  if (blocking) {
    for (int i = 0; i < 4; ++i)
      MPI_Sendrecv(edges[i], kCells, MPI_DOUBLE, neighbours[i], i, halos[i ^ 1], kCells, MPI_DOUBLE,
                   neighbours[i ^ 1], i, grid, MPI_STATUS_IGNORE);
    return;
  }
  for (int i = 0; i < 4; ++i)
    MPI_Irecv(halos[i], kCells, MPI_DOUBLE, neighbours[i], i ^ 1, grid, &requests[i]);
  for (int i = 0; i < 4; ++i)
    MPI_Isend(edges[i], kCells, MPI_DOUBLE, neighbours[i], i, grid, &requests[4 + i]);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static double out_left[kCells], out_right[kCells], in_left[kCells], in_right[kCells];

static void exchange(const char* mode, int rank, int left, int right) {
  const MPI_Comm world = MPI_COMM_WORLD;
  if (!strncmp(mode, "grid", 4)) {
    exchange_grid(!strcmp(mode, "gridsend"));
    return;
  }
  const int any = !strncmp(mode, "any", 3);
  if (!strcmp(mode, "anyrecv")) {
    MPI_Send(out_right, kCells, MPI_DOUBLE, right, 1, world);
    MPI_Send(out_left, kCells, MPI_DOUBLE, left, 2, world);
    MPI_Recv(in_left, kCells, MPI_DOUBLE, MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE);
    MPI_Recv(in_right, kCells, MPI_DOUBLE, MPI_ANY_SOURCE, 2, world, MPI_STATUS_IGNORE);
    return;
  }
  if (!strcmp(mode, "sendrecv")) {
    MPI_Sendrecv(out_right, kCells, MPI_DOUBLE, right, 1, in_left, kCells, MPI_DOUBLE, left, 1, world,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(out_left, kCells, MPI_DOUBLE, left, 2, in_right, kCells, MPI_DOUBLE, right, 2, world,
                 MPI_STATUS_IGNORE);
    return;
  }
  if (!strcmp(mode, "recv")) {
    if (rank % 2 == 0) {
      MPI_Send(out_right, kCells, MPI_DOUBLE, right, 1, world);
      MPI_Send(out_left, kCells, MPI_DOUBLE, left, 2, world);
    }
    MPI_Recv(in_left, kCells, MPI_DOUBLE, left, 1, world, MPI_STATUS_IGNORE);
    MPI_Recv(in_right, kCells, MPI_DOUBLE, right, 2, world, MPI_STATUS_IGNORE);
    if (rank % 2 != 0) {
      MPI_Send(out_right, kCells, MPI_DOUBLE, right, 1, world);
      MPI_Send(out_left, kCells, MPI_DOUBLE, left, 2, world);
    }
    return;
  }
  MPI_Request requests[4];
  MPI_Irecv(in_left, kCells, MPI_DOUBLE, any ? MPI_ANY_SOURCE : left, 1, world, &requests[0]);
  MPI_Irecv(in_right, kCells, MPI_DOUBLE, any ? MPI_ANY_SOURCE : right, 2, world, &requests[1]);
  MPI_Isend(out_right, kCells, MPI_DOUBLE, right, 1, world, &requests[2]);
  MPI_Isend(out_left, kCells, MPI_DOUBLE, left, 2, world, &requests[3]);
  if (strcmp(mode, "wait") != 0) {
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  } else {
    for (int i = 0; i < 4; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* mode = argc > 1 ? argv[1] : "waitall";
  const int steps = argc > 2 ? atoi(argv[2]) : 100;
  const long work = argc > 3 ? atol(argv[3]) : 1000;
  const int uneven = argc > 4 ? atoi(argv[4]) : -1;
  const long extra = argc > 5 ? atol(argv[5]) : 0;
  const int every = argc > 6 ? atoi(argv[6]) : 0;
  const int halt = argc > 7 ? atoi(argv[7]) : 0;
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!strncmp(mode, "grid", 4)) make_grid(ranks);
  printf("rank %d pid %d\n", rank, (int)getpid());
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_s();
  for (int step = 1; step <= steps; ++step) {
    if (rank == uneven && (step == halt || step == -halt)) {
      printf("halt\n");
      fflush(stdout);
      if (halt > 0)
        for (;;) pause();
      work_us(1000000);  // what a process did in its last half second is not in the file where it is killed
      raise(SIGKILL);
    }
    work_us(work + (rank == uneven ? extra : 0));
    exchange(mode, rank, (rank + ranks - 1) % ranks, (rank + 1) % ranks);
    double sum = 0;
    if (every > 0 && step % every == 0) MPI_Allreduce(in_left, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%.6f s\n", now_s() - begin);
  MPI_Finalize();
  return 0;
}
