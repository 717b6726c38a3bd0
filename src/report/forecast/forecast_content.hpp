// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the page of a forecast says: its sentences and points, from the forecast itself.
#pragma once

#include <vector>

#include "cox/forecast/forecast.hpp"

#include "report/forecast/forecast_page.hpp"

namespace cox::report {

/// A page of what is there; what was not asked for is left out. Throughput is that of
/// ranks which never wait: ranks x own work over step. Margins are in ranks: next boundary over size.
/// Held by: src/report/forecast/forecast_content_test.cpp
[[nodiscard]] ForecastPage page_of(const forecast::Forecast& forecast, std::vector<Artefact> artefacts);

/// `ranks,throughput,low,high,cost,refused`, a line a size: what the page draws.
[[nodiscard]] std::string sizes_csv(const ForecastPage& page);

}  // namespace cox::report
