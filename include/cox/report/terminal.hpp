// SPDX-License-Identifier: Apache-2.0
/// \file
/// Results as text for a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/text_line.hpp"
#include "cox/diagnose/comparison.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/trace/run.hpp"

namespace cox::report {

enum class Color : bool { Off, On };
/// What the reader's terminal can show: UTF-8, or ASCII alone (`us` for microseconds).
enum class Charset : bool { Ascii, Utf8 };

struct TextStyle {
  Color color = Color::Off;
  Charset charset = Charset::Utf8;
  std::size_t columns = 80;  ///< lines are no wider, single words (paths) aside; 40 to 80, else the nearest
};

/// Lines of the first answer at most, at any width.
inline constexpr std::size_t kScreenLines = 20;

/// The answer on one screen: verdict, cause, gain, what to do, coverage, what cannot be told, and `more`, the
/// command that prints the rest. Colour never carries meaning alone.
/// Held by: src/report/first_screen_test.cpp, tests/property/sentence_laws.cpp, tests/golden.
/// `against`: the same job before a change, or null.
[[nodiscard]] std::string render_screen(const trace::Run& run, const diagnose::Diagnosis& diagnosis,
                                        const TextStyle& style, std::string_view more,
                                        const diagnose::Comparison* against = nullptr);

/// Everything: coverage, step time with spread, findings with their evidence, the ranking table, all analyses
/// with a word on their terms, what the input cannot tell.
/// Held by: src/report/terminal_test.cpp, tests/golden.
[[nodiscard]] std::string render_text(const trace::Run& run, const diagnose::Diagnosis& diagnosis,
                                      const TextStyle& style, const diagnose::Comparison* against = nullptr);

/// One of several runs of an input.
struct RunLine {
  std::string name;
  const diagnose::Diagnosis* diagnosis = nullptr;
  std::optional<Seconds> unknown_unit{};  ///< as `trace::unknown_unit` has it
};
/// Whether `shown` is `name`, or what a narrow table prints of it: `...` stands for any letters that are left out.
[[nodiscard]] bool is_shown_as(std::string_view name, std::string_view shown);

/// Several runs, a line each, those that need a look first: name, verdict in a word, ranks, gain, coverage; at
/// most `kScreenLines` lines, the rest is counted. A name that does not fit is cut so that it stands for no other one;
/// where no such cut is found it stays whole, and its row is wider. `one`, `all`: the commands that say more.
/// Held by: src/report/first_screen_test.cpp, tests/golden.
[[nodiscard]] std::string render_runs(const std::vector<RunLine>& runs, const TextStyle& style,
                                      std::string_view one, std::string_view all);

/// Plain lines, broken at the style's width and indented as far as each begins. With `more`, a command that prints the
/// rest, at most `kScreenLines` lines: where that cuts, `more` is the last of them.
/// Held by: src/report/first_screen_test.cpp, tests/golden.
[[nodiscard]] std::string render_lines(const std::vector<std::string>& lines, const TextStyle& style,
                                       std::string_view more = {});
/// The same of one line; a row of a table is as wide as it is.
[[nodiscard]] std::string render_line(const TextLine& line, const TextStyle& style);
/// The same as a list in Markdown. Text from files cannot become markup.
[[nodiscard]] std::string render_list(const std::vector<std::string>& lines);

/// About a page of Markdown: what would go into a ticket. Text from files cannot become markup.
/// Held by: src/report/terminal_test.cpp, tests/golden.
[[nodiscard]] std::string render_markdown(const trace::Run& run, const diagnose::Diagnosis& diagnosis,
                                          const diagnose::Comparison* against = nullptr);

/// Control characters (escape sequences above all) become `?`; tabs and line ends become blanks.
[[nodiscard]] std::string terminal_text(std::string_view text);

}  // namespace cox::report
