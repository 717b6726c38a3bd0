/* SPDX-License-Identifier: Apache-2.0 */
/* Many marked collectives in little time, for tests of big Runs, or with a pause after each.
   usage: many_marks RANKS COLLECTIVES [MICROSECONDS [longest]]
   With NO_RANK in the environment nobody says which rank it is. With "longest" each rank prints how many microseconds the longest of them took, its first left out. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cox/abi/observe.h"

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  const int32_t ranks = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 2;
  const long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
  const long pause = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
  if (ranks < 1 || ranks > 64 || count < 1) {
    fprintf(stderr, "many_marks: expected 1 to 64 ranks and at least one collective\n");
    return 2;
  }
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) {
      perror("many_marks: fork");
      return 1;
    }
    if (child != 0) continue;
    int32_t members[64];
    for (int32_t i = 0; i < ranks; ++i) members[i] = i;
    if (getenv("NO_RANK") == NULL)
      cox_rank(rank, ranks);
    else
      cox_step(0);
    const cox_communicator all = cox_define_communicator(members, (size_t)ranks, rank, "all");
    double longest = 0;
    for (long i = 0; i < count; ++i) {
      const double began = argc > 4 ? now_us() : 0;
      cox_collective_end(cox_collective_begin(COX_ALL_REDUCE, all, 4096));
      if (argc > 4 && i > 0 && now_us() - began > longest) longest = now_us() - began;
      if (pause > 0) usleep((useconds_t)pause);
    }
    if (argc > 4) printf("%.0f\n", longest);
    exit(0);
  }
  int status = 0;
  int failed = 0;
  while (wait(&status) > 0) failed |= status != 0;
  return failed;
}
