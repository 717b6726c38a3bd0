// SPDX-License-Identifier: Apache-2.0
/// \file
/// Levers applied: what each would change in a job, and the cheapest set that reaches a target.
/// What each lever is, and what it does not say: docs/concepts/levers.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/levers.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// One change of a scenario.
struct Lever {
  std::string name;  ///< `backup-workers`
  std::string does;  ///< one sentence with the amount: "the slowest 2 of 64 workers are not waited for"
  std::string
      learning;  ///< what it changes for the model that is trained, which is not included; empty = nothing
  std::string part;  ///< what it sets: two levers of one part exclude each other
  std::function<void(model::Scenario&)> apply;
  std::string why_not;  ///< it does not apply, and why; empty = it does
  /// What a job with it is simulated without, and the job that has the lever is compared with is then without, too, so that ratios are
  /// the lever's alone: whether that changes anything. Null = nothing.
  std::function<bool(model::Scenario&)> leave_out{};
  bool of_steps = true;  ///< false: it changes failures and checkpoints alone
};

/// All levers, those that do not apply too, in one order.
/// Held by: src/forecast/levers/levers_test.cpp
[[nodiscard]] std::vector<Lever> levers_of(const model::Scenario& scenario);

/// Those of failures and checkpoints alone, for as many nodes as the scenario's cluster has; of any kind of job.
/// Held by: src/forecast/levers/by_parts_test.cpp
[[nodiscard]] std::vector<Lever> checkpoint_levers(const model::Scenario& scenario);

/// The job as it is and each lever alone.
///
/// Ratios: mean over replicas of the logarithm, Student's t. Steps by `simulate` without failures; goodput, rework and N* by
/// its means (`wall_shares`), at the scenario's interval where it says one. Ends of N*: 20 draws of failures within the prior, those of the band of goodput. Errors: those of `simulate` for the job as it is.
/// Cost: (1 + levers) x replicas simulations. Threads: same result for any number.
/// Held by: src/forecast/levers/levers_test.cpp
[[nodiscard]] Result<LeverTable> compare_levers(const model::Scenario& scenario,
                                                const LeverOptions& options = {});
/// The same of these levers alone. Held by: src/forecast/answer/part_control_test.cpp
[[nodiscard]] Result<LeverTable> compare_levers(const model::Scenario& scenario,
                                                const std::vector<Lever>& levers,
                                                const LeverOptions& options);

/// The job with these levers together, by their names, beside the job as it is. Errors: as compare_levers, of
/// either. Pre: names of `levers_of`. Held by: src/forecast/control/simulated_control_test.cpp
[[nodiscard]] Result<LeverEffect> effect_of_levers(const model::Scenario& scenario,
                                                   const std::vector<std::string>& names,
                                                   const LeverOptions& options);

/// Whether a job reaches its target: all of the interval of `of_target` is within it.
[[nodiscard]] bool reaches(const LeverEffect& job);
/// Whether its value alone is.
[[nodiscard]] bool perhaps_reaches(const LeverEffect& job);

/// The levers of least price that reach the target in all of its interval; of one price, those of least cost per sample. Sets of at most three that
/// apply, in the order of their price; two of one part are not combined. Errors: as compare_levers. Cost: at most
/// (n + n^2/2 + n^3/6) x replicas simulations. Held by: src/forecast/levers/levers_test.cpp, set_search_test.cpp
[[nodiscard]] Result<LeverSet> cheapest_levers(const model::Scenario& scenario, const Target& target,
                                               const LeverOptions& options = {});

/// P(X > x), falling from 1 to 0 between two bounds.
struct Exceedance {
  std::function<double(Seconds)> above;
  Seconds least{};
  Seconds most{};  ///< behind it nothing that matters
};
/// Mean of the n-th of n + spare draws: steps that do not wait for the slowest `spare`, or whose worst were removed.
/// Formula: least + integral of P(Binomial(n + spare, P(X > x)) > spare). Exponential: H_(n + spare) - H_spare.
/// Cost: 4,000 points x (1 + spare). Held by: src/forecast/levers/order_test.cpp
[[nodiscard]] Seconds mean_without_slowest(const Exceedance& law, std::int64_t n, std::int64_t spare);

}  // namespace cox::forecast
