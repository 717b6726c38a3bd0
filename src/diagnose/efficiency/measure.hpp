// SPDX-License-Identifier: Apache-2.0
/// \file
/// How efficient a job was: measured, and in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/efficiency/efficiency.hpp"
#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Measures one Run; nothing where no useful time can be told: no ranks, no times, or nothing that was timed.
///
/// Formula: U = useful time of a rank, T = runtime: load balance = mean U / max U, communication = max U / T,
///          parallel = mean U / T; with U' and T' of the ideal network: serialisation = max U' / T',
///          transfer = communication / serialisation.
/// Source:  POP metrics (Rosas, Gimenez, Labarta 2014; pop-coe.eu), as BSC's basicanalysis computes them.
/// Threads: none of its own. Cost: linear in events, messages log-linear.
/// Held by: src/diagnose/efficiency/efficiency_test.cpp (published values of a real job)
[[nodiscard]] std::optional<Efficiencies> measure_efficiencies(const Matched& matched);

/// Three to eight plain lines for a report in the terminal.
[[nodiscard]] std::vector<std::string> efficiency_lines(const Efficiencies& e);

}  // namespace cox::diagnose
