// SPDX-License-Identifier: Apache-2.0
/// \file
/// --failures KEY=VALUE,...: what stops a job whose input does not say.
#pragma once

#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/failures.hpp"

#include "cli/frame/command.hpp"

namespace cox::cli {

/// As values that a scenario's reader takes: `failures.node_mtbf=1000h`. Empty without the option.
[[nodiscard]] std::vector<std::string> failures_said(const Invocation& call);

/// An error that names one of them as `--set failures.KEY=VALUE`, by the option that it was given by.
[[nodiscard]] Error by_failures_option(Error error);

/// What they mean for a job that no scenario describes. Errors: those of `model::parse_scenario`.
[[nodiscard]] Result<model::Failures> failures_of(const Invocation& call);

}  // namespace cox::cli
