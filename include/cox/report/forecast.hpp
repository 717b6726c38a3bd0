// SPDX-License-Identifier: Apache-2.0
/// \file
/// One self-contained HTML page of a forecast: what the job is, how to recognise its state, what couples it, where it goes,
/// what control would change, and what that means.
#pragma once

#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/forecast/forecast.hpp"

namespace cox::report {

/// A file that the page has inside.
struct Artefact {
  std::string name;  ///< of the file that is saved
  std::string what;
  std::string text;
};

/// A page of what is there; what was not asked for is left out.
/// Errors: report-002 (a page without a size). Held by: src/report/forecast/forecast_content_test.cpp, src/report/forecast/forecast_page_test.cpp
[[nodiscard]] Result<std::string> forecast_page(const forecast::Forecast& forecast,
                                                std::vector<Artefact> artefacts);

}  // namespace cox::report
