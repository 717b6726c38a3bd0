// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a Run tells beside own work.
#pragma once

#include "cox/diagnose/timeline.hpp"
#include "cox/trace/run.hpp"

#include "forecast/sample/run_record.hpp"

namespace cox::forecast {

/// Operations of which a member is missing, or whose members disagree on kind or size, are left out; calls of MPI that only
/// start one have no end of their own and are no message. Cost: linear in events, one look-up each.
/// Held by: src/forecast/sample/record_test.cpp
[[nodiscard]] RunRecord record_of(const trace::Run& run, const diagnose::Timeline& timeline);

}  // namespace cox::forecast
