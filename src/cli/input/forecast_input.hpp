// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading what a forecast is made from: Runs, traces, tables, a scenario.
#pragma once

#include "cox/base/result.hpp"
#include "cox/forecast/forecast.hpp"

#include "cli/frame/command.hpp"

namespace cox::cli {

/// All arguments of the call. A run among several that has no steps is left out with a warning.
/// Errors: those of `forecast::ReadEvidence`, `model::read_scenario` and `trace::import_path`.
[[nodiscard]] Result<forecast::ReadEvidence> read_evidence(const Invocation& call, Console& console);

}  // namespace cox::cli
