// SPDX-License-Identifier: Apache-2.0
#include "cox/base/wrapped.hpp"

#include <algorithm>
#include <array>

namespace cox {
namespace {

bool goes_on(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The text up to what ends a word or a clause.
std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" ,;:.()"));
}

bool starts_with_unit(std::string_view text) {
  constexpr std::array<std::string_view, 21> kUnits = {
      "%",  "ps", "ns", "us", "\u00B5s", "ms",  "s",    "min",  "h",    "d",    "B",
      "kB", "MB", "GB", "TB", "PB",      "B/s", "kB/s", "MB/s", "GB/s", "units"};
  return std::find(kUnits.begin(), kUnits.end(), first_word(text)) != kUnits.end();
}

/// Whether three digits stand there, and no more.
bool starts_with_group(std::string_view text) {
  const std::string_view word = first_word(text);
  return word.size() == 3 && std::all_of(word.begin(), word.end(), is_digit);
}

/// Whether one to three digits stand at the end, as before the blank of a grouped number.
bool ends_with_group(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[text.size() - 1 - digits])) ++digits;
  return digits >= 1 && digits <= 3;
}

/// Whether the blank at `at` stands inside of a number, or between one and its unit.
bool is_inside_number(std::string_view text, std::size_t at) {
  if (at == 0 || at >= text.size() || !is_digit(text[at - 1])) return false;
  const std::string_view after = text.substr(at + 1);
  return starts_with_unit(after) || (starts_with_group(after) && ends_with_group(text.substr(0, at)));
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !goes_on(c); }));
}

std::string wrapped(std::string_view lead, std::string_view text, std::size_t columns) {
  const std::size_t indent = columns_of(lead);
  std::string out(lead);
  std::size_t column = indent;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t blank = std::min(text.find(' ', from), text.size());
    while (is_inside_number(text, blank)) {
      const std::size_t next = std::min(text.find(' ', blank + 1), text.size());
      if (indent + columns_of(text.substr(from, next - from)) > columns) break;
      blank = next;
    }
    const std::string_view word = text.substr(from, blank - from);
    from = blank + 1;
    if (word.empty()) continue;
    const std::size_t width = columns_of(word);
    if (column > indent && column + 1 + width > columns) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
  }
  return out + '\n';
}

}  // namespace cox
