// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text in lines of a terminal.
///
/// Use when: sentences are printed in lines of a given width.
/// Not when: for tables, whose columns have widths of their own, or for Markdown, which nobody breaks.
/// Held by: src/base/wrapped_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cox {

/// Columns that a text takes: UTF-8 sequences count once.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// `lead` and then `text`, broken at blanks so that no line is wider than `columns`; further lines are indented as
/// far as `lead` is wide. A word that is wider by itself stays whole: a path must remain one piece to be copied.
/// A number in groups (`12 633`) and its unit (`12 633 ms`, `43 %`) are one word where they fit on a line.
[[nodiscard]] std::string wrapped(std::string_view lead, std::string_view text, std::size_t columns);

}  // namespace cox
