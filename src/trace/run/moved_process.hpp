// SPDX-License-Identifier: Apache-2.0
/// \file
/// A process's times, moved to the Run's axis, and its communicators, renamed to the Run's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "cox/trace/run.hpp"

#include "trace/raw/process_file.hpp"
#include "trace/run/node_axes.hpp"

namespace cox::trace {

/// What came of it.
struct MovedProcess {
  bool usable = true;
  std::size_t unknown_comm = 0;
};

/// Done once the whole Run is known; runs beside others of its kind.
[[nodiscard]] MovedProcess move_process(ProcessFile& process, const Mover& move,
                                        const std::unordered_map<std::uint32_t, CommId>& names);

}  // namespace cox::trace
