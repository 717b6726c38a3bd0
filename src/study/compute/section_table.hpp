// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of a study's page beside those that every study has.
#pragma once

#include <string>
#include <vector>

#include "cox/study/quantity.hpp"

namespace cox::study {

/// A table with what it shows above it. Columns behind the first are numbers.
struct SectionTable {
  std::string heading{};
  std::string sentence{};  ///< what it shows; made from the results
  std::vector<std::string> columns{};
  std::vector<std::vector<std::string>> rows{};
};

/// As Markdown, with a heading of level two. A row with another number of cells than columns is a bug (asserted).
/// Held by: src/study/compute/step_run_test.cpp
[[nodiscard]] std::string to_section(const SectionTable& table);

/// Cells of a row, each in the unit that reads best.
[[nodiscard]] std::string cell_of(Seconds t);
[[nodiscard]] std::string cell_of_ratio(double ratio);

}  // namespace cox::study
