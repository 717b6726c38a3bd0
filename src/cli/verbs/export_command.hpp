// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox export`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& export_command();

}  // namespace cox::cli
