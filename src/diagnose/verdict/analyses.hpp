// SPDX-License-Identifier: Apache-2.0
/// \file
/// The analyses that stand beside naming: each runs where the input tells what it needs, and says its part.
#pragma once

#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {

/// Runs efficiencies, time structure, fabric and the analyses of operations, fills their members of
/// the diagnosis and one Section each for those that have something to say. `d.attribution` and
/// `d.what_if` are there already.
void add_analyses(const trace::Run& run, const model::Program& program, Diagnosis& d);

/// Findings that only these analyses can make: a stage or worker of a recorded pipeline (which then replaces
/// what arrival times say), a part of the fabric. Before remedies and verdict.
void add_findings_of_analyses(Diagnosis& d);

}  // namespace cox::diagnose
