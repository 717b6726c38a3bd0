// SPDX-License-Identifier: Apache-2.0
/// \file
/// The bytes of one input file, unpacked where it is compressed (gzip, zstd), piece by piece or whole.
///
/// Hostile input: what comes out is bounded by a limit that the caller gives, never by what the file claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox::trace {

/// Reads a file forward. Move-only.
///
/// Errors:  base-002, base-003 (cannot be opened, no regular file); import-003 (damaged compression),
///          import-004 (more than `limit_bytes`).
/// Threads: one at a time.
class ByteSource {
 public:
  [[nodiscard]] static Result<ByteSource> open(const std::filesystem::path& path, std::uint64_t limit_bytes);
  /// Over bytes in memory, for tests and fuzzers; compressed ones are unpacked as in a file.
  [[nodiscard]] static ByteSource over(std::string_view bytes, std::uint64_t limit_bytes);
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  /// Fills `out` from the front; fewer bytes than asked for only at the end, 0 = end.
  [[nodiscard]] Result<std::size_t> read(std::span<char> out);
  /// Everything that is left, at most 1 GiB. A file cut inside its compression gives
  /// what could be unpacked; see `cut`.
  [[nodiscard]] Result<std::string> read_all();
  /// After the end: the compressed data stopped early or did not check.
  [[nodiscard]] bool cut() const;
  /// Unpacked bytes handed out so far.
  [[nodiscard]] std::uint64_t position() const;

 private:
  struct Impl;
  explicit ByteSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cox::trace
