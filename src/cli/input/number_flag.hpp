// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers behind flags.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

#include "cli/frame/command.hpp"
#include "cli/output/failure.hpp"

namespace cox::cli {

/// What --`flag` says, as a whole; `fallback` where it is not there. `expected`: "a whole number".
/// Errors: cli-003 (no number, or beyond `least` and `most`).
template <class Number>
[[nodiscard]] Result<Number> number_flag(const Invocation& call, std::string_view flag, Number fallback,
                                         Number least, Number most, std::string_view expected) {
  const std::string text = call.value(flag);
  if (text.empty()) return fallback;
  Number n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || !(n >= least && n <= most))
    return fail(usage_error(
        "cli-003",
        fmt::format("--{}: got '{}', expected {} from {} to {}", flag, text, expected, least, most),
        "a number in that range"));
  return n;
}

}  // namespace cox::cli
