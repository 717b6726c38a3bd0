// SPDX-License-Identifier: Apache-2.0
/// \file
/// A descriptor that whoever started us opened for us to write to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox::cli {

/// What an argument names as `/dev/fd/N` (a shell makes that of `>(command)`), kept as a descriptor of our own: it stays
/// where inherited ones are let go. Held by: tests/e2e/launch_test.sh
class GivenDescriptor {
 public:
  /// Nothing where the name is a file's. Errors: cli-003 (N is not open for writing).
  [[nodiscard]] static Result<std::optional<GivenDescriptor>> named(const std::string& name);
  GivenDescriptor(GivenDescriptor&& other) noexcept;
  GivenDescriptor& operator=(GivenDescriptor&&) = delete;
  GivenDescriptor(const GivenDescriptor&) = delete;
  GivenDescriptor& operator=(const GivenDescriptor&) = delete;
  ~GivenDescriptor();

  /// Errors: base-006 (nobody reads, or the disk is full).
  [[nodiscard]] Status write(std::string_view content) const;

 private:
  GivenDescriptor(int fd, std::string name);
  int fd_;
  std::string name_;
};

}  // namespace cox::cli
