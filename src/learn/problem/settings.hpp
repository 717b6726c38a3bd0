// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text of the form `kind,key=value,...`, read by a table. Held by: src/learn/problem/problem_spec_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "cox/base/result.hpp"

namespace cox::learn {

/// One key, where its value goes, and its range.
struct Setting {
  std::string_view key;
  std::variant<double*, std::int64_t*> value;
  double least = 0;
  double most = 0;
  bool most_excluded = false;
  std::span<const std::string_view> words{};  ///< of a whole number: how 0, 1, ... are written
  bool* said = nullptr;                       ///< set where the text has the key
};

/// The text's first word; the rest stays in `text`.
[[nodiscard]] std::string_view take_kind(std::string_view& text);
/// Which of `names` the kind is. `what`: `problem`, `optimizer`. Errors: learn-001.
[[nodiscard]] Result<std::size_t> find_kind(std::string_view what, std::string_view kind,
                                            std::span<const std::string_view> names);
/// Sets what `text` says, each key once, and checks all. `kind` is for messages. Errors: learn-001.
[[nodiscard]] Status read_settings(std::string_view kind, std::string_view text,
                                   std::span<const Setting> table);
/// Whether all values are in their ranges. Errors: learn-001.
[[nodiscard]] Status check_settings(std::string_view kind, std::span<const Setting> table);

}  // namespace cox::learn
