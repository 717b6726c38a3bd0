// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of a sweep.
#pragma once

#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/simulate/sweep.hpp"

namespace cox::simulate {

/// A sweep from its text; `scenario` and `base` are left empty, the file's name for the scenario is in
/// `scenario_name`. Errors: sweep-001.
[[nodiscard]] Result<Sweep> parse_sweep(std::string_view text, const std::string& name,
                                        std::string& scenario_name);

}  // namespace cox::simulate
