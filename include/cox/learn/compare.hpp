// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ways of synchronising compared by the time that each takes to a target: times are those of the scenario's job, what is
/// learned is the problem's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/text_line.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"
#include "cox/learn/way.hpp"
#include "cox/model/scenario.hpp"

namespace cox::learn {

/// What was asked.
struct WaysQuestion {
  ProblemSpec problem{};  ///< `workers` 1: as many as the job has, where they differ
  OptimizerSpec optimizer{};
  StepShare share{};
  std::vector<Way> ways{};  ///< the first is what the others are held against
  double target = 0;        ///< loss to reach; 0 = one hundredth of where it begins
  /// Times the optimizer's rate: each way runs with all of them, then with six around the best, on `tuning_seeds` seeds of
  /// their own, and is judged with the best one on the others.
  std::vector<double> rate_factors{0.015625, 0.03125, 0.0625, 0.125, 0.25, 0.5, 1, 2, 4};
  int tuning_seeds = 4;
  int seeds = 5;
  std::int64_t steps = 2000;  ///< of each worker at most
  int threads = 0;
  std::function<void(std::int64_t done, std::int64_t total)> progress{};  ///< runs; one call at a time
};

/// What came of it.
struct Compared {
  std::vector<TextLine> lines;  ///< the screen
  std::string json;             ///< `cox.learn/1`: docs/reference/learn-json.md
  bool any_reached = false;     ///< the target, on every seed
};

/// Runs every way at every rate. The same seeds for all ways: draws of samples are common, so ratios are paired.
/// Errors: learn-002 (the scenario has no training job, a problem for other workers, a number out of range, more memory than
/// there should be, a way that this problem rules out), those of simulate; of the first way. Deterministic for any number of threads. Cost: ways x (rates x tuning seeds + seeds) runs.
/// Held by: src/learn/answer/compare_test.cpp
/// `inputs`: what the document names as such.
[[nodiscard]] Result<Compared> compare_ways(const model::Scenario& scenario, const WaysQuestion& question,
                                            const std::vector<std::string>& inputs);

}  // namespace cox::learn
