// SPDX-License-Identifier: Apache-2.0
/// \file
/// The profiler trace reader with its window as a parameter, and what it counted: for tests and benchmarks.
#pragma once

#include <cstddef>
#include <string>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

#include "trace/import/bytes/byte_source.hpp"
#include "trace/import/kineto/event.hpp"
#include "trace/import/kineto/part.hpp"

namespace cox::trace::kineto {

struct Reading {
  Run run;
  EventCounts counts;
  Tally tally;
};

/// Reads one trace; `file` is named in notes and errors.
/// Errors: import-005 where nothing of it is a trace, and those of the source.
[[nodiscard]] Result<Reading> read_trace(ByteSource& source, const std::string& file,
                                         std::size_t window_bytes);

}  // namespace cox::trace::kineto
