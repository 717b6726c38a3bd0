// SPDX-License-Identifier: Apache-2.0
#include "cli/output/given_descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "cli/output/failure.hpp"

namespace cox::cli {
namespace {

/// N of `/dev/fd/N`, or -1.
int number_of(std::string_view name) {
  constexpr std::string_view kFolder = "/dev/fd/";
  if (!name.starts_with(kFolder)) return -1;
  name.remove_prefix(kFolder.size());
  int number = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc{} && end == name.data() + name.size() ? number : -1;
}

}  // namespace

Result<std::optional<GivenDescriptor>> GivenDescriptor::named(const std::string& name) {
  const int number = number_of(name);
  if (number < 0) return std::optional<GivenDescriptor>{};
  const int flags = ::fcntl(number, F_GETFL);
  const int own =
      flags < 0 || (flags & O_ACCMODE) == O_RDONLY ? -1 : ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own < 0)
    return fail(usage_error("cli-003", fmt::format("{}: not open for writing", name),
                            fmt::format("for example {}>file, or name a file", number)));
  return std::optional(GivenDescriptor(own, name));
}

GivenDescriptor::GivenDescriptor(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
GivenDescriptor::GivenDescriptor(GivenDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), name_(std::move(other.name_)) {}
GivenDescriptor::~GivenDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Status GivenDescriptor::write(std::string_view content) const {
  while (!content.empty()) {
    const ssize_t n = ::write(fd_, content.data(), content.size());
    if (n < 0 && errno != EINTR)
      return fail(Error{.code = Errc::Io,
                        .id = "base-006",
                        .message = fmt::format("cannot be written: {}", std::strerror(errno)),
                        .hint = "is the disk full, or the reader gone?",
                        .where = Where{.file = name_}});
    if (n > 0) content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace cox::cli
