/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks steps, phases and collectives in any C or C++ program, for `cox observe` to record.
 *
 * Header only: nothing to link, nothing changes where the program is not observed (one test of a pointer per
 * mark). Needs a dynamically linked program.
 *
 *   cox_rank(my_rank, world_size);               once, where neither MPI nor Gloo tells it
 *   for (step = 0; step < n; ++step) {
 *     cox_step(step);
 *     cox_span s = cox_phase_begin(COX_PHASE_FORWARD);  ...  cox_phase_end(s);
 *     cox_span c = cox_collective_begin(COX_ALL_REDUCE, comm, bytes);  my_all_reduce();
 * cox_collective_end(c);
 *   }
 *
 *   cox_message_sent(comm, peer, bytes);  my_send(peer);           a message to one member
 *   cox_span m = cox_message_wait_begin(comm, COX_ANY_PEER);  peer = my_receive();  cox_message_wait_end(m, peer, bytes);
 *
 * Since: 0.1; messages: 0.2. What is here never changes; later marks are added at the end, which `size` tells.
 * Threads: any; a span ends on the thread that began it, innermost first.
 * Cost: a mark is one or two clock reads (bench/hook_bench.cpp), no system call, no allocation.
 * Held by: tests/e2e (marks), tests/install (compiled as C).
 */
#ifndef COX_ABI_OBSERVE_H
#define COX_ABI_OBSERVE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-nullptr,bugprone-dynamic-static-initializers): C
 * names */

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of collective: the values of the Run format. */
enum cox_collective {
  COX_OTHER = 0,
  COX_ALL_REDUCE = 1,
  COX_REDUCE_SCATTER = 2,
  COX_ALL_GATHER = 3,
  COX_BROADCAST = 4,
  COX_REDUCE = 5,
  COX_GATHER = 6,
  COX_SCATTER = 7,
  COX_SCAN = 8,
  COX_ALL_TO_ALL = 9,
  COX_BARRIER = 10
};

enum cox_phase {
  COX_PHASE_OTHER = 0,
  COX_PHASE_FORWARD = 1,
  COX_PHASE_BACKWARD = 2,
  COX_PHASE_OPTIMIZER = 3,
  COX_PHASE_DATA = 4,
  COX_PHASE_EVALUATION = 5
};

enum { COX_ANY_PEER = -1 };

/* Number of a communicator in this process; 0 = unknown. */
typedef uint32_t cox_communicator;

/* An open span; null where nothing is recorded. */
typedef void* cox_span;

/* What the preloaded object offers. `size` grows with later additions at the end. */
typedef struct cox_observe_v1 {
  size_t size;
  void (*rank)(int32_t rank, int32_t world_size);
  /* `ranks` are world ranks; the same set on every member. */
  cox_communicator (*communicator)(const int32_t* ranks, size_t count, int32_t my_rank, const char* name);
  void (*step)(uint64_t number);
  cox_span (*phase_begin)(uint32_t phase);
  void (*phase_end)(cox_span span);
  /* `bytes`: message size by the nccl-tests convention. */
  cox_span (*collective_begin)(uint32_t collective, cox_communicator comm, uint64_t bytes);
  void (*collective_end)(cox_span span);
  /* A message to the member with this rank in `comm` is about to be sent. Messages between two members are
   * counted in the order in which they are sent, and received: both have to mark all of theirs. */
  void (*message_sent)(cox_communicator comm, int32_t peer, uint64_t bytes);
  /* The thread waits for a message of `peer`, or COX_ANY_PEER; or until `peer` takes what was sent to it. */
  cox_span (*message_wait_begin)(cox_communicator comm, int32_t peer);
  /* It came from `peer`; COX_ANY_PEER: none came, what was sent to the peer that the wait names is taken. */
  void (*message_wait_end)(cox_span span, int32_t peer, uint64_t bytes);
} cox_observe_v1;

typedef const cox_observe_v1* (*cox_observe_get_v1_fn)(void);

static inline const cox_observe_v1* cox_observe(void) {
  static const cox_observe_v1* api;
  static int looked;
  if (!looked) {
    /* The default scope: finds the preloaded object, or nothing. */
    void* symbol = dlsym((void*)0, "cox_observe_get_v1");
    if (symbol) {
      cox_observe_get_v1_fn get;
      *(void**)(&get) = symbol;
      api = get();
    }
    looked = 1;
  }
  return api;
}

static inline void cox_rank(int32_t rank, int32_t world_size) {
  const cox_observe_v1* api = cox_observe();
  if (api) api->rank(rank, world_size);
}
static inline cox_communicator cox_define_communicator(const int32_t* ranks, size_t count, int32_t my_rank,
                                                       const char* name) {
  const cox_observe_v1* api = cox_observe();
  return api ? api->communicator(ranks, count, my_rank, name) : 0;
}
static inline void cox_step(uint64_t number) {
  const cox_observe_v1* api = cox_observe();
  if (api) api->step(number);
}
static inline cox_span cox_phase_begin(enum cox_phase phase) {
  const cox_observe_v1* api = cox_observe();
  return api ? api->phase_begin((uint32_t)phase) : (cox_span)0;
}
static inline void cox_phase_end(cox_span span) {
  if (span) cox_observe()->phase_end(span);
}
static inline cox_span cox_collective_begin(enum cox_collective op, cox_communicator comm, uint64_t bytes) {
  const cox_observe_v1* api = cox_observe();
  return api ? api->collective_begin((uint32_t)op, comm, bytes) : (cox_span)0;
}
static inline void cox_collective_end(cox_span span) {
  if (span) cox_observe()->collective_end(span);
}
/* As messages are marked: null also where what is preloaded is older than they are. */
static inline const cox_observe_v1* cox_observe_messages(void) {
  const cox_observe_v1* api = cox_observe();
  return api && api->size > offsetof(cox_observe_v1, message_wait_end) ? api : (const cox_observe_v1*)0;
}
static inline void cox_message_sent(cox_communicator comm, int32_t peer, uint64_t bytes) {
  const cox_observe_v1* api = cox_observe_messages();
  if (api) api->message_sent(comm, peer, bytes);
}
static inline cox_span cox_message_wait_begin(cox_communicator comm, int32_t peer) {
  const cox_observe_v1* api = cox_observe_messages();
  return api ? api->message_wait_begin(comm, peer) : (cox_span)0;
}
static inline void cox_message_wait_end(cox_span span, int32_t peer, uint64_t bytes) {
  if (span) cox_observe()->message_wait_end(span, peer, bytes);
}

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-use-nullptr,bugprone-dynamic-static-initializers) */

#endif /* COX_ABI_OBSERVE_H */
