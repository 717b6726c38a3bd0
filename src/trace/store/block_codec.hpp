// SPDX-License-Identifier: Apache-2.0
/// \file
/// A block of records as columns of few distinct bytes, and back. Lossless for any records.
///
/// Layout (docs/reference/run-format.md): u32 records, u32 columns, then per column: u8 id, u8 width, u16 0,
/// u32 bytes that follow, and those. Width 0 = one 8-byte value for all records; 1..8 = so many byte planes,
/// least significant first. Timestamps are stored as gap to the event before on the same thread, and length.
/// Held by: src/trace/store/block_codec_test.cpp, tests/property/trace_laws.cpp, fuzz/compact_fuzz.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

#include "trace/raw/record_columns.hpp"

namespace cox::trace {

/// Records per block: small enough that a cut loses little and that decoding stays in the cache.
inline constexpr std::size_t kRecordsPerBlock = 16384;
/// What a reader accepts.
inline constexpr std::size_t kMaxRecordsPerBlock = 65536;

/// Records [first, first + count) as the bytes of one block.
[[nodiscard]] std::string encode_block(const RecordColumns& records, std::size_t first, std::size_t count);

/// The records of a block, replacing what `into` held.
/// False where the bytes are not a block; `into` is then empty.
[[nodiscard]] bool decode_block(std::string_view bytes, RecordColumns& into);

}  // namespace cox::trace
