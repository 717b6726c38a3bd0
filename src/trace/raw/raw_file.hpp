// SPDX-License-Identifier: Apache-2.0
/// \file
/// One `.coxraw` file, whole, cut or hostile, to records.
#pragma once

#include <string_view>

#include "cox/base/result.hpp"

#include "trace/raw/record_columns.hpp"

namespace cox::trace {

/// Everything usable in the bytes of a raw file; what is not becomes a loss.
///
/// Sizes and offsets in the file are claims, each checked against the bytes that are there.
/// Errors: trace-002 (not a raw file, or its header is not whole), trace-003 (newer version).
/// Held by: src/trace/raw/raw_file_test.cpp, tests/property/cut_run.cpp, fuzz/raw_fuzz.cpp
[[nodiscard]] Result<ProcessRecords> parse_raw_file(std::string_view bytes);

/// The checks that a RawHeader must pass wherever it comes from. Errors: as above.
[[nodiscard]] Status check_raw_header(const RawHeader& header);

}  // namespace cox::trace
