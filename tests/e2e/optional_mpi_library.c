/* SPDX-License-Identifier: Apache-2.0 */
/* A library that would use MPI where it is there, by a weak symbol. */
#include <stddef.h>

__attribute__((weak)) int MPI_Init(int* argc, char*** argv);
__attribute__((visibility("default"))) int use_mpi(void);

int use_mpi(void) {
  if (MPI_Init == NULL) return -1;
  return MPI_Init(NULL, NULL) == 0 ? 0 : 1;
}
