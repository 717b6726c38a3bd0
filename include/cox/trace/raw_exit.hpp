// SPDX-License-Identifier: Apache-2.0
/// \file
/// With which status a process ended itself: `exit_status` of a raw file's header, the first bytes of what older files
/// call reserved. Libc only.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "cox/trace/raw_format.hpp"

namespace cox::trace {

/// For the header: `status` of `exit` or `_exit`, plus 1. 0 = not known.
[[nodiscard]] constexpr std::uint32_t exit_field(int status) {
  return (static_cast<std::uint32_t>(status) & 0xff) + 1;
}

inline void set_exit_field(RawHeader& head, std::uint32_t field) {
  std::memcpy(head.reserved, &field, sizeof field);
}

/// Nothing where the process did not end itself, or after its file was closed.
[[nodiscard]] inline std::optional<int> exit_status_of(const RawHeader& head) {
  std::uint32_t field = 0;
  std::memcpy(&field, head.reserved, sizeof field);
  if (field == 0 || field > 256) return std::nullopt;
  return static_cast<int>(field - 1);
}

}  // namespace cox::trace
