// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names by which processes of one Run on one host find each other: abstract Unix sockets, no business of any file
/// system. Libc only.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace cox::guest {

/// Of `cox observe` in front of the job, which hears here who began (src/observe/end_witness.hpp).
inline constexpr const char* kEndsSocket = "ends";

/// What a process says there that knocks again: its file takes no more, and why. Nothing can be written about that.
struct WriteFailure {
  static constexpr std::uint32_t kMark = 0x776f6e78;
  std::uint32_t mark = kMark;
  std::int32_t error = 0;  ///< errno
};

/// A Run's folder as the kernel numbers it.
struct FolderNumber {
  unsigned long long device = 0;
  unsigned long long inode = 0;
};

/// Fills `out` with the abstract name `what` of this Run and user; its length.
inline socklen_t node_name(const char* what, const FolderNumber& folder, sockaddr_un& out) noexcept {
  memset(&out, 0, sizeof out);
  out.sun_family = AF_UNIX;
  const int n = snprintf(out.sun_path + 1, sizeof out.sun_path - 1, "cox-%s-%u-%llx-%llx", what,
                         static_cast<unsigned>(geteuid()), folder.device, folder.inode);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(n));
}

}  // namespace cox::guest
