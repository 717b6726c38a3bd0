// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files of noise, line by line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cox/base/result.hpp"

namespace cox::simulate {

/// Lines that are neither empty nor comments, with their numbers.
class Lines {
 public:
  Lines(std::string_view text, const std::string& name) : rest_(text), name_(name) {}
  std::optional<std::string_view> next() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
      if (!line.empty() && line.front() != '#') return line;
    }
    return std::nullopt;
  }
  [[nodiscard]] Error error(std::string message, std::string hint) const {
    return {.code = Errc::InvalidInput,
            .id = "simulate-002",
            .message = std::move(message),
            .hint = std::move(hint),
            .where = Where{name_, number_, 0}};
  }

 private:
  std::string_view rest_;
  const std::string& name_;
  std::int64_t number_ = 0;
};

/// What an error quotes: hostile lines are not repeated whole.
inline std::string_view shown(std::string_view text) {
  return text.substr(0, 40);
}

/// The whole of `text` as a number.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace cox::simulate
