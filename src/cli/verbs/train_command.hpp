// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox train`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& train_command();

}  // namespace cox::cli
