/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are cancelled while they mark what they do: many short lives, each ended at a random point. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "cox/abi/observe.h"

enum { kLives = 200 };
static cox_communicator world;

static void* work(void* unused) {
  (void)unused;
  for (;;) {
    const cox_span span = cox_collective_begin(COX_ALL_REDUCE, world, 64);
    pthread_testcancel(); /* dies inside a call: its record stays open */
    cox_collective_end(span);
    pthread_testcancel();
  }
  return NULL;
}

int main(void) {
  const int32_t member = 0;
  cox_rank(0, 1);
  world = cox_define_communicator(&member, 1, 0, "world");
  for (int i = 0; i < kLives; ++i) {
    pthread_t thread;
    const struct timespec pause = {0, 200000 + 1000 * (i % 7)};
    if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
    nanosleep(&pause, NULL);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
  }
  printf("%d lives\n", kLives);
  return 0;
}
