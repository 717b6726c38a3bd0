// SPDX-License-Identifier: Apache-2.0
/// \file
/// Steps whose communication runs beside work, as they were recorded: to be played with messages that take longer.
#pragma once

#include "cox/diagnose/timeline.hpp"
#include "cox/trace/run.hpp"

#include "forecast/sample/run_record.hpp"

namespace cox::forecast {

/// All ranks of a communicator are on one node. False where the nodes are not told.
[[nodiscard]] bool on_one_node(const trace::Run& run, const trace::Communicator& comm);

/// Fills `overlapped` of a record where each rank's operations of a step, among as many ranks as there are in one, all begin before
/// it has waited for one, and end before it waits for none; up to 64 steps and 2,048 operations. Else it stays empty.
/// Cost: linear. Held by: src/forecast/sample/overlapped_test.cpp
void add_overlapped(const trace::Run& run, const diagnose::Timeline& timeline, RunRecord& out);

}  // namespace cox::forecast
