// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lengths in the page's tables: bars, and how many things share a cell.
#pragma once

#include <cstddef>
#include <string>

#include "cox/base/units.hpp"
#include "cox/diagnose/account.hpp"

namespace cox::report {

/// A bar as long as this part of its cell, 0 to 1.
[[nodiscard]] std::string bar_of(double part);
/// A bar against the longest of its column.
[[nodiscard]] std::string bar_of(Duration length, Duration longest);
/// One bar of a rank's time, coloured by what it went into.
[[nodiscard]] std::string split_bar(const diagnose::RankAccount& account);

/// How many neighbours share a cell where there is room for `most` of them.
[[nodiscard]] std::size_t neighbours_per_cell(std::size_t count, std::size_t most);

}  // namespace cox::report
