// SPDX-License-Identifier: Apache-2.0
/// \file
/// What PyTorch's Flight Recorder dumps, once as a pickle and once as JSON: the same keys, one mapping.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

#include "trace/import/nccl/pickle.hpp"

namespace cox::trace {

/// Dumps are a few MB; beyond this a file is something else.
inline constexpr std::uint64_t kFlightRecorderBytes = std::uint64_t{256} << 20;

/// JSON text as the same tree of plain data that a pickle gives; the entries' stack frames are left out.
/// Errors: import-005 (no JSON, or nested more than 64 deep).
[[nodiscard]] Result<PlainDocument> parse_plain_json(std::string text);

/// The part of a Run that a dump tells: one rank. `input_bytes` bounds the work spent on shared values.
/// Errors: import-005 (no list of entries). Held by: src/trace/import/nccl/flight_recorder_test.cpp
[[nodiscard]] Result<Run> map_flight_recorder(const PlainDocument& dump, const std::filesystem::path& path,
                                              const char* format, std::size_t input_bytes);

}  // namespace cox::trace
