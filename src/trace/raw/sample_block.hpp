// SPDX-License-Identifier: Apache-2.0
/// \file
/// Samples of a process: as a block of a compact file and back, as a raw sample and as a reader wants it.
///
/// Held by: src/trace/raw/sample_block_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cox/trace/raw_format.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

/// Samples per block: half an hour.
inline constexpr std::size_t kSamplesPerBlock = 16384;

/// Samples [first, first + count) as the bytes of one block (docs/reference/run-format.md). Lossless.
[[nodiscard]] std::string encode_samples(const std::vector<RawSample>& samples, std::size_t first,
                                         std::size_t count);
/// Appends the samples of a block. False where the bytes are not one; nothing is appended then.
[[nodiscard]] bool decode_samples(std::string_view bytes, std::vector<RawSample>& into);

/// Orders by ticks, equal ones as they came.
void sort_samples(std::vector<RawSample>& samples);
[[nodiscard]] bool same_samples(const std::vector<RawSample>& a, const std::vector<RawSample>& b);

/// What a raw sample says, taken at `at`. Times beyond 100 days count as not readable.
[[nodiscard]] Sample sample_of(const RawSample& raw, Duration at);
/// The inverse, in whole nanoseconds and microseconds.
[[nodiscard]] RawSample raw_sample_of(const Sample& sample, std::uint64_t ticks);

}  // namespace cox::trace
