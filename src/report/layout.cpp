// SPDX-License-Identifier: Apache-2.0
#include "report/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

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

/// Looks for a cut that stands for one name of several.
class Cutter {
 public:
  Cutter(std::string_view name, std::span<const std::string> all) : name_(name), all_(all) {
    for (std::size_t i = 0; i < name.size(); ++i)
      if (!goes_on(name[i])) starts_.push_back(i);
    starts_.push_back(name.size());
    for (const std::string& other : all) letters_ += other.size() + 1;
  }

  [[nodiscard]] std::size_t letters() const { return starts_.size() - 1; }
  [[nodiscard]] std::string_view part(std::size_t from, std::size_t to) const {
    return name_.substr(starts_[from], starts_[to] - starts_[from]);
  }
  [[nodiscard]] bool has_time() const { return looked_ <= kMostLooked; }

  [[nodiscard]] bool stands_for_one(std::string_view shown) {
    looked_ += letters_;
    // Of a name with points beside the gap it does not stand for itself.
    return is_shown_as(name_, shown) && std::none_of(all_.begin(), all_.end(), [&](const std::string& other) {
             return other != name_ && is_shown_as(other, shown);
           });
  }

 private:
  /// Letters of names: very many long ones are looked at a few times only.
  static constexpr std::size_t kMostLooked = 4'000'000;

  std::string_view name_;
  std::span<const std::string> all_;
  std::vector<std::size_t> starts_;  // of letters, and the end
  std::size_t letters_ = 0;          // of all names
  std::size_t looked_ = 0;
};

/// More of one end, the nearest to the middle first.
std::optional<std::string> with_ends(Cutter& cutter, std::size_t width) {
  const std::size_t letters = width - kMore.size();
  const std::size_t n = cutter.letters();
  for (std::size_t off = 0; 2 * off <= letters && cutter.has_time(); ++off)
    for (const std::size_t end : {letters / 2 + off, letters / 2 - off}) {
      std::string shown =
          fmt::format("{}{}{}", cutter.part(0, letters - end), kMore, cutter.part(n - end, n));
      if (cutter.stands_for_one(shown)) return shown;
    }
  return std::nullopt;
}

/// Something of the middle, between both ends.
std::optional<std::string> with_middle(Cutter& cutter, std::size_t width) {
  constexpr std::size_t kPlaces = 32;
  const std::size_t letters = width - 2 * kMore.size();
  const std::size_t n = cutter.letters();
  for (const std::size_t window : {letters / 2, letters - letters / 4})
    for (const std::size_t end : {(letters - window) / 2, letters - window, std::size_t{0}}) {
      const std::size_t begin = letters - window - end;
      // Of a long name not every place; each letter is in some window where that is wide enough.
      const std::size_t step = std::clamp<std::size_t>((n - begin - end) / kPlaces, 1, window);
      for (std::size_t at = begin; at + window + end <= n && cutter.has_time(); at += step) {
        std::string shown = fmt::format("{}{}{}{}{}", cutter.part(0, begin), kMore,
                                        cutter.part(at, at + window), kMore, cutter.part(n - end, n));
        if (cutter.stands_for_one(shown)) return shown;
      }
    }
  return std::nullopt;
}

}  // namespace

std::string cut_apart(std::string_view name, std::span<const std::string> all, std::size_t width) {
  std::string shown = cut_middle(name, width);
  if (shown == name) return shown;
  Cutter cutter(name, all);
  if (cutter.stands_for_one(shown)) return shown;
  if (width < 4 * kMore.size()) return std::string(name);
  if (auto ends = with_ends(cutter, width)) return *std::move(ends);
  if (auto middle = with_middle(cutter, width)) return *std::move(middle);
  return std::string(name);
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
