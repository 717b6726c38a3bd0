// SPDX-License-Identifier: Apache-2.0
/// \file
/// One way on its way to the target: the runs that a comparison is made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/answer/comparison.hpp"

namespace cox::learn {

inline constexpr double kScoreEvery = 0.02;  ///< relative distance of two scores

/// What all runs of a comparison share.
struct Terms {
  const model::Scenario& scenario;
  const WaysQuestion& question;
  int workers = 0;
  Bytes gradients{};
  double target = 0;
};

/// One run of a way for each factor on the optimizer's rate, all on one stream: what happens when does not depend on rates,
/// unless the bound follows the curvature: then each has its own.
/// Errors: those of simulate for this policy. Cost: the stream once, a learner for each factor.
/// Held by: src/learn/answer/compare_test.cpp
[[nodiscard]] Result<std::vector<Attempt>> race(const Terms& setting, const Way& way,
                                                std::span<const double> factors, std::uint64_t seed);

}  // namespace cox::learn
