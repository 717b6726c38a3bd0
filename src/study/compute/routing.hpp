// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tokens to experts: loads by chance, and what they cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/random.hpp"

namespace cox::study {

/// Equal shares.
[[nodiscard]] std::vector<double> uniform_shares(int experts);
/// Shares proportional to 1 / rank^exponent, by whole exponents (no library function
/// in the path of the draws).
[[nodiscard]] std::vector<double> zipf_shares(int experts, int exponent);

/// Tokens per expert where each token goes to one expert at random (top-1) with the given shares.
/// Draw of token t: `stream.uniform(step, t)`. Cost: O(tokens log experts).
/// Held by: src/study/compute/routing_test.cpp (moments of the multinomial law)
[[nodiscard]] std::vector<std::int64_t> route_tokens(std::span<const double> shares, std::int64_t tokens,
                                                     const RandomStream& stream, std::uint64_t step);

/// Largest load over the mean: how much longer the step of the busiest expert is.
[[nodiscard]] double imbalance(std::span<const std::int64_t> loads);

/// Share of tokens beyond `capacity_factor` times the mean load (rounded down to whole tokens).
/// Source: capacity factor of Fedus, Zoph, Shazeer 2021 (Switch Transformers), equation 3.
[[nodiscard]] double dropped(std::span<const std::int64_t> loads, double capacity_factor);

}  // namespace cox::study
