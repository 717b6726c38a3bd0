// SPDX-License-Identifier: Apache-2.0
/// \file
/// The first line of a Paraver trace: unit of its times, and which tasks of which applications run where.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::trace {

struct ParaverHeader {
  std::int64_t unit_ps = 1'000'000;  ///< picoseconds in one unit of time: microseconds where none is named
  std::int64_t nodes = 0;
  /// Per application, its tasks: the node of each, from 0. A task is a process.
  std::vector<std::vector<std::int32_t>> node_of_task;

  [[nodiscard]] std::size_t tasks() const;
  /// A time of a record; nothing where it is negative or beyond the range of `Duration`.
  [[nodiscard]] std::optional<Duration> time(std::int64_t value) const;
};

/// Whether a file that begins with these bytes is a Paraver trace.
[[nodiscard]] bool is_paraver_header(std::string_view head);

/// Reads `#Paraver
/// (when):duration_ns:nodes(cpus,...):applications:tasks(threads:node,...),communicators:...`.
/// Errors: import-005.
[[nodiscard]] Result<ParaverHeader> parse_paraver_header(std::string_view line);

}  // namespace cox::trace
