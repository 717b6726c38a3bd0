// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox explain`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& explain_command();

}  // namespace cox::cli
