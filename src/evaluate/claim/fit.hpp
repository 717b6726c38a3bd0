// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which formula a claim is about, and which of its numbers is what.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "evaluate/claim/claim_words.hpp"
#include "evaluate/claim/formula.hpp"

namespace cox::evaluate {

/// A claim read as one formula. Places are those of `ClaimWords::numbers`.
struct Fit {
  const Formula* formula = nullptr;
  std::array<std::optional<std::size_t>, kMostNeeded> numbers{};  ///< parallel to `needs`
  std::optional<std::size_t> result{};
  std::vector<std::string_view> missing{};  ///< needed, and not said
  std::size_t used = 0;                     ///< numbers of the claim
  int named = 0;                            ///< how well words beside the numbers name what they are
  bool has_name = false;  ///< the claim names the formula; else its numbers alone suggest it

  [[nodiscard]] bool is_complete() const { return missing.empty(); }
};

/// All formulas whose names are in the claim, the one that fits best first: nothing missing, a result to judge, most
/// numbers used, best named. Cost: O(formulas x numbers x needs). Held by: src/evaluate/claim/claim_test.cpp
[[nodiscard]] std::vector<Fit> fits_of(const ClaimWords& claim);

}  // namespace cox::evaluate
