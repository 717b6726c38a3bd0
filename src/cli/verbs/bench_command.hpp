// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox bench`: measures this machine and its network for scenarios, and the engines themselves.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& bench_command();

}  // namespace cox::cli
