// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of `--pace` and COX_PACE, as the guest reads it and as the tool checks it beforehand. Needs libc
/// only. Held by: src/guest/pacing/pacing_test.cpp
#pragma once

#include <cstddef>

#include "cox/pace/settings.hpp"

namespace cox::guest {

/// Longest text, in bytes.
inline constexpr std::size_t kLongestPaceText = 400;

/// Settings from the text. The byte offset of the first part that is refused, or -1.
[[nodiscard]] inline std::ptrdiff_t read_pace(const char* text, pace::Settings& settings) noexcept {
  // A blank or a line break would pass as part of a number and come back in the Run as something else.
  for (std::size_t i = 0; text[i] != 0; ++i)
    if (text[i] <= ' ' || text[i] > '~' || i == kLongestPaceText) return static_cast<std::ptrdiff_t>(i);
  return *text == 0 ? 0 : pace::set_all(settings, text);
}

/// Whether a text that can be read says which mode. One of parameters alone would pace nothing.
[[nodiscard]] inline bool names_mode(const char* text) noexcept {
  pace::Settings from_off;
  pace::Settings from_auto;
  from_auto.mode = pace::Mode::Auto;
  return read_pace(text, from_off) < 0 && read_pace(text, from_auto) < 0 && from_off.mode == from_auto.mode;
}

}  // namespace cox::guest
