// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox pace`: what pacing decided in a Run, what it brought, and what the controller would decide.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& pace_command();

}  // namespace cox::cli
