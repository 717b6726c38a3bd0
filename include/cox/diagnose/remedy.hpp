// SPDX-License-Identifier: Apache-2.0
/// \file
/// What to do about what was found, and how to see afterwards that it worked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"

namespace cox::diagnose {

struct Diagnosis;

/// One lever. Text forms of `lever` are in docs/reference/diagnosis-json.md.
struct Remedy {
  std::string lever;                 ///< `replace_ranks`, `pin_ranks`, `data_loading`, `pacing`, ...
  std::string text;                  ///< what to do, one sentence
  std::string brief{};               ///< the same without its reason; empty: it gives none
  std::vector<Rank> ranks;           ///< whom it is about; empty: everybody
  std::optional<double> gain_ratio;  ///< of the run's time, predicted; nothing: not estimated
  std::string basis;                 ///< where the number comes from, or what an estimate would need
  std::string verify;                ///< what to run and to look for after the change
};

/// Levers for the findings of a diagnosis: more ranks than CPUs first, where it is so, then most predicted gain
/// first, those not estimated last.
/// Held by: src/diagnose/verdict/remedy_test.cpp
[[nodiscard]] std::vector<Remedy> find_remedies(const Diagnosis& d);

}  // namespace cox::diagnose
