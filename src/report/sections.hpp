// SPDX-License-Identifier: Apache-2.0
/// \file
/// The page's text, section by section: readable without scripts; charts fill the empty places.
#pragma once

#include <string>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/trace/run.hpp"

#include "report/columns.hpp"
#include "report/names.hpp"

namespace cox::report {

struct Page {
  const trace::Run& run;
  const diagnose::Diagnosis& diagnosis;
  const Names& names;
};

[[nodiscard]] std::string top_bar(const Page& page);
[[nodiscard]] std::string verdict_section(const Page& page);
[[nodiscard]] std::string findings_section(const Page& page);
[[nodiscard]] std::string step_time_section(const Page& page);
[[nodiscard]] std::string timeline_section(const Page& page, const Columns& columns);
[[nodiscard]] std::string heat_map_section(const Page& page, const Columns& columns);
[[nodiscard]] std::string ranks_section(const Page& page);
[[nodiscard]] std::string coverage_section(const Page& page);
[[nodiscard]] std::string groups_section(const Page& page);
[[nodiscard]] std::string limits_section(const Page& page);
[[nodiscard]] std::string provenance_section(const Page& page);

}  // namespace cox::report
