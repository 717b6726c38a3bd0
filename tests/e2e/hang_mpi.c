// SPDX-License-Identifier: Apache-2.0
// A job of short steps over MPI that comes to a halt in a chosen way. usage: hang_mpi FAULT VICTIM [STEPS]
//
// Prints "rank N pid P" for each rank, and "halt" by rank 0 right before the step that does not end.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void nap_ms(long ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

static void stop_here(int number) {
  (void)number;
  raise(SIGSTOP);
}

// Stops this process in `ms` from now, wherever it is then.
static void stop_later(long ms) {
  signal(SIGALRM, stop_here);
  const struct itimerval once = {{0, 0}, {ms / 1000, ms % 1000 * 1000}};
  setitimer(ITIMER_REAL, &once, NULL);
}

static volatile int never = 0;

int main(int argc, char** argv) {
  const char* fault = argc > 1 ? argv[1] : "none";
  const int victim = argc > 2 ? atoi(argv[2]) : 0;
  const int steps = argc > 3 ? atoi(argv[3]) : 40;
  int rank = 0;
  int ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  printf("rank %d pid %d\n", rank, (int)getpid());
  fflush(stdout);
  MPI_Comm left, right;
  MPI_Comm_dup(MPI_COMM_WORLD, &left);
  MPI_Comm_set_name(left, "left");
  MPI_Comm_dup(MPI_COMM_WORLD, &right);
  MPI_Comm_set_name(right, "right");
  double values[4096] = {0};
  double sums[4096];
  const int me = rank == victim;
  const int is = strcmp(fault, "none");
  for (int step = 0; step < steps; ++step) {
    nap_ms(5);
    const int now = is && step == steps / 2;
    if (now && rank == 0) {
      printf("halt\n");
      fflush(stdout);
    }
    if (now && me && !strcmp(fault, "sleep")) pause();
    if (now && me && !strcmp(fault, "spin"))
      while (!never) {
      }
    // What a process did in its last half second is not in the file where it stops or is killed.
    if (now && me && (!strcmp(fault, "stop") || !strcmp(fault, "gone"))) nap_ms(1000);
    if (now && me && !strcmp(fault, "stop")) raise(SIGSTOP);
    if (now && me && !strcmp(fault, "gone")) raise(SIGKILL);
    if (now && !strcmp(fault, "stop_inside")) {
      if (me)
        stop_later(1000);  // inside by then, and that is in the file: the others come later
      else
        nap_ms(1500);
    }
    if (now && me && !strcmp(fault, "swapped_groups")) {
      MPI_Allreduce(values, sums, 16, MPI_DOUBLE, MPI_SUM, right);
      MPI_Allreduce(values, sums, 16, MPI_DOUBLE, MPI_SUM, left);
      continue;
    }
    const int swapped = now && me && !strcmp(fault, "swapped");
    const int root = now && me && !strcmp(fault, "wrong_root") ? victim : victim == 0 ? 1 : 0;
    const int count = now && me && !strcmp(fault, "wrong_count") ? 32 : 64;
    if (swapped) MPI_Bcast(values, 8, MPI_DOUBLE, root, MPI_COMM_WORLD);
    MPI_Allreduce(values, sums, 4096, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!swapped) MPI_Bcast(values, 8, MPI_DOUBLE, root, MPI_COMM_WORLD);
    MPI_Reduce(values, sums, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(values, sums, 16, MPI_DOUBLE, MPI_SUM, left);
    MPI_Allreduce(values, sums, 16, MPI_DOUBLE, MPI_SUM, right);
  }
  MPI_Finalize();
  return 0;
}
