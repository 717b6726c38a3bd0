// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which single slip would make a claim come out: bits for bytes, a power of a thousand, a factor two.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evaluate/claim/fit.hpp"

namespace cox::evaluate {

/// The values of a fit, and what to say of them.
struct Computing {
  const ClaimWords& claim;
  const Fit& fit;
  std::array<study::Quantity, kMostNeeded> values{};
};

/// Whether a computed value is the claimed one.
using IsClaimed = std::function<bool(const study::Quantity&)>;

/// Sentences, at most three, none for the same value. Each changes one number and computes again; of the readings the
/// usual one. Held by: src/evaluate/claim/claim_test.cpp
[[nodiscard]] std::vector<std::string> slips_of(const Computing& computing, const IsClaimed& is_claimed);

}  // namespace cox::evaluate
