// SPDX-License-Identifier: Apache-2.0
// Threads that do at once what they may (MPI_THREAD_MULTIPLE), each on communicators that it makes of its own ones,
// and a log of each thread's collectives and of the waits that complete them, in order. A communicator is known by
// the number of bytes that its reductions have. Messages to oneself in between keep the library giving handles of
// requests out again.
//   threads LOG N    N operations per thread; rank R writes LOG.R
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 4, kCommunicators = 40 };  // communicators: that each thread makes, one after another

struct Line {
  char what;  // b: blocking collective, s: started one, w: the wait that completed it
  int bytes, seq;
};
struct Work {
  MPI_Comm parent, own;
  int thread, operations, per_communicator, elements, seq, rank;
  unsigned draw;
  struct Line* lines;
  int count;
  int *in, *out;
};

static unsigned next(struct Work* w) {  // the same on all ranks
  w->draw = w->draw * 1664525u + 1013904223u;
  return w->draw >> 16;
}
static void told(struct Work* w, char what, int seq) {
  const struct Line line = {what, w->elements * (int)sizeof(int), seq};
  w->lines[w->count++] = line;
}
static void start(struct Work* w, MPI_Request* r) {
  MPI_Iallreduce(w->in, w->out, w->elements, MPI_INT, MPI_SUM, w->own, r);
  told(w, 's', w->seq++);
}
static void exchange(struct Work* w, MPI_Request* r) {
  static int sink[kThreads];
  MPI_Irecv(&sink[w->thread], 1, MPI_INT, w->rank, 1, w->own, &r[0]);
  MPI_Isend(&w->thread, 1, MPI_INT, w->rank, 1, w->own, &r[1]);
}

static void operation(struct Work* w) {
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int flag = 0, index = 0, indices[3];
  switch (next(w) % 7) {
    case 0:
      MPI_Allreduce(w->in, w->out, w->elements, MPI_INT, MPI_SUM, w->own);
      told(w, 'b', w->seq++);
      break;
    case 1:
      start(w, &r[0]);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      told(w, 'w', w->seq - 1);
      break;
    case 2:
      start(w, &r[0]);
      while (!flag) MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
      told(w, 'w', w->seq - 1);
      break;
    case 3:
      start(w, &r[2]);
      exchange(w, r);
      MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
      told(w, 'w', w->seq - 1);
      break;
    case 4:
      start(w, &r[1]);
      for (index = 0; index >= 0;) {
        MPI_Waitany(3, r, &index, MPI_STATUS_IGNORE);
        if (index == 1) told(w, 'w', w->seq - 1);
      }
      break;
    case 5:
      exchange(w, r);
      start(w, &r[2]);
      for (int left = 3, found = 0; left > 0; left -= found) {
        MPI_Waitsome(3, r, &found, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < found; ++i)
          if (indices[i] == 2) told(w, 'w', w->seq - 1);
      }
      break;
    default:
      exchange(w, r);
      if (next(w) % 2) {
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      } else {
        while (!flag) MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
      }
  }
}

static void* work(void* argument) {
  struct Work* w = argument;
  for (int i = 0; i < w->operations; ++i) {
    if (i % w->per_communicator == 0) {
      if (i > 0) MPI_Comm_free(&w->own);
      if (next(w) % 2)
        MPI_Comm_dup(w->parent, &w->own);
      else
        MPI_Comm_split(w->parent, 0, w->rank, &w->own);
      w->elements += kThreads;
      w->seq = 0;
    }
    operation(w);
  }
  MPI_Comm_free(&w->own);
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 77);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int operations = atoi(argv[2]);
  const int each = operations / kCommunicators + 1;
  const size_t most = (size_t)(kCommunicators + 2) * kThreads;
  struct Work jobs[kThreads];
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t) {
    const struct Work job = {.thread = t,
                             .operations = operations,
                             .per_communicator = each,
                             .elements = t + 1,
                             .rank = rank,
                             .draw = (unsigned)t + 1,
                             .lines = malloc(2 * (size_t)operations * sizeof(struct Line)),
                             .in = calloc(most, sizeof(int)),
                             .out = calloc(most, sizeof(int))};
    jobs[t] = job;
    MPI_Comm_dup(MPI_COMM_WORLD, &jobs[t].parent);
  }
  for (int t = 0; t < kThreads; ++t) pthread_create(&threads[t], NULL, work, &jobs[t]);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  FILE* log = fopen(path, "w");
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < jobs[t].count; ++i)
      fprintf(log, "%d %c %d %d\n", t, jobs[t].lines[i].what, jobs[t].lines[i].bytes, jobs[t].lines[i].seq);
  fclose(log);
  MPI_Finalize();
  return 0;
}
