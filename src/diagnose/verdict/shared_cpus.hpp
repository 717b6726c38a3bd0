// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a scheduler may do to ranks that share CPUs with those that wait: docs/concepts/naming.md.
#pragma once

#include <span>

#include "cox/base/units.hpp"
#include "cox/diagnose/account.hpp"
#include "cox/diagnose/locality.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Delay of a step below which the scheduler may be what makes a rank late: a host has more ranks than CPUs, and those
/// that wait keep a CPU meanwhile (they poll; an MPI library does, unless samples say otherwise). Zero where that is not so. A
/// waiting rank keeps its CPU for a slice, at most 3 ms by default (Linux, `min_granularity` of CFS and the base slice of
/// EEVDF, 8 CPUs and more); what is more than a quarter of a `step` is told in any case.
/// Cost: linear in ranks. Held by: src/diagnose/verdict/shared_cpus_test.cpp; docs/accuracy.md, "Real jobs"
[[nodiscard]] Duration least_beside_pollers(const Matched& matched, std::span<const NodeLocality> places,
                                            std::span<const RankAccount> ranks, Duration step);

}  // namespace cox::diagnose
