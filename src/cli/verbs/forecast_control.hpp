// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox forecast`: what is asked beside sizes, and the page.
#pragma once

#include <optional>

#include "cox/base/result.hpp"
#include "cox/forecast/forecast.hpp"

#include "cli/frame/command.hpp"

namespace cox::cli {

/// Of --levers, --target, --price, --tokens, --tokens-per-step, --days; nothing where nothing is asked.
/// Errors: forecast-033, forecast-036, forecast-037.
[[nodiscard]] Result<std::optional<forecast::ControlQuestion>> control_question(const Invocation& call,
                                                                                forecast::Scaling scaling);

/// Of --structure, --delay. Errors: cli-003.
[[nodiscard]] Result<forecast::StructureQuestion> structure_question(const Invocation& call);

/// --report FILE, with the forecast's JSON, its scenario and its sizes inside. Errors: report-002, those of files.
[[nodiscard]] Status write_report(const Invocation& call, const forecast::MadeForecast& made,
                                  Console& console);

}  // namespace cox::cli
