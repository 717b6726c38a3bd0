// SPDX-License-Identifier: Apache-2.0
/// \file
/// Results as text for a terminal.
#pragma once

#include <string>

#include "cox/diagnose/comparison.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/trace/run.hpp"

namespace cox::report {

enum class Color : bool { Off, On };

/// Verdict, coverage, step time with spread, the ranking table, what the input cannot tell.
/// Colour never carries meaning alone. Held by: src/report/terminal_test.cpp, tests/golden.
/// `against`: the same job before a change, or null.
[[nodiscard]] std::string render_text(const trace::Run& run, const diagnose::Diagnosis& diagnosis,
                                      Color color, const diagnose::Comparison* against = nullptr);

/// About a page of Markdown: what would go into a ticket. Text from files cannot become markup.
/// Held by: src/report/terminal_test.cpp, tests/golden.
[[nodiscard]] std::string render_markdown(const trace::Run& run, const diagnose::Diagnosis& diagnosis,
                                          const diagnose::Comparison* against = nullptr);

}  // namespace cox::report
