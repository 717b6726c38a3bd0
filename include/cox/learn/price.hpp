// SPDX-License-Identifier: Apache-2.0
/// \file
/// What jobs need of samples until a target: the statistical price of what changes learning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/compare.hpp"
#include "cox/model/scenario.hpp"

namespace cox::learn {

/// One job.
struct JobSamples {
  int workers = 0;
  /// Applied until the target, by seed, the same seeds of all jobs; what was computed and thrown away is not in it.
  /// Empty = not reached on every seed, or not possible
  std::vector<double> by_seed{};
  std::string why_not{};
  bool at_edge = false;  ///< its best rate is at the end of those that were tried
};

/// The way that a scenario itself says: its policy, and its gradients as they are compressed (8 bits: int8; b bits, 2 to 8:
/// the levels that b bits hold; 16: BF16; sparse: top-k with error feedback).
/// Errors: learn-002 (other widths, which nothing here rounds to).
[[nodiscard]] Result<Way> way_of(const model::Scenario& scenario);

/// Learns each job under its own policy, at its own best rate, to one target. `question`: `ways` is not looked at; `steps` of a worker at
/// most, and as many more as jobs of few workers need for 64,000 steps of all together.
/// Errors: those of `compare_ways`, of the first job; of others in `why_not`. Cost: that of `compare_ways` with one way, for each.
/// Deterministic for any number of threads. Held by: src/learn/answer/price_test.cpp
[[nodiscard]] Result<std::vector<JobSamples>> samples_to_target(std::span<const model::Scenario> jobs,
                                                                const WaysQuestion& question);

/// What is learned, for a sentence: `quadratic (condition 30, noise 0.2, spread 0), sgd, 1 sample a worker and step`.
[[nodiscard]] std::string learned_text(const WaysQuestion& question);

}  // namespace cox::learn
