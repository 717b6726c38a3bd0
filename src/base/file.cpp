// SPDX-License-Identifier: Apache-2.0
#include "cox/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace cox {
namespace {

Error not_a_file(const std::filesystem::path& path) {
  return Error{.code = Errc::InvalidInput,
               .id = "base-003",
               .message = "not a regular file",
               .hint = "name a file",
               .where = Where{.file = path.string()}};
}

Error io_error(const char* id, const std::filesystem::path& path, std::string what, std::string hint) {
  return Error{.code = errno == ENOENT ? Errc::NotFound : Errc::Io,
               .id = id,
               .message = std::move(what),
               .hint = std::move(hint),
               .where = Where{.file = path.string()}};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// Size of a regular file behind `fd`.
Result<std::size_t> regular_size(int fd, const std::filesystem::path& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return fail(io_error("base-002", path, std::strerror(errno), "check the path"));
  if (!S_ISREG(st.st_mode)) return fail(not_a_file(path));
  return static_cast<std::size_t>(st.st_size);
}

Error cannot_write(const std::filesystem::path& path, int cause) {
  const std::string what = fmt::format("cannot be written: {}", std::strerror(cause));
  errno = cause;
  return io_error("base-006", path, what, "check the folder, its rights and free space");
}

Error exists_already(const std::filesystem::path& path) {
  return Error{.code = Errc::InvalidInput,
               .id = "base-005",
               .message = "exists already",
               .hint = "choose another name, or add --force to replace it",
               .where = Where{.file = path.string()}};
}

/// Gives a finished file its name. Where nothing may be replaced, of several writers exactly one succeeds and
/// the others see EEXIST: a link is made only where there is nothing. File systems without links get the
/// kernel's other way.
bool put_in_place(const char* temporary, const char* path, IfExists if_exists) {
  if (if_exists == IfExists::Replace) return ::rename(temporary, path) == 0;
  if (::link(temporary, path) == 0) {
    ::unlink(temporary);
    return true;
  }
  return errno != EEXIST && ::renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0;
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// Writes a new file next to `path` and returns its name; leaves nothing behind where that fails.
Result<std::string> write_beside(const std::filesystem::path& path, std::string_view content, Rights rights) {
  static std::atomic<unsigned> serial{0};
  std::string name;
  int fd = -1;
  // O_EXCL never writes through somebody else's file or link;
  // a name left by a killed process is stepped over.
  for (int attempt = 0; attempt < 100 && fd < 0; ++attempt) {
    name = fmt::format("{}.tmp-{}-{}", path.string(), ::getpid(), serial.fetch_add(1));
    fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(rights));
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) return fail(cannot_write(path, errno));
  int cause = write_all(fd, content) ? 0 : errno;
  if (rights == Rights::Group && ::fchmod(fd, static_cast<mode_t>(rights)) != 0 && cause == 0) cause = errno;
  if (::close(fd) != 0 && cause == 0) cause = errno;  // a full quota may show only here
  if (cause == 0) return name;
  ::unlink(name.c_str());
  return fail(cannot_write(path, cause));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0)
    return fail(io_error("base-002", path, std::strerror(errno), "check the path and its rights"));
  COX_TRY(const std::size_t size, regular_size(fd.get(), path));
  MappedFile file;
  if (size == 0) return file;
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (at == MAP_FAILED) return fail(io_error("base-002", path, std::strerror(errno), "check free memory"));
  file.data_ = static_cast<const std::byte*>(at);
  file.size_ = size;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0)
    return fail(io_error("base-002", path, std::strerror(errno), "check the path and its rights"));
  COX_TRY(const std::size_t size, regular_size(fd.get(), path));
  if (size > limit_bytes)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "base-004",
                      .message = fmt::format("{} bytes long, expected at most {}", size, limit_bytes),
                      .hint = "this is not a file of the expected kind",
                      .where = Where{.file = path.string()}});
  std::string content(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t n = ::read(fd.get(), content.data() + have, size - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(io_error("base-002", path, std::strerror(errno), "check the device"));
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  content.resize(have);
  return content;
}

Rights rights_of(const std::filesystem::path& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return Rights::Owner;
  if ((st.st_mode & S_IROTH) != 0) return Rights::Everyone;
  return (st.st_mode & S_IRGRP) != 0 ? Rights::Group : Rights::Owner;
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view content, IfExists if_exists,
                             Rights rights) {
  std::error_code ec;
  if (if_exists == IfExists::Fail && std::filesystem::exists(path, ec)) return fail(exists_already(path));
  if (std::filesystem::exists(path, ec) && !std::filesystem::is_regular_file(path, ec))
    return fail(not_a_file(path));  // a rename would replace a device (/dev/null) by a file
  COX_TRY(const std::string temporary, write_beside(path, content, rights));
  if (put_in_place(temporary.c_str(), path.c_str(), if_exists)) return {};
  const int cause = errno;
  ::unlink(temporary.c_str());
  if (cause == EEXIST) return fail(exists_already(path));
  return fail(cannot_write(path, cause));
}

}  // namespace cox
