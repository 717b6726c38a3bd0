// SPDX-License-Identifier: Apache-2.0
/// \file
/// Test input: a file in memory with a path that readers can open.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trace/import/part/reader.hpp"

namespace cox::trace {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("input", MFD_CLOEXEC)) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::write(fd_, bytes.data() + at, bytes.size() - at);
      if (n <= 0) break;
      at += static_cast<std::size_t>(n);
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }
  [[nodiscard]] std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// What `reader` makes of these bytes.
inline Result<ImportedJob> read_bytes(const Reader& reader, std::string_view bytes) {
  const MemoryFile file(bytes);
  return reader.read(file.path(), {.threads = 1, .progress = {}, .limit_bytes = std::uint64_t{64} << 20});
}

/// Whether it would be asked to.
inline bool recognises(const Reader& reader, std::string_view bytes) {
  return reader.recognises({.path = "name", .bytes = bytes.substr(0, kHeadBytes)});
}

/// What all operations wait for, one after the other.
inline std::vector<std::uint32_t> edges_of(const model::Program& program) {
  const auto all = program.needs.all_before();
  return {all.begin(), all.end()};
}

/// Notes of a run, one a line.
inline std::string notes_of(const trace::Run& run) {
  std::string text;
  for (const Note& n : run.notes) text += n.text + "\n";
  return text;
}

}  // namespace cox::trace
