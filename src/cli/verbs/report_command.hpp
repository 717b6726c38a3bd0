// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox report`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& report_command();

}  // namespace cox::cli
