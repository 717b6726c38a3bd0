/* SPDX-License-Identifier: Apache-2.0 */
/* A program that would use MPI where it is there, and is linked to none. */
#include <stdio.h>
#if defined(OPTIONAL_MPI_DLSYM)
#include <dlfcn.h>

static int use_mpi(void) {
  int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(RTLD_DEFAULT, "MPI_Init");
  return init == NULL ? -1 : init(NULL, NULL) == 0 ? 0 : 1;
}
#else
int use_mpi(void);
#endif

#if !defined(OPTIONAL_MPI_LIBRARY)
int main(void) {
  const int status = use_mpi();
  puts(status == -1 ? "no MPI" : status == 0 ? "MPI" : "MPI does not work");
  return status > 0;
}
#endif
