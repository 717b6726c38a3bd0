// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox learn`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& learn_command();

}  // namespace cox::cli
