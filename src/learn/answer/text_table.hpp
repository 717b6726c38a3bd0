// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of texts under each other.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/text_line.hpp"

namespace cox::learn {

/// The first column is of names, to the left; others are of figures, to the right. Pre: no row is longer than the first.
[[nodiscard]] inline std::vector<TextLine> text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::vector<TextLine> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += c == 0 ? fmt::format("{:<{}}", row[c], widths[c]) : fmt::format("  {:>{}}", row[c], widths[c]);
    lines.push_back(TextLine::row(std::move(line)));
  }
  return lines;
}

}  // namespace cox::learn
