// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox study`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& study_command();

}  // namespace cox::cli
