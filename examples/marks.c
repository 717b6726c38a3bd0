/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks its own steps, phases and collectives: for programs whose communication Coxswain does not know.
 * Four processes sum an array through shared memory; rank 2 works longer. usage: marks [STEPS]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cox/abi/observe.h"

enum { RANKS = 4, LENGTH = 1024, SLOW_RANK = 2 };

typedef struct {
  pthread_barrier_t all;
  double part[RANKS][LENGTH];
} Meeting;

/* Our own all-reduce: everybody writes, everybody waits, everybody adds. */
static void all_reduce(Meeting* meeting, int rank, double* values) {
  for (int i = 0; i < LENGTH; ++i) meeting->part[rank][i] = values[i];
  pthread_barrier_wait(&meeting->all);
  for (int i = 0; i < LENGTH; ++i) {
    values[i] = 0;
    for (int r = 0; r < RANKS; ++r) values[i] += meeting->part[r][i];
  }
  pthread_barrier_wait(&meeting->all);
}

static double work(double x, int rounds) {
  for (int i = 0; i < rounds; ++i) x = 0.5 * (x + 2.0 / x);
  return x;
}

static void run_rank(Meeting* meeting, int rank, int steps) {
  static double values[LENGTH];
  const int32_t members[RANKS] = {0, 1, 2, 3};
  cox_rank(rank, RANKS);
  const cox_communicator all = cox_define_communicator(members, RANKS, rank, "all");
  for (int i = 0; i < LENGTH; ++i) values[i] = 1 + i;
  for (int step = 0; step < steps; ++step) {
    cox_step((uint64_t)step);

    cox_span phase = cox_phase_begin(COX_PHASE_FORWARD);
    const int rounds = rank == SLOW_RANK ? 4000 : 1000;
    for (int i = 0; i < LENGTH; ++i) values[i] = work(values[i], rounds);
    cox_phase_end(phase);

    cox_span reduction = cox_collective_begin(COX_ALL_REDUCE, all, sizeof values);
    all_reduce(meeting, rank, values);
    cox_collective_end(reduction);
  }
  if (rank == 0) printf("%d steps, sum %.3f\n", steps, values[0]);
}

int main(int argc, char** argv) {
  const long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
  if (steps < 1 || steps > 1000000) {
    fprintf(stderr, "marks: expected a number of steps from 1 to 1000000\n");
    return 2;
  }
  Meeting* meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrierattr_t shared;
  if (meeting == MAP_FAILED || pthread_barrierattr_init(&shared) != 0 ||
      pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) != 0 ||
      pthread_barrier_init(&meeting->all, &shared, RANKS) != 0) {
    fprintf(stderr, "marks: no shared memory\n");
    return 1;
  }
  for (int rank = 0; rank < RANKS; ++rank) {
    if (fork() == 0) {
      run_rank(meeting, rank, (int)steps);
      exit(0); /* in order: what is recorded is closed on the way out */
    }
  }
  int status = 0;
  int failed = 0;
  while (wait(&status) > 0) failed |= status != 0;
  return failed;
}
