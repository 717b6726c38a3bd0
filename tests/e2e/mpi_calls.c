// SPDX-License-Identifier: Apache-2.0
// Calls every kind of MPI function that is observed and keeps its own count of collectives and bytes per
// communicator, in the convention of nccl-tests, so that an observer's counts can be held against it. Rank 0
// prints them; nothing of the reporting is a collective. Built for each MPI library; needs at least 4 ranks.
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif

enum { kCount = 100, kRounds = 3, kMost = 64 };

struct Counted {
  MPI_Comm comm;
  int rank, size;
  long long collectives, bytes;
};

static void count(struct Counted* c, long long bytes) {
  ++c->collectives;
  c->bytes += bytes;
}
static struct Counted counted(MPI_Comm comm) {
  struct Counted c = {comm, 0, 1, 0, 0};
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.size);
  return c;
}

static int in[kMost * kCount], out[kMost * kCount];
static int counts[kMost], offsets[kMost], byte_offsets[kMost];
static MPI_Datatype types[kMost];

static void blocking(struct Counted* c) {
  const long long one = kCount * (long long)sizeof(int);
  const long long all = one * c->size;
  const int root = c->size - 1;
  MPI_Comm m = c->comm;
  MPI_Barrier(m);
  count(c, 0);
  MPI_Bcast(in, kCount, MPI_INT, root, m);
  count(c, one);
  MPI_Gather(in, kCount, MPI_INT, out, kCount, MPI_INT, root, m);
  count(c, all);
  MPI_Gatherv(in, kCount, MPI_INT, out, counts, offsets, MPI_INT, root, m);
  count(c, c->rank == root ? all : one);
  MPI_Scatter(in, kCount, MPI_INT, out, kCount, MPI_INT, root, m);
  count(c, all);
  MPI_Scatterv(in, counts, offsets, MPI_INT, out, kCount, MPI_INT, root, m);
  count(c, c->rank == root ? all : one);
  MPI_Allgather(in, kCount, MPI_INT, out, kCount, MPI_INT, m);
  count(c, all);
  MPI_Allgatherv(in, kCount, MPI_INT, out, counts, offsets, MPI_INT, m);
  count(c, all);
  MPI_Alltoall(in, kCount, MPI_INT, out, kCount, MPI_INT, m);
  count(c, all);
  MPI_Alltoallv(in, counts, offsets, MPI_INT, out, counts, offsets, MPI_INT, m);
  count(c, all);
  MPI_Alltoallw(in, counts, byte_offsets, types, out, counts, byte_offsets, types, m);
  count(c, all);
  MPI_Reduce(in, out, kCount, MPI_INT, MPI_SUM, root, m);
  count(c, one);
  MPI_Allreduce(in, out, kCount, MPI_INT, MPI_SUM, m);
  count(c, one);
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, m);
  count(c, all);
  MPI_Reduce_scatter_block(in, out, kCount, MPI_INT, MPI_SUM, m);
  count(c, all);
  MPI_Scan(in, out, kCount, MPI_INT, MPI_SUM, m);
  count(c, one);
  MPI_Exscan(in, out, kCount, MPI_INT, MPI_SUM, m);
  count(c, one);
}

#if MPI_VERSION >= 4
/// With large counts: other functions, the same operations.
static void large(struct Counted* c) {
  const long long one = kCount * (long long)sizeof(int);
  const long long all = one * c->size;
  const int root = c->size - 1;
  MPI_Count wide[kMost];
  MPI_Aint places[kMost], byte_places[kMost];
  for (int i = 0; i < c->size; ++i) {
    wide[i] = kCount;
    places[i] = i * kCount;
    byte_places[i] = byte_offsets[i];
  }
  MPI_Comm m = c->comm;
  MPI_Request r[2];
  MPI_Bcast_c(in, kCount, MPI_INT, root, m);
  count(c, one);
  MPI_Gatherv_c(in, kCount, MPI_INT, out, wide, places, MPI_INT, root, m);
  count(c, c->rank == root ? all : one);
  MPI_Allgatherv_c(in, kCount, MPI_INT, out, wide, places, MPI_INT, m);
  count(c, all);
  MPI_Alltoallw_c(in, wide, byte_places, types, out, wide, byte_places, types, m);
  count(c, all);
  MPI_Reduce_scatter_c(in, out, wide, MPI_INT, MPI_SUM, m);
  count(c, all);
  MPI_Iallreduce_c(in, out, kCount, MPI_INT, MPI_SUM, m, &r[0]);
  count(c, one);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Allreduce_init_c(in, out, kCount, MPI_INT, MPI_SUM, m, MPI_INFO_NULL, &r[0]);
  MPI_Start(&r[0]);
  count(c, one);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&r[0]);
}
#endif

/// Each completed in another way.
static void non_blocking(struct Counted* c) {
  const long long one = kCount * (long long)sizeof(int);
  const long long all = one * c->size;
  MPI_Comm m = c->comm;
  MPI_Request r[4];
  int flag = 0, index = 0, found = 0, indices[4];
  MPI_Iallreduce(in, out, kCount, MPI_INT, MPI_SUM, m, &r[0]);
  count(c, one);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Iallgather(in, kCount, MPI_INT, out, kCount, MPI_INT, m, &r[0]);
  count(c, all);
  MPI_Ibarrier(m, &r[1]);
  count(c, 0);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Ibcast(in, kCount, MPI_INT, 0, m, &r[0]);
  count(c, one);
  while (!flag) MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
  MPI_Ialltoall(in, kCount, MPI_INT, out, kCount, MPI_INT, m, &r[0]);
  count(c, all);
  MPI_Ireduce(in, out + kCount * c->size, kCount, MPI_INT, MPI_SUM, 0, m, &r[1]);
  count(c, one);
  MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
  MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
  MPI_Iscan(in, out, kCount, MPI_INT, MPI_SUM, m, &r[0]);
  count(c, one);
  MPI_Waitsome(1, r, &found, indices, MPI_STATUSES_IGNORE);
}

static void persistent(struct Counted* c) {
  MPI_Request r[2];
  PERSISTENT(Allreduce)(in, out, kCount, MPI_INT, MPI_SUM, c->comm, MPI_INFO_NULL, &r[0]);
  PERSISTENT(Barrier)(c->comm, MPI_INFO_NULL, &r[1]);
  for (int i = 0; i < kRounds; ++i) {
    MPI_Startall(2, r);
    count(c, kCount * (long long)sizeof(int));
    count(c, 0);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

/// A ring of messages, blocking, non-blocking and persistent.
static void messages(struct Counted* c) {
  const int next = (c->rank + 1) % c->size;
  const int before = (c->rank + c->size - 1) % c->size;
  MPI_Request r[2];
  for (int i = 0; i < kRounds; ++i) {
    MPI_Sendrecv(in, kCount, MPI_INT, next, 1, out, kCount, MPI_INT, before, 1, c->comm, MPI_STATUS_IGNORE);
    MPI_Irecv(out, kCount, MPI_INT, before, 2, c->comm, &r[0]);
    MPI_Isend(in, kCount, MPI_INT, next, 2, c->comm, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    if (c->rank == 0) MPI_Send(in, 1, MPI_INT, 1, 3, c->comm);
    if (c->rank == 1) MPI_Recv(out, 1, MPI_INT, 0, 3, c->comm, MPI_STATUS_IGNORE);
  }
  MPI_Recv_init(out, kCount, MPI_INT, before, 4, c->comm, &r[0]);
  MPI_Send_init(in, kCount, MPI_INT, next, 4, c->comm, &r[1]);
  for (int i = 0; i < kRounds; ++i) {
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

static void neighbors(struct Counted* c) {
  MPI_Request r;
  MPI_Neighbor_allgather(in, kCount, MPI_INT, out, kCount, MPI_INT, c->comm);
  count(c, kCount * 4);
  MPI_Ineighbor_alltoall(in, kCount, MPI_INT, out, kCount, MPI_INT, c->comm, &r);
  count(c, kCount * 4);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/// Rank 0 of the world prints what rank `speaker` counted.
static void report(const char* name, const struct Counted* c, int speaker, int world_rank) {
  long long told[3] = {c->size, c->collectives, c->bytes};
  if (speaker != 0 && world_rank == speaker) MPI_Send(told, 3, MPI_LONG_LONG, 0, 9, MPI_COMM_WORLD);
  if (speaker != 0 && world_rank == 0)
    MPI_Recv(told, 3, MPI_LONG_LONG, speaker, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (world_rank == 0)
    printf("communicator %s: %lld ranks, %lld collectives, %lld bytes\n", name, told[0], told[1], told[2]);
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  struct Counted world = counted(MPI_COMM_WORLD);
  if (world.size < 4 || world.size > kMost) {
    fprintf(stderr, "mpi_calls: got %d ranks, expected 4 to %d\n", world.size, kMost);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 0; i < world.size; ++i) {
    counts[i] = kCount;
    offsets[i] = i * kCount;
    byte_offsets[i] = i * kCount * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  blocking(&world);
  non_blocking(&world);
  persistent(&world);
#if MPI_VERSION >= 4
  large(&world);
#endif
  messages(&world);

  MPI_Comm made;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, world.rank, &made);
  struct Counted half = counted(made);
  blocking(&half);
  non_blocking(&half);

  // Only ranks 0, 2 and 3 make it: the others' count of communicators falls behind.
  MPI_Group all, some;
  const int three[3] = {0, 2, 3};
  struct Counted group = {MPI_COMM_NULL, 0, 0, 0, 0};
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 3, three, &some);
  if (world.rank == 0 || world.rank == 2 || world.rank == 3) {
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &made);
    group = counted(made);
    blocking(&group);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&all);

  // Three more of the same ranks as the world: told apart by their order.
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  struct Counted copy = counted(made);
  blocking(&copy);
  blocking(&copy);
  MPI_Request later;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &later);
  MPI_Wait(&later, MPI_STATUS_IGNORE);
  struct Counted copy_later = counted(made);
  MPI_Barrier(made);
  count(&copy_later, 0);
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &world.size, &periodic, 0, &made);
  struct Counted ring = counted(made);
  neighbors(&ring);

  report("world", &world, 0, world.rank);
  report("half-0", &half, 0, world.rank);
  report("half-1", &half, 1, world.rank);
  report("group", &group, 0, world.rank);
  report("copy", &copy, 0, world.rank);
  report("copy-later", &copy_later, 0, world.rank);
  report("ring", &ring, 0, world.rank);
  MPI_Comm_free(&half.comm);
  if (group.comm != MPI_COMM_NULL) MPI_Comm_free(&group.comm);
  MPI_Comm_free(&copy.comm);
  MPI_Comm_free(&copy_later.comm);
  MPI_Comm_free(&ring.comm);
  MPI_Finalize();
  return 0;
}
