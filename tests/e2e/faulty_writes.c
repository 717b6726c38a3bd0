/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded beside the guest: its file system fails after FAULT_AFTER writes, with FAULT_ERRNO. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long written;

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  const char* after = getenv("FAULT_AFTER");
  const char* error = getenv("FAULT_ERRNO");
  if (after != NULL && error != NULL && atomic_fetch_add(&written, 1) >= strtol(after, NULL, 10)) {
    errno = (int)strtol(error, NULL, 10);
    return -1;
  }
  return syscall(SYS_pwrite64, fd, from, bytes, at);
}
