// SPDX-License-Identifier: Apache-2.0
/// \file
/// A forecast's page whose numbers come from closed forms and from the engines.
#pragma once

#include "report/forecast/forecast_page.hpp"

namespace cox::test {

/// A job with four regimes (src/forecast/regimes/recipe.hpp), levers of a small training, delays at a barrier.
[[nodiscard]] report::ForecastPage sample_forecast();

/// Names and texts that try to leave their place in the page; sizes without numbers.
[[nodiscard]] report::ForecastPage hostile_forecast();

}  // namespace cox::test
