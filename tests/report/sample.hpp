// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Diagnosis for a synthetic Run, made without the diagnose room: the page is tested
/// with answers that the test states.
#pragma once

#include <string>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/trace/run.hpp"

namespace cox::test {

/// Accounts, step times and matrices by plain arithmetic from a Run with step marks
/// and one clock; no findings.
[[nodiscard]] diagnose::Diagnosis sample_diagnosis(const trace::Run& run);

/// One rank named all along, with the evidence of arrival times.
[[nodiscard]] diagnose::Finding slow_rank_finding(int rank);

/// Transfers that set the pace, of a kind whose name comes from the input.
[[nodiscard]] diagnose::Finding slow_transfers_finding(const std::string& type);

}  // namespace cox::test
