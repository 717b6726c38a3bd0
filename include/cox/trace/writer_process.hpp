// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether the process that writes a raw file still runs, as far as that can be told from here.
#pragma once

#include <cstdint>

#include "cox/base/process_table.hpp"
#include "cox/trace/raw_format.hpp"

namespace cox::trace {

enum class WriterProcess : std::uint8_t {
  Runs,
  Gone,      ///< ended, or its number is another process's now
  Hidden,    ///< in a PID namespace of this machine that is not seen from here: a container beside ours
  Elsewhere  ///< it ran on another machine, or on this one before it was started anew
};

/// Judges by the header's `boot_id`, `pid`, `pid_namespace` and `start_time`; fields that are zero tell nothing.
/// Threads: any. Cost: some system calls; some per process of the machine where the writer's numbers are another
/// PID namespace's. Held by: src/trace/store/writer_process_test.cpp, tests/e2e/namespaces_test.py
[[nodiscard]] WriterProcess look_for_writer(const RawHeader& header, const ProcessTable& machine);

}  // namespace cox::trace
