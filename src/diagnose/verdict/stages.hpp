// SPDX-License-Identifier: Apache-2.0
/// \file
/// Verdicts over tables of pipelines that are limited in time.
#pragma once

#include "cox/diagnose/diagnosis.hpp"
#include "cox/model/program.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Adds turns, pauses and stretches of ranks to what the replay of a table of several stages names (`findings_in_stages`), and one
/// stall where nobody is named. A worker that the replay alone names, and that is not slow all along, is told by these or not
/// at all. Does nothing to other inputs.
/// Cost: that of another replay, and one per candidate. Held by: src/diagnose/verdict/stage_findings_test.cpp
void add_findings_in_stages(const Matched& matched, const model::Program& program, Diagnosis& d, int threads);

}  // namespace cox::diagnose
