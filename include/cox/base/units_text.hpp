// SPDX-License-Identifier: Apache-2.0
/// \file
/// Quantities as people write them, read and printed in one place.
///
/// `25MB` is 25 000 000 bytes, `25MiB` is 26 214 400; `100Gbps` counts bits, `100GB/s` counts bytes.
/// `312TFLOP/s` counts powers of 1000, `20ps/B` is a time per byte.
/// A bare number is an error that lists the accepted spellings (docs/reference/units.md).
/// Spaces around number and unit are accepted; signs, exponents and other cases (`25mb`) are not.
#pragma once

#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox {

/// Reads `10us`, `1.5 ms`, `2h`. Units: ps ns us µs ms s min h d.
/// Exact where the text is a whole number of picoseconds, else the nearest picosecond.
/// Errors: base-001 (no number, no unit, unknown unit, out of range). Held by: src/base/units_text_test.cpp
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
/// Reads `4096B`, `25MB`, `25MiB`. Units: B kB MB GB TB PB KiB MiB GiB TiB PiB; fractions of a byte are an
/// error. Errors: base-001.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);
/// Reads `100Gbps`, `12.5GB/s`, `1GiB/s`. Units: bps kbps Mbps Gbps Tbps (bits), B/s kB/s .. TB/s, KiB/s ..
/// TiB/s (bytes). The nearest double to what is written. Errors: base-001.
[[nodiscard]] Result<Bandwidth> parse_bandwidth(std::string_view text);

/// Reads what `parse_duration` reads, for models: the nearest double to what is written, not whole
/// picoseconds, and without their range. Errors: base-001.
[[nodiscard]] Result<Seconds> parse_seconds(std::string_view text);
/// Reads `20ps/B`, `0.02ns/B`. Units: ps/B ns/B us/B µs/B ms/B s/B. Errors: base-001.
[[nodiscard]] Result<TimePerByte> parse_time_per_byte(std::string_view text);
/// Reads `314ZFLOP`. Units: FLOP kFLOP .. YFLOP, powers of 1000. Errors: base-001.
/// Reads `312TFLOP/s`, `1.98PFLOP/s`. Units: FLOP/s kFLOP/s .. YFLOP/s, powers of 1000. Errors: base-001.
[[nodiscard]] Result<FlopRate> parse_flop_rate(std::string_view text);

/// Three significant digits in the unit that reads best: `12.3 ms`, `1.20 µs`, `0 s`.
[[nodiscard]] std::string to_string(Duration d);
/// Decimal units, three significant digits: `25.0 MB`; below 1000 the exact count: `340 B`.
[[nodiscard]] std::string to_string(Bytes b);
/// Decimal units of bytes: `12.5 GB/s`. What is not finite prints as `inf TB/s` or `nan TB/s`.
[[nodiscard]] std::string to_string(Bandwidth w);

/// As for a `Duration`; below a picosecond `0.340 ps`, beyond 106 days whole days. `inf s` and `nan s` where
/// it is not finite.
[[nodiscard]] std::string to_string(Seconds s);
/// Up to `digits` significant digits (3 to 9) as far as they are not zeros: `1.10886 ms`, `10.0 ms`. For
/// results that people compare with each other, and that are as exact as their input.
[[nodiscard]] std::string to_string(Seconds s, int digits);
/// A value and its half width in one unit, that of the value: `25.973 ± 0.8945 h`. Both finite, `half_width` at
/// least 0. Held by: src/base/units_text_test.cpp
[[nodiscard]] std::string with_half_width(Seconds value, Seconds half_width, int digits);
[[nodiscard]] std::string to_string(TimePerByte t);
[[nodiscard]] std::string to_string(Flops n);
[[nodiscard]] std::string to_string(FlopRate r);

/// The shortest text that the parser above reads back to exactly this value: `25us`, `256MiB`, `12.5GB/s`.
/// What is negative or not finite cannot be written (asserted). Held by: tests/property/units_laws.cpp
[[nodiscard]] std::string spelled(Seconds s);
[[nodiscard]] std::string spelled(Bytes b);
[[nodiscard]] std::string spelled(Bandwidth w);
[[nodiscard]] std::string spelled(TimePerByte t);
[[nodiscard]] std::string spelled(Flops n);
[[nodiscard]] std::string spelled(FlopRate r);

}  // namespace cox
