// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox compact`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& compact_command();

}  // namespace cox::cli
