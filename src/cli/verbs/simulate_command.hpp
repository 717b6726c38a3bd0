// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox simulate`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& simulate_command();

}  // namespace cox::cli
