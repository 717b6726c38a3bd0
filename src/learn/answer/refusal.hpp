// SPDX-License-Identifier: Apache-2.0
/// \file
/// The error of what cannot be compared, recorded or followed.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cox/base/result.hpp"

namespace cox::learn {

/// learn-002, without a place: whoever reads a file adds it.
inline tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail({.code = Errc::InvalidInput,
               .id = "learn-002",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = std::nullopt});
}

}  // namespace cox::learn
