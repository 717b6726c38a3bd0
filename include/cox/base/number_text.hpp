// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plain numbers as people read them, in one place: parts in per cent, changes in per cent, counts, ratios.
///
/// Use when: a ratio or a count goes into a sentence, a table or a page.
/// Not when: a quantity with a unit is meant (units_text.hpp), or for JSON and CSV, which hold full precision.
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
  AsSet,   ///< a part that somebody set, with the digits it has: `2.5 %`, `95 %`
  Four,    ///< four significant digits: a study stands beside what a source printed, which may have as many
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

/// A change and its interval, in the same form with the unit once: `+0.7 [+0.1, +1.3] %`.
[[nodiscard]] std::string percent_change_within(double change, double low, double high);

/// Of a percentage the number alone, where the heading of its column says `%`: `+12.3` of `+12.3 %`. What has no `%`
/// stays as it is.
[[nodiscard]] std::string without_percent(std::string percentage);

/// A part that somebody set, inside a name that is looked up by it: `5%`, without a blank.
[[nodiscard]] std::string percent_in_name(double part);

/// A ratio or another plain number: at least `digits` significant ones, those before the point all and in groups, no zeros
/// at the end behind it: `0.5`, `29.6`, `12 633`. An exponent only from 1e15 on and below 1e-6. `not known` where it
/// is not finite. Pre: 2 <= digits <= 9.
[[nodiscard]] std::string plain_number(double value, int digits = 3);

/// Four significant digits, zeros at the end, too; nothing is grouped: `7.500`, `1.235e+12`.
[[nodiscard]] std::string four_digits(double value);

/// A count in groups of three digits: `1 234 567`, `-12 345`.
[[nodiscard]] std::string grouped(std::int64_t n);

/// A count and what it counts, so that verbs and endings agree with it: `1 row is`, `12 rows are`, `0 rows are`.
/// Digits are not grouped: notes stand in JSON documents, too.
[[nodiscard]] std::string counted(std::int64_t n, std::string_view one, std::string_view many);

}  // namespace cox
