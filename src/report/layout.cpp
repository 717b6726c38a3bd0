// SPDX-License-Identifier: Apache-2.0
#include "report/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cox::report {
namespace {

constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kWidest = 80;
constexpr std::string_view kMore = "...";

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

bool is_shown_as(std::string_view name, std::string_view shown) {
  std::size_t gap = shown.find(kMore);
  if (name == shown || gap == std::string_view::npos) return name == shown;
  if (!name.starts_with(shown.substr(0, gap))) return false;
  name.remove_prefix(gap);
  for (;;) {
    shown.remove_prefix(gap + kMore.size());
    gap = shown.find(kMore);
    if (gap == std::string_view::npos) return name.ends_with(shown);
    const std::size_t at = name.find(shown.substr(0, gap));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + gap);
  }
}

namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool stands_for_one(std::string_view shown, std::string_view name, std::span<const std::string> all) {
  // Of a name with points beside the gap it does not stand for itself.
  return is_shown_as(name, shown) && std::none_of(all.begin(), all.end(), [&](const std::string& other) {
           return other != name && is_shown_as(other, shown);
         });
}

}  // namespace

std::string cut_apart(std::string_view name, std::span<const std::string> all, std::size_t width) {
  std::string shown = cut_middle(name, width);
  if (shown == name || stands_for_one(shown, name, all)) return shown;
  const std::string whole(name);
  if (!is_ascii(name) || width < 4 * kMore.size()) return whole;
  // More of one end, the nearest to the middle first.
  const std::size_t letters = width - kMore.size();
  for (std::size_t off = 0; 2 * off <= letters; ++off)
    for (const std::size_t end : {letters / 2 + off, letters / 2 - off}) {
      if (end > letters) continue;
      shown = whole.substr(0, letters - end) + std::string(kMore) + whole.substr(whole.size() - end);
      if (stands_for_one(shown, name, all)) return shown;
    }
  // Something of the middle, between both ends.
  const std::size_t of_three = width - 2 * kMore.size();
  for (const std::size_t window : {of_three / 2, of_three - of_three / 4})
    for (const std::size_t end : {(of_three - window) / 2, of_three - window, std::size_t{0}})
      for (std::size_t at = of_three - window - end; at + window + end <= whole.size(); ++at) {
        shown = whole.substr(0, of_three - window - end) + std::string(kMore) + whole.substr(at, window) +
                std::string(kMore) + whole.substr(whole.size() - end);
        if (stands_for_one(shown, name, all)) return shown;
      }
  return whole;
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
