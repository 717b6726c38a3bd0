// SPDX-License-Identifier: Apache-2.0
/// \file
/// Control as part of a document of schema cox.forecast/1.
#pragma once

#include "cox/base/json.hpp"
#include "cox/forecast/control.hpp"

namespace cox::forecast {

/// Keys: docs/reference/forecast-json.md. Held by: src/forecast/control/control_test.cpp
[[nodiscard]] Json control_json(const Control& control);

}  // namespace cox::forecast
