// SPDX-License-Identifier: Apache-2.0
#include "report/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cox::report {
namespace {

constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kWidest = 80;

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

std::string cut_middle(std::string_view text, std::size_t width) {
  const std::size_t have = columns_of(text);
  if (have <= width || width < 5) return cut(text, width);
  const std::size_t end_columns = (width - 3) / 2;
  std::size_t from = text.size();
  for (std::size_t columns = 0; columns < end_columns; ++columns)
    while (from > 0 && goes_on(text[--from])) {
    }
  return cut(text, width - end_columns) + std::string(text.substr(from));
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
