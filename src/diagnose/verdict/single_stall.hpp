// SPDX-License-Identifier: Apache-2.0
/// \file
/// One rank that is late once: an event, and nobody who sets the pace.
#pragma once

#include <functional>
#include <optional>

#include "cox/base/units.hpp"
#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// The step and the rank whose one delay costs at least half of what all late arrivals cost (`lost`), and at least 2 % of
/// the run; nothing where fewer than three steps are known, or where no delay costs as much. Nothing is tested: it is said
/// what happened, not who is slow.
/// `replayed` says what a suspect's delays cost where arrivals do not.
/// Cost: O(ranks x steps). Held by: src/diagnose/verdict/operation_findings_test.cpp
[[nodiscard]] std::optional<SingleStall> find_single_stall(
    const Evidenced& x, Duration lost, Duration run_time,
    const std::function<Duration(const Suspect&)>& replayed = {});

}  // namespace cox::diagnose
