// SPDX-License-Identifier: Apache-2.0
/// \file
/// The page's parts on simulated runs: how it was simulated, load of every link, time against size.
#pragma once

#include <span>
#include <string>

#include "cox/base/json.hpp"
#include "cox/report/report.hpp"
#include "cox/simulate/outcome.hpp"

#include "report/sections.hpp"

namespace cox::report {

/// Engine, protocol and what was assumed; the links by tier, each a cell shaded by its mean utilisation, and
/// the busiest as a table. Readable without scripts.
[[nodiscard]] std::string simulated_section(const simulate::Outcome& outcome);

/// Table and place of the chart of time and efficiency against the number of ranks;
/// empty for fewer than two sizes.
[[nodiscard]] std::string scaling_section(std::span<const simulate::SizeOutcome> points);
/// The chart's columns.
[[nodiscard]] Json scaling_data(std::span<const simulate::SizeOutcome> points);

}  // namespace cox::report
