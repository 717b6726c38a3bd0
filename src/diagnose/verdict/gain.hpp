// SPDX-License-Identifier: Apache-2.0
/// \file
/// One gain per finding: what every sentence, table and promise of it says.
#pragma once

#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {

/// Holds each finding's gain, which naming takes from arrival times, against the replay of the recorded
/// operations; of several findings, what fixing only that one saves. Where both ask the same and agree within a third (or 2 % of the run), the replay's stands; where
/// they do not, or the replay misses what was measured, `gain_doubt` says so.
/// Held by: src/diagnose/verdict/gain_test.cpp
void settle_gains(Diagnosis& d);

}  // namespace cox::diagnose
