// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines of words between tabs, and numbers with bounds: how the program and the tool talk.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace cox::bench {

/// Goes through a text line by line; empty lines are left out.
class Lines {
 public:
  explicit Lines(std::string_view text) : left_(text) {}
  bool next() {
    line_ = {};
    while (!left_.empty() && line_.empty()) {
      const std::size_t end = left_.find('\n');
      line_ = left_.substr(0, end);
      left_ = end == std::string_view::npos ? std::string_view{} : left_.substr(end + 1);
      ++number_;
    }
    return !line_.empty();
  }
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] const std::vector<std::string_view>& words() {
    words_.clear();
    std::string_view rest = line_;
    while (true) {
      const std::size_t end = rest.find('\t');
      words_.push_back(rest.substr(0, end));
      if (end == std::string_view::npos) return words_;
      rest = rest.substr(end + 1);
    }
  }

 private:
  std::string_view left_;
  std::string_view line_;
  std::int64_t number_ = 0;
  std::vector<std::string_view> words_;
};

/// The whole word as a number in [low, high]; false otherwise, also for what is not a number.
template <class T>
bool read_whole(std::string_view word, std::type_identity_t<T> low, std::type_identity_t<T> high, T& out) {
  T value{};
  const auto [at, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc{} || at != word.data() + word.size() || value < low || value > high) return false;
  out = value;
  return true;
}
inline bool read_real(std::string_view word, double low, double high, double& out) {
  double value = 0;
  const auto [at, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc{} || at != word.data() + word.size() || !(value >= low && value <= high))
    return false;
  out = value;
  return true;
}
inline bool read_flag(std::string_view word, bool& out) {
  int value = 0;
  if (!read_whole(word, 0, 1, value)) return false;
  out = value == 1;
  return true;
}

}  // namespace cox::bench
