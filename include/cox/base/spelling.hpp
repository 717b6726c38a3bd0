// SPDX-License-Identifier: Apache-2.0
/// \file
/// "Did you mean": the nearest of several words; names as people write them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cox {

/// Fewest insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
/// Source: optimal string alignment distance, Damerau 1964, Wagner and Fischer 1974.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, where it is near enough to be a typo (a third of the letters, at least
/// one, or `word` begins it). The first of equals wins. Held by: src/base/spelling_test.cpp
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

/// A name in camel case as people write it: `AllReduce` is all-reduce.
[[nodiscard]] std::string hyphenated(std::string_view name);

/// Text from outside as it may stand in a message: what is not printable ASCII becomes `?`,
/// cut after `most` characters.
[[nodiscard]] std::string shown(std::string_view text, std::size_t most = 40);

}  // namespace cox
