// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are named, as findings with their numbers.
#pragma once

#include <vector>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/diagnose/finding.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Who is late by own work, most costly first, and why. Reads of `d` its coverage, times and accounts; `delays` are
/// `by_step(InStep::Delay)`.
[[nodiscard]] std::vector<Finding> name_and_explain(const Matched& matched, const StepTable& delays,
                                                    const Diagnosis& d, int threads);

}  // namespace cox::diagnose
