// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only, no exceptions, no allocation, no locks. Runs on the keeper thread alone.
#include "guest/writer/node.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "cox/guest/node_name.hpp"

namespace cox::guest {
namespace {

struct Node {
  int lock = -1;  // bound = this process speaks
  int stop = -1;  // bound = all are told to stop
  bool speaks = false;
  bool is_alone = true;
  FolderNumber folder;
};
constinit Node node;

int new_socket() noexcept {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool take_name(int fd, const char* what) noexcept {
  sockaddr_un name;
  const socklen_t length = node_name(what, node.folder, name);
  return bind(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0;
}

// A connection to the `cox observe` in front of the job, or -1.
int knock() noexcept {
  if (node.is_alone) return -1;
  const int fd = new_socket();
  if (fd < 0) return -1;
  sockaddr_un name;
  const socklen_t length = node_name(kEndsSocket, node.folder, name);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace

void join_node(const char* folder) noexcept {
  struct stat about {};  // by its number: glibc gave the function another version with 2.33
  if (syscall(SYS_stat, folder, &about) != 0) return;
  node.folder = {.device = about.st_dev, .inode = about.st_ino};
  node.lock = new_socket();
  node.is_alone = node.lock < 0;
}

void tell_of_start() noexcept {
  const int fd = knock();
  if (fd >= 0) close(fd);
}

void tell_of_failure(int error) noexcept {
  const int fd = knock();
  if (fd < 0) return;
  const WriteFailure what{.error = error};
  static_cast<void>(send(fd, &what, sizeof what, MSG_NOSIGNAL | MSG_DONTWAIT));
  close(fd);
}

bool speaks_for_node() noexcept {
  if (node.is_alone) return true;
  if (!node.speaks) node.speaks = take_name(node.lock, "node");
  return node.speaks;
}

void leave_node() noexcept {
  node.is_alone = true;
}

void stop_node() noexcept {
  if (node.is_alone) return;
  node.stop = new_socket();
  if (node.stop < 0 || !take_name(node.stop, "stop")) return;
  static_cast<void>(listen(node.stop, 4096));
}

// Who connects is told whose socket it is: another user's says nothing to us.
bool is_node_stopped() noexcept {
  if (node.is_alone) return false;
  const int fd = new_socket();
  if (fd < 0) return false;
  sockaddr_un name;
  const socklen_t length = node_name("stop", node.folder, name);
  ucred owner{};
  socklen_t size = sizeof owner;
  const bool told = connect(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0 &&
                    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 && owner.uid == geteuid();
  close(fd);
  return told;
}

}  // namespace cox::guest
