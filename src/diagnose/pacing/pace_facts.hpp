// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a Run tells of the facts that `pace::advise` asks for.
#pragma once

#include <span>

#include "cox/diagnose/account.hpp"
#include "cox/diagnose/finding_kind.hpp"
#include "cox/diagnose/locality.hpp"
#include "cox/diagnose/pacing.hpp"
#include "cox/pace/advice.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// The most crowded host: its ranks, the CPUs that they share, how they wait, whether they wait for CPUs.
///
/// `inside`: part of each rank's time that it was inside synchronisations, by index into `run.ranks`; 0 where
///           that is not known.
/// Rule:   a main thread that is asleep for less than 30 % of the time inside polls, for more than 70 % it
///         blocks (sleep in its own work counts too: a rank that reads its input may be taken for one that
///         blocks, never the other way round). One that polls yields where it is taken off its CPU more than
///         2,000 times per second that it runs; a spinning one keeps its slice of milliseconds.
/// Fields that samples and locality do not tell stay at their defaults. Cost: linear in ranks.
/// Held by: src/diagnose/pacing/pace_facts_test.cpp
[[nodiscard]] pace::Facts host_facts(const Matched& matched, std::span<const NodeLocality> places,
                                     std::span<const double> inside);

/// The same with what a diagnosis found out about who is late.
[[nodiscard]] pace::Facts facts_of(const Matched& matched, std::span<const NodeLocality> places,
                                   std::span<const RankAccount> ranks, std::span<const FindingKind> kinds);
/// The same with what a replay shows: somebody's slack can be counted on, or a device absorbs delays.
[[nodiscard]] pace::Facts facts_of(const Matched& matched, const Pacing& p, std::span<const double> inside);

}  // namespace cox::diagnose
