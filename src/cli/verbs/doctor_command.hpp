// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox doctor`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& doctor_command();

}  // namespace cox::cli
