// SPDX-License-Identifier: Apache-2.0
/// \file
/// The analyses that stand beside naming: each runs where the input tells what it needs, and says its part.
#pragma once

#include <optional>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/charge/attribution.hpp"
#include "diagnose/fabric/fabric.hpp"
#include "diagnose/match/matched.hpp"
#include "diagnose/operations/graph_path.hpp"
#include "diagnose/operations/operation_what_if.hpp"
#include "diagnose/over_time/time_structure.hpp"
#include "diagnose/what_if/what_if.hpp"

namespace cox::diagnose {

/// Each where the input tells what it needs.
struct Analyses {
  std::optional<WhatIf> what_if;
  std::optional<OperationWhatIf> what_if_operations;
  std::optional<GraphPath> graph_path;
  std::optional<Attribution> attribution;
  std::optional<Fabric> fabric;
  std::optional<TimeStructure> time_structure;
  std::vector<Duration> outside;  ///< of the ranks' accounts (TimeAccount)
};

/// Those of a diagnosis; none of them where it was not made by `diagnose`.
[[nodiscard]] const Analyses& analyses_of(const Diagnosis& d);

/// The analyses that cost most, side by side on several threads: what if, who made whom wait, and
/// `d.efficiencies`. Needs the coverage only.
[[nodiscard]] Analyses ask_what_if(const Matched& matched, const model::Program& program, Diagnosis& d,
                                   int threads);

/// Runs time structure, fabric, pacing and the analyses of operations, fills their members and
/// adds one Section each for those that have something to say.
void add_analyses(const Matched& matched, const model::Program& program, Analyses& analyses, Diagnosis& d,
                  int threads);

/// Whether findings of a table of operations are those of arrival times. Its replay says more where it has a cause that holds
/// all along. In turn, in a stretch, in pauses: that is told by arrivals, of one stage (what arrives late in a pipeline was
/// mostly made late by its neighbours).
[[nodiscard]] bool arrivals_tell(const OperationWhatIf& w);

/// Findings that only these analyses can make: a stage or worker of a recorded pipeline (which then replaces
/// what arrival times say, unless `arrivals_tell`), a part of the fabric. Before remedies and verdict.
void add_findings_of_analyses(Diagnosis& d);

}  // namespace cox::diagnose
