// SPDX-License-Identifier: Apache-2.0
#include "report/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cox::report {
namespace {

constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kWidest = 80;

/// A unit stays on the line of its number.
bool starts_with_unit(std::string_view text) {
  constexpr std::array<std::string_view, 7> kUnits = {"%", "s", "ms", "\u00B5s", "us", "ns", "ps"};
  const std::string_view word = text.substr(0, text.find_first_of(" ,;.)"));
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

bool goes_on(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

std::string Ink::wrap(std::string_view code, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::size_t columns_of(const TextStyle& style) {
  return std::clamp(style.columns, kNarrowest, kWidest);
}

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
    while (starts_with_unit(text.substr(std::min(blank + 1, text.size())))) {
      blank = std::min(text.find(' ', blank + 1), text.size());
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

std::string right(std::string_view text, std::size_t width) {
  const std::size_t have = columns_of(text);
  return std::string(width > have ? width - have : 0, ' ') + std::string(text);
}

std::string left(std::string_view text, std::size_t width) {
  const std::size_t have = columns_of(text);
  return std::string(text) + std::string(width > have ? width - have : 0, ' ');
}

std::string cut(std::string_view text, std::size_t width) {
  constexpr std::string_view kMore = "...";
  if (columns_of(text) <= width) return std::string(text);
  std::size_t bytes = 0;
  for (std::size_t columns = 0; bytes < text.size() && columns + kMore.size() < width; ++columns) {
    ++bytes;
    while (bytes < text.size() && goes_on(text[bytes])) ++bytes;
  }
  while (bytes > 0 && text[bytes - 1] == ' ') --bytes;
  return std::string(text.substr(0, bytes)) + std::string(kMore.substr(0, std::min(width, kMore.size())));
}

std::string in_charset(std::string text, Charset charset) {
  if (charset == Charset::Utf8) return text;
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      out += text[i];
      continue;
    }
    const std::size_t begin = i;
    while (i + 1 < text.size() && goes_on(text[i + 1])) ++i;
    const std::string_view letter = std::string_view(text).substr(begin, i + 1 - begin);
    out += letter == "\u00B5" || letter == "\u03BC" ? 'u' : '?';
  }
  return out;
}

}  // namespace cox::report
