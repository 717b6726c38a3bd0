// SPDX-License-Identifier: Apache-2.0
/// \file
/// Control as part of a document of schema cox.forecast/1.
#pragma once

#include "cox/base/json.hpp"

#include "forecast/control/control.hpp"

namespace cox::forecast {

/// Keys: docs/reference/forecast-json.md. Held by: src/forecast/control/control_test.cpp
[[nodiscard]] Json control_json(const FullControl& control);

}  // namespace cox::forecast
