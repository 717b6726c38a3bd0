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
/// Held by: src/study/runs/routing_test.cpp (moments of the multinomial law)
[[nodiscard]] std::vector<std::int64_t> route_tokens(std::span<const double> shares, std::int64_t tokens,
                                                     const RandomStream& stream, std::uint64_t step);

/// Tokens that ranks send to each other's experts. Token t of `tokens` is on rank t ranks / tokens, expert e of the shares
/// on rank e ranks / experts (rounded down).
struct Exchange {
  int ranks = 0;
  std::vector<std::int64_t> sent{};   ///< [from * ranks + to]
  std::vector<std::int64_t> loads{};  ///< per expert
};

/// Each token goes to `choices` different experts (top-k): the first with the given shares, each further one with those
/// of the experts that are left. Draw of choice c of token t: `stream.uniform(step, t choices + c)`; the first choices
/// are those of `route_tokens` where `choices` is one. Preconditions (asserted): 1 <= choices <= experts, ranks >= 1.
/// Cost: O(tokens choices (log experts + choices)).
/// Held by: src/study/runs/routing_test.cpp (every token arrives; means of draws without replacement)
[[nodiscard]] Exchange exchange_tokens(std::span<const double> shares, std::int64_t tokens, int choices,
                                       int ranks, const RandomStream& stream, std::uint64_t step);

/// Tokens through the busiest NIC that sends or takes one: no exchange is shorter than these over its bandwidth. What
/// stays on its rank needs none. The way back has the same.
[[nodiscard]] std::int64_t busiest_nic(const Exchange& exchange);

/// Standard deviation of the loads over their mean.
[[nodiscard]] double load_variation(std::span<const std::int64_t> loads);

/// Largest load over the mean: how much longer the step of the busiest expert is.
[[nodiscard]] double imbalance(std::span<const std::int64_t> loads);

/// Share of tokens beyond `capacity_factor` times the mean load (rounded down to whole tokens).
/// Source: capacity factor of Fedus, Zoph, Shazeer 2021 (Switch Transformers), equation 3.
[[nodiscard]] double dropped(std::span<const std::int64_t> loads, double capacity_factor);

}  // namespace cox::study
