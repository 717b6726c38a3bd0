// SPDX-License-Identifier: Apache-2.0
// A reduction whose result depends on the order of its sums: float values of very
// different size. Prints the bits. usage: order_sum [ROUNDS LATE_MS]; the last rank comes so much later to each sum.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kCount = 1000 };

int main(int argc, char** argv) {
  static float in[kCount], out[kCount];
  const int rounds = argc > 2 ? atoi(argv[1]) : 20;
  const int late_ms = argc > 2 ? atoi(argv[2]) : 0;
  int rank = 0, ranks = 0;
  uint64_t hash = 1469598103934665603u, state = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  state = 88172645463325252u + (uint64_t)rank;
  for (int round = 0; round < rounds; ++round) {
    if (late_ms > 0 && rank == ranks - 1) usleep(1000 * (unsigned)late_ms);
    for (int i = 0; i < kCount; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const float magnitude = (float)(1u << (state >> 59));
      in[i] = ((float)(state & 0xffff) - 32768.0f) * magnitude * 1.000123f;
    }
    MPI_Allreduce(in, out, kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < kCount; ++i) {
      uint32_t bits;
      memcpy(&bits, &out[i], sizeof bits);
      hash = (hash ^ bits) * 1099511628211u;
    }
  }
  if (rank == 0) printf("%016llx\n", (unsigned long long)hash);
  MPI_Finalize();
  return 0;
}
