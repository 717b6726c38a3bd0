// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a word of a file is one of those that a reader knows.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace cox::trace {

[[nodiscard]] inline bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace cox::trace
