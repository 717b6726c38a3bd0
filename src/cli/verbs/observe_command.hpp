// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox observe`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& observe_command();

}  // namespace cox::cli
