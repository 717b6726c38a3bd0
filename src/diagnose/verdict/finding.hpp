// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are named, as findings with their numbers.
#pragma once

#include <span>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/diagnose/finding.hpp"
#include "cox/diagnose/locality.hpp"

#include "diagnose/match/matched.hpp"
#include "diagnose/naming/naming.hpp"
#include "diagnose/naming/of_stages.hpp"

namespace cox::diagnose {

class StageCompute;

struct NamedFindings {
  std::vector<Finding> all;    ///< most costly first
  double gain_ratio = 0;       ///< of the run's time: what fixing all of them saves, where that is told
  std::vector<Meant> meant{};  ///< of findings in stages: where each is late
};

/// What naming looks at. Of `d` its times and accounts; `delays` are `by_step(InStep::Delay)`. All must outlive it.
[[nodiscard]] Evidenced evidenced(const Matched& matched, const StepTable& delays, const Diagnosis& d);

/// Who is late by own work, and why. Reads of `d` its coverage, times and accounts; `delays` are
/// `by_step(InStep::Delay)`.
[[nodiscard]] NamedFindings name_and_explain(const Matched& matched, const StepTable& delays,
                                             const Diagnosis& d, int threads);

/// Tells the causes of findings about ranks that are late all along again, with where they may run.
void ask_placement(std::span<Finding> findings, std::span<const NodeLocality> hosts, bool several_hosts);

/// Turns, pauses and stretches of a table of several stages, most costly first: `name_in_stages`. Gains are those of the
/// table's replay. Ranks that `d` names already are left out.
[[nodiscard]] NamedFindings findings_in_stages(const Matched& matched, StageCompute& compute,
                                               const Diagnosis& d, int threads);

}  // namespace cox::diagnose
