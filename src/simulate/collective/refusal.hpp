// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a job of collectives is refused with.
#pragma once

#include <string>
#include <utility>

#include "cox/base/result.hpp"

namespace cox::simulate {

[[nodiscard]] inline tl::unexpected<Error> not_possible(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "simulate-003",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

}  // namespace cox::simulate
