// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the page of a forecast says where only sizes and values are known.
#pragma once

#include "cox/forecast/forecast.hpp"

#include "report/forecast/forecast_page.hpp"

namespace cox::report {

/// Headline, sizes and observations from the table's curves. Throughput is that of ranks as quick as those of the smallest size
/// given. Pre: forecast.curve (asserted). Held by: src/report/forecast/forecast_content_test.cpp
void add_curve(const forecast::Forecast& forecast, ForecastPage& page);

}  // namespace cox::report
