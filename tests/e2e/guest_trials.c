// SPDX-License-Identifier: Apache-2.0
// What programs do to a guest: one trial per name, each prints what it should print without us, too.
//   forks     children of fork, with and without exec, that use the hooked library's names or end at once
//   threads   collectives of several threads at once, each on a communicator of its own (MPI_THREAD_MULTIPLE)
//   hammer S  empty barriers for S seconds
//   steps N   N small all-reduces, a tenth of a millisecond apart
//   skew      N R MS: N steps of 10 ms of timed sleep and an 8-byte all-reduce; rank R sleeps MS longer
//   closes    closes every descriptor that it may, opens files of its own and makes many events
//   alarms N  N steps in which rank 1 takes 5 ms longer, with a signal in every millisecond
//   freed     frees a communicator whose attribute's callback uses it once more, then one with fewer members is made
//   many N    N communicators at once, each with a barrier
//   traps     is ended by any inexact, invalid or otherwise exceptional result of floating point but its own
//   reload    opens the MPI library by name, uses it, closes it and opens it again
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cox/base/processes.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int forks(void) {
  int rank = 0, ended = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 4; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const pid_t child = fork();
    if (child == 0) {
      int here = -1;
      MPI_Comm_size(MPI_COMM_WORLD, &here);  // its own copy of the library, not the job
      if (i == 0) _exit(7);
      if (i == 1) exit(7);
      if (i == 2) execl("/bin/sh", "sh", "-c", "exit 7", (char*)0);
      char* text = malloc(1000);
      memset(text, 1, 1000);
      free(text);
      _exit(7);
    }
    int status = 0;
    cox_wait_process(child, &status, 0);
    ended += WIFEXITED(status) && WEXITSTATUS(status) == 7;
  }
  FILE* pipe = popen("echo from a pipe", "r");
  char line[64] = "";
  if (pipe != NULL && fgets(line, sizeof line, pipe) == NULL) line[0] = 0;
  if (pipe != NULL) pclose(pipe);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d children ended as they should, %s", ended, line);
  return 0;
}

enum { kThreads = 4, kRounds = 200 };
struct Job {
  MPI_Comm comm;
  int sum;
};
static void* reduce(void* argument) {
  struct Job* job = argument;
  for (int i = 0; i < kRounds; ++i) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, job->comm);
    job->sum += sum;
  }
  return NULL;
}
static int threads(void) {
  struct Job jobs[kThreads];
  pthread_t thread[kThreads];
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < kThreads; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm);
    jobs[i].sum = 0;
  }
  for (int i = 0; i < kThreads; ++i) pthread_create(&thread[i], NULL, reduce, &jobs[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(thread[i], NULL);
  for (int i = 0; i < kThreads && rank == 0; ++i)
    printf("communicator thread-%d: %d ranks, %d collectives, %zu bytes, sum %d\n", i, size, kRounds,
           kRounds * sizeof(int), jobs[i].sum);
  return 0;
}

static int hammer(double seconds) {
  int rank = 0;
  const double end = now() + seconds;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int go = 1; go;) {
    for (int i = 0; i < 10000; ++i) MPI_Barrier(MPI_COMM_SELF);
    go = now() < end;
  }
  if (rank == 0) printf("hammered\n");
  return 0;
}

static int steps(int count) {
  int rank = 0, total = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < count; ++i) {
    int sum = 0;
    const struct timespec pause = {0, 100000};
    nanosleep(&pause, NULL);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    total = (total + sum) % 1000003;
  }
  if (rank == 0) printf("total %d\n", total);
  return 0;
}

static int skew(int count, int slow, double extra_ms) {
  int rank = 0;
  double sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < count; ++i) {
    const double mine = 1, ms = 10 + (rank == slow ? extra_ms : 0);
    const struct timespec pause = {0, (long)(ms * 1e6)};
    nanosleep(&pause, NULL);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d steps\n", count);
  return 0;
}

/// What daemons do: descriptors that this program did not open are closed, then it opens its own.
static int closes(void) {
  int rank = 0, files = 0, whole = 1;
  char name[64];
  FILE* mine[300];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int fd = 150; fd < 1024; ++fd) close(fd);  // below lie those of the MPI library
  snprintf(name, sizeof name, "own-%d.txt", rank);
  for (; files < 300; ++files)
    if ((mine[files] = fopen(name, "w+")) == NULL) break;
  for (int i = 0; i < 3000000; ++i) MPI_Barrier(MPI_COMM_SELF);
  for (int i = 0; i < files; ++i) {
    fseek(mine[i], 0, SEEK_END);
    if (ftell(mine[i]) != 0) whole = 0;
    fclose(mine[i]);
  }
  remove(name);
  if (rank == 0) printf("%d files, %s\n", files, whole ? "untouched" : "grown by somebody");
  return whole ? 0 : 1;
}

static volatile sig_atomic_t alarms_seen = 0;
static void on_alarm(int signal) {
  (void)signal;
  ++alarms_seen;
}
static int alarms(int count) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  const struct itimerval each_ms = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &each_ms, NULL);
  for (int i = 0; i < count; ++i) {
    const double until = now() + (rank == 1 ? 15e-3 : 10e-3);
    while (now() < until) usleep(500);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  if (rank == 0) printf("%d steps, %s\n", count, alarms_seen > count ? "interrupted" : "left alone");
  return 0;
}

static int use_it(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key;
  (void)value;
  (void)extra;
  return MPI_Barrier(comm);
}

/// The list of counts of a group of one ends where memory does.
static int freed(void) {
  int key = 0, rank = 0, got = 0;
  const int given = 7, place = 0;
  MPI_Comm all, alone;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_it, &key, NULL);
  const long page = sysconf(_SC_PAGESIZE);
  char* pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, (size_t)page, PROT_NONE) != 0) return 1;
  int* const counts = (int*)(pages + page) - 1;
  counts[0] = 1;
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_set_attr(all, key, NULL);
    MPI_Comm_free(&all);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    MPI_Allgatherv(&given, 1, MPI_INT, &got, counts, &place, MPI_INT, alone);
    MPI_Comm_free(&alone);
  }
  if (rank == 0) printf("gathered %d\n", got);
  return 0;
}

static int many(int count) {
  int rank = 0;
  MPI_Comm* all = malloc((size_t)count * sizeof *all);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < count; ++i) MPI_Comm_dup(MPI_COMM_SELF, &all[i]);
  for (int i = 0; i < count; ++i) MPI_Barrier(all[i]);
  for (int i = 0; i < count; ++i) MPI_Comm_free(&all[i]);
  free(all);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d communicators\n", count);
  return 0;
}

/// Calls that make, end, flush and take back records, with every trap on and no flag up.
static int traps(void) {
  int rank = 0, done = 0, polls = 0, minded = FE_ALL_EXCEPT, length = 0;
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  MPI_Request request;
  MPI_Comm pair;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_library_version(library, &length);
  if (strstr(library, "ch4:ucx") != NULL)
    minded &= ~FE_INEXACT;  // its pools grow by a fraction (UCX 1.18), without us, too
  const int grows = strstr(library, "ch4:ucx") != NULL;
  if (grows) MPI_Comm_dup(MPI_COMM_WORLD, &pair);
  feclearexcept(FE_ALL_EXCEPT);  // what MPI_Init raised
  feenableexcept(minded);
  if (!grows) MPI_Comm_dup(MPI_COMM_WORLD, &pair);
  for (int i = 0; i < 200; ++i) {
    int sum = 0;
    if (i % 20 == rank) usleep(2000);
    MPI_Iallreduce(&i, &sum, 1, MPI_INT, MPI_SUM, pair, &request);
    for (done = 0; !done; ++polls) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Barrier(pair);
  }
  MPI_Comm_free(&pair);
  const int raised = fetestexcept(minded);
  fedisableexcept(FE_ALL_EXCEPT);  // MPI_Finalize computes
  if (rank == 0) printf("%s, flags %d\n", polls > 200 ? "polled" : "too fast", raised);
  return 0;
}

/// What a call leaves in errno, of calls that make no system call themselves: some hundred thousand, so that records come to
/// new pages and are found to be old.
static int leaves_errno(void) {
  int rank = 0, odd = 0, done = 0, sum = 0;
  MPI_Comm alone;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  for (int i = 0; i < 100000; ++i) {
    MPI_Request none = MPI_REQUEST_NULL;
    errno = 1000 + i % 7;
    MPI_Barrier(alone);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, alone);
    MPI_Test(&none, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&none, MPI_STATUS_IGNORE);
    odd += errno != 1000 + i % 7;
  }
  errno = 999;
  MPI_Comm_free(&alone);
  if (rank == 0) printf("errno changed %d times\n", odd);
  return 0;
}

/// Not linked against anything it calls here: the library comes and goes by name.
static int reload(void) {
#if defined(OPEN_MPI)
  const char* name = "libmpi.so.40";
#else
  const char* name = "libmpich.so.12";
#endif
  for (int i = 0; i < 2; ++i) {
    void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) return 1;
    int (*barrier)(MPI_Comm) = (int (*)(MPI_Comm))dlsym(RTLD_DEFAULT, "MPI_Barrier");
    for (int k = 0; k < 3; ++k) barrier(MPI_COMM_WORLD);
    dlclose(library);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("closed and opened\n");
  return 0;
}

int main(int argc, char** argv) {
  const char* trial = argc > 1 ? argv[1] : "";
  const char* value = argc > 2 ? argv[2] : "0";
  int provided = 0, rc = 2;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (strcmp(trial, "forks") == 0) rc = forks();
  if (strcmp(trial, "threads") == 0) rc = provided == MPI_THREAD_MULTIPLE ? threads() : 77;
  if (strcmp(trial, "hammer") == 0) rc = hammer(atof(value));
  if (strcmp(trial, "steps") == 0) rc = steps(atoi(value));
  if (strcmp(trial, "skew") == 0 && argc > 4) rc = skew(atoi(value), atoi(argv[3]), atof(argv[4]));
  if (strcmp(trial, "closes") == 0) rc = closes();
  if (strcmp(trial, "alarms") == 0) rc = alarms(atoi(value));
  if (strcmp(trial, "freed") == 0) rc = freed();
  if (strcmp(trial, "many") == 0) rc = many(atoi(value));
  if (strcmp(trial, "traps") == 0) rc = traps();
  if (strcmp(trial, "errno") == 0) rc = leaves_errno();
  if (strcmp(trial, "reload") == 0) rc = reload();
  MPI_Finalize();
  return rc;
}
