// SPDX-License-Identifier: Apache-2.0
/// \file
/// The page's parts on what further analyses say: remedies, what-if, delay flow,
/// efficiencies, before and after.
#pragma once

#include <string>

#include "cox/diagnose/comparison.hpp"

#include "report/sections.hpp"

namespace cox::report {

[[nodiscard]] std::string comparison_section(const Page& page, const diagnose::Comparison& comparison);
[[nodiscard]] std::string remedies_section(const Page& page);
[[nodiscard]] std::string analyses_sections(const Page& page);

}  // namespace cox::report
