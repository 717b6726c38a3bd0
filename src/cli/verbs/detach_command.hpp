// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox detach`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& detach_command();

}  // namespace cox::cli
