// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox help`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& help_command();

}  // namespace cox::cli
