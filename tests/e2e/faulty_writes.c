/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded beside the guest: its file system fails after FAULT_AFTER writes, with FAULT_ERRNO; with FAULT_SYNC it takes
   what is written and fails only where the disk is to have it; with FAULT_OPEN a file takes so many seconds to make, with
   FAULT_SLOW each write and sync, with FAULT_SLOW_SYNC each sync. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long written;

static void be_slow(const char* by) {
  const char* seconds = getenv(by);
  if (seconds != NULL) sleep((unsigned)strtoul(seconds, NULL, 10));
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  const char* after = getenv("FAULT_AFTER");
  const char* error = getenv("FAULT_ERRNO");
  be_slow("FAULT_SLOW");
  if (after != NULL && error != NULL && atomic_fetch_add(&written, 1) >= strtol(after, NULL, 10)) {
    errno = (int)strtol(error, NULL, 10);
    return -1;
  }
  return syscall(SYS_pwrite64, fd, from, bytes, at);
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
  const char* error = getenv("FAULT_SYNC");
  be_slow("FAULT_SLOW");
  be_slow("FAULT_SLOW_SYNC");
  if (error == NULL) return (int)syscall(SYS_fdatasync, fd);
  errno = (int)strtol(error, NULL, 10);
  return -1;
}

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  const char* seconds = getenv("FAULT_OPEN");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (seconds != NULL && strstr(path, ".coxraw") != NULL) sleep((unsigned)strtoul(seconds, NULL, 10));
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
