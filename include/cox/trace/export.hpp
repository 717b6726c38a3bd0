// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs in other tools' formats.
#pragma once

#include <iosfwd>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

/// Writes the Run as Chrome trace-event JSON, which ui.perfetto.dev opens: a process per rank, a track per
/// thread, collectives, waits, phases and step marks, times in microseconds from the Run's origin. Source:
/// "Trace Event Format", Google. Errors: base-006. Held by: src/trace/run/export_test.cpp
[[nodiscard]] Status export_perfetto(const Run& run, std::ostream& out);

}  // namespace cox::trace
