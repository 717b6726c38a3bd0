// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines for a terminal: its width, its colours, its letters.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cox/base/wrapped.hpp"
#include "cox/report/terminal.hpp"

namespace cox::report {

/// Colours a terminal shows alike on light and dark grounds; each stands beside a symbol or a word.
class Ink {
 public:
  explicit Ink(Color color) : on_(color == Color::On) {}
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string faint(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return wrap("1;33", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return wrap("1;32", text); }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const;
  bool on_;
};

using cox::columns_of;  // beside the one below, which would hide it
/// The width that a style means.
[[nodiscard]] std::size_t columns_of(const TextStyle& style);

[[nodiscard]] std::string right(std::string_view text, std::size_t width);
[[nodiscard]] std::string left(std::string_view text, std::size_t width);
/// At most `width` columns, the end replaced by "..." where it is longer.
[[nodiscard]] std::string cut(std::string_view text, std::size_t width);
/// The same with what is left out in the middle: names differ at their ends.
[[nodiscard]] std::string cut_middle(std::string_view text, std::size_t width);

/// A name of at most `width` columns (12 and more), cut in the middle, or so that it stands for no other of `all`. Where no
/// such cut is found, the whole name, which is wider. Cost: bounded, some million letters.
[[nodiscard]] std::string cut_apart(std::string_view name, std::span<const std::string> all,
                                    std::size_t width);

/// As the terminal can show it: for ASCII a micro sign becomes `u` and every other letter beyond it `?`.
[[nodiscard]] std::string in_charset(std::string text, Charset charset);

}  // namespace cox::report
