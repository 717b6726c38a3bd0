// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files as Coxswain uses them: mapped to read, replaced whole or not at all when written.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox {

/// A file mapped read-only. Move-only; the span lives as long as the object.
///
/// Errors: base-002 (cannot be opened), base-003 (not a regular file).
/// A file that another process truncates while it is mapped raises SIGBUS; live Runs are only ever extended,
/// and hostile input is therefore read with `read_file`.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The whole file as bytes. Errors: base-002, base-003, base-004 (longer than `limit_bytes`).
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes);

enum class IfExists : bool { Fail, Replace };

/// Who may read a file that is written. What a job did is its owner's unless somebody says otherwise.
enum class Rights : unsigned {
  Owner = 0600,
  Group = 0640,     ///< whatever the umask
  Everyone = 0666,  ///< as far as the umask lets
};
/// As an existing file has them; Owner where it cannot be looked at.
[[nodiscard]] Rights rights_of(const std::filesystem::path& path);

/// Writes `content` beside `path` and renames it into place: readers see the old file or the new one, never
/// half. Errors: base-003 (exists and is no regular file), base-005 (exists and `if_exists` is Fail; hint
/// names --force), base-006 (cannot be written). Held by: src/base/file_test.cpp
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path, std::string_view content,
                                           IfExists if_exists, Rights rights = Rights::Everyone);

}  // namespace cox
