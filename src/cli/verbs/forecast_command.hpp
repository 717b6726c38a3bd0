// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox forecast`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& forecast_command();

}  // namespace cox::cli
