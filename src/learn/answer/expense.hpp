// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a way's time to the target takes of the cluster.
#pragma once

#include "learn/answer/comparison.hpp"
#include "learn/answer/race.hpp"

namespace cox::learn {

/// Node-hours, energy and cost of `w.time`, floating-point operations of `w.samples`.
///
/// Formula: of some steps of the scenario under the way's policy, without failures and start, times w.time over their time;
///          operations: job.flops x micro_batches x samples / batch.
/// Nothing where not all seeds reached the target, or where the way changes its policy on the way (`post-local`) or has rules that simulate does not play. Energy and
/// cost where the scenario says power and price. Cost: one simulation of 50 to 400 steps.
/// Held by: src/learn/answer/expense_test.cpp
[[nodiscard]] std::optional<Expense> expense_of(const Terms& setting, const WayResult& w);

}  // namespace cox::learn
