// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the tables of keys are written with: where a value goes, and the largest that is taken.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>

#include "model/toml/keys/keys.hpp"

namespace cox::model {

// NOLINTBEGIN(bugprone-macro-parentheses): a member and a type cannot stand in parentheses

// A pointer to a function that finds a field; the type of the field picks the alternative.
#define COX_AT(member) (+[](Draft& d) -> auto& { return d.member; })
#define COX_IN(type, member) (+[](type& t) -> auto& { return t.member; })
// An enumeration whose words are in the order of its values.
#define COX_WORD(type, list, member)                                                        \
  (WordField<type>{.words = (list),                                                         \
                   .get = [](const type& t) { return static_cast<std::size_t>(t.member); }, \
                   .set = [](type& t, std::size_t i) { t.member = static_cast<decltype(t.member)>(i); }})
#define COX_RATE(member) (RateField<Draft>{.at = [](Draft& d) -> TimePerByte& { return d.member; }})
#define COX_PATH(type, member) (PathField<type>{.at = [](type& t) -> std::string& { return t.member; }})

// A choice that may be left open: the first word.
#define COX_CHOICE(list, member)                                                                    \
  (WordField<Draft>{                                                                                \
      .words = (list),                                                                              \
      .get = [](const Draft& d) { return d.member ? static_cast<std::size_t>(*d.member) + 1 : 0; }, \
      .set =                                                                                        \
          [](Draft& d, std::size_t i) {                                                             \
            using Value = std::remove_cvref_t<decltype(*d.member)>;                                 \
            d.member = i == 0 ? std::nullopt : std::optional<Value>(static_cast<Value>(i - 1));     \
          }})

// NOLINTEND(bugprone-macro-parentheses)

/// Largest values that the tables take.
inline constexpr double kLargestSize = 1125899906842624;  // 1 PiB
inline constexpr double kLargestRanks = static_cast<double>(kMostRanks);
/// Whole numbers up to here are exact in a double, as TOML writers may use one.
inline constexpr double kLargestCount = 9e15;

}  // namespace cox::model
