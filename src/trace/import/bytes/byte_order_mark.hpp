// SPDX-License-Identifier: Apache-2.0
/// \file
/// The mark that editors put in front of UTF-8.
#pragma once

#include <string_view>

namespace cox::trace {

[[nodiscard]] inline std::string_view without_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

}  // namespace cox::trace
