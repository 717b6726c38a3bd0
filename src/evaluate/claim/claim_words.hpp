// SPDX-License-Identifier: Apache-2.0
/// \file
/// A sentence as words and numbers with their units.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cox/study/quantity.hpp"

namespace cox::evaluate {

/// Whether the number is one value or a bound.
enum class Relation : std::uint8_t { Is, About, AtLeast, AtMost };

/// A number and the words beside it, the nearest first, up to the next number, comma or `and`.
struct ClaimNumber {
  study::WrittenQuantity value{};
  std::vector<std::string> before{};
  std::vector<std::string> after{};
  Relation relation = Relation::Is;
};

struct ClaimWords {
  std::vector<std::string> words{};  ///< all of them: small letters, without hyphens: `allreduce`
  std::vector<ClaimNumber> numbers{};
  std::vector<std::size_t> denials{};  ///< places of `not` and the like in `words`
  bool unreadable = false;             ///< a number is written in a way that is not read
  bool denies = false;                 ///< it says what is not, or holds a number below zero
};

/// Reads any text; what is neither a number nor a word separates. At most 64 numbers.
/// Units as people write them: `200 Gbit/s`, `18 hours`, `70B parameters`, `2,048 tokens`, `1e9`.
/// Held by: src/evaluate/claim/claim_words_test.cpp
[[nodiscard]] ClaimWords claim_words(std::string_view text);

/// Whether `word`, or its plural, is one of `names`, which stand between blanks.
[[nodiscard]] bool is_one_of(std::string_view word, std::string_view names);

}  // namespace cox::evaluate
