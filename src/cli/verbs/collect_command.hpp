// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox collect`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& collect_command();

}  // namespace cox::cli
