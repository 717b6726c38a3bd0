// SPDX-License-Identifier: Apache-2.0
/// \file
/// The page's part on pacing: baseline beside control, decisions over time, delay per rank.
#pragma once

#include <string>

#include "cox/base/json.hpp"
#include "cox/diagnose/pacing.hpp"

#include "report/sections.hpp"

namespace cox::report {

/// Verdict, tables, and the places of the charts; empty where the Run was not paced.
/// Readable without scripts.
[[nodiscard]] std::string pacing_section(const Page& page);
/// The charts' columns: states of ranks over iterations, and one rank's estimate of the gain.
[[nodiscard]] Json pacing_data(const diagnose::Pacing& pacing);

}  // namespace cox::report
