// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of a sweep and of its points.
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

/// The scenario's text with the values of a point put in. Errors: sweep-001 (a key below something that is no
/// table).
[[nodiscard]] Result<std::string> text_at(const Sweep& sweep, std::int64_t point);

}  // namespace cox::simulate
