// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading the Run that a verb was given, with progress and with warnings for what could not be used.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cox/trace/read.hpp"
#include "cox/trace/run.hpp"

#include "cli/command.hpp"
#include "cli/progress.hpp"

namespace cox::cli {

/// Progress as the options and the terminal ask for it. Keep it alive while the callback is in use.
[[nodiscard]] std::unique_ptr<Progress> make_progress(const Invocation& call, Console& console,
                                                      const std::string& label);
[[nodiscard]] trace::Progress callback(Progress& progress);

/// Opens the first argument. Errors: those of `trace::open_run`.
[[nodiscard]] Result<trace::Run> read_run(const Invocation& call, Console& console);

/// One line per note on standard error; beyond five only their number, unless --verbose.
void warn_about(const std::vector<trace::Note>& notes, const Invocation& call, Console& console);

}  // namespace cox::cli
