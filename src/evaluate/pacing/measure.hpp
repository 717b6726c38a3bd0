// SPDX-License-Identifier: Apache-2.0
/// \file
/// The evaluation of pacing, carried out: the starts of its conditions in their order, by the processes of `bench`.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/bench/pace.hpp"
#include "cox/evaluate/pacing.hpp"

#include "evaluate/pacing/effect.hpp"
#include "evaluate/pacing/plan.hpp"

namespace cox::evaluate {

/// What of a study is wanted.
struct PacingChoice {
  std::set<std::string> conditions{};  ///< by name
  bool sizes = false;
};

/// `only`: names of conditions, commas between them, `sizes` among them; empty = everything.
/// Errors: study-006 (nothing has this name).
[[nodiscard]] Result<PacingChoice> choose_pacing(const PacingStudy& study, std::string_view only);

/// Leaves what was not chosen out of the study.
void keep_only(PacingStudy& study, const PacingChoice& choice);

/// This host in words, with today's date and the load before anything is measured.
[[nodiscard]] PacingMachine describe_machine();

/// Results that others are put into. Errors: study-007 (no results; not of --full, of another plan, another
/// machine or other conditions), base-002 to base-004.
[[nodiscard]] Result<PacingResults> read_results_before(const PacingStudy& study,
                                                        const std::filesystem::path& file,
                                                        const PacingMachine& machine);

/// What the evaluation needs of the world, so that it can be tested without one.
struct PacingWorld {
  /// Carries out one plan of a condition. Errors: those of `bench::run_pace`.
  std::function<Result<bench::PaceRows>(const PacingCondition& of, const bench::PacePlan& plan,
                                        Seconds limit)>
      run;
  /// Of a clock that only goes forward.
  std::function<Seconds()> now;
  /// What happens, in lines.
  std::function<void(const std::string& text)> tell;
  /// Is given all results after every start, so that nothing is lost with the rest.
  std::function<Status(const PacingResults& results)> keep;
  /// Whether the program of the processes is there; else the first failure ends everything.
  bool has_program = true;
  /// Why arms with a priority are left out.
  std::optional<std::string> no_priority{};
};
/// This host: `cox-bench-pace` beside this program.
[[nodiscard]] PacingWorld pacing_world();

/// Measures what was chosen: as many starts of each condition as the protocol says, in turns, then of the sizes.
/// A start that fails is left out; a condition whose first one fails is skipped, with the reason.
///
/// `before`: what is not chosen keeps its results, and is part of the corrections.
/// Errors: those of `world.keep`; of `world.run` where there is no program.
/// Held by: src/evaluate/pacing/measure_test.cpp
[[nodiscard]] Result<PacingResults> measure_pacing(const PacingStudy& study, const PacingChoice& choice,
                                                   PacingDepth depth, PacingResults before,
                                                   const PacingWorld& world);

/// docs/studies/pacing.md from results of earlier, with the engine beside them. Errors: those of
/// `simulate_pacing`, and of reading `results`.
[[nodiscard]] Result<PacingPage> make_pacing_page(const PacingStudy& study,
                                                  const std::filesystem::path& results, int threads);

/// `page` as it is to be: the claims of the results between its marks. Errors: those of `with_claims`,
/// and of reading either file. Held by: golden/studies (README and the pages that have claims)
[[nodiscard]] Result<std::string> put_pacing_claims(const PacingStudy& study,
                                                    const std::filesystem::path& results,
                                                    const std::filesystem::path& page);

}  // namespace cox::evaluate
