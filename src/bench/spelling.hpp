// SPDX-License-Identifier: Apache-2.0
/// \file
/// Quantities as they are written into a Scenario: with unit, no more digits than were measured.
#pragma once

#include <string>

#include "cox/base/units.hpp"

namespace cox::bench {

/// To the nanosecond below 1 ms (`12.345us`), to the microsecond's thousandth above.
[[nodiscard]] std::string spell_time(Seconds s);
/// Six significant digits: `11.953MB/s`.
[[nodiscard]] std::string spell_rate(Bandwidth w);
/// In quotes, as TOML wants it.
[[nodiscard]] std::string toml_string(const std::string& text);

}  // namespace cox::bench
