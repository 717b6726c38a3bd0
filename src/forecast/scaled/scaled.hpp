// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Scenario with more or less of one thing: what days, levers and twins try.
#pragma once

#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// Own work that takes `factor` times as long: layers and optimizer, or what is before each collective. Noise stays as it is stated.
/// Held by: src/forecast/scaled/scaled_test.cpp
void scale_work(model::Scenario& scenario, double factor);

/// Cards and switches that pass `factor` times the bytes. Held by: src/forecast/scaled/scaled_test.cpp
void scale_links(model::Scenario& scenario, double factor);

}  // namespace cox::forecast
