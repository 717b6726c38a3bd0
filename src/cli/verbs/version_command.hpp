// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox version`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& version_command();

}  // namespace cox::cli
