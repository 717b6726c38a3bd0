// SPDX-License-Identifier: Apache-2.0
/// \file
/// Answers beside that of one Run, as they are said: figures, runs side by side, sizes of one program.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/diagnose/problem_size.hpp"
#include "cox/diagnose/runs.hpp"
#include "cox/trace/figures.hpp"

namespace cox::diagnose {

struct Efficiencies;

/// One answer, twice.
struct Told {
  std::vector<std::string> lines;  ///< the answer first
  std::string json;                ///< the whole document
  std::string summary{};           ///< of figures: about a kilobyte of JSON on one line
  bool is_clean = false;           ///< something was tested and nothing stands out: what --check asks for
};

/// Schemas `cox.figures/1` and `cox.figures-summary/1`; lines are never empty. `before`: configurations and quantities of the same name are compared
/// with those of this table. How: src/diagnose/figures/figures.hpp. Held by: src/diagnose/figures/figures_test.cpp
[[nodiscard]] Told tell_figures(const trace::Figures& figures, const trace::Figures* before,
                                const std::string& input);

/// Schema `cox.runs/1`; no lines where there is nothing to compare. `warnings`: what of the input could not be used.
/// How: src/diagnose/over_time/runs.hpp. Held by: src/diagnose/over_time/compare_runs_test.cpp
[[nodiscard]] Told tell_runs(std::span<const RunTimes> runs, const std::string& input,
                             const std::vector<std::string>& warnings = {});

/// Runs of one program on several sizes, schema `cox.sizes/1`; nothing for fewer than two. `sizes`: those of diagnoses.
/// How: src/diagnose/efficiency/efficiency.hpp. Held by: src/diagnose/efficiency/efficiency_test.cpp
[[nodiscard]] std::optional<Told> tell_sizes(std::span<const std::shared_ptr<const Efficiencies>> sizes,
                                             ProblemSize problem, const std::string& input);

}  // namespace cox::diagnose
