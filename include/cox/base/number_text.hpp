// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plain numbers as people read them, in one place: parts in per cent, changes in per cent, counts.
///
/// Use when: a ratio or a count goes into a sentence, a table or a page.
/// Not when: a quantity with a unit is meant (units_text.hpp), a setting is repeated as it was written, or for JSON and
///           CSV, which hold full precision.
/// Held by: src/base/number_text_test.cpp, tests/layer/check_numbers.cmake (nothing else writes per cent or
///          groups digits), tests/report/format.mjs (the page's script follows the same rules)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cox {

/// How far a part is written out.
enum class PartDigits : std::uint8_t {
  Tenths,  ///< whole per cent from 10 % to 99.5 %, tenths outside
  Whole,   ///< whole per cent everywhere: for sentences that a fixed JSON document holds in that form
};

/// A part of a whole: `43 %`, `4.3 %`, `0 %`; what would vanish is `under 0.1 %` (`about 0 %` where
/// negative), and what would become the whole keeps its tenths: `99.7 %`, `over 99.9 %`. `not known` where it
/// is not finite.
[[nodiscard]] std::string percent(double part, PartDigits digits = PartDigits::Tenths);

/// Whether a change carries its sign or the words around it do (`4.3 % longer`).
enum class ChangeSign : std::uint8_t { Written, InWords };

/// A change against a baseline, with tenths at any size, so that estimate and interval line up: `+18.6 %`,
/// `-0.4 %`. `not known` where it is not finite.
[[nodiscard]] std::string percent_change(double change, ChangeSign sign = ChangeSign::Written);

/// A count in groups of three digits: `1 234 567`, `-12 345`.
[[nodiscard]] std::string grouped(std::int64_t n);

/// A count and what it counts, so that verbs and endings agree with it: `1 row is`, `12 rows are`, `0 rows are`.
/// Digits are not grouped: notes stand in JSON documents, too.
[[nodiscard]] std::string counted(std::int64_t n, std::string_view one, std::string_view many);

}  // namespace cox
