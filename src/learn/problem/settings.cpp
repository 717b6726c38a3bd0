// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "cox/base/spelling.hpp"

namespace cox::learn {
namespace {

Error unread(std::string message, std::string hint = "") {
  return Error{.code = Errc::Usage,
               .id = "learn-001",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = {}};
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(','), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::string hint_for(std::string_view word, const std::vector<std::string>& names) {
  const auto near = nearest(word, names);
  return near ? fmt::format("did you mean {}?", *near) : "";
}

std::string allowed(const Setting& s) {
  if (!s.words.empty()) return fmt::format("one of {}", fmt::join(s.words, ", "));
  return fmt::format("a {} from {} to {}{}",
                     std::holds_alternative<double*>(s.value) ? "number" : "whole number", s.least,
                     s.most_excluded ? "below " : "", s.most);
}

bool in_range(const Setting& s, double value) {
  return value >= s.least && (s.most_excluded ? value < s.most : value <= s.most);
}

bool read_word(const Setting& s, std::string_view text) {
  const auto found = std::ranges::find(s.words, text);
  if (found == s.words.end()) return false;
  *std::get<std::int64_t*>(s.value) = found - s.words.begin();
  return true;
}

template <class T>
bool read_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

Status read_value(std::string_view kind, std::string_view text, const Setting& s) {
  const bool read = s.words.empty()
                        ? std::visit([&](auto* value) { return read_whole(text, *value); }, s.value)
                        : read_word(s, text);
  if (read) return {};
  return fail(unread(fmt::format("{} of {} is \"{}\", expected {}", s.key, kind, shown(text), allowed(s))));
}

Result<const Setting*> find_setting(std::string_view kind, std::string_view key,
                                    std::span<const Setting> table) {
  std::vector<std::string> keys;
  for (const Setting& s : table) {
    if (s.key == key) return &s;
    keys.emplace_back(s.key);
  }
  return fail(unread(keys.empty() ? fmt::format("{} has no settings, got \"{}\"", kind, shown(key))
                                  : fmt::format("{} has no setting \"{}\", expected one of {}", kind,
                                                shown(key), fmt::join(keys, ", ")),
                     hint_for(key, keys)));
}

}  // namespace

std::string_view take_kind(std::string_view& text) {
  return take_word(text);
}

Result<std::size_t> find_kind(std::string_view what, std::string_view kind,
                              std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, kind);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::vector<std::string> known(names.begin(), names.end());
  return fail(
      unread(fmt::format("\"{}\" is no {}, expected one of {}", shown(kind), what, fmt::join(known, ", ")),
             hint_for(kind, known)));
}

Status read_settings(std::string_view kind, std::string_view text, std::span<const Setting> table) {
  std::vector<const Setting*> read;
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      return fail(unread(fmt::format("\"{}\" of {} has no value, expected KEY=VALUE", shown(word), kind)));
    COX_TRY(const Setting* setting, find_setting(kind, word.substr(0, equals), table));
    if (std::ranges::count(read, setting) > 0)
      return fail(unread(fmt::format("{} of {} is given more than once", setting->key, kind), "say it once"));
    read.push_back(setting);
    if (setting->said != nullptr) *setting->said = true;
    COX_CHECK(read_value(kind, word.substr(equals + 1), *setting));
  }
  return check_settings(kind, table);
}

Status check_settings(std::string_view kind, std::span<const Setting> table) {
  for (const Setting& s : table) {
    const double value = std::visit([](const auto* v) { return static_cast<double>(*v); }, s.value);
    if (!in_range(s, value))
      return fail(unread(fmt::format("{} of {} is {}, expected {}", s.key, kind, value, allowed(s))));
  }
  return {};
}

}  // namespace cox::learn
