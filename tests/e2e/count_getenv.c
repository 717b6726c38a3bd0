/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: writes the name of each variable COX_* that somebody asks for into the file that COX_ASKED names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char** environ;

static char* look_up(const char* name) {
  const size_t length = strlen(name);
  for (char** at = environ; at != NULL && *at != NULL; ++at)
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return *at + length + 1;
  return NULL;
}

__attribute__((visibility("default"))) char* getenv(const char* name) {
  const char* path = look_up("COX_ASKED");
  if (path != NULL && strncmp(name, "COX_", 4) == 0) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, name, strlen(name)) < 0 || write(fd, "\n", 1) != 1) abort();
    close(fd);
  }
  return look_up(name);
}
