// SPDX-License-Identifier: Apache-2.0
/// \file
/// A claim as it was read and judged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/study/quantity.hpp"
#include "cox/study/study.hpp"

namespace cox::evaluate {

/// What a formula needed, and where it came from.
struct ClaimInput {
  std::string name;
  study::Quantity value{};
  std::string text;      ///< as written; ours where the claim does not say it
  bool is_ours = false;  ///< the claim does not say it, and the result depends on our choice
};

/// One value that the formula may mean. A bubble has three.
struct ClaimReading {
  std::string says;
  study::Quantity value{};
  bool is_claimed = false;  ///< the claim's number is this one
};

struct JudgedClaim {
  std::string text;
  std::string formula;   ///< its name; empty where none fits
  std::string equation;  ///< in plain characters
  std::string source;    ///< who published it, or `definition`
  std::vector<ClaimInput> inputs{};
  std::vector<ClaimReading> readings{};
  std::optional<study::WrittenQuantity> claimed{};
  std::optional<study::Verdict> verdict{};  ///< in the words of studies; nothing = cannot tell
  std::string reason;                       ///< a sentence
  std::vector<std::string> slips{};         ///< each alone makes the claim come out
  std::vector<std::string> unused{};        ///< numbers of the claim that the formula has no place for
};

inline constexpr std::size_t kLongestClaim = 1000;  ///< characters

/// Judges a claim as a study judges a printed number: half of the last digit, 5 % behind `about`, a bound behind
/// `at most` and `at least`. Errors: evaluate-001 (empty, or longer than `kLongestClaim`).
/// Cost: microseconds; a few closed forms. Held by: src/evaluate/claim/claim_test.cpp
[[nodiscard]] Result<JudgedClaim> judge_claim(std::string_view text);

/// `follows`, ..., `cannot-tell`.
[[nodiscard]] std::string_view verdict_text(const JudgedClaim& claim);

/// A value as the claim writes its own: in its unit, unless it is a hundred times off; where it has none as a bare number.
[[nodiscard]] std::string as_claimed(const JudgedClaim& claim, const study::Quantity& value);

/// For a terminal: what was read, what was computed, the verdict. Held by: src/evaluate/claim/claim_test.cpp
[[nodiscard]] std::string to_text(const JudgedClaim& claim);
/// The whole document of `cox explain CLAIM --json`, schema cox.claim/1.
[[nodiscard]] std::string to_json(const JudgedClaim& claim);

}  // namespace cox::evaluate
