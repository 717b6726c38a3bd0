// SPDX-License-Identifier: Apache-2.0
/// \file
/// Times of day as text and as numbers.
#pragma once

#include <optional>
#include <string_view>

#include "cox/base/units.hpp"

namespace cox::trace {

/// A moment or a length in picoseconds, or in 1e-12 of an unknown unit: wide enough for the time of day.
__extension__ using WidePs = __int128;

/// `2026-01-31T12:00:00.123456Z`, also with a blank for the T and a zone `+01:00`; since 1970. Nothing without a zone
/// or where it is no such text.
[[nodiscard]] std::optional<WidePs> time_of_day(std::string_view text);

/// The unit in which a number is a time of day between 2001 and 2100; nothing where it is none.
[[nodiscard]] std::optional<Seconds> unit_since_1970(double number);

}  // namespace cox::trace
