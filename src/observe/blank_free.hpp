// SPDX-License-Identifier: Apache-2.0
/// \file
/// A name for the guest that LD_PRELOAD can hold: it splits at blanks and colons and knows no way to quote them.
#pragma once

#include <filesystem>

#include "cox/base/result.hpp"

#include "observe/launch_environment.hpp"

namespace cox::observe {

/// The guest's path as it is, or through a link to its folder in the user's cache (XDG_CACHE_HOME, else
/// ~/.cache), where other hosts of the job with the same home find it too. Errors: observe-002 (no place for one).
[[nodiscard]] Result<std::filesystem::path> loadable(const std::filesystem::path& guest,
                                                     const Environment& environment);

}  // namespace cox::observe
