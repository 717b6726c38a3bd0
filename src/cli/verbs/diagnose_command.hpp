// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox diagnose`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& diagnose_command();

}  // namespace cox::cli
